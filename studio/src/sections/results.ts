import { isOfPairs } from "../answer/index.ts";
import { inSentence } from "../answer/words.ts";
import { commonRanges, type Range } from "../charts/static/axes.ts";
import { heatView } from "../charts/static/heat-map.ts";
import { type HeatAxes, type HeatMap, heatAxes, heatMaps } from "../charts/static/heat-scale.ts";
import { publishedMark, swatch } from "../charts/static/marks.ts";
import { startTimes } from "../charts/static/start-times.ts";
import { numbersOf, stripPlot } from "../charts/static/strip.ts";
import { sweepPanels } from "../charts/static/sweep-plot.ts";
import { chosenFlow, type FlowId, flowKey, flowLabel, flowsOf } from "../data/flows.ts";
import { type Group, goodputsAt, groupsAt, isOf } from "../data/groups.ts";
import { intervalWords } from "../data/interval.ts";
import { isShared, METRIC, type Metric, metricOf } from "../data/metrics.ts";
import { flowFor, metricAfter, metricsOf, shownMetric } from "../data/offered.ts";
import type { Point } from "../data/points.ts";
import { pointKey, pointLabel, pointsOf } from "../data/points.ts";
import type { Figure, Report } from "../data/report.types.ts";
import { startsOf } from "../data/start-times.ts";
import { inOrder, type Sweep, sweepOf } from "../data/sweep.ts";
import { type Child, h, replace, scrollTo, select, svg } from "../page/dom.ts";
import type { State, Store } from "../page/state.ts";
import { shownReport } from "./chosen.ts";
import { headline, howto, legend, reasons } from "./results-parts.ts";
import { usersFigure } from "./users.ts";

/** Most rows of strip plots shown unless the reader chooses a point. */
const ROWS = 48;

/** Height of the distribution's steps below a strip plot: of a single one, and of several. */
const STEPS = 110;
const STEPS_OF_MANY = 52;

/** What the section shows at the moment. */
interface View {
  metric: Metric;
  /** Of a metric of all flows, the chosen one. */
  flow: FlowId;
  groupsOf: (point: Point) => Group[];
  all: Group[];
  /** The point chosen, if any, and the points with strip plots. */
  one: Point | undefined;
  shown: Point[];
  /** True if there is one run of each variant and point. */
  single: boolean;
}

/** The title of a metric's medians. */
const medianOf = (label: string): string =>
  label.endsWith("median")
    ? label
    : `Median ${label.startsWith("Mean") ? "of the " : ""}${inSentence(label)}`;

/** The section with the distributions of a metric. */
export class ResultsSection {
  readonly el: HTMLElement;
  readonly #controls = h("div", { class: "controls" });
  readonly #body = h("div", {});
  readonly #metrics: string[];
  readonly #points: Point[];
  readonly #sweep: Sweep | null;
  readonly #axes: HeatAxes | null;
  /** True if there are too many strip plots to show at once. */
  readonly #many: boolean;
  #markShown = (): void => {};

  /** `choose` opens the trace of a run. */
  constructor(
    readonly whole: Report,
    readonly store: Store,
    readonly choose: (variant: string, point: string, run: number) => void,
  ) {
    const report = whole;
    this.#metrics = metricsOf(report);
    this.#points = pointsOf(report);
    const n = this.#points.length;
    this.#sweep = n > 1 ? sweepOf(report.sweep, this.#points) : null;
    this.#axes = heatAxes(report);
    this.#many = n > 1 && n * report.variants.length > ROWS;
    store.on((changed) => {
      if (changed.has("run")) this.#markShown();
    });
    const linked = report.traces.length ? "linked" : null;
    const title = h("h2", { id: "results-title" }, "Results");
    this.el = h(
      "section",
      { id: "results", class: linked, "aria-labelledby": "results-title" },
      h("div", { class: "section-head" }, title, this.#controls),
      this.#body,
    );
  }

  /** The report with the variants that the reader shows. */
  get report(): Report {
    return shownReport(this.whole, this.store.state);
  }

  /** True if the sweep is drawn as heat maps. */
  get #heat(): boolean {
    const usual = this.#axes?.competition ? "heat" : "lines";
    return this.#axes !== null && (this.store.state.picture || usual) === "heat";
  }

  draw(): void {
    const { report } = this;
    const { state } = this.store;
    const metric = metricOf(shownMetric(report, state.metric));
    const flow = flowFor(report, metric.key, state.flow);
    this.#drawControls(metric, flowKey(flow));
    const groups = new Map(this.#points.map((p) => [p, groupsAt(report, p, flow, metric.key)]));
    const groupsOf = (p: Point): Group[] => groups.get(p) ?? [];
    const all = [...groups.values()].flat();
    if (all.length === 0) {
      replace(this.#body, h("p", { class: "note" }, "No run has this metric for this flow."));
      return;
    }
    const one = this.#points.find((p) => pointKey(p) === state.point);
    const every = this.#many ? [] : inOrder(this.#sweep, this.#points);
    const shown = one ? [one] : every;
    const single = all.every((g) => g.n <= 1 && g.values.length <= 1);
    const own = isShared(metric.key) ? chosenFlow(report, state.flow) : flow;
    this.#drawBody({ metric, flow: own, groupsOf, all, one, shown, single });
  }

  #drawControls(m: Metric, flow: string): void {
    const { report, store } = this;
    const metrics = this.#metrics.map((key) => ({ value: key, text: metricOf(key).label }));
    const flows = flowsOf(report).map((f) => ({ value: flowKey(f), text: flowLabel(report, f) }));
    const points = this.#points.map((p) => ({ value: pointKey(p), text: pointLabel(p) }));
    const none = { value: "", text: this.#many ? "none in detail" : "all points" };
    const pictures = [
      { value: "heat", text: "heat map" },
      { value: "lines", text: "lines" },
    ];
    replace(
      this.#controls,
      select("Metric", metrics, m.key, (metric) => store.set({ metric })),
      flows.length > 1 &&
        !isShared(m.key) &&
        select("Flow", flows, flow, (v) =>
          store.set({ flow: v, metric: metricAfter(report, m.key, flow, v) }),
        ),
      this.#axes &&
        select("Picture", pictures, this.#heat ? "heat" : "lines", (v) =>
          store.set({ picture: v as State["picture"] }),
        ),
      points.length > 1 &&
        select("Point", [none, ...points], store.state.point, (point) => store.set({ point })),
    );
  }

  #drawBody(view: View): void {
    const { metric, one, shown, single, groupsOf } = view;
    const n = this.#points.length;
    const heat = this.#axes && this.#heat;
    this.#markShown = (): void => {};
    const maps = heat ? heatMaps(this.report, this.#axes!, this.#points, groupsOf) : [];
    // The first screen has a single heat map of pairs.
    const above = maps.length === 1 && isOfPairs(this.report, metric);
    const overview = above ? null : heat ? this.#heatMaps(view, maps) : this.#acrossSweep(view);
    const ranges = commonRanges(shown.map((p) => numbersOf(groupsOf(p))));
    const opens = heat && this.report.traces.length ? "its time series" : "its single runs";
    replace(
      this.#body,
      overview,
      this.#many &&
        !one &&
        h(
          "p",
          { class: "howto" },
          `${n} points: choose one above, or click a ${heat ? "cell" : "dot"}, to see ${opens}.`,
        ),
      h(
        "div",
        { class: shown.length > 1 ? "dist-grid" : null },
        shown.map((p, i) => this.#strip(view, p, ranges[i]!)),
      ),
      shown.length > 0 && [
        legend(shown.flatMap(groupsOf)),
        h("p", { class: "howto" }, howto(metric, single)),
      ],
      shown.map((p) => this.#startTimes(view, p)),
      this.#users(view),
    );
  }

  /**
   * The runs of a point by the start of their visits, if they began at different times of a path
   * that changes.
   */
  #startTimes({ metric, flow, groupsOf }: View, point: Point): Child {
    const runs = startsOf(this.report, groupsOf(point), flow.name);
    if (isShared(metric.key) || runs.length < 2) return null;
    const several = this.#points.length > 1;
    const choose = (variant: string, run: number): void =>
      this.choose(variant, pointKey(point), run);
    return h(
      "figure",
      { class: "card dist start-times" },
      h(
        "figcaption",
        {},
        h("h3", {}, `${metric.label} by start time`, several && ` at ${pointLabel(point)}`),
      ),
      startTimes(runs, metric, choose),
    );
  }

  /** The users of a population at the only point shown. */
  #users({ flow, shown }: View): Child {
    const [point] = shown;
    if (!point || shown.length > 1) return null;
    return usersFigure(this.report, point, flow, (variant, run) =>
      this.choose(variant, pointKey(point), run),
    );
  }

  /** The strip plot of a point. */
  #strip({ metric, groupsOf, shown, single }: View, point: Point, range: Range): Child {
    const groups = groupsOf(point);
    if (groups.length === 0) return null;
    const said = headline(groups, metric);
    const flat = single || !groups.some((g) => g.sorted.length > 1);
    const steps = flat ? 0 : shown.length > 1 ? STEPS_OF_MANY : STEPS;
    const several = this.#points.length > 1;
    const choose = (variant: string, run: number): void =>
      this.choose(variant, pointKey(point), run);
    return h(
      "figure",
      {
        class: "card dist",
        "data-point": pointKey(point),
        "data-intervals": intervalWords(groups.map((g) => g.interval)) || null,
      },
      h(
        "figcaption",
        {},
        (several || range.log) &&
          h("h3", {}, several && pointLabel(point), range.log && h("small", {}, " log scale")),
        said &&
          h(
            "p",
            { class: "headline" },
            h("b", {}, said.best),
            said.words,
            h("b", {}, said.worst),
            said.after,
          ),
      ),
      stripPlot(groups, metric, { range, steps, choose }),
      reasons(groups),
    );
  }

  /** Shows the single runs of a point. */
  #detail(point: string): void {
    this.store.set({ point });
    scrollTo(this.#body.querySelector(".dist"), "nearest");
  }

  #heatMaps({ metric, single }: View, maps: HeatMap[]): Child {
    const { report, store } = this;
    const axes = this.#axes!;
    const picture = heatView({
      axes,
      maps,
      metric,
      goodputs: (group) => axes.competition && goodputsAt(report, group),
      shown: (group) => isOf(group, report.traces[store.state.run]),
      choose: (group) => {
        const trace = report.traces.find((t) => isOf(group, t));
        if (trace) this.choose(group.variant, pointKey(group.point), trace.run);
        else this.#detail(pointKey(group.point));
      },
    });
    this.#markShown = picture.mark;
    const flows = metric.key === METRIC.share && axes.competition?.flows;
    const label = flows ? `Share of ${flows[0]} against ${flows[1]}` : metric.label;
    const title = h("h3", {}, single ? label : medianOf(label));
    return h("figure", { class: "card sweep" }, h("figcaption", {}, title), picture.el);
  }

  /** A variant in the legend, which shows it alone, and all again. */
  #legendItem(i: number): HTMLElement {
    const { store, whole } = this;
    const alone = store.state.only === String(i);
    const click = (): void => store.set({ only: alone ? "" : String(i) });
    const title = alone ? "Show all variants" : "Show only this variant, and the baseline";
    const pressed = { "aria-pressed": String(alone) };
    return h("button", { type: "button", click, title, ...pressed }, swatch(i), whole.variants[i]);
  }

  /** Medians along the sweep, if there is one. */
  #acrossSweep({ metric, groupsOf, all, single }: View): Child {
    if (!this.#sweep) return null;
    const plots = sweepPanels(this.#sweep, groupsOf, metric, (point) => this.#detail(point));
    const label = single ? metric.label : medianOf(metric.label);
    const intervals = intervalWords(all.map((g) => g.interval));
    const variants = [...new Set(all.map((g) => g.index))].sort((a, b) => a - b);
    const kinds = new Set(all.flatMap((g) => g.published.map((p) => p.kind)));
    const box = { class: "swatch", viewBox: "-8 -8 16 16", width: 16, height: 16 };
    const mark = (kind: Figure["kind"], name: string): Child =>
      kinds.has(kind) &&
      h("span", {}, svg("svg", { ...box, "aria-hidden": "true" }, publishedMark(kind)), name);
    return h(
      "figure",
      { class: "card sweep", "data-intervals": intervals || null },
      h(
        "figcaption",
        {},
        h("h3", {}, `${label} across the sweep`, plots.log && h("small", {}, " log scale")),
        h(
          "div",
          { class: "key" },
          variants.map((i) => this.#legendItem(i)),
          mark("objective", "published objective"),
          mark("measured", "published measurement"),
          intervals && h("span", {}, `lines: ${intervals}`),
        ),
      ),
      plots.el,
    );
  }
}
