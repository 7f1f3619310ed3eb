import { axis, drawXAxis, niceRange } from "./axes.ts";
import { h, onWidth, svg, type Child } from "./dom.ts";
import { metricValue, shortest, significant, type Metric } from "./format.ts";
import { variantColour } from "./palette.ts";
import { quantile, type Group } from "./stats.ts";

const ROW = 44;
const AXIS = 40;

/** A small mark in a variant's colour; the shape changes with the index too. */
export function swatch(index: number): SVGSVGElement {
  return svg(
    "svg",
    { class: "swatch", viewBox: "-7 -7 14 14", width: 14, height: 14, "aria-hidden": "true" },
    svg("path", { d: markerPath(index, 5), fill: variantColour(index) }),
  );
}

/** The outline of the index-th marker shape, centred on the origin. */
export function markerPath(index: number, r: number): string {
  switch (index % 4) {
    case 0:
      return `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`;
    case 1:
      return `M${-r * 0.88},${-r * 0.88}h${r * 1.76}v${r * 1.76}h${-r * 1.76}z`;
    case 2:
      return `M0,${-r * 1.1}L${r * 1.1},${r * 0.85}H${-r * 1.1}z`;
    default:
      return `M0,${-r * 1.25}L${r * 1.25},0L0,${r * 1.25}L${-r * 1.25},0z`;
  }
}

/** The diamond of a published value: hollow for an objective, filled for a measurement. */
export function publishedMark(kind: string, x = 0, y = 0): SVGPathElement {
  return svg("path", { class: `published ${kind === "measured" ? "measured" : "objective"}`, d: `M${x},${y - 6}l6,6l-6,6l-6,-6z` });
}

/** A spread of points across the row that is the same on every drawing. */
function jitter(i: number): number {
  return (((i * 0.61803398875) % 1) - 0.5) * 2;
}

/** What a row says at its right: the median, and how it stands to what was published. */
function readout(g: Group, m: Metric): Child {
  const failed = g.values.filter((v) => v.value === null).length;
  const p = g.published[0];
  return [
    h("span", {}, h("strong", {}, metricValue(m, g.median)), failed > 0 && g.values.length > 1 && h("small", { class: "warn" }, ` ${g.sorted.length} of ${g.values.length} runs`)),
    p && g.median !== null && h("small", {}, `${significant(g.median / p.value, 2)} × ${p.kind} ${shortest(p.value)}${m.unit ? `\u00a0${m.unit}` : ""}`),
  ];
}

/**
 * Strip plot of one sweep point: a row per variant, a dot per run, the middle half as a box, 5th to 95th percentile as
 * a line, the median as a bar, published values as diamonds.
 */
export function stripPlot(groups: Group[], m: Metric, choose: (variant: string, run: number) => void): HTMLElement {
  const plot = svg("svg", { class: "plot", role: "img", "aria-label": `${m.label} of every run, by variant` });
  const tip = h("div", { class: "tip", hidden: true });
  const cell = h("div", { class: "strip-plot", style: `grid-row: 1 / span ${groups.length + 1}` }, plot, tip);
  const rows = groups.flatMap((g, i) => [
    h("div", { class: "strip-name", style: `grid-row: ${i + 1}`, title: g.variant }, swatch(g.index), h("span", {}, g.variant, h("small", {}, metricValue(m, g.median)))),
    h("div", { class: "strip-value", style: `grid-row: ${i + 1}` }, readout(g, m)),
  ]);
  const root = h("div", { class: "strip", style: `grid-template-rows: repeat(${groups.length}, ${ROW}px) ${AXIS}px` }, rows, cell);

  const all = groups.flatMap((g) => [
    ...g.sorted,
    ...g.published.map((p) => p.value),
    ...[g.median, g.p5, g.p95].filter((x): x is number => x !== null),
  ]);
  const [lo, hi] = niceRange(all);
  let ax = axis(lo, hi, 0, 1);

  const draw = (width: number): void => {
    const height = groups.length * ROW;
    plot.setAttribute("width", String(width));
    plot.setAttribute("height", String(height + AXIS));
    plot.replaceChildren();
    ax = axis(lo, hi, 10, width - 14);
    drawXAxis(plot, ax, 0, height, m.unit && m.unit !== "B" ? `${m.label} (${m.unit})` : m.label, width);
    groups.forEach((g, i) => plot.append(drawRow(g, i)));
  };

  const drawRow = (g: Group, i: number): SVGGElement => {
    const y = i * ROW + ROW / 2;
    const colour = variantColour(g.index);
    const out = svg("g", { style: `color: ${colour}` });
    if (i > 0) out.append(svg("line", { class: "rowline", x1: 0, x2: ax.px(hi), y1: i * ROW + 0.5, y2: i * ROW + 0.5 }));
    if (g.p5 !== null && g.p95 !== null) {
      out.append(svg("line", { class: "whisker", x1: ax.px(g.p5), x2: ax.px(g.p95), y1: y, y2: y }));
    }
    if (g.sorted.length >= 5) {
      const a = ax.px(quantile(g.sorted, 0.25));
      const b = ax.px(quantile(g.sorted, 0.75));
      out.append(svg("rect", { class: "box", x: a, y: y - 11, width: Math.max(1, b - a), height: 22, rx: 2 }));
    }
    for (const p of g.published) {
      const x = ax.px(p.value);
      out.append(svg("line", { class: "published-line", x1: x, x2: x, y1: i * ROW, y2: (i + 1) * ROW }));
    }
    if (g.sorted.length === 1) {
      out.append(svg("path", { class: "dot single", d: markerPath(g.index, 6), transform: `translate(${ax.px(g.sorted[0]!)},${y})` }));
    } else {
      // One path for all dots: round caps on lines of no length.
      const d = g.sorted.map((v, k) => `M${ax.px(v).toFixed(1)},${(y + jitter(k) * 9).toFixed(1)}h0`).join("");
      out.append(svg("path", { class: "dots", d }));
      if (g.median !== null) out.append(svg("line", { class: "median", x1: ax.px(g.median), x2: ax.px(g.median), y1: y - 15, y2: y + 15 }));
    }
    for (const p of g.published) out.append(publishedMark(p.kind, ax.px(p.value), y));
    return out;
  };

  const nearest = (event: PointerEvent | MouseEvent): { g: Group; run: number; value: number } | null => {
    const box = plot.getBoundingClientRect();
    const g = groups[Math.floor((event.clientY - box.top) / ROW)];
    if (!g) return null;
    const x = event.clientX - box.left;
    let best: { g: Group; run: number; value: number } | null = null;
    let distance = 14;
    for (const { run, value } of g.values) {
      if (value === null) continue;
      const d = Math.abs(ax.px(value) - x);
      if (d < distance) {
        distance = d;
        best = { g, run, value };
      }
    }
    return best;
  };
  plot.addEventListener("pointermove", (event) => {
    const hit = nearest(event);
    tip.hidden = !hit;
    if (!hit) return;
    tip.textContent = `run ${hit.run}: ${metricValue(m, hit.value)}`;
    const x = ax.px(hit.value);
    const right = x > plot.clientWidth - 140;
    tip.style.transform = `translate(${Math.round(x)}px, ${groups.indexOf(hit.g) * ROW + 2}px) translate(${right ? "calc(-100% - 8px)" : "8px"}, 0)`;
  });
  plot.addEventListener("pointerleave", () => (tip.hidden = true));
  plot.addEventListener("click", (event) => {
    const hit = nearest(event);
    if (hit) choose(hit.g.variant, hit.run);
  });
  onWidth(cell, draw);
  return root;
}
