import { leastEven, pairsOf } from "../answer/pairs.ts";
import { type BarRow, barRows, causeLegend } from "../charts/static/bar-rows.ts";
import { heatView } from "../charts/static/heat-map.ts";
import { type HeatMap, heatAxes, heatMaps } from "../charts/static/heat-scale.ts";
import { type Competition, competitionOf } from "../data/fairness.ts";
import { TOGETHER } from "../data/flows.ts";
import { goodputsAt, groupsAt, isOf } from "../data/groups.ts";
import { METRIC, type Metric, metricOf } from "../data/metrics.ts";
import { type Point, pointKey, pointsOf } from "../data/points.ts";
import type { Report } from "../data/report.types.ts";
import { metricValue } from "../format/metric.ts";
import { button, type Child, h } from "../page/dom.ts";
import type { Store } from "../page/state.ts";

/** What the figures of a matrix need. */
interface PairOptions {
  report: Report;
  store: Store;
  metric: Metric;
  choose: (variant: string, point: string, run: number) => void;
}

/** Where the time of both flows of a pair went. */
function causes(report: Report, { flows, keys }: Competition, point: Point): Child {
  const here = (report.explanations ?? []).filter((e) => pointKey(e.point) === pointKey(point));
  const goodput = metricOf(METRIC.goodput);
  const rows = flows.flatMap((name, i): BarRow[] => {
    const of = here.find((e) => e.flow === name);
    if (!of) return [];
    const reached = goodputsAt(report, { variant: of.variant, point })[i];
    const value = metricValue(goodput, reached);
    const own = { name: point[keys[i]!] ?? name, differs: name, measured: of.completion_s, value };
    return [{ ...own, index: null, below: "", of, published: [], failure: null }];
  });
  if (rows.length === 0) return null;
  const names = rows.map((r) => r.name).join(" against ");
  return h(
    "figure",
    { class: "card budgets", "data-cause": "" },
    h("figcaption", {}, h("h3", {}, "Where the time went", h("small", {}, ` ${names}`))),
    causeLegend(rows.flatMap((r) => r.of ?? [])),
    barRows(rows, { metric: metricOf(METRIC.completion), time: true }),
    h("p", { class: "howto" }, "A click on a cell shows its pair."),
  );
}

/** A matrix of pairs: the heat map with the pair shown, and where the time of its flows went. */
export function pairFigures({ report, store, metric, choose }: PairOptions): Child {
  const axes = heatAxes(report);
  const competition = competitionOf(report);
  if (!axes || !competition) return null;
  const points = pointsOf(report);
  const maps = heatMaps(report, axes, points, (p) => groupsAt(report, p, TOGETHER, metric.key));
  const chosen = points.find((p) => pointKey(p) === store.state.point);
  const point = chosen ?? leastEven(pairsOf(report).map((p) => p.group))?.point ?? {};
  const has = (map: HeatMap): boolean =>
    map.cells.some((line) => line.some((g) => g && pointKey(g.point) === pointKey(point)));
  const map = maps.find(has) ?? maps[0];
  if (!map) return null;
  const picture = heatView({
    axes,
    maps: [{ ...map, label: "" }],
    metric,
    goodputs: (group) => goodputsAt(report, group),
    shown: (group) => isOf(group, report.traces[store.state.run]),
    choose: (group) => {
      const trace = report.traces.find((t) => isOf(group, t));
      if (trace) choose(group.variant, pointKey(group.point), trace.run);
      store.set({ point: pointKey(group.point) });
    },
  });
  const others = maps.map((of) =>
    button(
      of.label,
      () => {
        const first = leastEven(of.cells.flat().flatMap((g) => g ?? []));
        if (first) store.set({ point: pointKey(first.point) });
      },
      { "aria-pressed": String(of === map) },
    ),
  );
  const [a, b] = competition.flows;
  return [
    h(
      "figure",
      { class: "card sweep", "data-first": "result" },
      h(
        "figcaption",
        {},
        h("h3", {}, `Share of ${a} against ${b}`),
        maps.length > 1 &&
          h("div", { class: "segments", role: "group", "aria-label": "Map" }, others),
      ),
      picture.el,
    ),
    causes(report, competition, point),
  ];
}
