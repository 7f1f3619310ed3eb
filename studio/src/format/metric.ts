import { changeOf } from "../data/compared.ts";
import type { Metric } from "../data/metrics.ts";
import {
  byteScale,
  bytes,
  count,
  LONG,
  ms,
  NONE,
  percent,
  plotScale,
  rateScale,
  type Scale,
  seconds,
  significant,
  timeScale,
  unitValue,
} from "./numbers.ts";

/** A value of a metric with its unit. */
export function metricValue(m: Metric, x: number | null | undefined): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return NONE;
  if (m.unit === "s") return seconds(x);
  if (m.unit === "ms") return ms(x);
  if (m.unit === "bytes") return bytes(x);
  if (m.unit === "%") return percent(x / 100);
  if (m.unit === "fraction") return percent(x);
  if (m.unit.endsWith("bps")) return unitValue(m.unit, x);
  return Number.isInteger(x) ? count(x) : significant(x);
}

/** A gain as people write it: 3.05×. */
export const times = (gain: number): string => `${significant(gain)}×`;

/** A number with its sign: "+2.54", "−3", "0". */
export const signed = (x: number, digits = 3): string =>
  (x > 0 ? "+" : "") + (Number.isInteger(x) ? count(x) : significant(x, digits));

/**
 * What `changeOf` finds, in words: "1.24×"; of shares "+3.1 points", of scores and counts "+2.54".
 */
export function changeWords({ compared, unit }: Metric, change: number): string {
  if (compared === "ratio") return times(change);
  const percents = change * (unit === "fraction" ? 100 : 1);
  return compared === "points" ? `${signed(percents)}\u00a0points` : signed(change);
}

/** A value beside a reference, in words. */
export const besides = (m: Metric, value: number, reference: number): string =>
  changeWords(m, changeOf(m.compared, value, reference));

/** A change from one value to another: in per cent, or as `changeWords` says. */
export function changed(m: Metric, from: number | null, to: number | null): string {
  if (from === null || to === null) return "";
  if (m.compared !== "ratio") return from === to ? "±0" : besides(m, to, from);
  if (from === 0) return "";
  const share = to / from - 1;
  return Math.abs(share) < 5e-4 ? "±0\u00a0%" : `${signed(100 * share)}\u00a0%`;
}

/** Unit and divisor for values of a metric up to `max`, which share an axis or a column. */
export function metricScale(m: Metric, max: number): Scale {
  if (m.unit === "bytes") return byteScale(max);
  if (m.unit === "fraction") return { unit: "%", divisor: 0.01 };
  if (m.unit === "Mbps") return rateScale(max);
  if (m.unit === "s" && max >= LONG) return timeScale(max);
  if (m.unit === "ms" && max >= LONG * 1000) return plotScale("ms", max);
  if (m.unit === "s" && max < 0.1) return { unit: "ms", divisor: 1e-3 };
  if (m.unit === "ms" && max >= 10_000) return { unit: "s", divisor: 1000 };
  return { unit: m.unit, divisor: 1 };
}

/** A value without its unit, for places that give the unit once. */
export function plainValue(
  x: number | null | undefined,
  scale: Scale = { unit: "", divisor: 1 },
): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return NONE;
  const value = x / scale.divisor;
  // A day has 86,400 seconds: three digits would round to minutes or hours.
  const digits = scale.unit === "d" || scale.unit === "h" ? 5 : 3;
  return Number.isInteger(value) && Math.abs(value) >= 1000
    ? count(value)
    : significant(value, digits);
}

/**
 * An interval in words, or in per cent of its middle if both ends read the same: "6.20 to 6.24", "±
 * 0.03 %".
 */
export function interval(
  low: number | null | undefined,
  high: number | null | undefined,
  scale?: Scale,
): string {
  if (low === null || low === undefined || high === null || high === undefined) return NONE;
  const [a, b] = [plainValue(low, scale), plainValue(high, scale)];
  if (a !== b) return `${a} to ${b}`;
  const half = (high - low) / Math.abs(high + low);
  return low === high || !Number.isFinite(half)
    ? "always the same"
    : `±\u00a0${half < 1e-5 ? "0.001" : significant(half * 100, 1)}\u00a0%`;
}
