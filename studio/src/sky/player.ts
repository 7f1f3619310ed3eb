import { button, h, select } from "../page/dom.ts";

/** Seconds of the run in a second of the clock. */
const SPEEDS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800];
/** Duration of playing a whole run, in seconds; our choice. */
const USUAL_S = 25;

/** The speed at which a length of time plays in about that duration. */
export function usualSpeed(length: number): number {
  return SPEEDS.find((s) => length / s <= USUAL_S) ?? SPEEDS.at(-1)!;
}

/** A button, a slider and a speed that move a time. */
export class Player {
  readonly el: HTMLElement;
  readonly #play: HTMLButtonElement;
  readonly #slider: HTMLInputElement;
  #speed: number;
  #time: number;
  #frame = 0;

  /** `from` and `to` are the ends of the slider; `moved` is called with each new time. */
  constructor(
    readonly from: number,
    readonly to: number,
    readonly moved: (time: number) => void,
  ) {
    this.#time = from;
    this.#speed = usualSpeed(to - from);
    this.#play = button("", () => (this.playing ? this.pause() : this.#start()), { class: "play" });
    this.#slider = h("input", {
      type: "range",
      min: from,
      max: to,
      step: (to - from) / 5000 || 1,
      value: from,
      "aria-label": "Time",
      input: () => this.#seek(),
    });
    const fits = SPEEDS.filter((s) => (to - from) / s >= 2 && (to - from) / s <= 7200);
    const speeds = [...new Set([...fits, this.#speed])].sort((a, b) => a - b);
    this.el = h(
      "div",
      { class: "player" },
      this.#play,
      this.#slider,
      select(
        "Speed",
        speeds.map((s) => ({ value: String(s), text: `${s}×` })),
        String(this.#speed),
        (v) => (this.#speed = Number(v)),
      ),
    );
    this.#label();
  }

  get playing(): boolean {
    return this.#frame !== 0;
  }

  /** Shows a time set elsewhere. */
  show(time: number): void {
    this.#time = Math.min(Math.max(time, this.from), this.to);
    this.#slider.value = String(this.#time);
  }

  pause(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#label();
  }

  #label(): void {
    this.#play.textContent = this.playing ? "❚❚" : "▶";
    this.#play.setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  #seek(): void {
    this.#time = Number(this.#slider.value);
    this.moved(this.#time);
  }

  #start(): void {
    if (this.#time >= this.to) this.#time = this.from;
    let before: number | null = null;
    const step = (now: number): void => {
      if (!this.el.isConnected) {
        this.pause();
        return;
      }
      // After a pause of the page itself, playing resumes at the same time.
      const passed = before === null ? 0 : Math.min(0.25, (now - before) / 1000);
      before = now;
      const time = Math.min(this.to, this.#time + passed * this.#speed);
      this.show(time);
      this.moved(time);
      if (time >= this.to) this.pause();
      else this.#frame = requestAnimationFrame(step);
    };
    this.#frame = requestAnimationFrame(step);
    this.#label();
  }
}
