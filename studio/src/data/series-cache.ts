import { inflateBase64, seriesAt } from "./blob.ts";
import { type Pyramid, pyramid } from "./pyramid.ts";
import type { SeriesRef } from "./report.types.ts";

/** Decodes series on demand and keeps their pyramids. */
export class SeriesCache {
  readonly #made = new Map<string, Pyramid>();
  /** Series that could not be read, in words. */
  readonly problems: string[] = [];

  constructor(readonly blob: ArrayBuffer) {}

  /** The series that `ref` points to; null if it is empty or unreadable. */
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

/** The packed series of a report, unpacked on first use. */
export class SeriesSource {
  #cache: Promise<SeriesCache> | null = null;

  /** `data` is base64 of a zlib stream. */
  constructor(readonly data: string) {}

  /** The series. Calls `unpacking` first if that takes a moment. */
  async get(unpacking?: () => void): Promise<SeriesCache> {
    this.#cache ??= this.#unpack(unpacking);
    return this.#cache;
  }

  async #unpack(unpacking?: () => void): Promise<SeriesCache> {
    unpacking?.();
    // Let the browser show the words first.
    await new Promise((done) => setTimeout(done, 20));
    const start = performance.now();
    const blob = await inflateBase64(this.data);
    performance.measure("bentpipe-unpack", { start, end: performance.now() });
    return new SeriesCache(blob);
  }
}
