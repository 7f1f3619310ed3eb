import type { Group } from "../../data/groups.ts";
import type { Metric } from "../../data/metrics.ts";
import { pointKey, pointLabel } from "../../data/points.ts";
import type { Point } from "../../data/schema.ts";
import type { Sweep } from "../../data/sweep.ts";
import { interval, metricScale, metricValue } from "../../format/metric.ts";
import type { Scale } from "../../format/numbers.ts";
import { variantColour, variantDash } from "../../format/palette.ts";
import { h, onWidth, placeTip, svg } from "../../page/dom.ts";
import { type Axis, axis, drawXAxis, drawYAxis, rangeOf, wide } from "./axes.ts";
import { markerPath, publishedMark } from "./marks.ts";

/** Most variants that a plot of usual height has room for. */
const CROWD = 5;

/** What the panels of one sweep share. */
interface Shared {
  sweep: Sweep;
  metric: Metric;
  scale: Scale;
  range: [number, number];
  log: boolean;
  groupsOf: (point: Point) => Group[];
  indices: number[];
  choose: (point: string) => void;
}

/** A dot on the plot. */
interface Spot {
  x: number;
  y: number;
  group: Group;
}

/** Plots medians along the sweep: a panel per combination of the keys not on the axis. */
export function sweepPanels(
  sweep: Sweep,
  groupsOf: (point: Point) => Group[],
  metric: Metric,
  choose: (point: string) => void,
): { el: HTMLElement; log: boolean } {
  const all = sweep.panels.flatMap((p) => p.points.flatMap((q) => (q ? groupsOf(q) : [])));
  const numbers = all
    .flatMap((g) => [g.median, g.p5, g.p95, ...g.published.map((p) => p.value)])
    .filter((v) => v !== null);
  const log = wide(numbers);
  const shared: Shared = {
    sweep,
    metric,
    scale: metricScale(metric, Math.max(...numbers, 0)),
    range: rangeOf(numbers),
    log,
    groupsOf,
    indices: [...new Set(all.map((g) => g.index))].sort((a, b) => a - b),
    choose,
  };
  const numeric = sweep.values.every((v) => v.number !== null);
  const panels = sweep.panels.map((p) => {
    const title = p.label && h("h4", {}, p.label);
    return h(
      "div",
      { class: "sweep-panel" },
      title,
      numeric ? lines(shared, p.points) : rows(shared, p.points),
    );
  });
  return { el: h("div", { class: "sweep-panels" }, panels), log };
}

function dot(group: Group, x: number, y: number): SVGPathElement {
  return svg("path", {
    class: "sweep-dot",
    d: markerPath(group.index, 5),
    fill: variantColour(group.index),
    transform: `translate(${x.toFixed(1)},${y.toFixed(1)})`,
  });
}

/** Describes the dot nearest to the pointer, and chooses its point on a click. */
function listen(
  plot: SVGSVGElement,
  tip: HTMLElement,
  spots: () => Spot[],
  { metric, scale, choose }: Shared,
): void {
  const nearest = (event: MouseEvent): Spot | null => {
    const box = plot.getBoundingClientRect();
    let best: Spot | null = null;
    let distance = 18;
    for (const s of spots()) {
      const d = Math.hypot(s.x - (event.clientX - box.left), s.y - (event.clientY - box.top));
      if (d < distance) {
        distance = d;
        best = s;
      }
    }
    return best;
  };
  plot.addEventListener("pointermove", (event) => {
    const hit = nearest(event);
    tip.hidden = !hit;
    plot.style.cursor = hit ? "pointer" : "";
    if (!hit) return;
    const { group: g } = hit;
    const range = g.p5 === null ? "" : `, p5 to p95 ${interval(g.p5, g.p95, scale)}`;
    const value = metricValue(metric, g.median) + range;
    tip.textContent = `${g.variant}, ${pointLabel(g.point)}: ${value}`;
    placeTip(tip, [hit.x, hit.y], plot.clientWidth, "-120%");
  });
  plot.addEventListener("pointerleave", () => (tip.hidden = true));
  plot.addEventListener("click", (event) => {
    const hit = nearest(event);
    if (hit) choose(pointKey(hit.group.point));
  });
}

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

/** A panel with numbers on its axis: a line per variant. */
function lines(shared: Shared, points: (Point | null)[]): HTMLElement {
  const { sweep, metric, scale, range, log, indices } = shared;
  const plot = svg("svg", {
    class: "plot",
    role: "img",
    "aria-label": `Median ${metric.label} by ${sweep.name}`,
  });
  const tip = h("div", { class: "tip", hidden: true });
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
          ? [{ group: g, x: centres[i]!, y: y.px(g.median), apart: gap !== null && i === 0 }]
          : [];
      });
      const colour = variantColour(index);
      const d = dots
        .map(
          (p, i) =>
            `${i === 0 || dots[i - 1]!.apart ? "M" : "L"}${p.x.toFixed(1)},${p.y.toFixed(1)}`,
        )
        .join("");
      plot.append(
        svg("path", {
          class: "step thin",
          d,
          stroke: colour,
          "stroke-dasharray": variantDash(index).join(" ") || null,
        }),
      );
      for (const p of dots) {
        const { p5, p95 } = p.group;
        if (p5 !== null && p95 !== null)
          plot.append(
            svg("line", {
              stroke: colour,
              "stroke-width": 1.5,
              x1: p.x,
              x2: p.x,
              y1: y.px(p5),
              y2: y.px(p95),
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

/** A panel with names on its axis: a row per name, without lines between dots. */
function rows(shared: Shared, points: (Point | null)[]): HTMLElement {
  const { sweep, metric, scale, range, log, indices } = shared;
  const plot = svg("svg", {
    class: "plot",
    role: "img",
    "aria-label": `Median ${metric.label} by ${sweep.name}`,
  });
  const tip = h("div", { class: "tip", hidden: true });
  const longest = Math.max(...sweep.values.map((v) => v.text.length));
  const row = Math.max(30, indices.length * 9 + 12, Math.ceil(longest / 24) * 18 + 8);
  const cell = h(
    "div",
    { class: "sweep-plot", style: `grid-row: 1 / span ${points.length + 1}` },
    plot,
    tip,
  );
  const names = sweep.values.map((v, i) =>
    h("div", { class: "sweep-name", style: `grid-row: ${i + 1}` }, v.text),
  );
  let spots: Spot[] = [];
  listen(plot, tip, () => spots, shared);
  onWidth(cell, (width) => {
    const bottom = points.length * row;
    plot.setAttribute("width", String(width));
    plot.setAttribute("height", String(bottom + 22));
    plot.replaceChildren();
    spots = [];
    const x = axis(...range, 10, width - 16, log);
    drawXAxis(plot, x, 0, bottom, scale);
    points.forEach((point, i) => {
      if (i > 0)
        plot.append(
          svg("line", {
            class: "rowline",
            x1: 10,
            x2: width - 16,
            y1: i * row + 0.5,
            y2: i * row + 0.5,
          }),
        );
      const groups = point ? shared.groupsOf(point) : [];
      for (const g of groups) {
        for (const p of g.published) {
          const at = x.px(p.value);
          plot.append(
            svg("line", {
              class: "published-line",
              x1: at,
              x2: at,
              y1: i * row + 3,
              y2: (i + 1) * row - 3,
            }),
          );
          plot.append(publishedMark(p.kind, at, (i + 0.5) * row));
        }
      }
      for (const g of groups) {
        if (g.median === null) continue;
        const y = (i + 0.5) * row + (indices.indexOf(g.index) - (indices.length - 1) / 2) * 9;
        const spot = { group: g, x: x.px(g.median), y };
        if (g.p5 !== null && g.p95 !== null)
          plot.append(
            svg("line", {
              stroke: variantColour(g.index),
              "stroke-width": 1.5,
              x1: x.px(g.p5),
              x2: x.px(g.p95),
              y1: y,
              y2: y,
            }),
          );
        plot.append(dot(g, spot.x, y));
        spots.push(spot);
      }
    });
  });
  return h(
    "div",
    { class: "sweep-rows", style: `grid-template-rows: repeat(${points.length}, ${row}px) 22px` },
    names,
    cell,
  );
}
