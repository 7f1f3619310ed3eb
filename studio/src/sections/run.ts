import { PlotStack } from "../charts/time/stack.ts";
import { transferOf } from "../charts/transfer/transfers.ts";
import { flowIn, runOf } from "../data/groups.ts";
import { hasRuns } from "../data/offered.ts";
import { pointKey } from "../data/points.ts";
import { replayCommand } from "../data/replay.ts";
import type { ConstellationView, FlowSeries, Report, Trace } from "../data/report.types.ts";
import { constellationOf, Routes } from "../data/routes.ts";
import type { SeriesCache, SeriesSource } from "../data/series-cache.ts";
import { button, h, replace, scrollTo, select } from "../page/dom.ts";
import { fileName } from "../page/files.ts";
import type { State, Store } from "../page/state.ts";
import { rttOf } from "../panels/packets.ts";
import { flowName } from "../panels/panel.ts";
import { SkyModel } from "../sky/model.ts";
import { SkyPanel } from "../sky/panel.ts";
import { captionOf, reasonOf, Status, whenIdle, whenNear } from "./parts.ts";
import { PathPlayer } from "./path-player.ts";
import { type Column, panelsOf, rangesOf, traceLabel, type Window } from "./run-columns.ts";
import { runFacts, sharingFacts } from "./run-facts.ts";
import { pairOf } from "./run-pair.ts";

/** A flow of a run as text. A trace may have several visits, so it is by visit number. */
const visitKey = (f: FlowSeries): string => JSON.stringify([f.name, f.visit]);

/** Stands for all flows in the choice of flows; no key of a flow reads so. */
export const ALL = "all";

/** Up to this many plots do not fill a column beside the sky. */
const FEW = 2;

/** Title of the section; a report without runs has paths only. */
export function seriesTitle(report: Report): string {
  return hasRuns(report) ? "Inside a run" : "Over time";
}

/** The section with the time series of one run, or of two side by side. */
export class RunSection {
  readonly el: HTMLElement;
  readonly #plots: PlotStack;
  readonly #controls = h("div", { class: "controls" });
  readonly #facts = h("div", { class: "run-facts" });
  /** The plots, and the sky beside or above them. */
  readonly #body = h("div", {});
  readonly #status = new Status();
  readonly #models = new Map<ConstellationView, SkyModel>();
  #sky: SkyPanel | null = null;
  readonly #path = new PathPlayer(
    (time) => this.#follow(time),
    () => this.#keepCursor(),
  );
  #columns: Column[] = [];
  /** Counts calls of `show`, so that an overtaken one stops. */
  #build = 0;
  #first = true;

  constructor(
    readonly report: Report,
    readonly store: Store,
    readonly series: SeriesSource | null,
  ) {
    this.#plots = new PlotStack({
      moved: (cursor) => {
        if (cursor === null) return;
        this.#sky?.follow(cursor + this.#t0);
        this.#path.follow(cursor);
      },
      zoomed: (zoom) => store.set({ zoom }),
      file: () => {
        const [first] = this.#columns;
        const name = first ? traceLabel(report, first.trace) : "";
        return fileName(report.scenario, name, "series.csv");
      },
      caption: (title) =>
        captionOf(
          report,
          [title, ...this.#columns.map((c) => traceLabel(report, c.trace))].join(", "),
        ),
      beside: (id) => this.#linksBox(id),
    });
    const title = h("h2", { id: "series-title" }, seriesTitle(report));
    this.el = h(
      "section",
      { id: "series", "aria-labelledby": "series-title" },
      h("div", { class: "section-head" }, title, this.#controls),
      this.#status.el,
      this.#facts,
    );
    if (report.traces.length === 0 || !series) {
      this.#status.say("No time series were recorded with this report.");
      this.#controls.remove();
      return;
    }
    this.el.append(this.#plots.bar, this.#plots.help, this.#path.el, this.#body);
    this.#body.append(this.#plots.el);
    store.on((changed) => {
      const keys: (keyof State)[] = ["run", "versus", "traceFlow", "origin"];
      const ofAnswer: (keyof State)[] = ["metric", "flow", "baseline", "point"];
      if (keys.some((k) => changed.has(k))) void this.show();
      else if (ofAnswer.some((k) => changed.has(k))) this.#drawControls();
      else if (changed.has("links")) void this.#relink();
    });
    const stop = whenNear(this.el, () => void this.show());
    // On paper everything is near; a browser that prints waits for nothing that is not unpacked.
    whenIdle(() => void series.get().catch(() => {}));
    addEventListener("beforeprint", () => stop() && void this.show(), { once: true });
    this.#drawControls();
  }

  /** Redraws with the colours of the theme. */
  recolour(): void {
    if (this.#columns.length) this.#mount();
    this.#sky?.recolour();
    this.#path.draw();
  }

  /** Selects the trace of a run; says so if it has none. */
  open(variant: string, point: string, run: number): void {
    const i = this.report.traces.findIndex(
      (t) => t.variant === variant && pointKey(t.point) === point && t.run === run,
    );
    if (i < 0) {
      const name = { variant, point: Object.fromEntries(JSON.parse(point)), run };
      // Runs in real time cannot be repeated.
      const again = this.report.clock === "virtual" && [
        " To run it again with all of them, with qlog and a capture:",
        h("code", { class: "command" }, replayCommand(name, location.href)),
      ];
      this.#status.say(`No time series were recorded for run ${run} of ${variant}.`, again);
    } else {
      this.#status.clear();
      this.store.set({ run: i, zoom: null });
    }
    scrollTo(this.el);
  }

  /** The run's time at which the first column's axis shows zero. */
  get #t0(): number {
    return this.#columns[0]?.t0 ?? 0;
  }

  /** True if all flows of a run are shown in one axis. */
  get #together(): boolean {
    const { traceFlow, run } = this.store.state;
    return traceFlow === ALL && (this.report.traces[run]?.flows.length ?? 0) > 1;
  }

  #flows({ flows }: Trace): FlowSeries[] {
    if (this.#together) return flows;
    const chosen = flows.find((f) => visitKey(f) === this.store.state.traceFlow) ?? flows[0];
    return chosen ? [chosen] : [];
  }

  #drawControls(): void {
    const { report, store } = this;
    const { state } = store;
    const runs = report.traces.map((t, i) => ({ value: String(i), text: traceLabel(report, t) }));
    const pair = runs.length > 1 ? pairOf(report, state) : null;
    const { flows } = report.traces[state.run] ?? report.traces[0]!;
    const each = flows.map((f) => ({ value: visitKey(f), text: flowName(flows, f) }));
    const [one] = this.#flows({ flows } as Trace);
    const chosen = this.#together || !one ? ALL : visitKey(one);
    const first = this.#together ? "first packet of any flow" : "first packet of the flow";
    const origins = [
      { value: "flow", text: first },
      { value: "run", text: "start of the run" },
    ];
    replace(
      this.#controls,
      (runs.length > 1 || report.runs.length > 0) &&
        select("Run", runs, String(state.run), (v) => store.set({ run: Number(v) })),
      runs.length > 1 &&
        select(
          "Compare with",
          [{ value: "-1", text: "nothing" }, ...runs],
          String(state.versus),
          (v) => store.set({ versus: Number(v) }),
        ),
      pair &&
        (pair.run !== state.run || pair.versus !== state.versus) &&
        button("Baseline and best", () => store.set({ run: pair.run, versus: pair.versus }), {
          title: `${pair.names[0]} beside ${pair.names[1]}, the two ends of the answer`,
        }),
      flows.length > 1 &&
        select("Flow", [...each, { value: ALL, text: "all together" }], chosen, (v) =>
          store.set({ traceFlow: v, zoom: null }),
        ),
      flows.some((f) => f.start_s > 0) &&
        select("Time from", origins, state.origin, (v) =>
          store.set({ origin: v as State["origin"], zoom: null }),
        ),
    );
  }

  /** Unpacks the traces if needed, and shows what the state asks for. */
  async show(): Promise<void> {
    this.#drawControls();
    const build = ++this.#build;
    let cache: SeriesCache;
    try {
      cache = await this.series!.get(() => this.#status.say("Unpacking the time series…"));
    } catch (error) {
      this.#status.say(`The time series could not be read: ${reasonOf(error)}`);
      return;
    }
    if (build !== this.#build) return;
    this.#status.clear();
    const { state } = this.store;
    this.#columns = [state.run, state.versus].flatMap((i) => this.#column(i, cache));
    const sky = this.#skyModel(this.#columns[0]?.trace, cache.blob);
    if (cache.problems.length)
      this.#status.say(`Some series could not be read: ${cache.problems[0]}`);
    else if (!sky && this.#columns.every((c) => c.panels.length === 0))
      this.#status.say("This run has no time series.");
    const { full, home, last } = rangesOf(this.#columns, sky?.end ?? null);
    const { timeline } = this.#plots;
    const kept = state.zoom && !timeline.atHome ? timeline.view : null;
    timeline.reset(full, home, this.#first ? state.zoom : kept);
    this.#first = false;
    this.#showSky(sky, [home[0], last]);
    this.#showPath(sky ? [] : this.#columns, cache, [home[0], last]);
    this.#mount();
    this.#drawFacts();
  }

  #column(i: number, cache: SeriesCache): Column[] {
    const trace = this.report.traces[i];
    const flows = trace ? this.#flows(trace) : [];
    if (!trace) return [];
    // Of users, only the links are recorded, from the start of the run.
    const start = flows.length > 0 ? Math.min(...flows.map((f) => f.start_s)) : 0;
    const t0 = this.store.state.origin === "flow" ? start : 0;
    return [{ trace, flows, start, t0, panels: this.#panels(trace, flows, cache) }];
  }

  #panels(trace: Trace, flows: FlowSeries[], cache: SeriesCache): Column["panels"] {
    const all = this.store.state.links === "all";
    return panelsOf(this.report, trace, flows, cache, all);
  }

  #drawFacts(): void {
    const { report } = this;
    const column = ({ trace, flows }: Column): HTMLElement => {
      const run = traceLabel(report, trace);
      const title = (f: FlowSeries): string =>
        trace.flows.length > 1 ? `${run} · ${flowName(trace.flows, f)}` : run;
      const each = flows.map((f) => runFacts(report, trace, f, title(f)));
      return h(
        "div",
        { class: "run-column" },
        sharingFacts(report, trace, run),
        h("div", { class: "run-flows" }, each),
      );
    };
    replace(this.#facts, this.#columns.map(column));
  }

  /** Draws the plots with other links; the window, the sky and the facts stay. */
  async #relink(): Promise<void> {
    const build = this.#build;
    const cache = await this.series!.get();
    if (build !== this.#build || this.#columns.length === 0) return;
    for (const c of this.#columns) c.panels = this.#panels(c.trace, c.flows, cache);
    this.#mount();
  }

  /** The satellites over a run, made once; null if there are none or they cannot be read. */
  #skyModel(trace: Trace | undefined, blob: ArrayBuffer): SkyModel | null {
    const sky = constellationOf(this.report, trace);
    if (!sky) return null;
    try {
      const model = this.#models.get(sky) ?? new SkyModel(sky, blob);
      this.#models.set(sky, model);
      return model;
    } catch (error) {
      this.#status.say(`The satellites could not be read: ${reasonOf(error)}`);
      return null;
    }
  }

  /**
   * Puts the sky of the first run beside the plots, or above them if there are two runs or hardly
   * a plot; takes it away without a model.
   */
  #showSky(model: SkyModel | null, [from, to]: Window): void {
    this.#sky?.destroy();
    this.#sky = null;
    const c = this.#columns[0];
    const { timeline } = this.#plots;
    const above = this.#columns.length > 1 || (c?.panels.length ?? 0) <= FEW;
    this.#body.className = model ? `with-sky${above ? " above" : ""}` : "";
    if (!model || !c) return;
    const routes = Routes.of(c.trace);
    const names = [...new Set([...c.trace.flows.map((f) => f.name), ...routes.flows])];
    const range: Window = [Math.max(0, from + c.t0), Math.min(model.end, to + c.t0)];
    const flows = names.map((name) => {
      const index = c.trace.flows.findIndex((f) => f.name === name);
      return { name, index: Math.max(0, index), strong: c.flows.some((f) => f.name === name) };
    });
    this.#sky = new SkyPanel({
      model,
      routes,
      flows,
      range: range[1] > range[0] ? range : [0, model.end],
      t0: c.t0,
      moved: (time) => this.#follow(time - c.t0),
    });
    this.#body.prepend(this.#sky.el);
    this.#sky.follow((timeline.cursor ?? range[0] - c.t0) + c.t0);
  }

  /** Puts the flows of the runs on the picture of the path: on none, takes it away. */
  #showPath(columns: Column[], cache: SeriesCache, range: Window): void {
    const { report } = this;
    const transfers = columns.flatMap(({ trace, flows, t0 }, i) =>
      flows.flatMap((flow, k) => {
        const { variant } = trace;
        const run = runOf(report, trace);
        const result = run && flowIn(run, flow);
        // Where the path is swept, that of the report is the path of another point.
        const path = report.sweep.length === 0 ? report.path : null;
        const oneWay = path ? path.rtt_ms / 2000 : rttOf({ result, path: report.path }) / 2;
        return transferOf({ variant, index: i + k, flow, result, oneWay, zero: t0 }, cache) ?? [];
      }),
    );
    const names = columns.map((c) => traceLabel(report, c.trace));
    this.#path.show(transfers, names, range);
    this.#keepCursor();
  }

  /** Lets the cursor stay where it is if a picture of the path or the sky shows its time. */
  #keepCursor(): void {
    this.#plots.timeline.stays = this.#path.el.open || this.#sky !== null;
  }

  /** Moves the plots' cursor to a time chosen at the sky, and their window with it if needed. */
  #follow(time: number): void {
    const { timeline } = this.#plots;
    const [a, b] = timeline.view;
    if (time < a || time > b) timeline.show([time, time + b - a]);
    timeline.point(time);
  }

  #mount(): void {
    const ofFlow = this.#together ? "the first packet of any flow" : "the flow's first packet";
    const ofRun =
      this.store.state.origin === "run" || this.#columns.every((c) => c.flows.length === 0);
    const from = ofRun ? "the start of the run" : ofFlow;
    const columns = this.#columns.map(({ trace, t0, panels }) => ({
      name: traceLabel(this.report, trace),
      t0,
      panels,
    }));
    this.#plots.mount(columns, `Time counts from ${from}.`);
  }

  /** A box to show all links, if a run has many. */
  #linksBox(id: string): HTMLElement | null {
    const panels = this.#columns.flatMap((c) => c.panels.filter((p) => p.id === id));
    const totals = [...new Set(panels.flatMap((p) => p.ofLinks?.total ?? []))];
    if (totals.length === 0) return null;
    const box = h("input", {
      type: "checkbox",
      change: () => {
        // The plot stays where it is on the screen, however the plots above it change.
        const plot = (): Element | null =>
          this.#plots.el.querySelector(`[data-panel="${CSS.escape(id)}"]`);
        const top = (): number => plot()?.getBoundingClientRect().top ?? 0;
        const before = top();
        this.store.set({ links: box.checked ? "all" : "busy" });
        requestAnimationFrame(() => {
          scrollBy({ top: top() - before, behavior: "instant" });
          const anew = plot()?.querySelector<HTMLInputElement>(".panel-head input");
          anew?.focus({ preventScroll: true });
        });
      },
    });
    box.checked = this.store.state.links === "all";
    const words = totals.length === 1 ? `all ${totals[0]} links` : "all links";
    return h("label", { class: "check" }, box, words);
  }
}
