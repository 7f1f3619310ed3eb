/** What a page asks to check, change and run scenarios: the command's server, or its own engine. */
import type { PathSummary, Summary } from "../data/report.types.ts";
import type { ShownData } from "../page/editable.ts";

/** What a valid scenario plans. */
export interface PlanFacts {
  name: string;
  title: string;
  runs: number;
  in_store: number;
  variants: string[];
  sweep: [string, string[]][];
  path: PathSummary | null;
}

/** What is wrong with a scenario; `from` and `to` count UTF-16 units. */
export interface Fault {
  message: string;
  help: string | null;
  from: number;
  to: number;
  line: number;
}

/** Answer to a check: a plan or an error, and the values of the form's keys. */
export interface Checked {
  plan: PlanFacts | null;
  error: Fault | null;
  form: Record<string, string>;
  /** All settings of the text in their order. */
  settings: Setting[];
}

/** A key of a text with its value: a string without quotes, anything else as TOML. */
export interface Setting {
  key: string;
  value: string;
}

/** What a setting was and is; null: it had or has no value. */
export interface Change {
  key: string;
  from: string | null;
  to: string | null;
}

/** How long the runs of a valid scenario take, and what its path offers over time. */
export interface Outlook {
  /** Runs that the result store does not have. */
  to_run: number;
  seconds: number;
  /** Whether earlier runs tell that, or the pace of a small download. */
  from_earlier_runs: boolean;
  /** Keys of the form that the text lacks and may have. */
  possible: string[];
  /** Elements with the data of a report of paths; null if the path never changes. */
  paths: string | null;
}

/** State of a run. */
export interface RunState {
  id: number;
  file: string;
  name: string;
  phase: "waiting" | "running" | "done" | "cancelled" | "failed";
  done: number;
  reused: number;
  planned: number;
  has_report: boolean;
  error: string | null;
  /** What differs from the text of the run before. */
  changes: Change[];
}

/** State of a run and, once it has ended, its summary. */
export interface RunDetails extends RunState {
  summary: Summary[];
}

/** Whether a run has not ended. */
export const isActive = ({ phase }: RunState): boolean =>
  phase === "waiting" || phase === "running";

/** A built-in path. */
export interface ProfileName {
  name: string;
  title: string;
}

/** Names that are built in. */
export interface KnownNames {
  constellations: string[];
  cities: string[];
}

/** A text as it is kept. */
export interface SavedText {
  text: string;
  /** Names this text of the file among all that it has had. */
  tag: string;
}

/** What came of a text that was kept. */
export interface Saved {
  /** What was done. */
  words: string;
  tag: string;
}

/** A direction: to the server, or to the client. */
export type ImportWay = "up" | "down";

/** Measurements that are to become a scenario. */
export interface ImportRequest {
  /** Name of the directory to make. */
  to: string;
  /** Files, with the direction that was said of each. */
  files: { content: File; direction: ImportWay | null }[];
  /** Options of `bentpipe import`; empty ones are not given. */
  options: Record<string, string>;
}

/** What became of them. */
export interface Imported {
  /** The scenario. */
  file: string;
  /** All files in its directory. */
  files: string[];
  /** What was found: headings with lines. */
  summary: [string, string[]][];
}

/** A file has another text than the one that was to be replaced; null: it does not exist. */
export class Conflict extends Error {
  readonly theirs: string | null;

  constructor(theirs: string | null) {
    super("the file has changed");
    this.theirs = theirs;
  }
}

/** Whoever answers requests does not. */
export class NoAnswer extends Error {}

/** All requests. Each throws an error that says what was wrong. */
export interface Api {
  /** Names and titles of the scenarios, and where they are. */
  list(): Promise<{ directory: string; scenarios: string[]; titles: string[] }>;
  profiles(): Promise<ProfileName[]>;
  /** Names that a scenario may have in some places, where that is known. */
  names?(): Promise<KnownNames>;
  /** The JSON Schema of scenarios. */
  schema(): Promise<unknown>;
  /** The text of a scenario. */
  read(file: string): Promise<SavedText>;
  /**
   * Keeps a text in place of the one with the tag `replaced`; null: of none, as a new file. Throws
   * `Conflict` if the file has another text.
   */
  save(file: string, text: string, replaced: string | null): Promise<Saved>;
  /** Makes a scenario of measurements in a new directory, where that is possible. */
  import?(request: ImportRequest): Promise<Imported>;
  /** `signal` says that nobody waits for the answer any more, which then may be an error. */
  check(file: string, text: string, signal?: AbortSignal): Promise<Checked>;
  outlook(file: string, text: string, signal?: AbortSignal): Promise<Outlook>;
  /** A text with one key changed; `null` removes the key. */
  edit(text: string, key: string, value: string | null): Promise<string>;
  /** Starts a run and returns its number. `latest` cancels runs that have not ended. */
  run(file: string, text: string, latest: boolean): Promise<number>;
  /** All runs, the newest first. */
  runs(): Promise<RunState[]>;
  details(id: number): Promise<RunDetails>;
  /** The data of a run's report; null if it has none any more. */
  data(id: number): Promise<ShownData | null>;
  cancel(id: number): Promise<void>;
  /** The text that a run was started from. */
  textOf(id: number): Promise<string>;
}
