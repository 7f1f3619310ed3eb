import { type Compared, changeOf, evenOf, isApart } from "../data/compared.ts";
import type { Group } from "../data/groups.ts";
import type { Metric } from "../data/metrics.ts";

/** A group beside what it is compared with. */
export interface Contrast {
  by: Compared;
  /** Its median over that of the baseline, or less it; infinite over a baseline of zero. */
  change: number;
  /** How many times better it is, or by how much. The change of a metric without a side. */
  gain: number;
  /** True if it is better; of a metric without a side, if it is larger. */
  better: boolean;
  /** True if the intervals of both overlap, so that chance may make the difference. */
  chance: boolean;
  /** True if the difference is larger than chance, and than what counts as none. */
  apart: boolean;
}

/** Compares two groups; null without two medians. */
export function contrastOf(base: Group, other: Group, metric: Metric): Contrast | null {
  if (base.median === null || other.median === null) return null;
  const by = metric.compared;
  const change = changeOf(by, other.median, base.median);
  const down = metric.better === "lower";
  const gain = !down ? change : by === "ratio" ? 1 / change : -change;
  const better = gain > evenOf(by);
  const [a, b] = [base.interval, other.interval];
  const chance = a !== null && b !== null && a.high >= b.low && b.high >= a.low;
  const apart = isApart(base.median, other.median) && !chance;
  return { by, change, gain, better, chance, apart };
}

/** What is shown of a contrast: the gain if it is a ratio, else the change with its sign. */
export const shownOf = ({ by, gain, change }: Contrast): number => (by === "ratio" ? gain : change);

/** More than any effect. */
export const ABOVE_EFFECTS = 1e15;

/** How far a gain is from none, in either direction; 0 of a difference that chance may make. */
export function effectOf(c: Contrast | null): number {
  if (!c?.apart) return 0;
  const effect = Math.abs(c.by === "ratio" ? Math.log(c.gain) : c.gain);
  return Math.min(ABOVE_EFFECTS / 2, effect);
}

/**
 * The 95 % confidence interval of the change from one median to another, from the intervals of
 * both, taken as independent: variance recovery, of ratios on a logarithmic scale (Zou and Donner,
 * Statistics in Medicine 27, 2008, 1693). Null if one has no interval, or of a ratio one that
 * reaches zero.
 */
export function intervalOfChange(base: Group, other: Group, by: Compared): [number, number] | null {
  const [to, from] = by === "ratio" ? [Math.log, Math.exp] : [Number, Number];
  const values = [other, base].map((g) =>
    [g.median, g.summary?.ci95_low, g.summary?.ci95_high].map((v) => to(v ?? Number.NaN)),
  );
  if (!values.flat().every(Number.isFinite)) return null;
  const [[m1, l1, u1], [m2, l2, u2]] = values as [number, number, number][] as [
    [number, number, number],
    [number, number, number],
  ];
  const d = m1 - m2;
  return [from(d - Math.hypot(m1 - l1, u2 - m2)), from(d + Math.hypot(u1 - m1, m2 - l2))];
}
