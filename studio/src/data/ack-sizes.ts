/** Up to this many sizes have a bar each. */
const EXACT = 24;
/** From this size on, counts are by powers of two. */
const COARSE = 256;

/** A bar of a distribution: sizes from `from` to before `to`. */
export interface Bin {
  from: number;
  to: number;
}

/**
 * Bars for ACK frame sizes: one per size if there are few, else four per octave; one per octave
 * from 256 bytes on, as sizes are counted so.
 */
export function binsOf(sizes: number[]): Bin[] {
  if (sizes.length === 0) return [];
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  if (most - least < EXACT && most < COARSE)
    return Array.from({ length: most - least + 1 }, (_, i) => ({
      from: least + i,
      to: least + i + 1,
    }));
  const out: Bin[] = [];
  for (let octave = 2 ** Math.floor(Math.log2(Math.max(1, least))); octave <= most; octave *= 2) {
    const parts = octave >= COARSE ? 1 : Math.min(4, octave);
    for (let i = 0; i < parts; i++) {
      const bin = { from: octave * (1 + i / parts), to: octave * (1 + (i + 1) / parts) };
      if (bin.to > least && bin.from <= most) out.push(bin);
    }
  }
  return out;
}

/** The share of all frames in each bar. */
export function sharesIn(bins: Bin[], sizes: [bytes: number, frames: number][]): number[] {
  const all = sizes.reduce((sum, [, n]) => sum + n, 0) || 1;
  return bins.map(
    ({ from, to }) =>
      sizes.reduce((sum, [bytes, n]) => sum + (bytes >= from && bytes < to ? n : 0), 0) / all,
  );
}

/** The smallest size that a share `p` of all frames does not exceed. */
export function sizeAt(sizes: [bytes: number, frames: number][], p: number): number | null {
  const all = sizes.reduce((sum, [, n]) => sum + n, 0);
  let seen = 0;
  for (const [bytes, n] of sizes) {
    seen += n;
    if (n > 0 && seen >= p * all) return bytes;
  }
  return null;
}
