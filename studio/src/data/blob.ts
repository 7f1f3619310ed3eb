import type { SeriesRef } from "./report.types.ts";

/** One decoded series: times ascending, in seconds since the run began. */
export interface Series {
  t: Float64Array;
  v: Float32Array;
}

/** Decodes base64 text to bytes. White space is allowed. */
export function base64Bytes(text: string): Uint8Array<ArrayBuffer> {
  const clean = /\s/.test(text) ? text.replace(/\s+/g, "") : text;
  const pad = clean.endsWith("==") ? 2 : clean.endsWith("=") ? 1 : 0;
  const out = new Uint8Array(Math.floor((clean.length * 3) / 4) - pad);
  // In slices, so that no second full-length string is held.
  const slice = 1 << 20;
  let at = 0;
  for (let from = 0; from < clean.length; from += slice) {
    const part = atob(clean.slice(from, from + slice));
    for (let i = 0; i < part.length; i++) out[at++] = part.charCodeAt(i);
  }
  if (at !== out.length) throw new Error("the trace data is not valid base64");
  return out;
}

/** Unpacks base64 of a zlib stream. */
export async function inflateBase64(text: string): Promise<ArrayBuffer> {
  const bytes = base64Bytes(text);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return await new Response(stream).arrayBuffer();
}

/**
 * The series that `ref` points to, as views of the blob. Series out of order are copied and sorted.
 */
export function seriesAt(blob: ArrayBuffer, ref: SeriesRef): Series {
  const { offset, n } = ref;
  if (
    !Number.isInteger(offset) ||
    !Number.isInteger(n) ||
    offset < 0 ||
    n < 0 ||
    offset % 8 !== 0 ||
    offset + n * 12 > blob.byteLength
  ) {
    throw new RangeError(
      `a series of ${n} samples at ${offset} is not in the trace data (${blob.byteLength} bytes)`,
    );
  }
  return inOrder({
    t: new Float64Array(blob, offset, n),
    v: new Float32Array(blob, offset + n * 8, n),
  });
}

/** Returns `s` itself if its times ascend, else a sorted copy (stable). */
export function inOrder(s: Series): Series {
  const { t, v } = s;
  let sorted = true;
  for (let i = 1; i < t.length; i++) {
    if (!(t[i]! >= t[i - 1]!)) {
      sorted = false;
      break;
    }
  }
  if (sorted) return s;
  const index = Uint32Array.from({ length: t.length }, (_, i) => i).filter(
    (i) => !Number.isNaN(t[i]!),
  );
  index.sort((a, b) => t[a]! - t[b]! || a - b);
  return { t: Float64Array.from(index, (i) => t[i]!), v: Float32Array.from(index, (i) => v[i]!) };
}
