/** What the time axis needs of a plot on it. */
export interface Plot {
  readonly spec: { id: string };
  readonly inSight: boolean;
  stale: boolean;
  extent(view: [number, number]): [number, number];
  draw(y: [number, number]): void;
  resize(width: number): void;
  point(time: number | null): void;
  mark(name: string | null): void;
  destroy(): void;
}

/** Shortest window that can be zoomed to, in seconds. */
const SHORTEST = 2e-5;

/** The time axis that all plots of a run (or of two) share: window, cursor, plots. */
export class Timeline {
  /** All of the time. */
  full: [number, number] = [0, 1];
  /** What is shown after a reset. */
  home: [number, number] = [0, 1];
  view: [number, number] = [0, 1];
  cursor: number | null = null;
  charts: Plot[] = [];
  /** True if the cursor stays when the pointer leaves the plots. */
  stays = false;
  #frame = 0;
  readonly #changed: () => void;

  /** `changed` is called after each redraw and each move of the cursor. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Takes new ranges and shows `view`, or the home range. */
  reset(full: [number, number], home: [number, number], view: [number, number] | null): void {
    this.full = full;
    this.home = home;
    this.view = this.#clamp(view ?? home);
  }

  #clamp([a, b]: [number, number]): [number, number] {
    const [lo, hi] = this.full;
    const span = Math.min(Math.max(b - a, SHORTEST), hi - lo);
    const from = Math.min(Math.max(a, lo), hi - span);
    return [from, from + span];
  }

  /** True while the home range is shown. */
  get atHome(): boolean {
    return this.view[0] === this.home[0] && this.view[1] === this.home[1];
  }

  /** Shows another window, on the next frame. */
  show(view: [number, number]): void {
    this.view = this.#clamp(view);
    this.schedule();
  }

  /** Zooms by a factor (below one: closer) around a time. */
  zoom(factor: number, around: number): void {
    const [a, b] = this.view;
    this.show([around - (around - a) * factor, around + (b - around) * factor]);
  }

  /** Moves the window by a fraction of its width. */
  pan(share: number): void {
    const [a, b] = this.view;
    this.show([a + (b - a) * share, b + (b - a) * share]);
  }

  /** Redraws on the next frame, once however often it is called. */
  schedule(): void {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.redraw();
    });
  }

  /**
   * Redraws the plots in sight now (or all of them); the others follow when they come into sight.
   * The browser's performance timeline has the time it takes.
   */
  redraw(everything = false): void {
    const start = performance.now();
    const ranges = new Map<string, [number, number]>();
    const shown = this.charts.filter((c) => everything || c.inSight);
    for (const chart of this.charts) chart.stale = true;
    for (const chart of shown) {
      const [lo, hi] = chart.extent(this.view);
      const r = ranges.get(chart.spec.id);
      ranges.set(chart.spec.id, r ? [Math.min(r[0], lo), Math.max(r[1], hi)] : [lo, hi]);
    }
    for (const chart of shown) chart.draw(ranges.get(chart.spec.id)!);
    this.#point();
    performance.measure("bentpipe-redraw", { start, end: performance.now() });
    if (performance.getEntriesByName("bentpipe-redraw").length > 2000)
      performance.clearMeasures("bentpipe-redraw");
  }

  /** Moves the cursor of all plots. */
  point(time: number | null): void {
    if (time === null && this.stays) return;
    this.cursor = time;
    this.#point();
  }

  #point(): void {
    for (const chart of this.charts) chart.point(this.cursor);
    this.#changed();
  }
}
