import { swatch } from "../charts/static/marks.ts";
import { layerBars, sizeBars } from "../charts/static/reverse-bars.ts";
import { GESTURES, PlotStack } from "../charts/time/stack.ts";
import { chosenFlow, type FlowId, flowKey, flowLabel, flowsOf, visitOf } from "../data/flows.ts";
import { flowIn, pointKey, pointLabel, pointsOf, runOf } from "../data/groups.ts";
import { isNoteworthy, returnFacts, returnSides } from "../data/reverse.ts";
import type { Point, Report } from "../data/schema.ts";
import { extentOf, type SeriesCache, type SeriesSource } from "../data/series-cache.ts";
import { fileName, h, replace, select } from "../page/dom.ts";
import type { State, Store } from "../page/state.ts";
import { type Count, endOf, type Overlaid, overlayPanels } from "../panels/overlay.ts";

/** Runs that are drawn over each other until others are chosen. */
const FIRST = 3;

/** The section on what goes against the data: facts always, bars and time plots where it is opened or worth a look. */
export class ReturnSection {
  readonly el: HTMLElement;
  readonly #plots: PlotStack;
  readonly #controls = h("div", { class: "controls" });
  readonly #facts = h("p", { class: "return-facts" });
  readonly #bars = h("div", { class: "return-bars" });
  readonly #choice = h("div", { class: "controls left" });
  readonly #timed: HTMLElement;
  readonly #said = h("p", { class: "note", role: "status", hidden: true });
  /** Set once the reader has come near the plots. */
  #near = false;
  #fresh = true;
  #build = 0;

  constructor(
    readonly report: Report,
    readonly store: Store,
    readonly series: SeriesSource | null,
  ) {
    this.#plots = new PlotStack({
      zoomed: (overZoom) => store.set({ overZoom }),
      file: () => fileName(report.scenario, "return-link", "series.csv"),
    });
    this.#timed = h(
      "div",
      {},
      this.#choice,
      this.#said,
      this.#plots.bar,
      h("p", { class: "howto gestures" }, GESTURES),
      this.#plots.el,
    );
    const points = pointsOf(report);
    const flow = this.#flow;
    const open = points.some((p) => isNoteworthy(report, returnSides(report, p, flow)));
    this.el = h(
      "section",
      { id: "return", "aria-labelledby": "return-title" },
      h(
        "div",
        { class: "section-head" },
        h("h2", { id: "return-title" }, "Return link"),
        this.#controls,
      ),
      this.#facts,
      h(
        "details",
        { class: "return-more", open },
        h("summary", {}, "Bytes by layer, sizes of ACKs, and sequence with ACKs over time"),
        this.#bars,
        series && report.traces.length > 0 && this.#timed,
      ),
    );
    store.on((changed) => {
      if (["at", "returnFlow"].some((k) => changed.has(k as keyof State))) this.draw();
      else if (["over", "count"].some((k) => changed.has(k as keyof State))) void this.#show();
    });
    // What lies folded is not in sight.
    const watch = new IntersectionObserver(
      (entries) => {
        if (!entries.some((e) => e.isIntersecting)) return;
        watch.disconnect();
        this.#near = true;
        void this.#show();
      },
      { rootMargin: "800px" },
    );
    watch.observe(this.#timed);
    this.draw();
  }

  get #flow(): FlowId {
    return chosenFlow(this.report, this.store.state.returnFlow);
  }

  /** The chosen point, or the first. */
  get #point(): Point {
    const points = pointsOf(this.report);
    return points.find((p) => pointKey(p) === this.store.state.at) ?? points[0] ?? {};
  }

  /** Runs with series at the chosen point: the first of each variant. */
  #offered(): Overlaid[] {
    const { report } = this;
    const at = pointKey(this.#point);
    const { name } = this.#flow;
    return report.variants.flatMap((variant, index): Overlaid[] => {
      const trace = report.traces.find((t) => t.variant === variant && pointKey(t.point) === at);
      const visit = visitOf(report, variant, this.#flow);
      const flow = trace?.flows.find((f) => f.name === name && f.visit === visit);
      const run = trace && runOf(report, trace);
      if (!trace || !flow || !run) return [];
      return [
        { name: variant, index, trace, flow, upload: flowIn(run, flow)?.direction === "upload" },
      ];
    });
  }

  /** Which of them are drawn: those chosen, else the first of each transport and then those that follow. */
  #chosen(offered: Overlaid[]): Overlaid[] {
    const wanted = this.store.state.over.split(",").map(Number);
    const chosen =
      this.store.state.over === "" ? [] : offered.filter((o) => wanted.includes(o.index));
    if (chosen.length > 0) return chosen;
    const transport = (o: Overlaid): string =>
      flowIn(runOf(this.report, o.trace)!, o.flow)?.transport ?? "";
    const leaders = offered.filter(
      (o, i) => offered.findIndex((p) => transport(p) === transport(o)) === i,
    );
    const first = [...leaders, ...offered.filter((o) => !leaders.includes(o))].slice(0, FIRST);
    return offered.filter((o) => first.includes(o));
  }

  /** Draws everything anew, in the colours of the theme. */
  draw(): void {
    const { report, store } = this;
    const points = pointsOf(report);
    const flows = flowsOf(report);
    const sides = returnSides(report, this.#point, this.#flow);
    replace(
      this.#controls,
      points.length > 1 &&
        select(
          "Point",
          points.map((p) => ({ value: pointKey(p), text: pointLabel(p) })),
          pointKey(this.#point),
          (at) => store.set({ at }),
        ),
      flows.length > 1 &&
        select(
          "Flow",
          flows.map((f) => ({ value: flowKey(f), text: flowLabel(report, f) })),
          flowKey(this.#flow),
          (returnFlow) => store.set({ returnFlow }),
        ),
    );
    const facts = returnFacts(sides);
    this.#facts.textContent =
      facts.length > 0 ? facts.join(" ") : "Nothing goes against the data of this flow.";
    replace(this.#bars, sides.length > 0 && [layerBars(sides), sizeBars(sides)]);
    if (this.#near) void this.#show();
  }

  #drawChoice(offered: Overlaid[], chosen: Overlaid[]): void {
    const { store } = this;
    // The box that was clicked keeps the focus though all are made anew.
    const focused = this.#choice.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset.run
      : undefined;
    const box = ({ index, name }: Overlaid): HTMLElement => {
      const input = h("input", {
        type: "checkbox",
        "data-run": index,
        change: () => {
          const now = offered.filter((o) =>
            o.index === index ? input.checked : chosen.includes(o),
          );
          store.set({ over: now.map((o) => o.index).join(",") });
        },
      });
      input.checked = chosen.some((o) => o.index === index);
      // The last one stays.
      input.disabled = input.checked && chosen.length === 1;
      return h("label", { class: "check" }, input, swatch(index), name);
    };
    replace(
      this.#choice,
      offered.length > 1 &&
        h(
          "div",
          { class: "runs", role: "group", "aria-label": "Runs in the plots" },
          offered.map(box),
        ),
      offered.some((o) => o.flow.series.packet_number_sent) &&
        select(
          "Count",
          [
            { value: "bytes", text: "bytes" },
            { value: "packets", text: "packet numbers" },
          ],
          store.state.count,
          (count) => store.set({ count: count as Count }),
        ),
    );
    if (focused !== undefined)
      this.#choice
        .querySelector<HTMLElement>(`[data-run="${focused}"]`)
        ?.focus({ preventScroll: true });
  }

  /** Unpacks the series if nobody has, and draws the chosen runs. */
  async #show(): Promise<void> {
    if (!this.#near) return;
    const build = ++this.#build;
    const offered = this.#offered();
    const chosen = this.#chosen(offered);
    this.#drawChoice(offered, chosen);
    let cache: SeriesCache;
    try {
      cache = await this.series!.get();
    } catch (error) {
      this.#say(
        `The time series could not be read: ${error instanceof Error ? error.message : String(error)}`,
      );
      return;
    }
    if (build !== this.#build) return;
    const panels = overlayPanels(chosen, this.store.state.count, cache);
    this.#plots.bar.hidden = panels.length === 0;
    if (panels.length === 0) this.#say("These runs have no time series.");
    else this.#said.hidden = true;
    const full = extentOf(panels.flatMap((p) => p.layers)) ?? [0, 1];
    const end = endOf(panels) * 1.015 || 1;
    const { timeline } = this.#plots;
    const keep = this.#fresh ? this.store.state.overZoom : timeline.atHome ? null : timeline.view;
    this.#fresh = false;
    timeline.reset([Math.min(0, full[0]), Math.max(full[1], end)], [0, end], keep);
    this.#plots.mount([{ name: "", t0: 0, panels }], "Time counts from each flow's first packet.");
  }

  #say(words: string): void {
    this.#said.textContent = words;
    this.#said.hidden = false;
  }
}
