import type { Group } from "../../data/groups.ts";
import type { Point } from "../../data/points.ts";
import type { Sweep } from "../../data/sweep.ts";
import { variantColour, variantDash } from "../../format/palette.ts";
import { h, onWidth, svg } from "../../page/dom.ts";
import { type Axis, axis, drawYAxis } from "./axes.ts";
import { publishedMark } from "./marks.ts";
import { dot, listen, type Shared, type Spot, stageOf } from "./sweep-parts.ts";

/** Most variants that a plot of usual height has room for. */
const CROWD = 5;

/** Positions of the values on the axis. A zero stands left of a gap on a logarithmic axis. */
export function valueAxis(
  sweep: Sweep,
  from: number,
  to: number,
): { px: (i: number) => number; gap: number | null } {
  const numbers = sweep.values.map((v) => v.number!);
  const first = numbers.findIndex((v) => !sweep.log || v > 0);
  const gap = first > 0 ? from + Math.min(70, (to - from) / (numbers.length + 1)) : null;
  const a = axis(numbers[first]!, numbers.at(-1)!, gap ?? from, to, sweep.log);
  return { px: (i) => (i < first ? from : a.px(numbers[i]!)), gap };
}

/** Which labels fit beside each other, the outer ones first. */
export function fitting(centres: number[], widths: number[]): boolean[] {
  const out = centres.map(() => false);
  const fits = (i: number): boolean =>
    centres.every(
      (c, k) => !out[k] || Math.abs(c - centres[i]!) >= (widths[k]! + widths[i]!) / 2 + 10,
    );
  for (const i of [0, centres.length - 1, ...centres.keys()])
    if (i >= 0 && !out[i] && fits(i)) out[i] = true;
  return out;
}

/** Draws a line for each swept value, and its text where there is room. */
function drawValues(
  plot: SVGSVGElement,
  sweep: Shared["sweep"],
  centres: number[],
  top: number,
  bottom: number,
): void {
  const named = fitting(
    centres,
    sweep.values.map((v) => v.text.length * 6.8),
  );
  sweep.values.forEach((v, i) => {
    const x = Math.round(centres[i]!) + 0.5;
    plot.append(svg("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }));
    plot.append(svg("line", { class: "axis", x1: x, x2: x, y1: bottom, y2: bottom + 4 }));
    if (named[i])
      plot.append(
        svg("text", { class: "tick", x, y: bottom + 17, "text-anchor": "middle" }, v.text),
      );
  });
}

/** A panel with numbers on its axis: a line per variant. */
export function lines(shared: Shared, points: (Point | null)[]): HTMLElement {
  const { sweep, scale, range, log, indices } = shared;
  const { plot, tip } = stageOf(shared);
  const cell = h("div", { class: "sweep-plot" }, plot, tip);
  let spots: Spot[] = [];
  listen(plot, tip, () => spots, shared);
  onWidth(cell, (width) => {
    const height = indices.length > CROWD ? 330 : 236;
    const [left, right, top, bottom] = [62, width - 14, 8, height - 40];
    plot.setAttribute("width", String(width));
    plot.setAttribute("height", String(height));
    plot.replaceChildren();
    spots = [];
    const y = axis(...range, bottom, top, log);
    const half = sweep.values[0]!.text.length * 3.4;
    const { px, gap } = valueAxis(
      sweep,
      left + Math.max(20, half),
      right - Math.max(24, sweep.values.at(-1)!.text.length * 3.4),
    );
    drawYAxis(plot, y, left, right, scale);
    const centres = sweep.values.map((_, i) => px(i));
    drawValues(plot, sweep, centres, top, bottom);
    plot.append(
      svg("line", { class: "axis", x1: left, x2: right, y1: bottom + 0.5, y2: bottom + 0.5 }),
    );
    if (gap !== null) {
      const x = (px(0) + gap) / 2;
      plot.append(
        svg("path", {
          class: "axis-break",
          d: `M${x - 5},${bottom + 5}l4,-9M${x + 1},${bottom + 5}l4,-9`,
        }),
      );
    }
    plot.append(
      svg(
        "text",
        { class: "caption", x: (left + right) / 2, y: height - 4, "text-anchor": "middle" },
        sweep.name + (sweep.log ? " (log scale)" : ""),
      ),
    );
    const groups = points.map((p) => (p ? shared.groupsOf(p) : []));
    drawPublished(plot, groups, centres, y, left, right);
    for (const index of indices) {
      const dots = groups.flatMap((gs, i) => {
        const g = gs.find((c) => c.index === index);
        return g && g.median !== null
          ? [
              {
                group: g,
                x: centres[i]!,
                y: y.px(g.median),
                row: index,
                apart: gap !== null && i === 0,
              },
            ]
          : [];
      });
      const colour = variantColour(index);
      const begins = (i: number): boolean => i === 0 || dots[i - 1]!.apart;
      const to = (p: Spot): string => `${p.x.toFixed(1)},${p.y.toFixed(1)}`;
      const d = dots.map((p, i) => (begins(i) ? "M" : "L") + to(p)).join("");
      plot.append(
        svg("path", {
          class: "step thin",
          d,
          stroke: colour,
          "stroke-dasharray": variantDash(index).join(" ") || null,
        }),
      );
      for (const p of dots) {
        const { interval } = p.group;
        if (interval)
          plot.append(
            svg("line", {
              stroke: colour,
              "stroke-width": 1.5,
              x1: p.x,
              x2: p.x,
              y1: y.px(interval.low),
              y2: y.px(interval.high),
            }),
          );
        plot.append(dot(p.group, p.x, p.y));
      }
      spots.push(...dots);
    }
  });
  return cell;
}

/**
 * Draws a dashed line and a diamond for each published value, or one line if it applies everywhere.
 */
function drawPublished(
  plot: SVGSVGElement,
  groups: Group[][],
  centres: number[],
  y: Axis,
  left: number,
  right: number,
): void {
  const found = new Map<string, { kind: string; value: number; at: Set<number> }>();
  groups.forEach((gs, i) => {
    for (const { kind, value } of gs.flatMap((g) => g.published)) {
      const id = `${kind} ${value}`;
      const known = found.get(id) ?? { kind, value, at: new Set() };
      found.set(id, known);
      known.at.add(i);
    }
  });
  const line = (x1: number, x2: number, at: number): void =>
    plot.append(svg("line", { class: "published-line", x1, x2, y1: at, y2: at }));
  for (const { kind, value, at } of found.values()) {
    const level = y.px(value);
    if (at.size > 2 && at.size === centres.length) {
      line(left, right, level);
      plot.append(publishedMark(kind, right, level));
      continue;
    }
    for (const i of at) {
      line(centres[i]! - 18, centres[i]! + 18, level);
      plot.append(publishedMark(kind, centres[i]!, level));
    }
  }
}
