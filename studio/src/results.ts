import { cdfPlot, sweepPlot } from "./cdf.ts";
import { h, replace, select, svg, type Child } from "./dom.ts";
import { metricOf, metricValue, significant, type Metric } from "./format.ts";
import type { Store } from "./state.ts";
import { flowKey, flowsOf, groupsAt, metricsOf, pointKey, pointLabel, pointsOf, type FlowId, type Group } from "./stats.ts";
import { publishedMark, stripPlot, swatch } from "./strip.ts";
import type { Report } from "./types.ts";

/** The flow a key stands for, or the first one. */
export function chosenFlow(report: Report, key: string): FlowId {
  const flows = flowsOf(report);
  return flows.find((f) => flowKey(f) === key) ?? flows[0] ?? { name: "", visit: 1 };
}

/** A flow in words; the visit is named where there are several. */
export function flowLabel(f: FlowId, all: FlowId[]): string {
  return all.some((o) => o.visit !== f.visit) ? `${f.name}, visit ${f.visit}` : f.name;
}

/** One sentence on who was fastest, where that can be said. */
function headline(groups: Group[], m: Metric): Child {
  const known = groups.filter((g): g is Group & { median: number } => g.median !== null && g.median > 0);
  if (known.length < 2 || !m.better) return null;
  const sign = m.better === "lower" ? 1 : -1;
  const order = [...known].sort((a, b) => sign * (a.median - b.median));
  const best = order[0]!;
  const worst = order.at(-1)!;
  const ratio = m.better === "lower" ? worst.median / best.median : best.median / worst.median;
  if (!(ratio > 1.005) || (m.unit !== "s" && m.unit !== "Mbps")) return null;
  const what = m.key === "goodput_mbps" ? "times the goodput of" : m.better === "lower" ? "times as fast as" : `times the ${m.label} of`;
  return h("p", { class: "headline" }, h("b", {}, best.variant), ` ${metricValue(m, best.median)}: ${significant(ratio, 2)} ${what} `, h("b", {}, worst.variant), ` ${metricValue(m, worst.median)}`);
}

function legend(groups: Group[][]): Child {
  const all = groups.flat();
  const kinds = new Set(all.flatMap((g) => g.published.map((p) => p.kind)));
  const item = (mark: Child, words: string): Child => h("span", {}, svg("svg", { viewBox: "-12 -9 24 18", width: 24, height: 18, "aria-hidden": "true" }, mark), words);
  const many = all.some((g) => g.n > 1);
  return h(
    "div",
    { class: "legend-line" },
    item(svg("path", { class: many ? "dots" : "dot", d: many ? "M-6,2h0M0,-3h0M6,3h0" : "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z" }), "one run"),
    many && item(svg("line", { class: "median", x1: 0, x2: 0, y1: -8, y2: 8 }), "median"),
    all.some((g) => g.sorted.length >= 5) && item(svg("rect", { class: "box", x: -10, y: -6, width: 20, height: 12, rx: 2 }), "middle half"),
    many && item(svg("line", { class: "whisker", x1: -11, x2: 11, y1: 0, y2: 0 }), "5th to 95th percentile"),
    kinds.has("objective") && item(publishedMark("objective"), "objective, published"),
    kinds.has("measured") && item(publishedMark("measured"), "measured, published"),
  );
}

/** The section on completion times and the other metrics. `choose` opens the trace of a run. */
export function resultsSection(report: Report, store: Store, choose: (variant: string, point: string, run: number) => void): { el: HTMLElement; draw: () => void } {
  const metrics = metricsOf(report);
  const flows = flowsOf(report);
  const points = pointsOf(report);
  const controls = h("div", { class: "controls" });
  const body = h("div", {});
  const el = h("section", { id: "results", class: report.traces.length ? "linked" : null, "aria-labelledby": "results-title" }, h("div", { class: "section-head" }, h("h2", { id: "results-title" }, "Results"), controls), body);

  const draw = (): void => {
    const { state } = store;
    const m = metricOf(metrics.includes(state.metric) ? state.metric : (metrics[0] ?? "completion_s"));
    const flow = chosenFlow(report, state.flow);
    replace(
      controls,
      select("Metric", metrics.map((key) => ({ value: key, text: metricOf(key).label })), m.key, (metric) => store.set({ metric })),
      flows.length > 1 && select("Flow", flows.map((f) => ({ value: flowKey(f), text: flowLabel(f, flows) })), flowKey(flow), (key) => store.set({ flow: key })),
      points.length > 1 &&
        select("Point", [{ value: "", text: "all points" }, ...points.map((p) => ({ value: pointKey(p), text: pointLabel(p) }))], state.point, (point) => store.set({ point })),
    );
    const everywhere = points.map((p) => groupsAt(report, p, flow, m.key));
    const some = points.some((p) => pointKey(p) === state.point);
    const shown = points.filter((p) => !some || pointKey(p) === state.point);
    const groups = everywhere.filter((_, i) => shown.includes(points[i]!));
    if (groups.every((g) => g.length === 0)) {
      replace(body, h("p", { class: "note" }, "No run has this metric for this flow."));
      return;
    }
    const single = groups.flat().every((g) => g.n <= 1);
    const blocks = shown.map((p, i) => {
      const gs = groups[i]!;
      if (gs.length === 0) return null;
      const strip = stripPlot(gs, m, (variant, run) => choose(variant, pointKey(p), run));
      return h(
        "figure",
        { class: "card dist" },
        h("figcaption", {}, points.length > 1 && h("h3", {}, pointLabel(p)), headline(gs, m)),
        h("div", { class: single ? "dist-grid single" : "dist-grid" }, strip, !single && gs.some((g) => g.sorted.length > 1) && cdfPlot(gs, m, Math.max(210, gs.length * 44 + 40))),
      );
    });
    const sweep =
      points.length > 1 &&
      h(
        "figure",
        { class: "card dist" },
        h("figcaption", {}, h("h3", {}, `${m.label} across the sweep`)),
        h("div", { class: "key" }, [...new Set(everywhere.flat().map((g) => g.index))].sort((a, b) => a - b).map((i) => h("span", {}, swatch(i), report.variants[i]))),
        sweepPlot(points, everywhere, m),
      );
    replace(
      body,
      single && h("p", { class: "note" }, h("b", {}, "Nothing random in this scenario: n = 1. "), "Every repeat would give the same numbers, so there is one dot per variant and no interval."),
      blocks,
      legend(groups),
      h(
        "p",
        { class: "howto" },
        single
          ? "Each dot is the one run of its variant; for times, further left is better. A diamond is a published value for the same case: hollow where a document names an objective, filled where it reports a measurement."
          : "Dots: one per run. Where the boxes of two variants do not overlap, the difference stands out from the usual spread between runs. Steps: the share of runs at or below a value; a steep line means that runs are alike, a line that ends below 100 % means that some runs never finished. Click a dot to open the time series of its run, where one was recorded.",
      ),
      sweep,
    );
  };
  return { el, draw };
}
