import type { PanelSpec } from "../charts/time/chart.ts";
import { GESTURES, PlotStack } from "../charts/time/stack.ts";
import { flowIn, pointKey, pointLabel, runOf } from "../data/groups.ts";
import { chooseLinks } from "../data/link-choice.ts";
import { reachOf, waterfallPanel } from "../data/objects.ts";
import { Ways } from "../data/routes.ts";
import type { Report, Trace, TraceFlow } from "../data/schema.ts";
import { extentOf, type SeriesCache, type SeriesSource } from "../data/series-cache.ts";
import { fileName, h, replace, scrollTo, select } from "../page/dom.ts";
import type { State, Store } from "../page/state.ts";
import { panelsOf } from "../panels/flow.ts";
import { flowName, togetherPanels } from "../panels/flows.ts";
import { SkyModel } from "../sky/model.ts";
import { SkyPanel } from "../sky/panel.ts";
import { runFacts, sharingFacts } from "./run-facts.ts";

/** Which flow of a run: by its real visit number, as several visits of one run may have been recorded. */
const visitKey = (f: TraceFlow): string => JSON.stringify([f.name, f.visit]);

/** Stands for all flows where a flow is chosen; no key of a flow reads so. */
export const ALL = "all";

/** A trace in words. */
export function traceLabel(report: Report, trace: Trace): string {
  const several = report.traces.some((t) => t.run !== trace.run);
  const point = pointLabel(trace.point);
  return (
    [
      trace.variant,
      point,
      several || report.runs.some((r) => r.run !== 0) ? `run ${trace.run}` : "",
    ]
      .filter(Boolean)
      .join(" · ") || report.scenario
  );
}

/** Plots up to this number do not fill a column beside the sky. */
const FEW = 2;

/** What the section of time series is called: a report without runs is of paths alone. */
export function seriesTitle(report: Report): string {
  return report.runs.length > 0 || report.summary.length > 0 ? "Inside a run" : "Over time";
}

/** One column of plots: a run and the specs of its plots. */
interface Column {
  trace: Trace;
  /** The flow shown, or all of them. */
  flows: TraceFlow[];
  /** When the first of these began, in the run's time. */
  start: number;
  t0: number;
  panels: PanelSpec[];
}

/** The section with the time series of one run, or of two side by side. */
export class TraceSection {
  readonly el: HTMLElement;
  readonly #plots: PlotStack;
  readonly #controls = h("div", { class: "controls" });
  readonly #facts = h("div", { class: "run-facts" });
  /** The plots, and the sky beside or above them. */
  readonly #body = h("div", {});
  #sky: SkyPanel | null = null;
  readonly #models = new Map<number, SkyModel>();
  readonly #said = h("p", { class: "note", role: "status", hidden: true });
  #columns: Column[] = [];
  #build = 0;
  #fresh = true;

  constructor(
    readonly report: Report,
    readonly store: Store,
    readonly series: SeriesSource | null,
  ) {
    this.#plots = new PlotStack({
      moved: (cursor) => cursor !== null && this.#sky?.follow(cursor + (this.#columns[0]?.t0 ?? 0)),
      zoomed: (zoom) => store.set({ zoom }),
      file: () =>
        fileName(
          report.scenario,
          this.#columns[0] ? traceLabel(report, this.#columns[0].trace) : "",
          "series.csv",
        ),
      beside: (id) => this.#linksBox(id),
    });
    this.el = h(
      "section",
      { id: "series", "aria-labelledby": "series-title" },
      h(
        "div",
        { class: "section-head" },
        h("h2", { id: "series-title" }, seriesTitle(report)),
        this.#controls,
      ),
      this.#said,
      this.#facts,
    );
    if (report.traces.length === 0 || !series) {
      this.#say("No time series were recorded with this report.");
      this.#controls.remove();
      return;
    }
    this.el.append(this.#plots.bar, h("p", { class: "howto gestures" }, GESTURES), this.#body);
    this.#body.append(this.#plots.el);
    store.on((changed) => {
      if (["run", "versus", "traceFlow", "origin"].some((k) => changed.has(k as keyof State)))
        void this.show();
      else if (changed.has("links")) void this.#relink();
    });
    // Unpacking waits until the reader comes near.
    const watch = new IntersectionObserver(
      (entries) => {
        if (!entries.some((e) => e.isIntersecting)) return;
        watch.disconnect();
        void this.show();
      },
      { rootMargin: "800px" },
    );
    watch.observe(this.el);
    this.#drawControls();
  }

  /** Redraws with the colours of the theme. */
  recolour(): void {
    if (this.#columns.length) this.#mount();
    this.#sky?.recolour();
  }

  /** Selects the trace of a run; says so when it has none. */
  open(variant: string, point: string, run: number): void {
    const i = this.report.traces.findIndex(
      (t) => t.variant === variant && pointKey(t.point) === point && t.run === run,
    );
    if (i < 0) {
      this.#say(`No time series was recorded for run ${run} of ${variant}.`);
    } else {
      this.#said.hidden = true;
      this.store.set({ run: i, zoom: null });
    }
    scrollTo(this.el);
  }

  #say(words: string): void {
    this.#said.textContent = words;
    this.#said.hidden = false;
  }

  #trace(i: number): Trace | null {
    return this.report.traces[i] ?? null;
  }

  /** Whether all flows of a run are shown in one; where there is only one, there is nothing to choose. */
  get #together(): boolean {
    const { traceFlow, run } = this.store.state;
    return traceFlow === ALL && (this.#trace(run)?.flows.length ?? 0) > 1;
  }

  #flows({ flows }: Trace): TraceFlow[] {
    const { traceFlow } = this.store.state;
    return this.#together
      ? flows
      : [flows.find((f) => visitKey(f) === traceFlow) ?? flows[0] ?? []].flat();
  }

  #drawControls(): void {
    const { state } = this.store;
    const options = this.report.traces.map((t, i) => ({
      value: String(i),
      text: traceLabel(this.report, t),
    }));
    const a = this.#trace(state.run) ?? this.report.traces[0]!;
    const shift = a.flows.some((f) => f.start_s > 0);
    replace(
      this.#controls,
      (options.length > 1 || this.report.runs.length > 0) &&
        select("Run", options, String(state.run), (v) => this.store.set({ run: Number(v) })),
      options.length > 1 &&
        select(
          "Beside it",
          [{ value: "-1", text: "nothing" }, ...options],
          String(state.versus),
          (v) => this.store.set({ versus: Number(v) }),
        ),
      a.flows.length > 1 &&
        select(
          "Flow",
          [
            ...a.flows.map((f) => ({ value: visitKey(f), text: flowName(a.flows, f) })),
            { value: ALL, text: "all together" },
          ],
          this.#together ? ALL : visitKey(this.#flows(a)[0]!),
          (v) => this.store.set({ traceFlow: v, zoom: null }),
        ),
      shift &&
        select(
          "Time from",
          [
            {
              value: "flow",
              text: this.#together ? "the first flow's first packet" : "the flow's first packet",
            },
            { value: "run", text: "the run's beginning" },
          ],
          state.origin,
          (v) => this.store.set({ origin: v as State["origin"], zoom: null }),
        ),
    );
  }

  /** Unpacks the traces if that has not been done, and shows what the state asks for. */
  async show(): Promise<void> {
    this.#drawControls();
    const build = ++this.#build;
    let cache: SeriesCache;
    try {
      cache = await this.series!.get(() => this.#say("Unpacking the time series…"));
    } catch (error) {
      this.#say(
        `The time series could not be read: ${error instanceof Error ? error.message : String(error)}`,
      );
      return;
    }
    if (build !== this.#build) return;
    this.#said.hidden = true;
    const { state } = this.store;
    this.#columns = [state.run, state.versus].flatMap((i) => {
      const trace = this.#trace(i);
      const flows = trace ? this.#flows(trace) : [];
      if (!trace || flows.length === 0) return [];
      const start = Math.min(...flows.map((f) => f.start_s));
      return [
        {
          trace,
          flows,
          start,
          t0: state.origin === "flow" ? start : 0,
          panels: this.#panels(trace, flows, cache),
        },
      ];
    });
    const sky = this.#skyOf(this.#columns[0]?.trace, cache.blob);
    if (cache.problems.length) this.#say(`Some series could not be read: ${cache.problems[0]}`);
    else if (!sky && this.#columns.every((c) => c.panels.length === 0))
      this.#say("This run has no time series.");
    let full: [number, number] | null = null;
    let home: [number, number] | null = null;
    for (const c of this.#columns) {
      const join = (
        r: [number, number] | null,
        e: [number, number] | null,
      ): [number, number] | null =>
        e
          ? r
            ? [Math.min(r[0], e[0] - c.t0), Math.max(r[1], e[1] - c.t0)]
            : [e[0] - c.t0, e[1] - c.t0]
          : r;
      const objects =
        c.panels.flatMap((p) => (p.waterfall ? [reachOf(p.waterfall)] : []))[0] ?? null;
      full = join(join(full, extentOf(c.panels.flatMap((p) => p.layers))), objects);
      // The flow's own series say how long it took; links may have been busy before and after.
      const own =
        extentOf(
          c.panels
            .filter((p) => ["sequence", "received", "window", "rtt"].includes(p.id))
            .flatMap((p) => p.layers),
        ) ?? extentOf(c.panels.flatMap((p) => p.layers));
      home = join(
        join(home, own && [Math.min(own[0], c.start), own[1]]),
        objects && [c.start, objects[1]],
      );
    }
    // Where nothing else says how long it lasted, the sky does.
    if (sky)
      full = [
        Math.min(full?.[0] ?? 0, -this.#columns[0]!.t0),
        Math.max(full?.[1] ?? 0, sky.end - this.#columns[0]!.t0),
      ];
    full ??= [0, 1];
    home ??= full;
    const last = home[1];
    const pad = (home[1] - home[0]) * 0.015 || 0.5;
    home = [home[0], home[1] + pad];
    full = [Math.min(full[0], home[0]), Math.max(full[1], home[1])];
    const keep = this.#fresh
      ? state.zoom
      : state.zoom && !this.#plots.timeline.atHome
        ? this.#plots.timeline.view
        : null;
    this.#fresh = false;
    this.#plots.timeline.reset(full, home, keep);
    this.#raise(sky, [home[0], last]);
    this.#mount();
    replace(
      this.#facts,
      this.#columns.map((c) => {
        const run = traceLabel(this.report, c.trace);
        return h(
          "div",
          { class: "run-column" },
          sharingFacts(this.report, c.trace, run),
          h(
            "div",
            { class: "run-flows" },
            c.flows.map((f) =>
              runFacts(
                this.report,
                c.trace,
                f,
                [run, c.trace.flows.length > 1 && flowName(c.trace.flows, f)]
                  .filter(Boolean)
                  .join(" · "),
              ),
            ),
          ),
        );
      }),
    );
  }

  /** The plots of some flows of a run. */
  #panels(trace: Trace, flows: TraceFlow[], cache: SeriesCache): PanelSpec[] {
    const { path } = this.report;
    const run = runOf(this.report, trace);
    const results = flows.map((f) => run && flowIn(run, f));
    const connections = Math.max(...results.map((f) => f?.connections ?? 1));
    const links = chooseLinks(this.report, trace, flows, this.store.state.links === "all");
    return this.#together
      ? togetherPanels(trace, path, cache, connections, links)
      : [
          ...waterfallPanel(results[0], flows[0]!),
          ...panelsOf(trace, flows[0]!, path, cache, results[0], links),
        ];
  }

  /** Draws the plots with other links; the window, the sky and the facts stay. */
  async #relink(): Promise<void> {
    const build = this.#build;
    const cache = await this.series!.get();
    if (build !== this.#build || this.#columns.length === 0) return;
    for (const c of this.#columns) c.panels = this.#panels(c.trace, c.flows, cache);
    this.#mount();
  }

  /** The sky above a run, made once; null where it has none or it cannot be read, which is said. */
  #skyOf(trace: Trace | undefined, blob: ArrayBuffer): SkyModel | null {
    const sky = trace?.sky === undefined ? undefined : this.report.skies[trace.sky];
    if (!sky) return null;
    try {
      const model = this.#models.get(trace!.sky!) ?? new SkyModel(sky, blob);
      this.#models.set(trace!.sky!, model);
      return model;
    } catch (error) {
      this.#say(
        `The sky could not be read: ${error instanceof Error ? error.message : String(error)}`,
      );
      return null;
    }
  }

  /** Puts the picture of the sky of the first run beside the plots (above them where two runs are shown, or hardly a plot), or takes it away. */
  #raise(model: SkyModel | null, [from, to]: [number, number]): void {
    this.#sky?.destroy();
    this.#sky = null;
    const c = this.#columns[0];
    this.#plots.timeline.stays = model !== null;
    const above = this.#columns.length > 1 || (this.#columns[0]?.panels.length ?? 0) <= FEW;
    this.#body.className = model ? `with-sky${above ? " above" : ""}` : "";
    if (!model || !c) return;
    const ways = new Ways(c.trace.paths ?? []);
    const names = [...new Set([...c.trace.flows.map((f) => f.name), ...ways.flows])];
    const range: [number, number] = [Math.max(0, from + c.t0), Math.min(model.end, to + c.t0)];
    const sky = new SkyPanel({
      model,
      ways,
      flows: names.map((name) => ({
        name,
        index: Math.max(
          0,
          c.trace.flows.findIndex((f) => f.name === name),
        ),
        strong: c.flows.some((f) => f.name === name),
      })),
      range: range[1] > range[0] ? range : [0, model.end],
      t0: c.t0,
      moved: (time) => this.#follow(time - c.t0),
    });
    this.#sky = sky;
    this.#body.prepend(sky.el);
    sky.follow((this.#plots.timeline.cursor ?? range[0] - c.t0) + c.t0);
  }

  /** Moves the cursor of the plots to a time that was chosen at the sky; where it leaves their window, the window goes along. */
  #follow(time: number): void {
    const [a, b] = this.#plots.timeline.view;
    if (time < a || time > b) this.#plots.timeline.show([time, time + b - a]);
    this.#plots.timeline.point(time);
  }

  #mount(): void {
    const from =
      this.store.state.origin === "run"
        ? "the run's beginning"
        : this.#together
          ? "the first packet of any flow"
          : "the flow's first packet";
    this.#plots.mount(
      this.#columns.map((c) => ({
        name: traceLabel(this.report, c.trace),
        t0: c.t0,
        panels: c.panels,
      })),
      `Time counts from ${from}.`,
    );
  }

  /** Whether all links are drawn, where a run has many. */
  #linksBox(id: string): HTMLElement | null {
    const of = this.#columns.flatMap((c) =>
      c.panels.flatMap((p) => (p.id === id && p.ofLinks ? [p.ofLinks] : [])),
    );
    if (of.length === 0) return null;
    const totals = [...new Set(of.map((o) => o.total))];
    const box = h("input", {
      type: "checkbox",
      change: () => {
        // The plot that was clicked stays where it is, whatever those above it grow or shrink by.
        const top = (): number =>
          this.#plots.el.querySelector(`[data-panel="${CSS.escape(id)}"]`)?.getBoundingClientRect()
            .top ?? 0;
        const before = top();
        const all = box.checked;
        this.store.set({ links: all ? "all" : "busy" });
        requestAnimationFrame(() => {
          scrollBy({ top: top() - before, behavior: "instant" });
          this.#plots.el
            .querySelector<HTMLInputElement>(`[data-panel="${CSS.escape(id)}"] .panel-head input`)
            ?.focus({ preventScroll: true });
        });
      },
    });
    box.checked = this.store.state.links === "all";
    return h(
      "label",
      { class: "check" },
      box,
      totals.length === 1 ? `all ${totals[0]} links` : "all links",
    );
  }
}
