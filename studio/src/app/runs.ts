/** The runs of a studio: followed until they have ended, listed, and compared with pinned ones. */
import { h, replace } from "../page/dom.ts";
import { type Api, isActive, type RunState } from "./api.ts";
import { type ComparedRun, comparison } from "./comparison.ts";
import { History, phaseText } from "./history.ts";

/** Time between two requests for the states of runs that have not ended. */
const FOLLOW_MS = 40;
/** Time that a run may take while the slider that began it has moved on. */
const PATIENCE_MS = 300;

/** What the runs need of the page around them. */
export interface RunsPage {
  /** Shows the report of a run. */
  showReport(id: number): void;
  /** Puts the text of a run into the editor. */
  restore(text: string): void;
  notify(text: string, bad?: boolean): void;
  /** Does something, and shows what went wrong with it. */
  guard(work: () => Promise<void>): Promise<void>;
}

/** The list of runs, and the shown and the pinned ones side by side. */
export class Runs {
  /** The comparison. */
  readonly table = h("div", { class: "scroll" });
  readonly #api: Api;
  readonly #page: RunsPage;
  readonly #history: History;
  #runs: RunState[] = [];
  #shown: number | null = null;
  #reported: number | null = null;
  #pins: number[] = [];
  #following = false;
  #announced = "";
  /** Summaries of the runs that are or were compared. */
  readonly #summaries = new Map<number, ComparedRun>();
  #compared = "";

  constructor(api: Api, page: RunsPage) {
    this.#api = api;
    this.#page = page;
    this.#history = new History({
      show: (id) => {
        this.#shown = id;
        void page.guard(() => this.draw());
      },
      pin: (id) => {
        const pins = this.#pins;
        this.#pins = pins.includes(id) ? pins.filter((pin) => pin !== id) : [...pins, id].slice(-4);
        void page.guard(() => this.draw());
      },
      cancel: (id) => void page.guard(() => api.cancel(id)),
      restore: (id) => void page.guard(async () => page.restore(await api.textOf(id))),
    });
  }

  /** The list. */
  get element(): HTMLElement {
    return this.#history.element;
  }

  /** Shows the runs that there are, the first with a report before all. */
  async load(): Promise<void> {
    this.#runs = await this.#api.runs();
    this.#shown = this.#runs.find(({ has_report }) => has_report)?.id ?? null;
    await this.draw();
  }

  /**
   * Runs a text. A run that replaces others is waited for, so that a moving slider shows answers on
   * its way; but not for long if the slider has moved on.
   */
  async run(file: string, text: string, replacing: boolean, moved: () => number): Promise<void> {
    const id = await this.#api.run(file, text, replacing);
    this.#shown = id;
    void this.#follow();
    if (!replacing) return;
    const [begun, moves] = [performance.now(), moved()];
    do await pause(FOLLOW_MS / 2);
    while (
      (moves === moved() || performance.now() < begun + PATIENCE_MS) &&
      this.#following &&
      this.#runs.some((one) => one.id === id && isActive(one))
    );
  }

  /** Follows runs until all have ended. */
  async #follow(): Promise<void> {
    if (this.#following) return;
    this.#following = true;
    await this.#page.guard(async () => {
      for (;;) {
        this.#runs = await this.#api.runs();
        await this.draw();
        if (!this.#runs.some(isActive)) return;
        await pause(FOLLOW_MS);
      }
    });
    this.#following = false;
  }

  /** Shows the runs, and the shown and the pinned ones side by side. */
  async draw(): Promise<void> {
    this.#history.show(this.#runs, this.#shown, this.#pins);
    const current = this.#runs.find(({ id }) => id === this.#shown);
    const words = current && `run ${current.id}: ${phaseText(current)}`;
    if (words && words !== this.#announced) this.#page.notify(words, current.phase === "failed");
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
    if (wanted === this.#compared) replace(this.table, comparison(all));
  }
}

const pause = (time: number): Promise<void> => new Promise((done) => setTimeout(done, time));
