/** The runs of the open scenario: listed, pictured, and compared with pinned ones. */
import { h, replace } from "../page/dom.ts";
import { type Api, isActive, type RunState } from "./api.ts";
import { type ComparedRun, comparison } from "./comparison.ts";
import { Follower } from "./follow.ts";
import { History, phaseText } from "./history.ts";
import { RunPicture } from "./picture/picture.ts";

/** Most runs that are pinned at a time. */
const MAX_PINS = 4;

/** What the runs need of the page around them. */
export interface RunsPage {
  /** Shows the report of a run; null: none. */
  showReport(id: number | null): void;
  /** Puts the text of a run into the editor, unless another file is opened before it comes. */
  restore(text: Promise<string>): Promise<void>;
  /** The state of the run that is shown; null if there is none. */
  state(run: RunState | null): void;
  notify(text: string, bad?: boolean): void;
  /** Does something, and shows what went wrong with it. */
  guard(work: () => Promise<void>): Promise<void>;
}

/** What of the runs is shown. */
interface Shown {
  /** The scenario. */
  file: string;
  id: number | null;
  pins: number[];
  /** The run whose report is shown. */
  reported: number | null;
  announced: string;
  /** The runs that are compared. */
  compared: string;
}

/** The list of runs, and the shown and the pinned ones as a picture and as a table. */
export class Runs {
  readonly list: History;
  /** Medians of the shown and the pinned runs. */
  readonly table = h("div", { class: "scroll" });
  readonly picture: RunPicture;
  readonly #api: Api;
  readonly #page: RunsPage;
  readonly #follower: Follower;
  #runs: RunState[] = [];
  readonly #shown: Shown = {
    file: "",
    id: null,
    pins: [],
    reported: null,
    announced: "",
    compared: "",
  };
  /** Summaries of the runs that are or were compared. */
  readonly #summaries = new Map<number, ComparedRun>();

  constructor(api: Api, page: RunsPage) {
    this.#api = api;
    this.#page = page;
    this.picture = new RunPicture((id) => api.data(id));
    this.#follower = new Follower(api, {
      changed: (runs) => {
        this.#runs = runs;
        return this.#draw();
      },
      guard: (work) => page.guard(work),
    });
    const again = (): void => void page.guard(() => this.#draw());
    const shown = this.#shown;
    this.list = new History({
      show: (id) => {
        shown.id = id;
        again();
      },
      pin: (id) => {
        const others = shown.pins.filter((pin) => pin !== id);
        shown.pins = others.length < shown.pins.length ? others : [...others, id].slice(-MAX_PINS);
        again();
      },
      cancel: (id) => this.cancel(id),
      restore: (id) => void page.guard(() => page.restore(api.textOf(id))),
    });
  }

  /** Shows the runs of a scenario, the newest with a report before all. */
  async open(file: string): Promise<void> {
    this.#runs = await this.#api.runs();
    const newest = this.#runs.find((run) => run.file === file && run.has_report);
    const { reported } = this.#shown;
    const id = newest?.id ?? null;
    Object.assign(this.#shown, { file, id, announced: "", compared: "" });
    this.#page.notify("");
    if (id === null) {
      // What another scenario gave would be taken for what this one gives.
      this.picture.clear();
      replace(this.table);
      this.#shown.reported = null;
      if (reported !== null) this.#page.showReport(null);
    }
    await this.#draw();
    void this.#follower.follow();
  }

  /** Runs a text. One that replaces others is waited for, unless the slider has moved on. */
  async run(text: string, replacing: boolean, moved: () => number): Promise<void> {
    const id = await this.#api.run(this.#shown.file, text, replacing);
    this.#shown.id = id;
    void this.#follower.follow();
    if (replacing) await this.#follower.answered(id, moved);
  }

  /** Cancels a run. */
  cancel(id: number): void {
    void this.#page.guard(() => this.#api.cancel(id));
  }

  /** Shows the runs, and the shown and the pinned ones side by side. */
  async #draw(): Promise<void> {
    const { file, id, pins } = this.#shown;
    const own = this.#runs.filter((run) => run.file === file || pins.includes(run.id));
    this.list.show(own, id, pins);
    const current = this.#runs.find((run) => run.id === id) ?? null;
    const words = current && `run ${current.id}: ${phaseText(current)}`;
    if (words && words !== this.#shown.announced)
      this.#page.notify(words, current.phase === "failed");
    this.#shown.announced = words ?? "";
    this.#page.state(current);
    if (current && isActive(current)) this.picture.wait();
    if (current?.has_report && this.#shown.reported !== current.id) {
      this.#shown.reported = current.id;
      this.#page.showReport(current.id);
    }
    await this.#compare();
  }

  /** Redraws what shows and compares runs, if it is to show others. */
  async #compare(): Promise<void> {
    const { id, pins } = this.#shown;
    const columns = [...pins, ...(id !== null && !pins.includes(id) ? [id] : [])];
    const ids = columns.filter((one) => this.#runs.some((run) => run.id === one && run.has_report));
    const wanted = `${ids.join()} ${id}`;
    if (ids.length === 0 || wanted === this.#shown.compared) return;
    // A run that has no results yet leaves the picture of the one before.
    if (id !== null && !ids.includes(id)) return;
    this.#shown.compared = wanted;
    const all = await Promise.all(ids.map((one) => this.#summary(one)));
    // Other runs may have been chosen in the meantime.
    if (wanted !== this.#shown.compared) return;
    replace(this.table, comparison(all));
    const shown = all.find((run) => run.id === id);
    if (shown) await this.picture.show(shown, all.find((run) => run.id !== id) ?? null);
  }

  async #summary(id: number): Promise<ComparedRun> {
    const known = this.#summaries.get(id) ?? (await this.#api.details(id));
    this.#summaries.set(id, known);
    return known;
  }
}
