import { lowerBound } from "../../data/pyramid.ts";
import { clockTime, LONG } from "../../format/numbers.ts";
import { button, type Child, h, onWidth, replace } from "../../page/dom.ts";
import { delimited, download } from "../../page/files.ts";
import { savePng, saveSvg } from "../../page/picture.ts";
import { TimeChart } from "./chart.ts";
import { Enlarged } from "./enlarged.ts";
import { pictureOf } from "./picture.ts";
import type { PanelSpec } from "./spec.ts";
import { Timeline } from "./timeline.ts";

const GESTURES =
  "All plots share one time axis. Drag across a plot to zoom, or turn the wheel with Ctrl or " +
  "after a click on it; drag with Shift to pan, double-click for the whole run. On the keyboard, " +
  "arrows pan, + and − zoom, 0 shows the whole run; comma and full stop move the cursor.";

const LABEL =
  "Time plots. Arrow keys pan the window, plus and minus zoom, 0 shows the whole run, comma and " +
  "full stop move the cursor.";

/** Width of a narrow stack, whose cards have less space around them, in CSS pixels. */
const NARROW = 616;

/** Space between plots beside each other on paper, in CSS pixels. */
const PAPER_GAP = 10;

/** Height of plots on paper, with their time axis, in CSS pixels: four of them fit on a page. */
const PAPER_HEIGHT = 186;

const isPrinting = (): boolean => document.documentElement.classList.contains("printing");

/** Factor of one step of zooming. */
const STEP = 1.6;

/** One column of plots: of a run, or of several drawn over each other. */
export interface StackColumn {
  /** Title of its plots if there are two columns. */
  name: string;
  /** The run's time at which the axis shows zero. */
  t0: number;
  panels: PanelSpec[];
}

/** How a stack talks to its section. */
export interface StackHooks {
  /** Called when the cursor moves; null: it left the plots. */
  moved?: (cursor: number | null) => void;
  /** Called when the window has changed; null: the whole run. */
  zoomed: (window: [number, number] | null) => void;
  /** Returns the name of the file for the samples in sight. */
  file: () => string;
  /** Returns the caption of a picture: where it comes from. */
  caption: (title: string) => string;
  /** Returns what stands beside the title of a plot. */
  beside?: (id: string) => Child;
}

/** Plots below each other on one time axis, with a bar that shows and moves their window. */
export class PlotStack {
  readonly timeline: Timeline;
  readonly bar: HTMLElement;
  readonly el: HTMLElement;
  /** How to use the plots. */
  readonly help = h("p", { class: "howto gestures" }, GESTURES);
  readonly #where = h("span", { class: "where" });
  readonly #cursor = h("span", { class: "where" });
  readonly #hooks: StackHooks;
  #columns: StackColumn[] = [];
  readonly #enlarged = new Enlarged(
    () => this.fit(),
    (event) => this.#key(event),
  );
  /** Folded plots that were opened by hand. */
  readonly #opened = new Set<string>();
  #writing: ReturnType<typeof setTimeout> | undefined;

  constructor(hooks: StackHooks) {
    this.#hooks = hooks;
    this.timeline = new Timeline(() => this.#write());
    this.el = h("div", {
      class: "stack",
      tabindex: 0,
      role: "group",
      "aria-label": LABEL,
      keydown: (e: KeyboardEvent) => this.#key(e),
    });
    this.bar = h(
      "div",
      { class: "timebar" },
      this.#where,
      this.#cursor,
      h("span", { class: "spacer" }),
      button("−", () => this.#zoom(STEP), { "aria-label": "Zoom out", class: "square" }),
      button("+", () => this.#zoom(1 / STEP), { "aria-label": "Zoom in", class: "square" }),
      button("Whole run", () => this.timeline.show(this.timeline.home)),
      button("Save window as CSV", () => this.#save()),
    );
    onWidth(this.el, () => this.fit());
    this.#watch();
  }

  /** Draws anew for a screen with other pixels, as after zooming the page. */
  #watch(): void {
    const [least, most] = [devicePixelRatio - 0.001, devicePixelRatio + 0.001];
    const now = matchMedia(`(min-resolution: ${least}dppx) and (max-resolution: ${most}dppx)`);
    const changed = (): void => {
      if (!this.el.isConnected) return;
      this.timeline.schedule();
      this.#watch();
    };
    now.addEventListener("change", changed, { once: true });
  }

  /** Replaces the plots; `foot` says what time counts from. */
  mount(columns: StackColumn[], foot: string): void {
    this.#enlarged.close();
    for (const chart of this.timeline.charts) chart.destroy();
    this.timeline.charts = [];
    this.#columns = columns;
    const ids = [...new Set(columns.flatMap((c) => c.panels.map((p) => p.id)))];
    replace(
      this.el,
      ids.map((id) => this.#figure(id)),
      h("p", { class: "howto axis-note" }, foot),
    );
    this.fit();
  }

  /** Fits every plot to the width of the page. */
  fit(): void {
    const width = this.#columnWidth(this.el.clientWidth);
    const large = this.#enlarged.size();
    const paper = isPrinting();
    for (const chart of this.timeline.charts as TimeChart[]) {
      if (large && this.#enlarged.holds(chart.el))
        chart.resize(this.#columnWidth(large.width), large.height(chart.el));
      else if (paper && !chart.spec.waterfall)
        chart.resize(width, Math.min(chart.height, PAPER_HEIGHT));
      else chart.resize(width);
    }
    // All plots are redrawn, as this is also the last chance before printing.
    if (this.timeline.charts.length) this.timeline.redraw(true);
  }

  /** The plots of an id, one per column. */
  #figure(id: string): HTMLElement {
    const first = this.#columns.flatMap((c) => c.panels.filter((p) => p.id === id))[0]!;
    const folded = this.#columns.every((c) =>
      c.panels.every((p) => p.id !== id || p.folded !== undefined),
    );
    const inside = (): Child[] => [this.#cells(id), h("p", { class: "howto" }, first.howto)];
    const title = h("h3", {}, first.title);
    if (!folded)
      return h(
        "figure",
        { class: "card panel", "data-panel": id },
        h(
          "div",
          { class: "panel-head" },
          title,
          h("div", { class: "panel-tools" }, this.#hooks.beside?.(id), this.#tools(id)),
        ),
        inside(),
      );
    // A plot needs a width, so it is made when it is opened.
    const body = h("div", {});
    const fill = (): void => replace(body, ...inside());
    const open = this.#opened.has(id);
    if (open) fill();
    const box = h(
      "details",
      {
        open,
        toggle: () => {
          if (box.open) this.#opened.add(id);
          else this.#opened.delete(id);
          if (!box.open || body.childElementCount > 0) return;
          fill();
          this.fit();
        },
      },
      h("summary", {}, title, h("small", {}, first.folded)),
      body,
    );
    return h("figure", { class: "card panel folded", "data-panel": id }, box);
  }

  /** Buttons that enlarge and save the plots of an id. */
  #tools(id: string): Child {
    const picture = (): [ReturnType<typeof pictureOf>, string] => {
      const charts = (this.timeline.charts as TimeChart[]).filter((c) => c.spec.id === id);
      const named = charts.map((chart) => {
        const column = this.#columns.find((c) => c.panels.includes(chart.spec));
        return { name: column?.name ?? "", chart };
      });
      const file = `${this.#hooks.file().replace(/_?series\.csv$/, "")}_${id}`;
      const { title } = charts[0]!.spec;
      return [pictureOf(title, named, this.#hooks.caption(title)), file.replace(/[^\w.-]+/g, "-")];
    };
    const enlarge = (event: MouseEvent): void => {
      const figure = (event.currentTarget as HTMLElement).closest<HTMLElement>("figure");
      if (figure) this.#enlarged.toggle(figure);
    };
    return [
      button("Enlarge", enlarge as () => void, { class: "tool enlarge" }),
      button("SVG", () => saveSvg(...picture()), { class: "tool", title: "Save as SVG" }),
      button("PNG", () => void savePng(...picture()), { class: "tool", title: "Save as PNG" }),
    ];
  }

  #cells(id: string): HTMLElement {
    const two = this.#columns.length > 1;
    const width = this.#columnWidth(this.el.clientWidth);
    const cells = this.#columns.map((c) => {
      const spec = c.panels.find((p) => p.id === id);
      const name = two && h("p", { class: "column-name" }, c.name);
      if (!spec)
        return h(
          "div",
          { class: "cell" },
          name,
          h("p", { class: "note" }, "This run has no such series."),
        );
      const chart = new TimeChart(spec, this.timeline, c.t0, width);
      this.timeline.charts.push(chart);
      return h(
        "div",
        { class: "cell" },
        name,
        chart.el,
        spec.note && h("p", { class: "howto chart-note" }, spec.note),
      );
    });
    return h("div", { class: two ? "cells two" : "cells" }, cells);
  }

  #columnWidth(width: number): number {
    // On paper, plots stand beside each other.
    const whole = isPrinting() ? (width - PAPER_GAP) / 2 : width;
    const narrow = whole <= NARROW;
    const inside = whole - (narrow ? 26 : 34);
    const two = this.#columns.length > 1 && whole >= 900;
    return Math.max(200, Math.floor(two ? (inside - 24) / 2 : inside));
  }

  #zoom(factor: number): void {
    const [a, b] = this.timeline.view;
    this.timeline.zoom(factor, this.timeline.cursor ?? (a + b) / 2);
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target !== this.el && !this.#enlarged.is(event.target)) return;
    const [a, b] = this.timeline.view;
    const cursor = this.timeline.cursor ?? (a + b) / 2;
    const small = (b - a) / 100;
    const acts: Record<string, () => void> = {
      ArrowLeft: () => this.timeline.pan(-0.15),
      ArrowRight: () => this.timeline.pan(0.15),
      "+": () => this.#zoom(1 / STEP),
      "=": () => this.#zoom(1 / STEP),
      "-": () => this.#zoom(STEP),
      "0": () => this.timeline.show(this.timeline.home),
      ",": () => this.timeline.point(Math.max(a, cursor - small)),
      ".": () => this.timeline.point(Math.min(b, cursor + small)),
      Escape: () => this.timeline.point(null),
    };
    const act = Object.hasOwn(acts, event.key) ? acts[event.key] : undefined;
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** Writes window and cursor; the address follows once the gesture is over. */
  #write(): void {
    const { view, cursor, atHome } = this.timeline;
    const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(view[1] - view[0]))));
    const isLong = view[1] >= LONG;
    const [from, to] = view.map((at) => (isLong ? clockTime(at) : at.toFixed(digits)));
    this.#where.textContent = `${from} to ${to}${isLong ? "" : "\u00a0s"}`;
    this.#hooks.moved?.(cursor);
    const at = (time: number): string =>
      isLong ? clockTime(time) : `${time.toFixed(digits + 1)}\u00a0s`;
    this.#cursor.textContent = cursor === null ? "" : `cursor ${at(cursor)}`;
    clearTimeout(this.#writing);
    this.#writing = setTimeout(() => this.#hooks.zoomed(atHome ? null : [view[0], view[1]]), 150);
  }

  /** The samples in sight of the first column. */
  #save(): void {
    const c = this.#columns[0];
    if (!c) return;
    const [a, b] = this.timeline.view;
    const lines: (string | number)[][] = [["plot", "series", "unit", "t_s", "value"]];
    for (const p of c.panels) {
      for (const { name, data } of p.layers) {
        const end = lowerBound(data.t, b + c.t0);
        for (let i = lowerBound(data.t, a + c.t0); i < end; i++)
          lines.push([p.id, name, p.unit, Number((data.t[i]! - c.t0).toFixed(9)), data.v[i]!]);
      }
    }
    download(this.#hooks.file(), "text/csv", delimited(lines, ","));
  }
}
