/** A scenario's text, its path, its form and its runs, side by side. */
import { pathView } from "../charts/static/path-drawing.ts";
import { embeddedIn } from "../data/read.ts";
import { plural } from "../format/numbers.ts";
import { button, type Child, h, replace } from "../page/dom.ts";
import type { PathPlaces, ShownData } from "../page/editable.ts";
import { download } from "../page/files.ts";
import { reasonOf } from "../sections/parts.ts";
import { type Api, type Checked, NoAnswer } from "./api.ts";
import { Editor } from "./editor.ts";
import { timeWords } from "./estimate.ts";
import { Form } from "./form.ts";
import { offlinePanel } from "./panels.ts";
import type { Place } from "./place.ts";
import { Runs } from "./runs.ts";
import { ScenarioFile } from "./scenario-file.ts";
import { ScenarioSchema } from "./schema.ts";

/** Time without typing after which a text is checked. */
const PAUSE_MS = 150;
/** Time without another change after which a valid text's path and time are looked at. */
const REST_MS = 350;
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
  readonly #editor: Editor;
  readonly #runs: Runs;
  readonly #form: Form;

  /** The file of the text. */
  readonly #file: ScenarioFile;
  /** What to do while the command does not answer. */
  readonly #offline = h("div", { class: "panels" });
  /** Whether the text goes to another page, so that nothing is lost with this one. */
  isMoving = false;
  #waiting = false;
  #checked: Checked | null = null;
  #timer = 0;
  #resting = 0;

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
    this.#runs = new Runs(api, {
      showReport: (id) => page.showReport(id),
      restore: (text) => this.#editor.set(text),
      notify: (words, bad) => this.notify(words, bad),
      guard: (work) => this.guard(work),
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
            this.#runs.element,
            this.#runs.table,
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
      await this.#runs.draw();
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
      await this.#runs.load();
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
    const [file, text] = [this.#file.name, this.#editor.text];
    await this.guard(() => this.#runs.run(file, text, replacing, () => this.#moved));
  }
}

/** The data of a page, as text of the elements that embed it. */
const shown = (elements: string): ShownData => ({
  report: embeddedIn(elements, "bentpipe-report") ?? "",
  traces: embeddedIn(elements, "bentpipe-traces"),
});
