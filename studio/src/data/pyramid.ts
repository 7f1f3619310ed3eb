import type { Series } from "./blob.ts";

/** Samples (or blocks) that one block of the next level covers. */
const FAN = 8;

/** Minimum and maximum of consecutive blocks of one level. */
interface Level {
  min: Float32Array;
  max: Float32Array;
}

/**
 * A series with minimum and maximum of blocks of 8, 64, 512, … samples, so that the extremes of any
 * window cost a logarithm instead of a scan. NaN values are gaps.
 */
export interface Pyramid extends Series {
  n: number;
  levels: Level[];
}

/** Builds the pyramid of a series in one pass over its values. */
export function pyramid(s: Series): Pyramid {
  const levels: Level[] = [];
  let lo: Float32Array = s.v;
  let hi: Float32Array = s.v;
  while (lo.length > FAN) {
    const m = Math.ceil(lo.length / FAN);
    const level: Level = { min: new Float32Array(m), max: new Float32Array(m) };
    for (let b = 0; b < m; b++) {
      let a = Infinity;
      let z = -Infinity;
      const end = Math.min((b + 1) * FAN, lo.length);
      for (let i = b * FAN; i < end; i++) {
        if (lo[i]! < a) a = lo[i]!;
        if (hi[i]! > z) z = hi[i]!;
      }
      level.min[b] = a;
      level.max[b] = z;
    }
    levels.push(level);
    lo = level.min;
    hi = level.max;
  }
  return { t: s.t, v: s.v, n: s.t.length, levels };
}

/** First index of the ascending values `t` with at least `x`, searched in [from, t.length). */
export function lowerBound(t: Float64Array | Float32Array, x: number, from = 0): number {
  let a = from;
  let b = t.length;
  while (a < b) {
    const m = (a + b) >>> 1;
    if (t[m]! < x) a = m + 1;
    else b = m;
  }
  return a;
}

/** As `lowerBound`, for ascending queries: doubles its stride, so that near answers are quick. */
export function gallop(t: Float64Array, x: number, from: number): number {
  let step = 1;
  let a = from;
  while (a + step < t.length && t[a + step]! < x) {
    a += step;
    step *= 2;
  }
  let b = Math.min(a + step, t.length);
  while (a < b) {
    const m = (a + b) >>> 1;
    if (t[m]! < x) a = m + 1;
    else b = m;
  }
  return a;
}

/** The result of `extremes`: one shared object, so that drawing allocates nothing. */
export const found = { min: Infinity, max: -Infinity };

/** Puts minimum and maximum of samples [i0, i1) into `found`; (Infinity, -Infinity) if none. */
export function extremes(p: Pyramid, i0: number, i1: number): typeof found {
  let lo = Infinity;
  let hi = -Infinity;
  let a = i0;
  let b = i1;
  let min: Float32Array = p.v;
  let max: Float32Array = p.v;
  for (let k = 0; a < b; k++) {
    const up = p.levels[k];
    // Single entries up to the next block, or all of the rest on the top level.
    const aEnd = up ? Math.min(b, Math.ceil(a / FAN) * FAN) : b;
    for (; a < aEnd; a++) {
      if (min[a]! < lo) lo = min[a]!;
      if (max[a]! > hi) hi = max[a]!;
    }
    if (!up) break;
    const bEnd = Math.max(a, Math.floor(b / FAN) * FAN);
    for (let i = bEnd; i < b; i++) {
      if (min[i]! < lo) lo = min[i]!;
      if (max[i]! > hi) hi = max[i]!;
    }
    a /= FAN;
    b = bEnd / FAN;
    min = up.min;
    max = up.max;
  }
  found.min = lo;
  found.max = hi;
  return found;
}

/** Receives points in order of time. */
export type Emit = (t: number, v: number) => void;

/**
 * The samples [i0, i1) of a window, with a neighbour at each side, so that lines cross its edges.
 */
export function windowOf(p: Series, x0: number, x1: number): [i0: number, i1: number] {
  const { t } = p;
  const inside = lowerBound(t, x0);
  let i1 = lowerBound(t, x1, inside);
  while (i1 < t.length && t[i1]! <= x1) i1++;
  return [Math.max(0, inside - 1), Math.min(t.length, i1 + 1)];
}

/** What falls into one pixel column: its first and last value and the extremes. */
export interface Column {
  first: number;
  min: number;
  max: number;
  last: number;
}

/**
 * The samples of [x0, x1] by pixel columns: first, minimum, maximum and last of each of `width`
 * columns that has samples, which is all that a line could show there. Column -1 is the sample
 * before the window, column `width` the one after. The object passed on is reused.
 */
export function eachColumn(
  p: Pyramid,
  x0: number,
  x1: number,
  width: number,
  emit: (column: number, c: Column) => void,
): void {
  if (p.n === 0 || !(x1 > x0)) return;
  const { t, v } = p;
  const [i0, i1] = windowOf(p, x0, x1);
  const out: Column = { first: 0, min: 0, max: 0, last: 0 };
  const hand = (column: number, from: number, to: number): void => {
    const { min, max } = extremes(p, from, to);
    if (!(max >= min)) return;
    const first = v[from]!;
    const last = v[to - 1]!;
    out.first = Number.isNaN(first) ? min : first;
    out.min = min;
    out.max = max;
    out.last = Number.isNaN(last) ? min : last;
    emit(column, out);
  };
  let i = i0;
  if (i < i1 && t[i]! < x0) hand(-1, i, ++i);
  const perColumn = (x1 - x0) / width;
  for (let c = 0; c < width && i < i1; c++) {
    const right = c === width - 1 ? x1 : x0 + (c + 1) * perColumn;
    if (t[i]! >= right && c < width - 1) {
      // Straight to the next column that holds something.
      c = Math.max(c, Math.min(width - 1, Math.floor((t[i]! - x0) / perColumn)) - 1);
      continue;
    }
    let end = Math.min(i1, gallop(t, right, i));
    if (c === width - 1) while (end < i1 && t[end]! <= x1) end++;
    if (end <= i) continue;
    hand(c, i, end);
    i = end;
  }
  if (i < i1) hand(width, i, i + 1);
}

/** The window that dots are drawn in: data ranges, and how many pixels they span. */
export interface DotWindow {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  width: number;
  height: number;
}

/**
 * The samples of a window as dots. Blocks that fall into one cell of `cell` pixels are one dot, so
 * that the work depends on pixels rather than samples. Returns false once more than `budget` dots
 * are needed, some of them emitted; the caller then tries a coarser cell.
 */
export function eachDot(
  p: Pyramid,
  w: DotWindow,
  cell: number,
  budget: number,
  emit: Emit,
): boolean {
  const { t, v, levels } = p;
  const i0 = lowerBound(t, w.x0);
  let i1 = lowerBound(t, w.x1, i0);
  while (i1 < p.n && t[i1]! <= w.x1) i1++;
  const sx = w.width / (w.x1 - w.x0);
  const sy = w.height / (w.y1 - w.y0);
  let left = budget;
  let lastX = NaN;
  let lastY = NaN;
  const visit = (level: number, block: number): void => {
    const span = FAN ** (level + 1);
    const s = Math.max(i0, block * span);
    const e = Math.min(i1, (block + 1) * span, p.n);
    if (s >= e || left < 0) return;
    const { min, max } =
      level < 0
        ? { min: v[s]!, max: v[s]! }
        : { min: levels[level]!.min[block]!, max: levels[level]!.max[block]! };
    if (!(max >= w.y0 && min <= w.y1)) return;
    if (level < 0 || ((t[e - 1]! - t[s]!) * sx <= cell && (max - min) * sy <= cell)) {
      const x = (t[s]! + t[e - 1]!) / 2;
      const y = (min + max) / 2;
      if (Math.abs(x - lastX) * sx < cell / 2 && Math.abs(y - lastY) * sy < cell / 2) return;
      lastX = x;
      lastY = y;
      left--;
      emit(x, y);
      return;
    }
    const child = level - 1;
    const from = block * FAN;
    for (let c = from; c < from + FAN; c++) visit(child, c);
  };
  const top = levels.length - 1;
  const blocks = top < 0 ? p.n : levels[top]!.min.length;
  for (let b = 0; b < blocks && left >= 0; b++) visit(top, b);
  return left >= 0;
}

/** Index of the sample in force at time `x` (the last one not after it), or -1 before the first. */
export function sampleAt(p: Series, x: number): number {
  let i = lowerBound(p.t, x);
  while (i < p.t.length && p.t[i] === x) i++;
  return i - 1;
}
