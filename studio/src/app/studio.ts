/** A scenario's text, its path, its form and its runs, side by side. */
import { pathView } from "../charts/static/path-drawing.ts";
import { embeddedIn } from "../data/read.ts";
import { plural } from "../format/numbers.ts";
import { button, type Child, h, replace } from "../page/dom.ts";
import type { PathPlaces, ShownData } from "../page/editable.ts";
import { download } from "../page/files.ts";
import { reasonOf } from "../sections/parts.ts";
import { type Api, type Checked, isActive, NoAnswer, type RunState } from "./api.ts";
import { type ComparedRun, comparison } from "./comparison.ts";
import { Editor } from "./editor.ts";
import { timeWords } from "./estimate.ts";
import { Form } from "./form.ts";
import { History, phaseText } from "./history.ts";
import { offlinePanel } from "./panels.ts";
import type { Place } from "./place.ts";
import { ScenarioFile } from "./scenario-file.ts";
import { ScenarioSchema } from "./schema.ts";

/** Time without typing after which a text is checked. */
const PAUSE_MS = 150;
/** Time without another change after which a valid text's path and time are looked at. */
const REST_MS = 350;
/** Time between two requests for the states of runs that have not ended. */
const FOLLOW_MS = 40;
/** Time that a run may take while the slider that began it has moved on. */
const PATIENCE_MS = 300;
/** Plans of at most this many runs answer while a slider moves. */
const QUICK_RUNS = 60;
/** Time between two looks for a command that has not answered. */
const RETURN_MS = 2000;

/** The page around a studio. */
export interface StudioPage {
  /** Shows the report of a run. */
  showReport(id: number): void;
  /** Shows a path over time; null: nothing. */
  showPaths(places: PathPlaces, data: ShownData | null): Promise<void>;
  /** A scenario was opened. */
  opened?(file: string): void;
  /** Opens the page at another address. */
  move?(address: string, place: Place): void;
}

/** The controls for scenarios and their runs. */
export class Studio {
  readonly files = h("select", {
    "aria-label": "Scenario",
    change: () => void this.open(this.files.value),
  });
  readonly saveButton = button("Save", () => void this.save());
  readonly runButton = button("Run", () => void this.#run(false), { class: "main" });
  readonly #live = h("input", { type: "checkbox", checked: true, id: "live" });
  /** Whether a moving slider runs the scenario. */
  readonly liveBox = h(
    "label",
    { class: "check", for: "live" },
    this.#live,
    "Run while sliders move",
  );

  readonly #api: Api;
  readonly #page: StudioPage;
  /** What the text plans, or what is wrong with it. */
  readonly #status = h("p", { class: "status", role: "status" });
  /** What happened last. */
  readonly #notice = h("p", { class: "status notice", role: "status" });
  readonly #drawing = h("section", { "aria-label": "Path" });
  /** The path over time. */
  readonly #paths: PathPlaces = {
    plots: h("section", { class: "outlook", "aria-label": "Path over time" }),
    sky: h("section", { class: "outlook", "aria-label": "Satellites" }),
  };
  /** How long the runs take. */
  readonly #time = h("span", {});
  readonly #table = h("div", { class: "scroll" });
  readonly #editor: Editor;
  readonly #history: History;
  readonly #form: Form;

  /** The file of the text. */
  readonly #file: ScenarioFile;
  /** What to do while the command does not answer. */
  readonly #offline = h("div", { class: "panels" });
  /** Whether the text goes to another page, so that nothing is lost with this one. */
  isMoving = false;
  #waiting = false;
  #checked: Checked | null = null;
  #runs: RunState[] = [];
  #shown: number | null = null;
  #reported: number | null = null;
  #pins: number[] = [];
  #timer = 0;
  #resting = 0;
  #following = false;
  #announced = "";
  /** Summaries of the runs that are or were compared. */
  readonly #summaries = new Map<number, ComparedRun>();
  #compared = "";

  constructor(api: Api, page: StudioPage) {
    this.#api = api;
    this.#page = page;
    this.#editor = new Editor({
      changed: () => {
        this.#mark();
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => {
          this.#file.changed();
          void this.#check();
        }, PAUSE_MS);
      },
      run: () => void this.#run(false),
      save: () => void this.save(),
    });
    this.#file = new ScenarioFile(api, {
      text: () => this.#editor.text,
      set: (text) => this.#editor.exchange(text),
      load: (text) => {
        this.#form.allow([]);
        this.#editor.load(text);
      },
      kept: (name, words) => this.#kept(name, words),
      guard: (work) => this.guard(work),
      notify: (words, bad) => this.notify(words, bad),
    });
    this.#history = new History({
      show: (id) => {
        this.#shown = id;
        void this.guard(() => this.#draw());
      },
      pin: (id) => {
        const pins = this.#pins;
        this.#pins = pins.includes(id) ? pins.filter((pin) => pin !== id) : [...pins, id].slice(-4);
        void this.guard(() => this.#draw());
      },
      cancel: (id) => void this.guard(() => this.#api.cancel(id)),
      restore: (id) => void this.guard(async () => this.#editor.set(await this.#api.textOf(id))),
    });
    this.#form = new Form((key, value) => void this.#change(key, value));
  }

  /** Messages, and the text beside everything that follows from it. */
  body(): Child[] {
    return [
      h("div", { class: "messages" }, this.#status, this.#notice),
      this.#offline,
      this.#file.panel,
      h(
        "div",
        { class: "desk" },
        h("section", { class: "card text", "aria-label": "Text" }, this.#editor.element),
        h(
          "div",
          { class: "side" },
          this.#drawing,
          this.#paths.plots,
          h("section", { class: "card", "aria-label": "Form" }, this.#form.element),
          h(
            "section",
            { class: "card", "aria-label": "Runs" },
            h("h2", {}, "Runs"),
            this.#history.element,
            this.#table,
          ),
          this.#paths.sky,
        ),
      ),
    ];
  }

  /** Whether the text has changes that are not saved. */
  get isChanged(): boolean {
    return this.#file.isChanged;
  }

  /** Loads what there is, and opens the scenario of a place or the first one. */
  async start(place: Place): Promise<void> {
    await this.guard(async () => {
      await this.#draw();
      const [{ directory, scenarios }, profiles, schema] = await Promise.all([
        this.#api.list(),
        this.#api.profiles(),
        this.#api.schema(),
      ]);
      this.#form.profiles = profiles;
      this.#editor.schema = new ScenarioSchema(schema);
      replace(
        this.files,
        scenarios.map((name) => h("option", { value: name }, name)),
      );
      this.#runs = await this.#api.runs();
      this.#shown = this.#runs.find(({ has_report }) => has_report)?.id ?? null;
      await this.#draw();
      this.#file.drafts.directory = directory;
      const first = scenarios.includes(place.file) ? place.file : scenarios[0];
      if (first && (place.text === null || first === place.file)) await this.open(first);
      else {
        this.#file.unnamed();
        if (place.text === null) this.notify(`no scenarios in ${directory}; New makes one`);
      }
      if (place.text !== null) {
        this.#editor.exchange(place.text);
        this.notify("the text of the page before; it is not saved");
      }
    });
  }

  /** Keeps a draft of what is not saved. */
  keepDraft(): void {
    this.#file.changed();
  }

  /** Asks for a name, and opens a new scenario. */
  askNew(): void {
    if (this.#mayDiscard()) this.#file.askNew();
  }

  /** Asks for a name, and saves the text under it. */
  askSaveAs(): void {
    this.#file.askSaveAs();
  }

  /** Whether a text that is not saved may be lost. */
  #mayDiscard(): boolean {
    return !this.isChanged || confirm("The text has changes that are not saved. Discard them?");
  }

  /** Shows that the text is in a file, which may be new. */
  #kept(name: string, words: string): void {
    if (![...this.files.options].some(({ value }) => value === name))
      this.files.append(h("option", { value: name }, name));
    this.files.value = name;
    this.#page.opened?.(name);
    this.#mark();
    this.notify(words);
  }

  /** Does something, and shows what went wrong with it. */
  async guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof NoAnswer) this.#lost();
      else this.notify(reasonOf(error), true);
    }
  }

  /** Says that the command does not answer, and waits until it does. */
  #lost(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    const place = (): Place => ({ file: this.#file.name, text: this.#editor.text });
    replace(
      this.#offline,
      offlinePanel(
        () => download(this.#file.name, "application/toml", this.#editor.text),
        (address) => {
          this.isMoving = true;
          this.#page.move?.(address, place());
        },
      ),
    );
    const look = async (): Promise<void> => {
      try {
        await this.#api.list();
      } catch (error) {
        if (error instanceof NoAnswer) {
          setTimeout(() => void look(), RETURN_MS);
          return;
        }
        // It is another studio at this address, which does not know the secret.
        this.notify(reasonOf(error), true);
        return;
      }
      this.#waiting = false;
      replace(this.#offline);
      this.notify("the studio answers again");
      await this.#check();
    };
    setTimeout(() => void look(), RETURN_MS);
  }

  /** Says what happened. */
  notify(text: string, bad = false): void {
    replace(this.#notice, text);
    this.#notice.classList.toggle("bad", bad);
  }

  #mark(): void {
    this.saveButton.disabled = !this.isChanged;
  }

  /** Opens a scenario. */
  async open(name: string): Promise<void> {
    if (!this.#mayDiscard()) {
      this.files.value = this.#file.name;
      return;
    }
    await this.guard(async () => {
      await this.#file.open(name);
      this.files.value = name;
      this.#page.opened?.(name);
      this.#mark();
      await this.#check();
    });
  }

  /** Saves the text. */
  async save(): Promise<void> {
    await this.guard(() => this.#file.save());
  }

  async #check(): Promise<void> {
    clearTimeout(this.#timer);
    clearTimeout(this.#resting);
    const text = this.#editor.text;
    await this.guard(async () => {
      const answer = await this.#api.check(this.#file.name, text);
      if (text !== this.#editor.text) return;
      this.#checked = answer;
      this.#editor.fault(answer.error);
      this.#form.show(answer);
      this.runButton.disabled = answer.plan === null;
      this.#say(answer);
      if (answer.plan) this.#resting = setTimeout(() => void this.#look(text), REST_MS);
      else await this.#page.showPaths(this.#paths, null);
    });
  }

  /** Shows how long the runs of a valid text take, and its path over time. */
  async #look(text: string): Promise<void> {
    await this.guard(async () => {
      const outlook = await this.#api.outlook(this.#file.name, text);
      if (text !== this.#editor.text) return;
      replace(this.#time, timeWords(outlook));
      this.#form.allow(outlook.possible);
      await this.#page.showPaths(this.#paths, outlook.paths === null ? null : shown(outlook.paths));
    });
  }

  /** Says what a text plans, or what is wrong with it. */
  #say({ plan, error }: Checked): void {
    this.#status.classList.toggle("bad", error !== null);
    if (error) {
      replace(
        this.#status,
        error.line > 0 && [
          button(`line ${error.line}`, () => this.#editor.reveal(error), { class: "link" }),
          " ",
        ],
        error.message,
      );
      return;
    }
    if (!plan) return;
    const variants = plan.variants.length > 1 ? `, ${plan.variants.length} variants` : "";
    const stored = plan.in_store > 0 ? `, ${plan.in_store} of them in the result store` : "";
    const runs = `${plan.title}: ${plural(plan.runs, "run")}${variants}${stored}`;
    // That of another text would be wrong.
    replace(this.#time);
    replace(this.#status, runs, this.#time);
    const swept = plan.sweep.map(([key]) => key);
    replace(this.#drawing, plan.path && pathView(plan.path, swept));
  }

  /** Changes of the form wait for each other, so that each starts from the text of the last. */
  #changes = Promise.resolve();
  readonly #latest = new Map<string, symbol>();
  #moved = 0;

  #change(key: string, value: string | null): Promise<void> {
    const own = Symbol(key);
    this.#latest.set(key, own);
    this.#moved += 1;
    this.#changes = this.#changes.then(() =>
      this.guard(async () => {
        // A later position of the same slider is what counts.
        if (this.#latest.get(key) !== own) return;
        this.#editor.set(await this.#api.edit(this.#editor.text, key, value));
        await this.#check();
        const few = (this.#checked?.plan?.runs ?? Number.POSITIVE_INFINITY) <= QUICK_RUNS;
        if (this.#live.checked && few) await this.#run(true);
      }),
    );
    return this.#changes;
  }

  async #run(replacing: boolean): Promise<void> {
    await this.guard(async () => {
      this.#shown = await this.#api.run(this.#file.name, this.#editor.text, replacing);
      if (replacing) await this.#settled(this.#shown);
      else void this.#follow();
    });
  }

  /**
   * Waits until a run has ended, so that a moving slider shows answers on its way; but not for long
   * if the slider has moved on.
   */
  async #settled(id: number): Promise<void> {
    const [begun, moves] = [performance.now(), this.#moved];
    void this.#follow();
    do await pause(FOLLOW_MS / 2);
    while (
      (moves === this.#moved || performance.now() < begun + PATIENCE_MS) &&
      this.#following &&
      this.#runs.some((one) => one.id === id && isActive(one))
    );
  }

  /** Follows runs until all have ended. */
  async #follow(): Promise<void> {
    if (this.#following) return;
    this.#following = true;
    try {
      for (;;) {
        this.#runs = await this.#api.runs();
        await this.#draw();
        if (!this.#runs.some(isActive)) return;
        await pause(FOLLOW_MS);
      }
    } catch (error) {
      if (error instanceof NoAnswer) this.#lost();
      else this.notify(reasonOf(error), true);
    } finally {
      this.#following = false;
    }
  }

  /** Shows the runs, and the shown and the pinned ones side by side. */
  async #draw(): Promise<void> {
    this.#history.show(this.#runs, this.#shown, this.#pins);
    const current = this.#runs.find(({ id }) => id === this.#shown);
    const words = current && `run ${current.id}: ${phaseText(current)}`;
    if (words && words !== this.#announced) this.notify(words, current.phase === "failed");
    this.#announced = words ?? "";
    if (current?.has_report && this.#reported !== current.id) {
      this.#reported = current.id;
      this.#page.showReport(current.id);
    }
    await this.#compare();
  }

  /** Redraws the comparison if other runs are to be compared. */
  async #compare(): Promise<void> {
    const more = this.#shown !== null && !this.#pins.includes(this.#shown) ? [this.#shown] : [];
    const columns = [...this.#pins, ...more];
    const ids = columns.filter((id) => this.#runs.some((one) => one.id === id && one.has_report));
    const wanted = ids.join();
    if (ids.length === 0 || wanted === this.#compared) return;
    this.#compared = wanted;
    const columnsOf = ids.map(async (id) => {
      const known = this.#summaries.get(id) ?? (await this.#api.details(id));
      this.#summaries.set(id, known);
      return known;
    });
    const all = await Promise.all(columnsOf);
    // Other runs may have been chosen in the meantime.
    if (wanted === this.#compared) replace(this.#table, comparison(all));
  }
}

/** The data of a page, as text of the elements that embed it. */
const shown = (elements: string): ShownData => ({
  report: embeddedIn(elements, "bentpipe-report") ?? "",
  traces: embeddedIn(elements, "bentpipe-traces"),
});

const pause = (time: number): Promise<void> => new Promise((done) => setTimeout(done, time));
