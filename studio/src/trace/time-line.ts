import { extentOf } from "../charts/time/spec.ts";
import { PlotStack } from "../charts/time/stack.ts";
import { reachOf } from "../charts/time/waterfall.ts";
import { SeriesSource } from "../data/series-cache.ts";
import type { TracePage } from "../data/trace.types.ts";
import { h } from "../page/dom.ts";
import { fileName } from "../page/files.ts";
import { reasonOf, Status, whenNear } from "../sections/parts.ts";
import { panelsOf } from "./panels.ts";

/** The transfer over time. */
export class TimeLineSection {
  readonly el: HTMLElement;
  readonly #status = new Status();
  readonly #plots: PlotStack;
  readonly #source: SeriesSource | null;
  #shown = false;

  constructor(
    readonly page: TracePage,
    data: string | null,
  ) {
    this.#source = data === null ? null : new SeriesSource(data);
    this.#plots = new PlotStack({
      zoomed: () => {},
      file: () => fileName(page.file, "series.csv"),
      caption: (title) => `${title} of ${page.file}`,
    });
    this.el = h(
      "section",
      { id: "series", "aria-labelledby": "series-title" },
      h("div", { class: "section-head" }, h("h2", { id: "series-title" }, "Over time")),
      this.#status.el,
      this.#plots.bar,
      this.#plots.help,
      this.#plots.el,
    );
    whenNear(this.el, () => void this.show());
  }

  /** Redraws with the colours of the theme. */
  recolour(): void {
    if (this.#shown) void this.show();
  }

  /** Unpacks the series, and shows them. */
  async show(): Promise<void> {
    try {
      const cache = await this.#source?.get(() => this.#status.say("Unpacking the time series…"));
      if (!cache) throw new Error("the page has none");
      const panels = panelsOf(this.page, cache);
      const spans = panels.flatMap((p) => {
        const own = p.waterfall ? reachOf(p.waterfall) : extentOf(p.layers);
        return own ? [own] : [];
      });
      if (spans.length === 0) throw new Error("the file has none");
      const from = Math.min(0, ...spans.map(([a]) => a));
      const to = Math.max(...spans.map(([, b]) => b));
      const range: [number, number] = [from, to + (to - from) * 0.015 || to + 0.5];
      const { timeline } = this.#plots;
      timeline.reset(range, range, this.#shown && !timeline.atHome ? timeline.view : null);
      this.#shown = true;
      this.#status.clear();
      const foot = "Time counts from the connection's first packet in the file.";
      this.#plots.mount([{ name: this.page.file, t0: 0, panels }], foot);
    } catch (error) {
      this.#status.say(`The time series cannot be shown: ${reasonOf(error)}.`);
    }
  }
}
