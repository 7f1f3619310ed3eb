import { layerBars } from "../charts/static/layer-bars.ts";
import { swatch } from "../charts/static/marks.ts";
import { sizeBars } from "../charts/static/size-bars.ts";
import { extentOf } from "../charts/time/spec.ts";
import { PlotStack } from "../charts/time/stack.ts";
import { chosenFlow, type FlowId, flowKey, flowLabel, flowsOf, visitOf } from "../data/flows.ts";
import { flowIn, runOf } from "../data/groups.ts";
import { SERIES } from "../data/names.ts";
import type { Point } from "../data/points.ts";
import { pointKey, pointLabel, pointsOf } from "../data/points.ts";
import type { Report } from "../data/report.types.ts";
import { isNoteworthy, reverseTraffic } from "../data/reverse.ts";
import type { SeriesCache, SeriesSource } from "../data/series-cache.ts";
import { h, replace, select } from "../page/dom.ts";
import { fileName } from "../page/files.ts";
import type { Store } from "../page/state.ts";
import { endOf, panelsOfRuns } from "../panels/index.ts";
import type { ComparedRun, Count } from "../panels/panel.ts";
import { captionOf, reasonOf, Status, whenNear } from "./parts.ts";
import { reverseFacts } from "./reverse-facts.ts";

/** Number of runs drawn over each other until the reader chooses others. */
const FIRST = 3;

/** The section on ACKs and other traffic against the data. */
export class ReverseSection {
  readonly el: HTMLElement;
  readonly #plots: PlotStack;
  readonly #controls = h("div", { class: "controls" });
  readonly #facts = h("p", { class: "reverse-facts" });
  readonly #bars = h("div", { class: "reverse-bars" });
  readonly #choice = h("div", { class: "controls left" });
  readonly #status = new Status();
  /** True once the reader has come near the plots. */
  #near = false;
  /** True until the plots were drawn once. */
  #first = true;
  /** Counts calls of `#show`, so that an overtaken one stops. */
  #build = 0;

  constructor(
    readonly report: Report,
    readonly store: Store,
    readonly series: SeriesSource | null,
  ) {
    this.#plots = new PlotStack({
      zoomed: (reverseZoom) => store.set({ reverseZoom }),
      file: () => fileName(report.scenario, "acks", "series.csv"),
      caption: (title) => captionOf(report, title),
    });
    const timed = h(
      "div",
      {},
      this.#choice,
      this.#status.el,
      this.#plots.bar,
      this.#plots.help,
      this.#plots.el,
    );
    const flow = this.#flow;
    const open = pointsOf(report).some((p) =>
      isNoteworthy(report, reverseTraffic(report, p, flow)),
    );
    const title = h("h2", { id: "reverse-title" }, "ACKs and reverse traffic");
    this.el = h(
      "section",
      { id: "reverse", "aria-labelledby": "reverse-title" },
      h("div", { class: "section-head" }, title, this.#controls),
      this.#facts,
      h(
        "details",
        { class: "reverse-more", open },
        h("summary", {}, "Bytes by layer, ACK sizes, and ACKs over time"),
        this.#bars,
        series && report.traces.length > 0 && timed,
      ),
    );
    store.on((changed) => {
      if (changed.has("reversePoint") || changed.has("reverseFlow")) this.draw();
      else if (changed.has("compared") || changed.has("count")) void this.#show();
    });
    whenNear(timed, () => {
      this.#near = true;
      void this.#show();
    });
    this.draw();
  }

  get #flow(): FlowId {
    return chosenFlow(this.report, this.store.state.reverseFlow);
  }

  /** The chosen point, or the first. */
  get #point(): Point {
    const points = pointsOf(this.report);
    return points.find((p) => pointKey(p) === this.store.state.reversePoint) ?? points[0] ?? {};
  }

  /** Runs with series at the chosen point: the first of each variant. */
  #offered(): ComparedRun[] {
    const { report } = this;
    const at = pointKey(this.#point);
    const { name } = this.#flow;
    return report.variants.flatMap((variant, index): ComparedRun[] => {
      const trace = report.traces.find((t) => t.variant === variant && pointKey(t.point) === at);
      const visit = visitOf(report, variant, this.#flow);
      const flow = trace?.flows.find((f) => f.name === name && f.visit === visit);
      const run = trace && runOf(report, trace);
      if (!trace || !flow || !run) return [];
      const upload = flowIn(run, flow)?.direction === "upload";
      return [{ name: variant, index, trace, flow, upload }];
    });
  }

  /** The runs drawn: those chosen, else the first of each transport, then the others in order. */
  #chosen(offered: ComparedRun[]): ComparedRun[] {
    const { compared } = this.store.state;
    const wanted = compared === "" ? [] : compared.split(",").map(Number);
    const chosen = offered.filter((o) => wanted.includes(o.index));
    if (chosen.length > 0) return chosen;
    const transports = offered.map((o) => {
      const run = runOf(this.report, o.trace);
      return (run && flowIn(run, o.flow))?.transport ?? "";
    });
    const leads = offered.filter((_, i) => transports.indexOf(transports[i]!) === i);
    const others = offered.filter((o) => !leads.includes(o));
    const first = [...leads, ...others].slice(0, FIRST);
    return offered.filter((o) => first.includes(o));
  }

  /** Draws everything anew, in the colours of the theme. */
  draw(): void {
    const { report, store } = this;
    const points = pointsOf(report).map((p) => ({ value: pointKey(p), text: pointLabel(p) }));
    const flows = flowsOf(report).map((f) => ({ value: flowKey(f), text: flowLabel(report, f) }));
    const traffic = reverseTraffic(report, this.#point, this.#flow);
    replace(
      this.#controls,
      points.length > 1 &&
        select("Point", points, pointKey(this.#point), (v) => store.set({ reversePoint: v })),
      flows.length > 1 &&
        select("Flow", flows, flowKey(this.#flow), (v) => store.set({ reverseFlow: v })),
    );
    this.#facts.textContent =
      reverseFacts(traffic).join(" ") || "This flow has no traffic against its data.";
    replace(this.#bars, traffic.length > 0 && [layerBars(traffic), sizeBars(traffic)]);
    if (this.#near) void this.#show();
  }

  #drawChoice(offered: ComparedRun[], chosen: ComparedRun[]): void {
    const { store } = this;
    // The box that was clicked keeps the focus, though all boxes are made anew.
    const active = document.activeElement as HTMLElement | null;
    const focused = this.#choice.contains(active) ? active?.dataset.run : undefined;
    const box = ({ index, name }: ComparedRun): HTMLElement => {
      const input = h("input", {
        type: "checkbox",
        "data-run": index,
        change: () => {
          const now = offered.filter((o) =>
            o.index === index ? input.checked : chosen.includes(o),
          );
          store.set({ compared: now.map((o) => o.index).join(",") });
        },
      });
      input.checked = chosen.some((o) => o.index === index);
      // At least one run stays.
      input.disabled = input.checked && chosen.length === 1;
      return h("label", { class: "check" }, input, swatch(index), name);
    };
    const counts = [
      { value: "bytes", text: "bytes" },
      { value: "packets", text: "packet numbers" },
    ];
    const runs = { class: "run-choice", role: "group", "aria-label": "Runs in the plots" };
    replace(
      this.#choice,
      offered.length > 1 && h("div", runs, offered.map(box)),
      offered.some((o) => o.flow.series[SERIES.packetNumberSent]) &&
        select("Count", counts, store.state.count, (v) => store.set({ count: v as Count })),
    );
    if (focused !== undefined)
      this.#choice
        .querySelector<HTMLElement>(`[data-run="${focused}"]`)
        ?.focus({ preventScroll: true });
  }

  /** Unpacks the series if needed, and draws the chosen runs. */
  async #show(): Promise<void> {
    if (!this.#near) return;
    const build = ++this.#build;
    const offered = this.#offered();
    const runs = this.#chosen(offered);
    this.#drawChoice(offered, runs);
    let cache: SeriesCache;
    try {
      cache = await this.series!.get();
    } catch (error) {
      this.#status.say(`The time series could not be read: ${reasonOf(error)}`);
      return;
    }
    if (build !== this.#build) return;
    const panels = panelsOfRuns({ runs, counted: this.store.state.count, cache });
    this.#plots.bar.hidden = panels.length === 0;
    if (panels.length === 0) this.#status.say("These runs have no time series.");
    else this.#status.clear();
    const [from, to] = extentOf(panels.flatMap((p) => p.layers)) ?? [0, 1];
    const end = endOf(panels) * 1.015 || 1;
    const { timeline } = this.#plots;
    const kept = timeline.atHome ? null : timeline.view;
    const zoom = this.#first ? this.store.state.reverseZoom : kept;
    this.#first = false;
    timeline.reset([Math.min(0, from), Math.max(to, end)], [0, end], zoom);
    this.#plots.mount([{ name: "", t0: 0, panels }], "Time counts from each flow's first packet.");
  }
}
