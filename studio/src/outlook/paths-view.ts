/** What a path offers over time, before packets are sent: capacity, RTT, and its satellites. */
import type { PanelSpec } from "../charts/time/spec.ts";
import { PlotStack } from "../charts/time/stack.ts";
import { readReport } from "../data/read.ts";
import type { Report } from "../data/report.types.ts";
import { constellationOf, Routes } from "../data/routes.ts";
import { SeriesSource } from "../data/series-cache.ts";
import { replace } from "../page/dom.ts";
import type { PathPlaces, ShownData } from "../page/editable.ts";
import { panelsOf, rangesOf } from "../sections/run-columns.ts";
import { SkyModel } from "../sky/model.ts";
import { SkyPanel } from "../sky/panel.ts";

/** Plots that are shown, in their order. */
const PLOTS = ["throughput", "rtt"];

/** True if a plot has something that changes, which the drawing of the path cannot show. */
const changes = ({ layers }: PanelSpec): boolean =>
  layers.some(({ data }) => data.v.some((value) => value !== data.v[0]));

/** The plots and the globe of a report without runs, in elements of another page. */
export class PathsView {
  readonly #places: PathPlaces;
  readonly #plots: PlotStack;
  #sky: SkyPanel | null = null;
  /** What is shown or being unpacked. */
  #shown: ShownData | null = null;
  #report: Report | null = null;

  constructor(places: PathPlaces) {
    this.#places = places;
    this.#plots = new PlotStack({
      moved: (cursor) => cursor !== null && this.#sky?.follow(cursor),
      zoomed: () => {},
      caption: (title) => title,
      file: () => "path_series.csv",
    });
  }

  /** Shows a path, or nothing. Throws if it cannot be read. */
  async show(data: ShownData | null): Promise<void> {
    const same = data?.report === this.#shown?.report && data?.traces === this.#shown?.traces;
    this.#shown = data;
    if (same) return;
    if (!data?.traces) {
      this.#clear();
      return;
    }
    this.#report = readReport(JSON.parse(data.report));
    const cache = await new SeriesSource(data.traces).get();
    // Another path may have been shown in the meantime.
    if (this.#shown !== data) return;
    const report = this.#report;
    const [trace] = report.traces;
    if (!trace) return;
    const { flows } = trace;
    const all = panelsOf(report, trace, flows, cache, true);
    const plots = PLOTS.flatMap((id) => all.filter((panel) => panel.id === id));
    const changing = plots.filter(changes);
    // Of allocated capacity, what is constant is all that is known.
    const panels = changing.length > 0 ? changing : plots.slice(0, 1);
    const constellation = constellationOf(report, trace);
    const model = constellation ? new SkyModel(constellation, cache.blob) : null;
    const column = { trace, flows, start: 0, t0: 0, panels };
    const { full } = rangesOf([column], model?.end ?? null);
    const { timeline } = this.#plots;
    this.#clear();
    timeline.reset(full, full, null);
    timeline.stays = model !== null;
    if (model) {
      const routes = Routes.of(trace);
      this.#sky = new SkyPanel({
        model,
        routes,
        flows: routes.flows.map((name, index) => ({ name, index, strong: true })),
        range: [0, model.end],
        t0: 0,
        moved: (time) => timeline.point(time),
      });
    }
    replace(this.#places.plots, this.#plots.el);
    replace(this.#places.sky, this.#sky?.el);
    this.#plots.mount([{ name: "", t0: 0, panels }], "Time counts from the start of a run.");
    this.#sky?.follow(0);
  }

  /** Redraws with the colours of the theme. */
  recolour(): void {
    this.#plots.fit();
    this.#sky?.recolour();
  }

  #clear(): void {
    this.#sky?.destroy();
    this.#sky = null;
    replace(this.#places.plots);
    replace(this.#places.sky);
  }
}
