import { clockTime, count, grouped, LONG, significant } from "./numbers.ts";

/** Decimals that neighbouring ticks `step` apart need: one more for steps of 2.5. */
export function stepDecimals(step: number): number {
  const decimals = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const last = step * 10 ** decimals;
  return Math.abs(last - Math.round(last)) > 1e-6 ? decimals + 1 : decimals;
}

/** Round tick positions inside [lo, hi], about `target` of them. */
export function ticks(lo: number, hi: number, target: number): number[] {
  if (!(hi > lo)) return [lo];
  const raw = (hi - lo) / Math.max(1, target);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((m) => m * power >= raw * 0.999) ?? 10) * power;
  return multiples(lo, hi, step);
}

/** The multiples of a step inside [lo, hi]. */
export function multiples(lo: number, hi: number, step: number): number[] {
  const out: number[] = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9; k++)
    out.push(k * step + 0);
  return out;
}

/** Labels of ticks, all with the same number of decimals. */
export function tickLabels(values: number[]): string[] {
  let decimals = 0;
  if (values.length > 1) decimals = stepDecimals(values[1]! - values[0]!);
  else if (values.length === 1 && !Number.isInteger(values[0]!)) return [significant(values[0]!)];
  return values.map((v) => grouped((Math.abs(v) < 1e-12 ? 0 : v).toFixed(decimals)));
}

/** Steps between ticks of powers of ten. */
const DECIMAL = Array.from({ length: 26 }, (_, k) =>
  [1, 2, 2.5, 5].map((m) => Number(`${m}e${k - 10}`)),
).flat();
/** Steps between ticks of minutes, hours and days, in seconds. */
const CALENDAR = [
  ...DECIMAL.filter((step) => step <= 10),
  ...[30, 60, 120, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200],
  ...DECIMAL.filter((days) => days >= 1).map((days) => days * 86400),
];

/** Steps that ticks of values up to `max` can have: of times, of which `second` is a second. */
export function stepsOf(max: number, second: number | null): number[] {
  return second !== null && max >= LONG * second ? CALENDAR.map((s) => s * second) : DECIMAL;
}

/**
 * A tick of a long time, `step` of a second or more apart: "2 d", "1 d 06:12", "1 d 06:12:30".
 * Beside those of days, ticks of hours are "06:00".
 */
export function clockTick(at: number, step: number): string {
  if (Math.abs(at) < step * 1e-6) return "0";
  const hours = step >= 21600;
  if (hours && at % 86400 === 0) return `${count(at / 86400)}\u00a0d`;
  return clockTime(hours ? at % 86400 : at, step >= 60);
}
