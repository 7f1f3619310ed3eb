import { extremes, lowerBound } from "../../data/pyramid.ts";
import type { PanelSpec } from "./spec.ts";

/** Space above and below the values, as a fraction of their range. */
const PAD = 0.06;

/** Least range of an axis, as a fraction of the highest value: what hardly changes is level, and
 *  not its noise. */
const LEAST = 0.02;

/** Range of a plot's value axis for the samples in [from, to] of the run's time. */
export function valueRange(spec: PanelSpec, from: number, to: number): [number, number] {
  if (spec.ends) return [0, 1];
  let lo = Infinity;
  let hi = -Infinity;
  let over = -Infinity;
  const open = spec.layers.some((l) => l.shown && !l.bounded);
  for (const { data, style, shown, bounded } of spec.layers) {
    if (!shown || style === "rug") continue;
    let i0 = lowerBound(data.t, from);
    let i1 = lowerBound(data.t, to, i0);
    while (i1 < data.n && data.t[i1]! <= to) i1++;
    // A line that enters from the left has the level of the sample before.
    if ((style === "step" || style === "line") && i0 > 0) i0--;
    const e = extremes(data, i0, i1);
    if (bounded && open) {
      over = Math.max(over, e.max);
      continue;
    }
    lo = Math.min(lo, e.min);
    hi = Math.max(hi, e.max);
  }
  if (!(hi >= lo)) return [0, 1];
  hi = Math.max(hi, Math.min(over, hi * 1.5));
  if (spec.zero || (lo >= 0 && lo < 0.15 * hi)) lo = Math.min(0, lo);
  const levels = spec.references.map((r) => r.value);
  const top = hi;
  for (const level of levels) if (level <= top * 1.5) hi = Math.max(hi, level);
  if (levels.some((level) => level < lo && level > lo - (hi - lo))) lo = Math.min(lo, ...levels);
  if (hi > lo) hi = Math.max(hi, lo + LEAST * Math.abs(hi));
  const pad = (hi - lo || Math.abs(hi) || 1) * PAD;
  return [lo === 0 ? 0 : lo - pad, hi + pad];
}
