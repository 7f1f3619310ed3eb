import type { Series } from "./decode.ts";

/** Samples (or blocks) that one block of the next level covers. */
const FAN = 8;

/** Minimum and maximum of consecutive blocks of one level. */
interface Level {
  min: Float32Array;
  max: Float32Array;
}

/**
 * A series with minimum and maximum of ever larger blocks (8, 64, 512, … samples), so that the extremes of any window
 * cost a logarithm instead of a scan. NaN values are gaps and never an extreme.
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

/** First index whose time is not before `x`, searched in [from, t.length). */
export function lowerBound(t: Float64Array, x: number, from = 0): number {
  let a = from;
  let b = t.length;
  while (a < b) {
    const m = (a + b) >>> 1;
    if (t[m]! < x) a = m + 1;
    else b = m;
  }
  return a;
}

/** As `lowerBound`, for ascending queries: doubles its stride from `from`, so near answers are found in few steps. */
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

/** The last extremes that `extremes` found; one shared object, so that drawing allocates nothing. */
export const found = { min: Infinity, max: -Infinity };

/** Puts minimum and maximum of samples [i0, i1) into `found`; (Infinity, -Infinity) when there is none. */
export function extremes(p: Pyramid, i0: number, i1: number): typeof found {
  let lo = Infinity;
  let hi = -Infinity;
  let a = i0;
  let b = i1;
  let min: Float32Array = p.v;
  let max: Float32Array = p.v;
  for (let k = 0; a < b; k++) {
    const up = p.levels[k];
    // Loose ends up to the next block border; the whole rest where there is no level above.
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
 * The line through the samples of [x0, x1] as seen on `width` pixel columns: per column at most its first, minimum,
 * maximum and last sample, which draws the same pixels as all of them. One sample before and one after the window
 * are included, so that the line enters and leaves it. Few samples are passed on as they are.
 */
export function eachLinePoint(p: Pyramid, x0: number, x1: number, width: number, emit: Emit): void {
  const { t, v, n } = p;
  if (n === 0 || !(x1 > x0)) return;
  const first = Math.max(0, lowerBound(t, x0) - 1);
  let last = gallop(t, x1, first);
  while (last < n && t[last]! <= x1) last++;
  last = Math.min(n, last + 1);
  if (last - first <= width * 4) {
    for (let i = first; i < last; i++) emit(t[i]!, v[i]!);
    return;
  }
  const perColumn = (x1 - x0) / width;
  let i = first;
  if (t[i]! < x0) {
    emit(t[i]!, v[i]!);
    i++;
  }
  for (let c = 0; c < width && i < last; c++) {
    const end = Math.min(last, gallop(t, x0 + (c + 1) * perColumn, i));
    if (end <= i) continue;
    if (end - i <= 4) {
      for (; i < end; i++) emit(t[i]!, v[i]!);
      continue;
    }
    const a = v[i]!;
    const z = v[end - 1]!;
    const tm = x0 + (c + 0.5) * perColumn;
    const { min, max } = extremes(p, i, end);
    emit(t[i]!, a);
    if (max > min) {
      // Towards the nearer extreme first; the order inside one column is invisible.
      const downFirst = a - min < max - a;
      const one = downFirst ? min : max;
      const two = downFirst ? max : min;
      if (one !== a) emit(tm, one);
      if (two !== z) emit(tm, two);
    }
    emit(t[end - 1]!, z);
    i = end;
  }
  for (; i < last; i++) emit(t[i]!, v[i]!);
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
 * The samples inside a window as dots, where blocks that fall into one cell of `cell` pixels are one dot: the work
 * goes with the pixels covered, not with the samples. Returns false, with dots possibly emitted, once more than
 * `budget` were needed; the caller then tries a coarser cell.
 */
export function eachDot(p: Pyramid, w: DotWindow, cell: number, budget: number, emit: Emit): boolean {
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
    const { min, max } = level < 0 ? { min: v[s]!, max: v[s]! } : { min: levels[level]!.min[block]!, max: levels[level]!.max[block]! };
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
