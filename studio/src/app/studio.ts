/** A scenario's text, its controls, and what its runs give, side by side. */
import { pathView } from "../charts/static/path-drawing.ts";
import { button, type Child, h, replace } from "../page/dom.ts";
import { type PathPlaces, type ShownData, shownIn } from "../page/editable.ts";
import { download } from "../page/files.ts";
import type { Api, Checked, Outlook } from "./api.ts";
import { Connection } from "./connection.ts";
import { Editor } from "./editor.ts";
import { Edits } from "./edits.ts";
import { Form } from "./form.ts";
import { Imports } from "./imports.ts";
import { Messages } from "./messages.ts";
import { dragPath } from "./path-drag.ts";
import type { Place } from "./place.ts";
import { RunControl } from "./run-control.ts";
import { Runs } from "./runs.ts";
import { ScenarioFile } from "./scenario-file.ts";
import { ScenarioSchema } from "./schema.ts";
import { TablesForm } from "./tables.ts";
import { TextCheck } from "./text-check.ts";

/** Plans of at most this many runs answer while a slider moves. */
const QUICK_RUNS = 60;
/** What a page says of a scenario that takes it too long. */
const TOO_LARGE = "a page runs up to";
/** The scenario that is opened at first, where there is one of this name. */
const FIRST = "first.toml";

/** The page around a studio. */
export interface StudioPage {
  /** Shows the report of a run; null: none. */
  showReport(id: number | null): void;
  /** Shows a path over time; null: nothing. */
  showPaths(places: PathPlaces, data: ShownData | null): Promise<void>;
  /** A scenario was opened. */
  opened?(file: string): void;
  /** Opens the page at another address. */
  move?(address: string, place: Place): void;
  /** Whether saving makes a copy outside the page, which is of use for any text. */
  savesCopies?: boolean;
}

/** Controls of a studio for the bar of its page. */
interface Bar {
  files: HTMLSelectElement;
  save: HTMLButtonElement;
  /** Whether a moving slider runs the scenario. */
  live: HTMLInputElement;
  /** That choice, in whose place the progress of a long run stands: nothing moves when it comes. */
  side: HTMLElement;
}

/** Elements that show the path of a text. */
interface PathParts {
  drawing: HTMLElement;
  /** What is drawn in it. */
  drawn: string;
  /** The path over time. */
  places: PathPlaces;
}

/** The controls for scenarios and their runs. */
export class Studio {
  readonly control: RunControl;
  readonly file: ScenarioFile;
  readonly imports: Imports;
  readonly runs: Runs;
  readonly bar: Bar;
  /** Does something, and shows what went wrong with it. */
  readonly guard: (work: () => Promise<void>) => Promise<void>;
  /** Whether the text goes to another page, so that nothing is lost with this one. */
  isMoving = false;
  readonly #page: StudioPage;
  readonly #api: Api;
  readonly #editor: Editor;
  readonly #forms: { sliders: Form; tables: TablesForm };
  readonly #says: { messages: Messages; connection: Connection };
  readonly #path: PathParts = {
    drawing: h("section", { class: "drawing", "aria-label": "Path" }),
    drawn: "",
    places: {
      plots: h("section", { class: "outlook", "aria-label": "Path over time" }),
      sky: h("section", { class: "outlook", "aria-label": "Satellites" }),
    },
  };
  readonly #check: TextCheck;
  readonly #edits: Edits;

  constructor(api: Api, page: StudioPage) {
    this.#api = api;
    this.#page = page;
    this.bar = this.#makeBar();
    const messages = new Messages((fault) => this.#editor.reveal(fault));
    const connection = new Connection(api, {
      notify: (words, bad) => messages.notify(words, bad),
      download: () => download(this.file.name, "application/toml", this.#editor.text),
      move: (address) => {
        this.isMoving = true;
        page.move?.(address, { file: this.file.name, text: this.#editor.text });
      },
      returned: () => this.#check.now(),
    });
    this.#says = { messages, connection };
    const { guard } = connection;
    this.guard = guard;
    const change = (key: string, value: string | null): void => void this.#edits.change(key, value);
    this.#forms = { sliders: new Form(change), tables: new TablesForm(change) };
    dragPath(this.#path.drawing, this.#forms.sliders);
    this.#editor = new Editor({
      changed: () => {
        this.#mark();
        this.#check.changed();
      },
      run: () => void this.#run(false),
      save: () => void this.save(),
    });
    this.file = this.#makeFile(api);
    this.imports = new Imports(api, {
      mayDiscard: () => this.#mayDiscard(),
      scenarios: () => [...this.bar.files.options].map(({ value }) => value),
      open: (name) => this.#openNew(name),
      guard,
    });
    this.#check = new TextCheck(api, {
      text: () => [this.file.name, this.#editor.text],
      paused: () => this.file.changed(),
      checked: (answer) => this.#show(answer),
      looked: (outlook) => this.#look(outlook),
      guard,
    });
    this.#edits = new Edits(api, {
      text: () => this.#editor.text,
      set: (text) => this.#editor.set(text),
      opening: () => this.file.opening,
      changed: () => this.#changedByControl(),
      guard,
    });
    this.runs = new Runs(api, {
      showReport: (id) => page.showReport(id),
      restore: (text) => this.file.take(text),
      state: (run) => {
        this.control.show(run);
        if (run?.error?.includes(TOO_LARGE)) this.#offerOnePoint();
      },
      notify: (words, bad) => messages.notify(words, bad),
      guard,
    });
    this.control = new RunControl({
      run: () => void this.#run(false),
      cancel: (id) => this.runs.cancel(id),
    });
    this.bar.side.append(this.control.progress);
  }

  #makeBar(): Bar {
    const files = h("select", {
      "aria-label": "Scenario",
      change: () => void this.open(files.value),
    });
    const live = h("input", { type: "checkbox", checked: true, id: "live" });
    return {
      files,
      save: button("Save", () => void this.save(), { title: "Ctrl-S" }),
      live,
      side: h(
        "div",
        { class: "run-side" },
        h("label", { class: "check", for: "live" }, live, "Run while sliders move"),
      ),
    };
  }

  #makeFile(api: Api): ScenarioFile {
    return new ScenarioFile(api, {
      text: () => this.#editor.text,
      set: (text) => this.#editor.exchange(text),
      load: (text) => {
        this.#forms.sliders.allow([]);
        this.#editor.load(text);
      },
      kept: (name, words) => void this.guard(() => this.#kept(name, words)),
      guard: (work) => this.guard(work),
      notify: (words, bad) => this.notify(words, bad),
    });
  }

  /** Messages, and the text beside its controls and its results. */
  body(): Child[] {
    const { messages, connection } = this.#says;
    const { sliders, tables } = this.#forms;
    const { drawing, places } = this.#path;
    const section = (name: string, kind: string, ...parts: Child[]): HTMLElement =>
      h("section", { class: `card ${kind}`, "aria-label": name }, parts);
    // It may have to scroll, by keys as well.
    const scrolling = (name: string, kind: string, ...parts: Child[]): HTMLElement =>
      h("section", { class: `card ${kind}`, "aria-label": name, tabindex: 0 }, parts);
    return [
      messages.element,
      connection.panel,
      this.file.panel,
      this.imports.panel,
      h(
        "div",
        { class: "desk" },
        section("Text", "text", this.#editor.element),
        h(
          "div",
          { class: "controls" },
          section("Form", "", drawing, sliders.element),
          section("Tables", "", h("h2", {}, "All settings"), tables.element),
          places.plots,
          places.sky,
        ),
        h(
          "div",
          { class: "results" },
          scrolling("Picture", "picture-card", this.runs.picture.element, this.runs.table),
          scrolling("Runs", "", h("h2", {}, "Runs"), this.runs.list.element),
        ),
      ),
    ];
  }

  /** Whether the text has changes that are not saved. */
  get isChanged(): boolean {
    return this.file.isChanged;
  }

  /** The place of the text as it stands. */
  get place(): Place {
    return { file: this.file.name, text: this.#editor.text };
  }

  /** Loads what there is, and opens the scenario of a place or the first one. */
  async start(place: Place): Promise<void> {
    await this.guard(async () => {
      const [{ directory, scenarios, titles }, profiles, schema, names] = await Promise.all([
        this.#api.list(),
        this.#api.profiles(),
        this.#api.schema(),
        this.#api.names?.(),
      ]);
      this.#forms.sliders.profiles = profiles;
      const known = new ScenarioSchema(schema);
      this.#editor.schema = known;
      this.#forms.tables.schema = known;
      if (names) this.#forms.tables.names = names;
      replace(
        this.bar.files,
        scenarios.map((name, i) => {
          const title = titles[i];
          return h("option", { value: name }, title ? `${name}: ${title}` : name);
        }),
      );
      this.file.drafts.directory = directory;
      const usual = scenarios.find((name) => name === FIRST) ?? scenarios[0];
      const first = scenarios.includes(place.file) ? place.file : usual;
      if (first && (place.text === null || first === place.file)) await this.open(first);
      else {
        this.file.unnamed();
        await this.runs.open(this.file.name);
        if (place.text === null) {
          this.notify(`no scenarios in ${directory}; New makes one`);
          this.askNew();
        }
      }
      if (place.text !== null) {
        this.#editor.exchange(place.text);
        this.notify("the text of the link; it is not saved");
      }
    });
  }

  /** Asks for a template and a name, and opens a new scenario. */
  askNew(): void {
    if (this.#mayDiscard()) this.file.askNew();
  }

  /** Whether a text that is not saved may be lost. */
  #mayDiscard(): boolean {
    return !this.isChanged || confirm("The text has changes that are not saved. Discard them?");
  }

  /** Shows that the text is in a file, which may be new. */
  async #kept(name: string, words: string): Promise<void> {
    const { files } = this.bar;
    if (![...files.options].some(({ value }) => value === name)) {
      files.append(h("option", { value: name }, name));
      files.value = name;
      this.#page.opened?.(name);
      await this.runs.open(name);
    }
    this.#mark();
    this.notify(words);
  }

  /** Says what happened. */
  notify(text: string, bad = false): void {
    this.#says.messages.notify(text, bad);
  }

  #mark(): void {
    this.bar.save.disabled = !this.isChanged && !this.#page.savesCopies;
  }

  /** Opens a scenario. */
  async open(name: string): Promise<void> {
    if (!this.#mayDiscard()) {
      this.bar.files.value = this.file.name;
      return;
    }
    await this.guard(() => this.#open(name));
  }

  /** Opens a scenario that the list does not have yet. */
  async #openNew(name: string): Promise<void> {
    this.bar.files.append(h("option", { value: name }, name));
    await this.#open(name);
  }

  async #open(name: string): Promise<void> {
    if (!(await this.file.open(name))) return;
    this.imports.close();
    this.bar.files.value = name;
    this.#page.opened?.(name);
    this.#mark();
    await this.runs.open(name);
    await this.#check.now();
  }

  /** Saves the text. */
  async save(): Promise<void> {
    await this.guard(() => this.file.save());
  }

  /** Takes back the last change of the text, or makes it again. */
  undo(again: boolean): void {
    if (again) this.#editor.redo();
    else this.#editor.undo();
  }

  /** Shows what is known of a text. */
  #show(answer: Checked): void {
    const { sliders, tables } = this.#forms;
    this.#editor.fault(answer.error);
    sliders.show(answer);
    tables.show(answer);
    this.control.isValid = answer.plan !== null;
    this.control.expected = null;
    this.#says.messages.say(answer);
    const { plan } = answer;
    if (!plan) return;
    const drawn = JSON.stringify([plan.path, plan.sweep]);
    if (drawn === this.#path.drawn) return;
    this.#path.drawn = drawn;
    const swept = plan.sweep.map(([key]) => key);
    replace(this.#path.drawing, plan.path && pathView(plan.path, swept));
  }

  /** Shows how long the runs of a valid text take, and its path over time. */
  async #look(outlook: Outlook | null): Promise<void> {
    if (outlook) {
      this.#says.messages.sayTime(outlook);
      this.control.expected = outlook.to_run > 0 ? outlook.seconds : null;
      this.#forms.sliders.allow(outlook.possible);
    }
    const paths = outlook?.paths ?? null;
    await this.#page.showPaths(this.#path.places, paths === null ? null : shownIn(paths));
  }

  /** A control has changed the text. */
  async #changedByControl(): Promise<void> {
    await this.#check.now();
    const runs = this.#check.latest?.plan?.runs ?? Number.POSITIVE_INFINITY;
    if (this.bar.live.checked && runs <= QUICK_RUNS) await this.#run(true);
  }

  /** Offers to run one point of a sweep that is too large for a page, once. */
  #offerOnePoint(): void {
    const { sweep = [], runs = 1 } = this.#check.latest?.plan ?? {};
    if (runs === 1) return;
    this.#says.messages.offer("Run one point, once", async () => {
      for (const [key, values] of sweep)
        await this.#edits.change(`sweep.${JSON.stringify(key)}`, `[${tomlOf(values[0] ?? "")}]`);
      await this.#edits.change("repeat", "1");
      await this.#run(false);
    });
  }

  async #run(replacing: boolean): Promise<void> {
    const { text } = this.#editor;
    await this.guard(() => this.runs.run(text, replacing, () => this.#edits.count));
  }
}

/** A swept value, as results name it, as TOML. */
const tomlOf = (value: string): string =>
  /^([[{]|[\d.+-][\d._e+-]*$|true$|false$)/.test(value) ? value : JSON.stringify(value);
