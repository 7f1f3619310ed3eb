/** The picture of the run that is shown, with the pinned one behind it. It changes in its place. */

import { type Point, pointKey, pointLabel } from "../../data/points.ts";
import { readReport } from "../../data/read.ts";
import type { Summary } from "../../data/report.types.ts";
import { SeriesSource } from "../../data/series-cache.ts";
import { groupBy } from "../../data/statistics.ts";
import { button, h, replace } from "../../page/dom.ts";
import type { ShownData } from "../../page/editable.ts";
import { BarsPlot } from "./bars.ts";
import type { Drawn } from "./curve.ts";
import { LinesPlot } from "./lines.ts";
import {
  medianPicture,
  metricsIn,
  type PicturedRun,
  pointsWithSeries,
  TIME_MEASURES,
  timePicture,
} from "./measures.ts";

/** A run whose medians are known. */
export interface RunToPicture {
  id: number;
  summary: Summary[];
}

/** Largest number of runs whose series are kept in memory. */
const MAX_READ = 4;
/** Most points of a sweep that can be chosen. */
const MAX_POINTS = 200;
const NOTHING = "Run the scenario to see what it does.";

/** The picture. */
export class RunPicture {
  readonly element: HTMLElement;
  readonly #data: (id: number) => Promise<ShownData | null>;
  /** Says why there is no plot. */
  readonly #empty = h("p", { class: "picture-empty" });
  readonly #key = h("p", { class: "picture-key" });
  readonly #lines = new LinesPlot(() => this.#mark());
  readonly #bars = new BarsPlot();
  readonly #whole = button("Whole", () => {
    this.#lines.view = null;
  });
  readonly #measures = h("select", {
    "aria-label": "Picture of",
    change: () => this.#choose(this.#measures.value),
  });
  readonly #points = h("select", {
    "aria-label": "Point of the sweep",
    hidden: true,
    change: () => {
      this.#point = this.#points.value;
      this.#draw();
    },
  });
  readonly #read = new Map<number, Promise<PicturedRun>>();
  #shown: PicturedRun | null = null;
  #pinned: PicturedRun | null = null;
  /** What is to be shown once it is read. */
  #wanted: [RunToPicture, RunToPicture | null] | null = null;
  /** What the reader has chosen; empty: what fits the run. */
  #measure = "";
  #point = "";

  /** `data` returns the data of a run's report. */
  constructor(data: (id: number) => Promise<ShownData | null>) {
    this.#data = data;
    this.element = h(
      "figure",
      { class: "picture" },
      h("div", { class: "picture-head" }, this.#measures, this.#points, this.#whole, this.#key),
      h("div", { class: "picture-stage" }, this.#empty, this.#lines.element, this.#bars.element),
    );
    this.clear();
  }

  /** Shows nothing. */
  clear(words = NOTHING): void {
    this.#wanted = null;
    [this.#shown, this.#pinned] = [null, null];
    this.#measures.hidden = true;
    this.#points.hidden = true;
    this.#whole.hidden = true;
    replace(this.#key);
    this.#stage(null, words);
  }

  /** Says that the first run goes on. */
  wait(): void {
    if (!this.#shown) this.#stage(null, "It runs…");
  }

  /** Shows a run, and a pinned one behind it. Measure, point and zoom stay. */
  async show(shown: RunToPicture, pinned: RunToPicture | null): Promise<void> {
    const wanted: [RunToPicture, RunToPicture | null] = [shown, pinned];
    this.#wanted = wanted;
    const reading = [shown, ...(pinned ? [pinned] : [])].map((run) => this.#readRun(run));
    const [first, second] = await Promise.all(reading);
    // Another run may have been shown in the meantime.
    if (this.#wanted !== wanted || !first) return;
    [this.#shown, this.#pinned] = [first, second ?? null];
    this.#offer(first);
    this.#draw();
  }

  /** Draws again, with the colours of the theme. */
  recolour(): void {
    if (this.#shown) this.#draw();
  }

  #readRun(run: RunToPicture): Promise<PicturedRun> {
    const known = this.#read.get(run.id);
    if (known) return known;
    const reading = this.#series(run);
    // One that could not be read is asked for again.
    reading.catch(() => this.#read.delete(run.id));
    this.#read.set(run.id, reading);
    for (const id of this.#read.keys()) {
      if (this.#read.size <= MAX_READ) break;
      if (id !== this.#pinned?.id && id !== run.id) this.#read.delete(id);
    }
    return reading;
  }

  async #series({ id, summary }: RunToPicture): Promise<PicturedRun> {
    const swept = summary.some(({ point }) => Object.keys(point).length > 0);
    // Series of a sweep are read once somebody asks for them.
    if (swept && !this.#measure.startsWith("time:"))
      return { id, summary, report: null, cache: null };
    const data = await this.#data(id);
    if (!data) return { id, summary, report: null, cache: null };
    const report = readReport(JSON.parse(data.report));
    const cache = data.traces ? await new SeriesSource(data.traces).get() : null;
    return { id, summary, report, cache };
  }

  /** Offers what a run has, and keeps the choice if it can. */
  #offer(run: PicturedRun): void {
    const times = run.report
      ? TIME_MEASURES.filter((measure) =>
          run.report!.traces.some(({ flows }) => flows.some((one) => one.series[measure.series])),
        )
      : TIME_MEASURES;
    const offered = [
      ...times.map(({ key, label }) => ({ key, label, group: "Over time" })),
      ...metricsIn(run).map(({ key, label }) => ({ key, label, group: "Medians" })),
    ];
    const keys = offered.map(({ key }) => key);
    const usual = run.report ? keys[0] : (metricsIn(run)[0]?.key ?? keys[0]);
    const chosen = keys.includes(this.#measure) ? this.#measure : (usual ?? "");
    const words = JSON.stringify(offered);
    if (this.#measures.dataset.offered !== words) {
      this.#measures.dataset.offered = words;
      const groups = groupBy(offered, ({ group }) => group);
      replace(
        this.#measures,
        [...groups].map(([group, options]) =>
          h(
            "optgroup",
            { label: group },
            options.map(({ key, label }) => h("option", { value: key }, label)),
          ),
        ),
      );
    }
    this.#measures.value = chosen;
    this.#measures.hidden = keys.length === 0;
    this.#offerPoints(chosen.startsWith("time:") && run.report ? pointsWithSeries(run.report) : []);
  }

  #offerPoints(points: Point[]): void {
    const keys = points.slice(0, MAX_POINTS).map(pointKey);
    if (!keys.includes(this.#point)) this.#point = keys[0] ?? "";
    this.#points.hidden = keys.length < 2;
    replace(
      this.#points,
      keys.map((key, i) => h("option", { value: key }, pointLabel(points[i]!))),
    );
    this.#points.value = this.#point;
  }

  #choose(measure: string): void {
    this.#measure = measure;
    const shown = this.#shown;
    if (!shown || !this.#wanted) return;
    if (measure.startsWith("time:") && !shown.report) {
      this.#read.clear();
      void this.show(...this.#wanted);
      return;
    }
    this.#offer(shown);
    this.#draw();
  }

  #draw(): void {
    const run = this.#shown;
    if (!run) return;
    const measure = TIME_MEASURES.find(({ key }) => key === this.#measures.value);
    const metric = metricsIn(run).find(({ key }) => key === this.#measures.value);
    const drawn = measure
      ? timePicture(measure, this.#point, run, this.#pinned)
      : metric
        ? medianPicture(metric, run, this.#pinned)
        : null;
    this.#stage(drawn?.kind ?? null, "This run has none.");
    if (drawn?.kind === "bars") this.#bars.show(drawn);
    else if (drawn) this.#lines.show(drawn);
    this.element.dataset.run = String(run.id);
    const pinned = this.#pinned;
    replace(
      this.#key,
      `run ${run.id}`,
      pinned && [h("span", { class: "ghost-key" }), `run ${pinned.id}, pinned`],
    );
    this.#mark();
  }

  /** Shows one kind of plot, or words. */
  #stage(kind: Drawn["kind"] | null, words: string): void {
    replace(this.#empty, words);
    this.#empty.hidden = kind !== null;
    this.#lines.element.hidden = kind !== "lines";
    this.#bars.element.hidden = kind !== "bars";
  }

  #mark(): void {
    this.#whole.hidden = this.#lines.view === null || this.#lines.element.hidden;
  }
}
