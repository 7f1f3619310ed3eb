/** The answers of the command's server, from an engine in the page. */
import type {
  Api,
  Checked,
  Outlook,
  ProfileName,
  RunDetails,
  RunState,
  Saved,
  SavedText,
  Setting,
} from "../app/api.ts";
import { changesBetween } from "../app/changes.ts";
import type { Summary } from "../data/report.types.ts";
import { type ShownData, shownIn } from "../page/editable.ts";
import { saveBlob } from "../page/files.ts";
import type { Completed } from "./engine.ts";
import { Engine, type EngineCode } from "./engine.ts";

/** A scenario that travels in a page. */
export interface Scenario {
  /** Name of its file. */
  name: string;
  text: string;
  /** Texts of the files that it names. */
  files: Record<string, string>;
}

/** Largest number of runs that wait. */
const MAX_WAITING = 16;
/** Largest number of runs whose reports are kept. */
const MAX_KEPT = 12;
/** Largest text, in UTF-16 units. */
const MAX_TEXT = 1 << 20;
/** Time for a check, in which a person would have lost patience. */
const CHECK_MS = 20_000;

interface Entry {
  state: RunState;
  text: string;
  settings: Setting[];
  summary: Summary[];
  data: ShownData | null;
  /** True if it was for one position of a moving slider: of no interest once it is cancelled. */
  isPassing: boolean;
}

/** Runs and checks one scenario. */
export class LocalApi implements Api {
  readonly #scenario: Scenario;
  readonly #schema: string;
  /** Checks go on while a scenario runs. */
  readonly #checker: Engine;
  readonly #runner: Engine;
  readonly #entries: Entry[] = [];
  #last = 0;

  constructor(code: EngineCode, scenario: Scenario) {
    this.#scenario = scenario;
    this.#schema = code.schema;
    this.#checker = new Engine(code);
    this.#runner = new Engine(code);
    this.#checker.start();
    this.#runner.start();
  }

  /** Adds a run that has ended, such as that of the page's own report. */
  add(name: string, summary: Summary[], data: ShownData, runs: number): number {
    const entry = this.#enter(name, this.#scenario.text, runs, []);
    Object.assign(entry.state, { phase: "done", done: runs, has_report: true });
    Object.assign(entry, { summary, data });
    return entry.state.id;
  }

  list = async () => ({ directory: "", scenarios: [this.#scenario.name], titles: [""] });
  data = async (id: number) => this.#entry(id).data;
  schema = async () => JSON.parse(this.#schema) as unknown;
  read = async (): Promise<SavedText> => ({ text: this.#scenario.text, tag: "" });
  runs = async () => {
    const kept = this.#entries.filter(
      ({ state, isPassing }) => !isPassing || state.phase !== "cancelled",
    );
    return kept.map(({ state, settings }, at) => {
      const before = kept[at + 1]?.settings;
      return { ...state, changes: before ? changesBetween(before, settings) : [] };
    });
  };
  profiles = async () => JSON.parse(await this.#checker.ask("profiles", [])) as ProfileName[];
  textOf = async (id: number) => this.#entry(id).text;

  save = async (file: string, text: string): Promise<Saved> => {
    saveBlob(file, new Blob([text], { type: "application/toml" }));
    return { words: `saved ${file}, with your downloads`, tag: "" };
  };

  check = async (file: string, text: string): Promise<Checked> => {
    const checked = (await this.#about("check", file, text)) as Checked;
    // The page's own run was added before anything was known of its text.
    const added = this.#entries.find((one) => one.state.id === 1 && one.settings.length === 0);
    if (added?.text === text) added.settings = checked.settings;
    return checked;
  };

  outlook = async (file: string, text: string): Promise<Outlook> =>
    (await this.#about("outlook", file, text)) as Outlook;

  edit = async (text: string, key: string, value: string | null): Promise<string> => {
    const change = JSON.stringify({ text, key, value });
    const answer = await this.#checker.ask("edit", [change], CHECK_MS);
    return (JSON.parse(answer) as { text: string }).text;
  };

  run = async (file: string, text: string, latest: boolean): Promise<number> => {
    const { plan, error, settings } = await this.check(file, text);
    if (!plan) throw new Error(error?.message ?? "the scenario is invalid");
    if (latest) for (const { state } of this.#entries) void this.cancel(state.id);
    const waiting = this.#entries.filter(({ state }) => state.phase === "waiting").length;
    if (waiting >= MAX_WAITING)
      throw new Error(`${waiting} runs wait already; allowed: ${MAX_WAITING}`);
    const entry = this.#enter(plan.name, text, plan.runs, settings);
    entry.isPassing = latest;
    this.#next();
    return entry.state.id;
  };

  details = async (id: number): Promise<RunDetails> => {
    const { state, summary } = this.#entry(id);
    return { ...state, summary };
  };

  cancel = async (id: number): Promise<void> => {
    const { state } = this.#entry(id);
    if (state.phase === "running") this.#runner.stop("cancelled");
    else if (state.phase !== "waiting") return;
    state.phase = "cancelled";
    this.#next();
  };

  /** Asks something about a text. */
  async #about(call: "check" | "outlook", file: string, text: string): Promise<unknown> {
    if (text.length > MAX_TEXT) throw new Error("the text is larger than 1 MB, the most allowed");
    const args = [file, text, JSON.stringify(this.#scenario.files)];
    return JSON.parse(await this.#checker.ask(call, args, CHECK_MS));
  }

  #entry(id: number): Entry {
    const entry = this.#entries.find(({ state }) => state.id === id);
    if (!entry) throw new Error(`there is no run ${id}`);
    return entry;
  }

  #enter(name: string, text: string, planned: number, settings: Setting[]): Entry {
    this.#last += 1;
    const state: RunState = {
      id: this.#last,
      file: this.#scenario.name,
      name,
      phase: "waiting",
      done: 0,
      reused: 0,
      planned,
      has_report: false,
      error: null,
      changes: [],
    };
    const entry: Entry = { state, text, settings, summary: [], data: null, isPassing: false };
    this.#entries.unshift(entry);
    this.#forget();
    return entry;
  }

  /** Forgets the oldest runs that have ended; the page's own stays. */
  #forget(): void {
    while (this.#entries.length > MAX_KEPT) {
      const at = this.#entries.findLastIndex(
        ({ state }) => state.id > 1 && state.phase !== "waiting" && state.phase !== "running",
      );
      if (at < 0) return;
      this.#entries.splice(at, 1);
    }
  }

  /** Starts the oldest run that waits, unless one runs. */
  #next(): void {
    if (this.#entries.some(({ state }) => state.phase === "running")) return;
    const next = this.#entries.findLast(({ state }) => state.phase === "waiting");
    if (!next) return;
    next.state.phase = "running";
    void this.#execute(next);
  }

  async #execute(entry: Entry): Promise<void> {
    const { state } = entry;
    const { name, files } = this.#scenario;
    try {
      const progress = (done: number, planned: number): void =>
        void Object.assign(state, { done, planned });
      const completed: Completed = await this.#runner.run(
        [name, entry.text, JSON.stringify(files)],
        progress,
      );
      entry.summary = JSON.parse(completed.summary) as Summary[];
      entry.data = shownIn(completed.data);
      Object.assign(state, { phase: "done", has_report: true });
    } catch (error) {
      if (state.phase === "running")
        Object.assign(state, {
          phase: "failed",
          error: error instanceof Error ? error.message : String(error),
        });
    }
    this.#next();
  }
}
