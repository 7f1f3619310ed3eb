import { wide } from "../charts/static/axes.ts";
import { heatView, isOf } from "../charts/static/heat-map.ts";
import { heatAxes, heatMaps } from "../charts/static/heat-scale.ts";
import { publishedMark, swatch } from "../charts/static/marks.ts";
import { numbersOf, stripPlot } from "../charts/static/strip.ts";
import { sweepPanels } from "../charts/static/sweep-plot.ts";
import { isShared } from "../data/fairness.ts";
import { flowFor, flowKey, flowLabel, flowsOf } from "../data/flows.ts";
import {
  type Group,
  goodputsAt,
  groupsAt,
  metricsOf,
  pointKey,
  pointLabel,
  pointsOf,
} from "../data/groups.ts";
import type { Point, Report } from "../data/schema.ts";
import { inOrder, type Sweep, sweepOf } from "../data/sweep.ts";
import { type Metric, metricOf, significant } from "../format/numbers.ts";
import { type Child, h, replace, scrollTo, select, svg } from "../page/dom.ts";
import type { State, Store } from "../page/state.ts";

/** Rows of strip plots that are shown without being asked for. */
const ROWS = 48;

/** Who was fastest and by how much, where one was and the intervals of the medians allow to say so. */
export function headline(
  groups: Group[],
  m: Metric,
): { best: string; words: string; worst: string } | null {
  const known = groups.filter(
    (g): g is Group & { median: number } => g.median !== null && g.median > 0,
  );
  if (
    known.length < 2 ||
    !m.better ||
    (m.unit !== "s" && m.unit !== "Mbps") ||
    groups.some((g) => g.failed.length > 0)
  )
    return null;
  const sign = m.better === "lower" ? 1 : -1;
  const order = [...known].sort((a, b) => sign * (a.median - b.median));
  const best = order[0]!;
  const worst = order.at(-1)!;
  const over = (g: { median: number }): number =>
    m.better === "lower" ? g.median / best.median : best.median / g.median;
  const ratio = over(worst);
  // The confidence intervals of the medians, or with too few runs for these the spread of the runs.
  const ends = (g: Group): [number, number] | null => {
    const { ci95_low: low, ci95_high: high } = g.summary ?? { ci95_low: null, ci95_high: null };
    return low !== null && high !== null
      ? [low, high]
      : g.p5 !== null && g.p95 !== null
        ? [g.p5, g.p95]
        : null;
  };
  const [near, far] = [ends(best), ends(worst)];
  const apart = !near || !far || (sign > 0 ? near[1] < far[0] : near[0] > far[1]);
  if (!(over(order[1]!) > 1.005) || !apart) return null;
  const what =
    m.key === "goodput_mbps"
      ? "times the goodput of"
      : m.better === "lower"
        ? "times as fast as"
        : `times the ${m.label} of`;
  return { best: best.variant, words: ` ${significant(ratio)} ${what} `, worst: worst.variant };
}

function legend(groups: Group[][]): Child {
  const all = groups.flat();
  const kinds = new Set(all.flatMap((g) => g.published.map((p) => p.kind)));
  const item = (mark: Child, words: string): Child =>
    h(
      "span",
      {},
      svg("svg", { viewBox: "-12 -9 24 18", width: 24, height: 18, "aria-hidden": "true" }, mark),
      words,
    );
  const many = all.some((g) => g.n > 1);
  return h(
    "div",
    { class: "legend-line" },
    item(
      svg("path", {
        class: many ? "dots" : "dot",
        d: many ? "M-6,2h0M0,-3h0M6,3h0" : "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z",
      }),
      "one run",
    ),
    many && item(svg("line", { class: "median", x1: 0, x2: 0, y1: -8, y2: 8 }), "median"),
    all.some((g) => g.sorted.length >= 5) &&
      item(
        svg("rect", { class: "box", x: -10, y: -6, width: 20, height: 12, rx: 2 }),
        "middle half",
      ),
    many &&
      item(
        svg("line", { class: "whisker", x1: -11, x2: 11, y1: 0, y2: 0 }),
        "5th to 95th percentile",
      ),
    many &&
      item(
        svg("path", { class: "step", d: "M-11,6H-3V-1H4V-6H11", stroke: "currentColor" }),
        "share of runs",
      ),
    all.some((g) => g.failed.length) &&
      item(svg("path", { class: "failed-runs", d: "M-4,-4l8,8m0,-8l-8,8" }), "did not complete"),
    kinds.has("objective") && item(publishedMark("objective"), "objective, published"),
    kinds.has("measured") && item(publishedMark("measured"), "measured, published"),
  );
}

/** Why runs did not complete, each reason once per variant. */
function reasons(groups: Group[]): Child {
  const lines = groups.flatMap((g) => {
    const runs = new Map<string, number[]>();
    for (const f of g.failed) runs.set(f.error, [...(runs.get(f.error) ?? []), f.run]);
    return [...runs].map(([error, list]) => ({ g, error, list }));
  });
  if (lines.length === 0) return null;
  const numbers = (list: number[]): string =>
    list.length > 8 ? `${list.length} runs` : `run${list.length > 1 ? "s" : ""} ${list.join(", ")}`;
  return h(
    "ul",
    { class: "failures" },
    lines.map(({ g, error, list }) =>
      h("li", {}, h("b", {}, g.variant), `, ${numbers(list)}: ${error || "did not complete"}`),
    ),
  );
}

/** Numbers that the axis of a point reaches over: where two panels stand side by side, those of both. */
function reachOf(sweep: Sweep | null, point: Point, groupsOf: (p: Point) => Group[]): number[] {
  const own = numbersOf(groupsOf(point));
  if (sweep?.panels.length !== 2) return own;
  const i = sweep.panels.flatMap((p) => p.points.indexOf(point)).find((k) => k >= 0) ?? -1;
  const both = sweep.panels.flatMap((p) => (p.points[i] ? numbersOf(groupsOf(p.points[i])) : []));
  // A common axis on which one of the two shrinks to a spot would hide more than it shows.
  return Math.max(...both) <= 4 * Math.min(...both) ? both : own;
}

/** The section on completion times and the other metrics. `choose` opens the trace of a run. */
export function resultsSection(
  report: Report,
  store: Store,
  choose: (variant: string, point: string, run: number) => void,
): { el: HTMLElement; draw: () => void } {
  const metrics = metricsOf(report);
  const flows = flowsOf(report);
  const points = pointsOf(report);
  const sweep = points.length > 1 ? sweepOf(report.sweep, points) : null;
  const axes = heatAxes(report);
  let markShown = (): void => {};
  store.on((changed) => {
    if (changed.has("run")) markShown();
  });
  const many = points.length > 1 && points.length * report.variants.length > ROWS;
  const controls = h("div", { class: "controls" });
  const body = h("div", {});
  const el = h(
    "section",
    {
      id: "results",
      class: report.traces.length ? "linked" : null,
      "aria-labelledby": "results-title",
    },
    h("div", { class: "section-head" }, h("h2", { id: "results-title" }, "Results"), controls),
    body,
  );

  const draw = (): void => {
    const { state } = store;
    const m = metricOf(
      metrics.includes(state.metric) ? state.metric : (metrics[0] ?? "completion_s"),
    );
    const flow = flowFor(report, m.key, state.flow);
    const heat =
      axes !== null && (state.picture || (axes.competition ? "heat" : "lines")) === "heat";
    replace(
      controls,
      select(
        "Metric",
        metrics.map((key) => ({ value: key, text: metricOf(key).label })),
        m.key,
        (metric) => store.set({ metric }),
      ),
      flows.length > 1 &&
        !isShared(m.key) &&
        select(
          "Flow",
          flows.map((f) => ({ value: flowKey(f), text: flowLabel(report, f) })),
          flowKey(flow),
          (key) => store.set({ flow: key }),
        ),
      axes &&
        select(
          "Picture",
          [
            { value: "heat", text: "heat map" },
            { value: "lines", text: "lines" },
          ],
          heat ? "heat" : "lines",
          (v) => store.set({ picture: v as State["picture"] }),
        ),
      points.length > 1 &&
        select(
          "Point",
          [
            { value: "", text: many ? "none in detail" : "all points" },
            ...points.map((p) => ({ value: pointKey(p), text: pointLabel(p) })),
          ],
          state.point,
          (point) => store.set({ point }),
        ),
    );
    const everywhere = new Map(points.map((p) => [p, groupsAt(report, p, flow, m.key)]));
    const groupsOf = (p: Point): Group[] => everywhere.get(p) ?? [];
    const all = [...everywhere.values()].flat();
    if (all.length === 0) {
      replace(body, h("p", { class: "note" }, "No run has this metric for this flow."));
      return;
    }
    const one = points.find((p) => pointKey(p) === state.point);
    const shown = one ? [one] : many ? [] : inOrder(sweep, points);
    const single = all.every((g) => g.n <= 1 && g.values.length <= 1);
    const cards = shown.map((p) => {
      const gs = groupsOf(p);
      if (gs.length === 0) return null;
      const said = headline(gs, m);
      const reach = one ? numbersOf(gs) : reachOf(sweep, p, groupsOf);
      const steps =
        single || !gs.some((g) => g.sorted.length > 1) ? 0 : shown.length > 1 ? 52 : 110;
      return h(
        "figure",
        { class: "card dist" },
        h(
          "figcaption",
          {},
          (points.length > 1 || wide(reach)) &&
            h(
              "h3",
              {},
              points.length > 1 && pointLabel(p),
              wide(reach) && h("small", {}, " log scale"),
            ),
          said &&
            h(
              "p",
              { class: "headline" },
              h("b", {}, said.best),
              said.words,
              h("b", {}, said.worst),
            ),
        ),
        stripPlot(gs, m, {
          reach,
          steps,
          choose: (variant, run) => choose(variant, pointKey(p), run),
        }),
        reasons(gs),
      );
    });
    const kinds = new Set(all.flatMap((g) => g.published.map((p) => p.kind)));
    const mark = (kind: string): Child =>
      kinds.has(kind as "measured") &&
      h(
        "span",
        {},
        svg(
          "svg",
          { class: "swatch", viewBox: "-8 -8 16 16", width: 16, height: 16, "aria-hidden": "true" },
          publishedMark(kind),
        ),
        `${kind}, published`,
      );
    const detail = (point: string): void => {
      store.set({ point });
      scrollTo(body.querySelector(".dist"), "nearest");
    };
    const title = single ? m.label : `Median ${m.label.charAt(0).toLowerCase()}${m.label.slice(1)}`;
    const panels = sweep && !heat && sweepPanels(sweep, groupsOf, m, detail);
    const picture =
      axes && heat
        ? heatView({
            axes,
            maps: heatMaps(report, axes, points, groupsOf),
            metric: m,
            goodputs: (group) => axes.competition && goodputsAt(report, group),
            shown: (group) => isOf(group, report.traces[state.run]),
            choose: (group) => {
              const trace = report.traces.find((t) => isOf(group, t));
              if (trace) choose(group.variant, pointKey(group.point), trace.run);
              else detail(pointKey(group.point));
            },
          })
        : null;
    markShown = picture?.mark ?? ((): void => {});
    const overview = picture
      ? h(
          "figure",
          { class: "card sweep" },
          h(
            "figcaption",
            {},
            h(
              "h3",
              {},
              axes!.competition && m.key === "share"
                ? `${single ? "Share" : "Median share"} of ${axes!.competition.flows[0]} against ${axes!.competition.flows[1]}`
                : title,
            ),
          ),
          picture.el,
        )
      : panels &&
        h(
          "figure",
          { class: "card sweep" },
          h(
            "figcaption",
            {},
            h("h3", {}, `${title} across the sweep`, panels.log && h("small", {}, " log scale")),
            h(
              "div",
              { class: "key" },
              [...new Set(all.map((g) => g.index))]
                .sort((a, b) => a - b)
                .map((i) => h("span", {}, swatch(i), report.variants[i])),
              mark("objective"),
              mark("measured"),
            ),
          ),
          panels.el,
        );
    replace(
      body,
      single &&
        h(
          "p",
          { class: "note" },
          h("b", {}, "One run of each. "),
          picture
            ? "There are no intervals."
            : `There is one dot per variant${points.length > 1 ? " and point" : ""}, and no interval.`,
        ),
      overview,
      many &&
        !one &&
        h(
          "p",
          { class: "howto" },
          `${points.length} points: choose one above, or click a ${picture ? "cell" : "dot"}, to see ${picture && report.traces.length ? "its time series" : "its single runs"}.`,
        ),
      h("div", { class: shown.length > 1 ? "dist-grid" : null }, cards),
      shown.length > 0 && legend(shown.map(groupsOf)),
      shown.length > 0 &&
        h(
          "p",
          { class: "howto" },
          single
            ? `Each dot is the one run of its variant${m.better ? `; further ${m.better === "lower" ? "left" : "right"} is better` : ""}. A diamond is a published value for the same case: hollow where a document names an objective, filled where it reports a measurement.`
            : `Dots: one per run${m.better ? `; further ${m.better === "lower" ? "left" : "right"} is better` : ""}. Where the boxes of two variants do not overlap, the difference stands out from the usual spread between runs. Steps: the share of runs at or below a value; a steep line means that runs are alike, a line that ends below 100 % means that some never finished. Axes need not begin at zero. Click a dot to open the time series of its run, where one was recorded.`,
        ),
    );
  };
  return { el, draw };
}
