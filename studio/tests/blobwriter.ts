import type { Report, SeriesRef } from "../src/data/report.types.ts";

/** Collects series into one blob, each at a multiple of eight bytes. */
export class BlobWriter {
  readonly #parts: Uint8Array[] = [];
  #size = 0;

  /** Adds a series and returns where it lies. */
  add(s: { t: ArrayLike<number>; v: ArrayLike<number> }, unit: string): SeriesRef {
    const n = s.t.length;
    const size = Math.ceil((n * 12) / 8) * 8;
    const bytes = new Uint8Array(size);
    new Float64Array(bytes.buffer, 0, n).set(s.t);
    new Float32Array(bytes.buffer, n * 8, n).set(s.v);
    const ref = { offset: this.#size, n, unit };
    this.#parts.push(bytes);
    this.#size += size;
    return ref;
  }

  /** Adds bare values and returns their offset. */
  addFloats(values: Float32Array): number {
    const offset = this.#size;
    const bytes = new Uint8Array(Math.ceil(values.byteLength / 8) * 8);
    new Float32Array(bytes.buffer, 0, values.length).set(values);
    this.#parts.push(bytes);
    this.#size += bytes.length;
    return offset;
  }

  /** The blob. */
  bytes(): Uint8Array {
    const out = new Uint8Array(this.#size);
    let at = 0;
    for (const part of this.#parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }
}

/** A report and the blob of its traces (null: none). */
export interface Fixture {
  report: Report;
  blob: Uint8Array | null;
}
