import { grouped, significant } from "./numbers.ts";

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
