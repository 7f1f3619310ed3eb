import type { Layer } from "./chart.ts";
import { seriesAt } from "./decode.ts";
import { pyramid, type Pyramid } from "./pyramid.ts";
import type { SeriesRef } from "./types.ts";

/** Decodes series on demand and keeps their pyramids. */
export class SeriesCache {
  readonly #made = new Map<string, Pyramid>();
  /** Series that could not be read, in words. */
  readonly problems: string[] = [];

  constructor(readonly blob: ArrayBuffer) {}

  /** The series that `ref` points to; null where it is empty or not readable. */
  get(ref: SeriesRef | undefined): Pyramid | null {
    if (!ref || ref.n === 0) return null;
    const key = `${ref.offset}:${ref.n}`;
    const known = this.#made.get(key);
    if (known) return known;
    try {
      const made = pyramid(seriesAt(this.blob, ref));
      this.#made.set(key, made);
      return made;
    } catch (error) {
      this.problems.push(error instanceof Error ? error.message : String(error));
      return null;
    }
  }
}

/** First and last instant of some layers, in the run's time; null where there is none. */
export function extentOf(list: Layer[]): [number, number] | null {
  let lo = Infinity;
  let hi = -Infinity;
  for (const { data } of list) {
    if (data.n === 0) continue;
    lo = Math.min(lo, data.t[0]!);
    hi = Math.max(hi, data.t[data.n - 1]!);
  }
  return hi >= lo ? [lo, hi] : null;
}
