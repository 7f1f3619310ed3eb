import { type Compared, evenOf } from "../../data/compared.ts";
import type { Sweep } from "../../data/sweep.ts";
import type { Scale } from "../../format/numbers.ts";
import { variantColour, variantDash } from "../../format/palette.ts";
import { tickLabels } from "../../format/ticks.ts";
import { h, onWidth, svg } from "../../page/dom.ts";
import { type Axis, axis, axisTicks, type Range, wide } from "./axes.ts";
import { markerPath } from "./marks.ts";
import { onSpots, type Place } from "./spots.ts";
import { fitting, valueAxis } from "./sweep-lines.ts";

/** Most lines that are labelled at their ends; of more, only those that stand out. */
const LABELLED = 9;
/** Least distance of two labels, in CSS pixels. */
const APART = 14;

/** Least span on either side of no difference: a ratio, or in units of differences. Our choice. */
const LEAST_SPAN = 0.1;

/** Width of a letter of a label, and most letters of a tick. */
const LETTER = 6.9;
const TICK_LETTERS = 16;
/** Height of a line of a tick. */
const TICK_LINE = 14;

/** A text of so many letters at most. */
const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;

/** A mark on the plot: its place, what its tip says, and the number of its value on the axis. */
interface Spot extends Place {
  words: string;
  i: number;
}

/** A line: a variant's values along the axis of the sweep. */
export interface Line {
  name: string;
  index: number;
  values: (number | null)[];
  /** What a tip says of each value. */
  words: string[];
}

/** What a plot of lines needs besides them. */
export interface LineOptions {
  sweep: Sweep;
  /** Unit of the values. */
  scale: Scale;
  /** How the values compare with the baseline; null of values themselves. */
  even: Compared | null;
  label: string;
  /** Index of the value on the axis that the page shows; -1 for none. */
  shown: number;
  choose: (i: number) => void;
}

/** Places for labels at wanted heights, pushed apart, between `top` and `bottom`. */
export function spread(wanted: number[], top: number, bottom: number, apart = APART): number[] {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a]! - wanted[b]!);
  const out = [...wanted];
  order.forEach((i, k) => {
    const before = k > 0 ? out[order[k - 1]!]! + apart : top;
    out[i] = Math.max(out[i]!, before);
  });
  [...order].reverse().forEach((i, k, list) => {
    const after = k > 0 ? out[list[k - 1]!]! - apart : bottom;
    out[i] = Math.min(out[i]!, after);
  });
  return out;
}

/** The range of the values of lines, with that of no difference. */
function rangeOfLines(lines: Line[], by: Compared | null, unit: number): Range {
  const values = lines.flatMap((l) => l.values);
  const known = values.filter((v): v is number => v !== null && Number.isFinite(v));
  const even = by && evenOf(by);
  const all = [...known, even ?? 0];
  const log = !all.includes(0) && wide(all);
  // A difference that nobody would notice must not fill the plot.
  const span = LEAST_SPAN * (by === "ratio" ? 1 : unit);
  const around = even === null ? [] : [even - span, even + span];
  const [least, most] = [Math.min(...all, ...around), Math.max(...all, ...around)];
  if (log) return { lo: least / 1.15, hi: most * 1.15, log };
  const pad = (most - least) * 0.08 || Math.abs(most) * 0.2 || 1;
  const lo = least < 0 ? least - pad : least === 0 ? 0 : Math.max(0, least - pad);
  return { lo, hi: most + pad, log };
}

/** Where the plot is within its drawing, in CSS pixels. */
interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** A name in two lines of about the same length. */
function inTwo(name: string): string[] {
  const longer = (at: number): number => Math.max(at, name.length - at);
  const spaces = [...name.matchAll(/ /g)].map((m) => m.index);
  const [at] = spaces.sort((a, b) => longer(a) - longer(b));
  return at === undefined ? [name] : [name.slice(0, at), name.slice(at + 1)];
}

/** Width of the longest of some lines. */
const widthOf = (lines: string[]): number => Math.max(...lines.map((l) => l.length)) * LETTER;

/** The values across: their places, and their lines of text. */
interface Across {
  numeric: boolean;
  centres: number[];
  texts: string[][];
}

/** Places the values across; names that do not fit beside each other are in two lines. */
function valuesAcross(sweep: Sweep, left: number, right: number): Across {
  const numeric = sweep.values.every((v) => v.number !== null);
  const [from, to] = [left + 16, right - 8];
  const step = (to - from) / Math.max(1, sweep.values.length - 1);
  const px = numeric ? valueAxis(sweep, from, to).px : (i: number): number => from + i * step;
  const centres = sweep.values.map((_, i) => px(i));
  const cutAll = (lines: string[]): string[] => lines.map((l) => cut(l, TICK_LETTERS));
  const one = sweep.values.map((v) => cutAll([v.text]));
  if (numeric || fitting(centres, one.map(widthOf)).every(Boolean))
    return { numeric, centres, texts: one };
  return { numeric, centres, texts: sweep.values.map((v) => cutAll(inTwo(v.text))) };
}

/** Room for the values and the name of the axis below the plot. */
const roomBelow = (texts: string[][]): number =>
  28 + TICK_LINE * Math.max(...texts.map((lines) => lines.length));

/** Draws both axes. */
function drawAxes(
  plot: SVGSVGElement,
  y: Axis,
  { left, right, top, bottom }: Frame,
  { sweep, scale, even, shown }: LineOptions,
  { numeric, centres, texts }: Across,
): void {
  const across = (at: number, kind: string): void =>
    plot.append(svg("line", { class: kind, x1: left, x2: right, y1: at, y2: at }));
  for (const t of axisTicks(y, Math.max(3, Math.floor((bottom - top) / 36)))) {
    const at = Math.round(y.px(t.at)) + 0.5;
    const value = tickLabels([t.at / scale.divisor])[0]!;
    const sign = even !== null && t.at > 0 ? "+" : "";
    const words = even === "ratio" ? `${t.label}×` : sign + value;
    across(at, "grid");
    plot.append(
      svg("text", { class: "tick", x: left - 6, y: at + 4, "text-anchor": "end" }, words),
    );
  }
  if (even !== null) across(Math.round(y.px(evenOf(even))) + 0.5, "axis");
  const here = centres[shown];
  if (here !== undefined)
    plot.append(svg("line", { class: "shown-value", x1: here, x2: here, y1: top, y2: bottom }));
  const widths = texts.map(widthOf);
  const fits = fitting(centres, widths);
  texts.forEach((lines, i) => {
    if (!fits[i]) return;
    // The outer ones stay within the drawing.
    const x = Math.max(widths[i]! / 2, Math.min(centres[i]!, right + 40 - widths[i]! / 2));
    lines.forEach((text, k) => {
      const y = bottom + 18 + k * TICK_LINE;
      plot.append(svg("text", { class: "tick", x, y, "text-anchor": "middle" }, text));
    });
  });
  const caption = sweep.name + (sweep.log && numeric ? " (log scale)" : "");
  const place = {
    x: (left + right) / 2,
    y: bottom + roomBelow(texts) - 6,
    "text-anchor": "middle",
  };
  plot.append(svg("text", { class: "caption", ...place }, caption));
}

/** Lines along a sweep, labelled at their ends. */
export function ratioLines(lines: Line[], o: LineOptions): HTMLElement {
  const plot = svg("svg", { class: "plot ratio-lines", role: "img", "aria-label": o.label });
  const tip = h("div", { class: "tip", hidden: true });
  const el = h("div", { class: "ratio-stage" }, plot, tip);
  const { lo, hi, log } = rangeOfLines(lines, o.even, o.scale.divisor);
  const named = lines.length <= LABELLED ? lines : outstanding(lines, o.shown);
  let spots: Spot[] = [];
  onWidth(el, (width) => {
    const height = Math.max(220, Math.min(360, el.clientHeight || 300));
    const longest = Math.max(0, ...named.map((l) => l.name.length));
    const room = Math.min(width * 0.36, longest * LETTER + 14);
    const [left, right] = [48, width - room];
    const across = valuesAcross(o.sweep, left, right);
    const frame = { left, right, top: 10, bottom: height - roomBelow(across.texts) };
    plot.setAttribute("width", String(width));
    plot.setAttribute("height", String(height));
    plot.replaceChildren();
    spots = [];
    const y = axis(lo, hi, frame.bottom, frame.top, log);
    const { centres } = across;
    drawAxes(plot, y, frame, o, across);
    for (const line of lines.filter((l) => !named.includes(l)))
      drawLine(plot, line, centres, y.px, spots, true);
    const ends = named.flatMap((line) => {
      const end = drawLine(plot, line, centres, y.px, spots);
      return end ? [{ line, y: end.y }] : [];
    });
    const places = spread(
      ends.map((e) => e.y),
      frame.top + 4,
      frame.bottom,
    );
    ends.forEach(({ line: { name, index } }, i) => {
      const style = `fill: color-mix(in srgb, ${variantColour(index)} 72%, var(--ink))`;
      const at = { x: frame.right + 6, y: places[i]! + 4, style };
      const text = cut(name, Math.floor((room - 8) / LETTER));
      plot.append(svg("text", { class: "line-name", ...at }, svg("title", {}, name), text));
    });
  });
  onSpots(
    plot,
    tip,
    () => spots,
    (spot) => spot.words,
    (spot) => o.choose(spot.i),
  );
  return el;
}

/**
 * Lines that stand out of many: those with the largest and smallest values where the page is, or at
 * the end, and the first.
 */
export function outstanding(lines: Line[], shown: number): Line[] {
  const at = (l: Line): number => l.values[shown] ?? l.values.findLast((v) => v !== null) ?? 0;
  const by = [...lines].sort((a, b) => at(b) - at(a));
  const picked = new Set([lines[0]!, ...by.slice(0, 4), ...by.slice(-2)]);
  return lines.filter((l) => picked.has(l));
}

/** Draws a line with its marks, notes the places of the marks, and returns the last of them. */
function drawLine(
  plot: SVGSVGElement,
  line: Line,
  centres: number[],
  px: (v: number) => number,
  spots: Spot[],
  quiet = false,
): { x: number; y: number } | undefined {
  const colour = quiet ? "var(--quiet)" : variantColour(line.index);
  let d = "";
  let pen = false;
  const own: { x: number; y: number }[] = [];
  line.values.forEach((value, i) => {
    if (value === null || !Number.isFinite(value)) {
      pen = false;
      return;
    }
    const spot = { x: centres[i]!, y: px(value) };
    d += `${pen ? "L" : "M"}${spot.x.toFixed(1)},${spot.y.toFixed(1)}`;
    pen = true;
    own.push(spot);
    spots.push({ ...spot, row: line.index, words: line.words[i] ?? "", i });
  });
  const dash = variantDash(line.index).join(" ") || null;
  plot.append(
    svg("path", { class: "step", d, stroke: colour, "stroke-dasharray": quiet ? null : dash }),
  );
  if (quiet) return own.at(-1);
  for (const { x, y } of own)
    plot.append(
      svg("path", {
        class: "line-dot",
        d: markerPath(line.index, 4.4),
        fill: colour,
        transform: `translate(${x.toFixed(1)},${y.toFixed(1)})`,
      }),
    );
  return own.at(-1);
}
