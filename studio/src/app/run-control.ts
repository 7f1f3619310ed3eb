/** The button that runs a text, or cancels what runs, and how far that is. */
import { count, plural } from "../format/numbers.ts";
import { button, h, replace } from "../page/dom.ts";
import { isActive, type RunState } from "./api.ts";
import { duration } from "./estimate.ts";

/** Time after which a run is long enough to be cancelled: a second click must not do that. */
const LONG_MS = 350;
/** Time between two looks at the clock while a run gives no news. */
const TICK_MS = 500;

/** What the button does. */
export interface RunControlEvents {
  run(): void;
  cancel(id: number): void;
}

/** Words for how far a run is: `elapsed` and `expected` in seconds, the latter null if unknown. */
export function progressWords(run: RunState, elapsed: number, expected: number | null): string {
  const fresh = run.done - run.reused;
  const left = run.planned - run.done;
  const rest =
    fresh > 0
      ? (elapsed / fresh) * left
      : expected !== null && expected > elapsed
        ? expected - elapsed
        : null;
  const words = [`${count(run.done)} of ${plural(run.planned, "run")}`];
  if (elapsed >= 1) words.push(`${Math.round(elapsed)} s`);
  if (rest !== null && rest >= 1) words.push(`${duration(rest)} left`);
  return words.join(" · ");
}

/** Most that a run counts as before it is done, however long it takes. */
const NEARLY = 0.95;

/**
 * How many runs are done, with the part of the next ones that their expected time tells: a single
 * run of minutes moves too.
 */
export function progressValue(run: RunState, elapsed: number, expected: number | null): number {
  const guess = expected ? Math.min(NEARLY, elapsed / expected) : 0;
  return Math.max(run.done, run.reused + guess * (run.planned - run.reused));
}

/** The button with its progress. */
export class RunControl {
  readonly button: HTMLButtonElement;
  readonly progress: HTMLElement;
  readonly #events: RunControlEvents;
  readonly #bar = h("progress", { "aria-label": "Runs done" });
  readonly #words = h("small", {});
  #run: RunState | null = null;
  #since = 0;
  #timer = 0;
  /** Estimated time of the runs of the text, in seconds; null if it is unknown. */
  expected: number | null = null;
  /** Whether the text can be run. */
  #isValid = false;

  constructor(events: RunControlEvents) {
    this.#events = events;
    this.button = button("Run", () => this.#press(), {
      class: "main run",
      title: "Ctrl-Enter in the text",
    });
    this.progress = h("span", { class: "progress", hidden: true }, this.#bar, this.#words);
  }

  set isValid(valid: boolean) {
    this.#isValid = valid;
    this.#draw();
  }

  /** Shows the state of the run that was started last; null if there is none. */
  show(run: RunState | null): void {
    const active = run && isActive(run) ? run : null;
    if (active?.id !== this.#run?.id) this.#since = performance.now();
    this.#run = active;
    clearInterval(this.#timer);
    if (active) this.#timer = setInterval(() => this.#draw(), TICK_MS);
    this.#draw();
  }

  get #isLong(): boolean {
    return this.#run !== null && performance.now() - this.#since >= LONG_MS;
  }

  #press(): void {
    if (this.#isLong) this.#events.cancel(this.#run!.id);
    else this.#events.run();
  }

  #draw(): void {
    const long = this.#isLong;
    const words = long ? "Cancel" : "Run";
    if (this.button.textContent !== words) this.button.textContent = words;
    this.button.classList.toggle("cancel", long);
    this.button.disabled = !long && !this.#isValid;
    this.progress.hidden = !long;
    if (!long || !this.#run) return;
    const elapsed = (performance.now() - this.#since) / 1000;
    this.#bar.max = this.#run.planned;
    this.#bar.value = progressValue(this.#run, elapsed, this.expected);
    const waits = this.#run.phase === "waiting";
    replace(this.#words, waits ? "waits" : progressWords(this.#run, elapsed, this.expected));
  }
}
