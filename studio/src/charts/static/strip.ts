import type { Group } from "../../data/groups.ts";
import type { Metric } from "../../data/metrics.ts";
import { quantile } from "../../data/statistics.ts";
import { besides, interval, metricScale, metricValue } from "../../format/metric.ts";
import { shortest } from "../../format/numbers.ts";
import { variantColour } from "../../format/palette.ts";
import { type Child, h, onWidth, svg } from "../../page/dom.ts";
import { type Axis, axis, drawXAxis, type Range, rangeOver } from "./axes.ts";
import { drawCdf } from "./cdf.ts";
import { markerPath, publishedMark, swatch } from "./marks.ts";
import { onSpots } from "./spots.ts";

const AXIS = 24;
/** Space at the right for the crosses of runs that did not complete. */
const FAILED = 26;

/** A vertical offset of the i-th point, the same on every drawing. */
function jitter(i: number): number {
  return (((i * 0.61803398875) % 1) - 0.5) * 2;
}

/** The number of runs that did not complete, in words; empty if all did. */
export function failure(g: Group): string {
  return g.failed.length ? `${g.failed.length} of ${g.values.length} did not complete` : "";
}

/** The numbers at the right of a row: median, interval, failures, ratio to a published value. */
function readout(g: Group, m: Metric): Child {
  const missing = g.values.filter((v) => v.value === null).length;
  const p = g.published[0];
  const scale = metricScale(m, Math.abs(g.interval?.high ?? 0));
  const failed =
    failure(g) ||
    (missing > 0 && g.values.length > 1 ? `${g.sorted.length} of ${g.values.length} runs` : "");
  return [
    h(
      "span",
      {},
      h("strong", {}, metricValue(m, g.median)),
      g.interval &&
        h(
          "small",
          { title: g.interval.words },
          ` ${interval(g.interval.low, g.interval.high, scale)}`,
          ` (${g.n})`,
        ),
    ),
    failed && h("small", { class: "warn" }, failed),
    p &&
      g.median !== null &&
      h(
        "small",
        {},
        besides(m, g.median, p.value),
        ` ${m.compared === "ratio" ? "" : "to "}${p.kind} ${shortest(p.value)}`,
        m.unit && `\u00a0${m.unit}`,
      ),
  ];
}

/** Every number that a strip plot shows. */
export function numbersOf(groups: Group[]): number[] {
  return groups.flatMap((g) => [
    ...g.sorted,
    ...g.published.map((p) => p.value),
    ...[g.median, g.interval?.low, g.interval?.high].filter((x) => typeof x === "number"),
  ]);
}

/** How a strip plot is drawn. */
export interface StripOptions {
  /** The axis; that of the groups' numbers by default. */
  range?: Range;
  /** Height of the distribution's steps below the rows; 0: none. */
  steps: number;
  choose: (variant: string, run: number) => void;
}

/** How a row of a strip plot is drawn: the axis and its end, and its size. */
interface RowOptions {
  ax: Axis;
  hi: number;
  height: number;
  width: number;
}

/** Draws the row of group number `i`. */
function drawRow(g: Group, i: number, { ax, hi, height, width }: RowOptions): SVGGElement {
  const y = i * height + height / 2;
  const colour = variantColour(g.index);
  const out = svg("g", { style: `color: ${colour}` });
  if (i > 0)
    out.append(
      svg("line", {
        class: "rowline",
        x1: 0,
        x2: ax.px(hi),
        y1: i * height + 0.5,
        y2: i * height + 0.5,
      }),
    );
  if (g.interval) {
    const [x1, x2] = [ax.px(g.interval.low), ax.px(g.interval.high)];
    out.append(svg("line", { class: "whisker", x1, x2, y1: y, y2: y }));
  }
  if (g.sorted.length >= 5) {
    const a = ax.px(quantile(g.sorted, 0.25));
    const b = ax.px(quantile(g.sorted, 0.75));
    out.append(
      svg("rect", {
        class: "box",
        x: a,
        y: y - 10,
        width: Math.max(1, b - a),
        height: 20,
        rx: 2,
      }),
    );
  }
  for (const p of g.published) {
    const x = ax.px(p.value);
    out.append(
      svg("line", { class: "published-line", x1: x, x2: x, y1: i * height, y2: (i + 1) * height }),
    );
  }
  if (g.sorted.length === 1) {
    out.append(
      svg("path", {
        class: "dot single",
        d: markerPath(g.index, 6),
        transform: `translate(${ax.px(g.sorted[0]!)},${y})`,
      }),
    );
  } else {
    // All dots are one path: lines of no length with round caps.
    const d = g.sorted
      .map((v, k) => `M${ax.px(v).toFixed(1)},${(y + jitter(k) * 8).toFixed(1)}h0`)
      .join("");
    out.append(svg("path", { class: "dots", d }));
    if (g.median !== null)
      out.append(
        svg("line", {
          class: "median",
          x1: ax.px(g.median),
          x2: ax.px(g.median),
          y1: y - 13,
          y2: y + 13,
        }),
      );
  }
  for (const p of g.published) out.append(publishedMark(p.kind, ax.px(p.value), y));
  if (g.failed.length) {
    const d = g.failed
      .map((_, k) => `M${width - 20 + jitter(k + 1) * 5},${y - 3 + jitter(k) * 8}l6,6m0,-6l-6,6`)
      .join("");
    out.append(svg("path", { class: "failed-runs", d }, svg("title", {}, failure(g))));
  }
  return out;
}

/**
 * The strip plot of one sweep point. Each variant is a row: a dot per run, a box for the middle
 * half, a line for the interval, a bar for the median, diamonds for published
 * values. The cumulative distribution is below, on the same axis.
 */
export function stripPlot(
  groups: Group[],
  m: Metric,
  { range, steps, choose }: StripOptions,
): HTMLElement {
  const plot = svg("svg", {
    class: "plot",
    role: "img",
    "aria-label": `${m.label} of every run, by variant`,
  });
  const tip = h("div", { class: "tip", hidden: true });
  const cell = h(
    "div",
    { class: "strip-plot", style: `grid-row: 1 / span ${groups.length + 1}` },
    plot,
    tip,
  );
  // Rows are as high as the longest text beside them needs.
  const lines = Math.max(
    ...groups.map((g) =>
      Math.max(
        Math.ceil(g.variant.length / 18),
        1 +
          Number(g.published.length > 0 && g.median !== null) +
          Number(g.values.some((v) => v.value === null)),
      ),
    ),
  );
  const ROW = lines > 2 ? 16 * lines + 6 : 36;
  const rows = groups.flatMap((g, i) => [
    h(
      "div",
      { class: "strip-name", style: `grid-row: ${i + 1}` },
      swatch(g.index),
      h(
        "span",
        {},
        g.variant,
        h("small", {}, [metricValue(m, g.median), failure(g)].filter(Boolean).join(", ")),
      ),
    ),
    h("div", { class: "strip-value", style: `grid-row: ${i + 1}` }, readout(g, m)),
  ]);
  const under = (steps ? steps + 14 : 0) + AXIS;
  const root = h(
    "div",
    { class: "strip", style: `grid-template-rows: repeat(${groups.length}, ${ROW}px) ${under}px` },
    rows,
    cell,
  );
  const { lo, hi, log } = range ?? rangeOver(numbersOf(groups));
  const failed = groups.some((g) => g.failed.length > 0);
  const scale = metricScale(m, Math.max(...numbersOf(groups).map(Math.abs), 0));
  let ax = axis(lo, hi, 0, 1, log);

  const draw = (width: number): void => {
    const height = groups.length * ROW;
    plot.setAttribute("width", String(width));
    plot.setAttribute("height", String(height + under));
    plot.replaceChildren();
    ax = axis(lo, hi, 10, width - 14 - (failed ? FAILED : 0), log);
    drawXAxis(plot, ax, 0, height + under - AXIS, scale);
    groups.forEach((g, i) => plot.append(drawRow(g, i, { ax, hi, height: ROW, width })));
    if (steps) plot.append(drawCdf(groups, m, ax, height + 12, height + 12 + steps));
  };

  onSpots(
    plot,
    tip,
    () =>
      groups.flatMap((g, row) =>
        g.values.flatMap(({ run, value }) =>
          value === null ? [] : [{ g, run, value, row, x: ax.px(value), y: (row + 0.5) * ROW }],
        ),
      ),
    ({ run, value }) => `run ${run}: ${metricValue(m, value)}; click to look into it`,
    ({ g, run }) => choose(g.variant, run),
  );
  onWidth(cell, draw);
  return root;
}
