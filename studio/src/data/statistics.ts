/** The p-quantile of ascending values, interpolated (type 7 of Hyndman and Fan 1996). */
export function quantile(sorted: ArrayLike<number>, p: number): number {
  if (sorted.length === 0) return NaN;
  const at = (sorted.length - 1) * p;
  const i = Math.floor(at);
  const a = sorted[i]!;
  const b = sorted[Math.min(i + 1, sorted.length - 1)]!;
  return a + (b - a) * (at - i);
}

/**
 * Fewest values of which a 5th and a 95th percentile are shown: of fewer, both are interpolated
 * between the extremes and their neighbours, and say less than the extremes.
 */
export const QUANTILE_VALUES = 20;

/** The spread of ascending values: percentiles of many, the extremes of few. */
export interface Spread {
  low: number;
  high: number;
  /** What both ends are. */
  words: string;
}

/** The spread of values; null of fewer than two. `p5` and `p95` may be those of more values. */
export function spreadOf(
  sorted: number[],
  n: number,
  p5: number | null,
  p95: number | null,
): Spread | null {
  if (n >= QUANTILE_VALUES && p5 !== null && p95 !== null)
    return { low: p5, high: p95, words: "5th to 95th percentile" };
  if (sorted.length < 2) return null;
  const words = `smallest to largest of ${n}`;
  return { low: sorted[0]!, high: sorted.at(-1)!, words };
}

/** Steps of the empirical distribution: a share `y` of all `total` runs is at or below `x`. */
export function cdf(sorted: number[], total: number): { x: number; y: number }[] {
  const out: { x: number; y: number }[] = [];
  sorted.forEach((x, i) => {
    const y = (i + 1) / total;
    const last = out.at(-1);
    if (last && last.x === x) last.y = y;
    else out.push({ x, y });
  });
  return out;
}

/** The mean of the values that are known; null if none is. */
export function mean(values: (number | null | undefined)[]): number | null {
  const known = values.filter((v): v is number => typeof v === "number" && Number.isFinite(v));
  return known.length > 0 ? known.reduce((a, b) => a + b, 0) / known.length : null;
}

/** Groups items by a key, in order of first appearance. */
export function groupBy<T>(items: Iterable<T>, key: (item: T) => string): Map<string, T[]> {
  const out = new Map<string, T[]>();
  for (const item of items) {
    const list = out.get(key(item));
    if (list) list.push(item);
    else out.set(key(item), [item]);
  }
  return out;
}
