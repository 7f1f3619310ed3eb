import { axis, drawXAxis, drawYAxis, niceRange } from "./axes.ts";
import { h, onWidth, svg } from "./dom.ts";
import type { Metric } from "./format.ts";
import { variantColour, variantDash } from "./palette.ts";
import { markerPath, publishedMark } from "./strip.ts";
import { cdf, pointLabel, type Group } from "./stats.ts";
import type { Point } from "./types.ts";

/** Cumulative distribution of one sweep point: which share of the runs was done by when, a step line per variant. */
export function cdfPlot(groups: Group[], m: Metric, height: number): HTMLElement {
  const plot = svg("svg", { class: "plot", role: "img", "aria-label": `Share of runs by ${m.label}` });
  const cell = h("div", { class: "cdf" }, plot);
  const [lo, hi] = niceRange(groups.flatMap((g) => [...g.sorted, ...g.published.map((p) => p.value)]));
  onWidth(cell, (width) => {
    const bottom = height - 40;
    plot.setAttribute("width", String(width));
    plot.setAttribute("height", String(height));
    plot.replaceChildren();
    const x = axis(lo, hi, 46, width - 12);
    const y = axis(0, 1, bottom, 10);
    drawYAxis(plot, y, 46, width - 12, (v) => `${Math.round(v * 100)} %`);
    drawXAxis(plot, x, 10, bottom, m.unit && m.unit !== "B" ? `${m.label} (${m.unit})` : m.label, width - 60);
    for (const g of groups) {
      const steps = cdf(g.sorted, g.values.length);
      if (steps.length === 0) continue;
      const d =
        `M${x.px(lo).toFixed(1)},${y.px(0).toFixed(1)}` +
        steps.map((s) => `H${x.px(s.x).toFixed(1)}V${y.px(s.y).toFixed(1)}`).join("") +
        `H${x.px(hi).toFixed(1)}`;
      const colour = variantColour(g.index);
      plot.append(svg("path", { class: "step", d, stroke: colour, "stroke-dasharray": variantDash(g.index).join(" ") || null }, svg("title", {}, g.variant)));
      const middle = steps[Math.floor((steps.length - 1) / 2)]!;
      plot.append(svg("path", { d: markerPath(g.index, 4.5), fill: colour, transform: `translate(${x.px(middle.x).toFixed(1)},${y.px(middle.y).toFixed(1)})` }));
    }
  });
  return cell;
}

/** The metric's median over the swept values, a line per variant with its 5th to 95th percentile. */
export function sweepPlot(points: Point[], groups: Group[][], m: Metric): HTMLElement {
  const plot = svg("svg", { class: "plot", role: "img", "aria-label": `Median ${m.label} over the sweep` });
  const cell = h("div", { class: "cdf" }, plot);
  const all = groups.flat();
  const numbers = all.flatMap((g) => [g.median, g.p5, g.p95, ...g.published.map((p) => p.value)]).filter((v): v is number => v !== null);
  const least = Math.min(...numbers);
  const most = Math.max(...numbers);
  const log = least > 0 && most / least > 12;
  const [lo, hi] = log ? [least / 1.25, most * 1.25] : niceRange(numbers);
  const height = 300;
  onWidth(cell, (width) => {
    const bottom = height - 44;
    plot.setAttribute("width", String(width));
    plot.setAttribute("height", String(height));
    plot.replaceChildren();
    const y = axis(lo, hi, bottom, 26, log);
    drawYAxis(plot, y, 52, width - 12);
    const column = (width - 64) / points.length;
    const at = (i: number): number => 52 + column * (i + 0.5);
    const unit = m.unit && m.unit !== "B" ? ` (${m.unit}${log ? ", log scale" : ""})` : log ? " (log scale)" : "";
    plot.append(svg("text", { class: "caption", x: 8, y: 13 }, `Median ${m.label.charAt(0).toLowerCase()}${m.label.slice(1)}${unit}`));
    points.forEach((p, i) => {
      const full = pointLabel(p);
      const room = Math.max(4, Math.floor(column / 7));
      const label = full.length > room ? `${full.slice(0, room - 1)}…` : full;
      plot.append(svg("text", { class: "tick", x: at(i), y: bottom + 18, "text-anchor": "middle" }, label, svg("title", {}, full)));
    });
    plot.append(svg("line", { class: "axis", x1: 52, x2: width - 12, y1: bottom + 0.5, y2: bottom + 0.5 }));
    const indices = [...new Set(all.map((g) => g.index))].sort((a, b) => a - b);
    const spread = Math.min(9, (column * 0.5) / Math.max(1, indices.length));
    indices.forEach((index, k) => {
      const colour = variantColour(index);
      const shift = (k - (indices.length - 1) / 2) * spread;
      const dots = groups.flatMap((gs, i) => {
        const g = gs.find((c) => c.index === index);
        return g && g.median !== null ? [{ g, x: at(i) + shift, y: y.px(g.median) }] : [];
      });
      const line = dots.map((d, i) => `${i ? "L" : "M"}${d.x.toFixed(1)},${d.y.toFixed(1)}`).join("");
      plot.append(svg("path", { class: "step thin", d: line, stroke: colour, "stroke-dasharray": variantDash(index).join(" ") || null }));
      for (const { g, x, y: py } of dots) {
        if (g.p5 !== null && g.p95 !== null) plot.append(svg("line", { stroke: colour, "stroke-width": 1.5, x1: x, x2: x, y1: y.px(g.p5), y2: y.px(g.p95) }));
        plot.append(svg("path", { d: markerPath(index, 5), fill: colour, transform: `translate(${x.toFixed(1)},${py.toFixed(1)})` }, svg("title", {}, g.variant)));
      }
    });
    groups.forEach((gs, i) => {
      const seen = new Set<string>();
      for (const g of gs) {
        for (const p of g.published) {
          const id = `${p.kind} ${p.value}`;
          if (seen.has(id)) continue;
          seen.add(id);
          plot.append(svg("line", { class: "published-line", x1: at(i) - column * 0.42, x2: at(i) + column * 0.42, y1: y.px(p.value), y2: y.px(p.value) }));
          plot.append(publishedMark(p.kind, at(i) - column * 0.42, y.px(p.value)));
        }
      }
    });
  });
  return cell;
}
