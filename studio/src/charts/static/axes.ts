import type { Scale } from "../../format/numbers.ts";
import { tickLabels, ticks } from "../../format/ticks.ts";
import { append, type Child, svg } from "../../page/dom.ts";

/** Maps values to pixels. */
export interface Axis {
  lo: number;
  hi: number;
  log: boolean;
  px(value: number): number;
}

/** An axis from values to pixels [from, to]. */
export function axis(lo: number, hi: number, from: number, to: number, log = false): Axis {
  const f = log ? Math.log : (x: number): number => x;
  const a = f(lo);
  const span = f(hi) - a || 1;
  return { lo, hi, log, px: (value) => from + ((f(value) - a) / span) * (to - from) };
}

/**
 * Smallest span of an axis, as a fraction of its largest value: of a span of less, a difference
 * that nobody would notice fills the whole width. Our choice: 1 % then takes a fifth of it.
 */
const SMALLEST_SPAN = 0.05;

/**
 * A range for dots, which starts at zero only if the smallest value is small against the largest.
 */
function dotRange(values: number[]): [number, number] {
  let lo = Math.min(...values);
  let hi = Math.max(...values);
  if (!Number.isFinite(lo)) return [0, 1];
  if (hi === lo) {
    const pad = Math.abs(hi) * 0.1 || 1;
    return [lo >= 0 ? Math.max(0, lo - pad) : lo - pad, hi + pad];
  }
  const missing = SMALLEST_SPAN * Math.max(Math.abs(lo), Math.abs(hi)) - (hi - lo);
  if (missing > 0) [lo, hi] = [lo - missing / 2, hi + missing / 2];
  if (lo >= 0 && lo < 0.25 * hi) lo = 0;
  const pad = (hi - lo) * 0.06;
  return [lo === 0 ? 0 : lo > 0 ? Math.max(0, lo - pad) : lo - pad, hi + pad];
}

/** True if values span more than a decade and so need a logarithmic axis. */
export function wide(values: number[]): boolean {
  const least = Math.min(...values);
  return least > 0 && Math.max(...values) > 10 * least;
}

/** A range for values: of a logarithmic axis if they are `wide`, else of a linear one. */
export function rangeOf(values: number[]): [number, number] {
  if (!wide(values)) return dotRange(values);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const pad = (most / least) ** 0.05;
  return [least / pad, most * pad];
}

/** What an axis spans. */
export interface Range {
  lo: number;
  hi: number;
  log: boolean;
}

/** The range for values. */
export function rangeOver(values: number[]): Range {
  const [lo, hi] = rangeOf(values);
  return { lo, hi, log: wide(values) };
}

/** Ratio of values up to which the panels of a figure have the same axis; our choice. */
const ALIKE = 4;

/**
 * The ranges of the panels of a figure with these values. All have the same range, unless the
 * values of one panel would shrink to a spot in it: then each begins and ends elsewhere, but a
 * length means the same ratio in each.
 */
export function commonRanges(panels: number[][]): Range[] {
  const all = panels.flat();
  const least = Math.min(...all);
  const most = Math.max(...all);
  // Without a ratio, only one range is common.
  if (!(least > 0) || most <= ALIKE * least) return panels.map(() => rangeOver(all));
  const ends = panels.map((own): [number, number] =>
    own.length > 0 ? [Math.min(...own), Math.max(...own)] : [least, most],
  );
  const widest = Math.max(...ends.map(([lo, hi]) => hi / lo), 1 + SMALLEST_SPAN);
  const log = widest > 10;
  const pad = widest ** 0.06;
  return ends.map(([lo, hi]) => {
    const middle = Math.sqrt(lo * hi);
    const half = Math.sqrt(widest) * pad;
    return { lo: middle / half, hi: middle * half, log };
  });
}

/** Ticks of an axis with their unit: round numbers, or 1-2-5 per decade on a logarithmic one. */
export function axisTicks(
  a: Axis,
  target: number,
  scale: Scale = { unit: "", divisor: 1 },
): { at: number; label: string }[] {
  const unit = scale.unit ? `\u00a0${scale.unit}` : "";
  if (!a.log) {
    const at = ticks(a.lo / scale.divisor, a.hi / scale.divisor, target);
    const labels = tickLabels(at);
    return at.map((v, i) => ({ at: v * scale.divisor, label: labels[i]! + unit }));
  }
  const out: { at: number; label: string }[] = [];
  const [lo, hi] = [a.lo / scale.divisor, a.hi / scale.divisor];
  const decades = Math.log10(hi / lo);
  for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e++) {
    for (const m of decades > 0.4 * target ? [1] : [1, 2, 5]) {
      const v = m * 10 ** e;
      if (v >= lo * 0.999 && v <= hi * 1.001)
        out.push({ at: v * scale.divisor, label: tickLabels([v])[0]! + unit });
    }
  }
  return out;
}

/** Draws a horizontal axis with grid lines from `top` to `bottom`. */
export function drawXAxis(
  root: SVGElement,
  a: Axis,
  top: number,
  bottom: number,
  scale: Scale,
): void {
  const parts: Child[] = [];
  const width = a.px(a.hi) - a.px(a.lo);
  for (const t of axisTicks(a, Math.max(2, Math.min(8, Math.floor(width / 74))), scale)) {
    const x = Math.round(a.px(t.at)) + 0.5;
    parts.push(svg("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }));
    parts.push(svg("text", { class: "tick", x, y: bottom + 15, "text-anchor": "middle" }, t.label));
  }
  parts.push(
    svg("line", {
      class: "axis",
      x1: a.px(a.lo),
      x2: a.px(a.hi),
      y1: bottom + 0.5,
      y2: bottom + 0.5,
    }),
  );
  append(root, parts);
}

/** Draws a vertical axis with grid lines from `left` to `right`. */
export function drawYAxis(
  root: SVGElement,
  a: Axis,
  left: number,
  right: number,
  scale: Scale,
): void {
  const height = Math.abs(a.px(a.hi) - a.px(a.lo));
  const parts: Child[] = [];
  for (const t of axisTicks(a, Math.max(2, Math.floor(height / 34)), scale)) {
    const y = Math.round(a.px(t.at)) + 0.5;
    parts.push(svg("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }));
    parts.push(
      svg("text", { class: "tick", x: left - 7, y: y + 3.5, "text-anchor": "end" }, t.label),
    );
  }
  append(root, parts);
}
