import type { Group } from "../data/groups.ts";
import type { Metric } from "../data/metrics.ts";

/**
 * Smallest ratio of two medians that counts as a difference. Our choice: with three digits, values
 * that differ by less may read the same.
 */
export const NOTABLE = 1.01;

/** The confidence interval of a group's median, or its spread if there is none. */
export function intervalOf(g: Group): [number, number] | null {
  const { ci95_low: low = null, ci95_high: high = null } = g.summary ?? {};
  if (low !== null && high !== null) return [low, high];
  return g.spread ? [g.spread.low, g.spread.high] : null;
}

/** A group beside what it is compared with. */
export interface Contrast {
  /** Its median over that of the baseline; infinite over a baseline of zero. */
  ratio: number;
  /** How many times better it is: below 1, it is worse. The ratio of a metric without a side. */
  gain: number;
  /** True if the intervals of both overlap, so that chance may make the difference. */
  chance: boolean;
  /** True if the difference is larger than chance, and than what counts as none. */
  apart: boolean;
}

/** Compares two groups; null without two medians. */
export function contrastOf(base: Group, other: Group, metric: Metric): Contrast | null {
  if (base.median === null || other.median === null) return null;
  const ratio =
    base.median === 0 ? (other.median === 0 ? 1 : Infinity) : other.median / base.median;
  const gain = metric.better === "lower" ? 1 / ratio : ratio;
  const [a, b] = [intervalOf(base), intervalOf(other)];
  const far = Math.max(ratio, 1 / ratio) > NOTABLE;
  const chance = a !== null && b !== null && a[1] >= b[0] && b[1] >= a[0];
  return { ratio, gain, chance, apart: far && !chance };
}

/** How far a gain is from none, in either direction; 0 of a difference that chance may make. */
export const effectOf = (c: Contrast | null): number =>
  c?.apart ? Math.min(1e6, Math.abs(Math.log(c.gain))) : 0;

/**
 * The 95 % confidence interval of the ratio of two medians, from the intervals of both, taken as
 * independent: variance recovery on a logarithmic scale (Zou and Donner, Statistics in Medicine 27,
 * 2008, 1693). Null if one has no interval, or one that reaches zero.
 */
export function intervalOfRatio(base: Group, other: Group): [number, number] | null {
  const logs = [other, base].map((g) =>
    [g.median, g.summary?.ci95_low, g.summary?.ci95_high].map((v) => Math.log(v ?? 0)),
  );
  if (!logs.flat().every(Number.isFinite)) return null;
  const [[m1, l1, u1], [m2, l2, u2]] = logs as [number, number, number][] as [
    [number, number, number],
    [number, number, number],
  ];
  const d = m1 - m2;
  return [Math.exp(d - Math.hypot(m1 - l1, u2 - m2)), Math.exp(d + Math.hypot(u1 - m1, m2 - l2))];
}
