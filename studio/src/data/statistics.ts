/** The p-quantile of ascending values, interpolated (type 7 of Hyndman and Fan 1996). */
export function quantile(sorted: ArrayLike<number>, p: number): number {
  if (sorted.length === 0) return NaN;
  const at = (sorted.length - 1) * p;
  const i = Math.floor(at);
  const a = sorted[i]!;
  const b = sorted[Math.min(i + 1, sorted.length - 1)]!;
  return a + (b - a) * (at - i);
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
