import { lowerBound } from "../../data/pyramid.ts";
import { button, type Child, download, h, onWidth, replace } from "../../page/dom.ts";
import { delimited } from "../../sections/table.ts";
import { type PanelSpec, TimeChart } from "./chart.ts";
import { Timeline } from "./timeline.ts";

/** What stands over a stack of plots that share a time axis. */
export const GESTURES =
  "All plots share one time axis. Drag across a plot or turn the wheel to zoom, drag with Shift to move, double-click for the whole run. From the keyboard: arrows, + and −, 0; comma and full stop move the cursor.";

/** One column of plots: a run, or several drawn over each other. */
export interface StackColumn {
  /** Stands over its plots where there are two columns. */
  name: string;
  /** The run's time at which the axis shows zero. */
  t0: number;
  panels: PanelSpec[];
}

/** What a stack tells its section. */
export interface StackHooks {
  /** The cursor moved; null: nowhere. */
  moved?: (cursor: number | null) => void;
  /** The window is another one since a moment ago; null: the whole run. */
  zoomed: (window: [number, number] | null) => void;
  /** Name of the file for the samples in sight. */
  file: () => string;
  /** Beside the title of a plot. */
  beside?: (id: string) => Child;
}

/** Plots one below the other on one time axis, with the bar above them that says and moves the window. */
export class PlotStack {
  readonly timeline: Timeline;
  readonly bar: HTMLElement;
  readonly el: HTMLElement;
  readonly #where = h("span", { class: "where" });
  readonly #cursor = h("span", { class: "where" });
  readonly #hooks: StackHooks;
  #columns: StackColumn[] = [];
  /** Folded plots that were opened by hand. */
  readonly #opened = new Set<string>();
  #writing: ReturnType<typeof setTimeout> | undefined;

  constructor(hooks: StackHooks) {
    this.#hooks = hooks;
    this.timeline = new Timeline(() => this.#tell());
    this.el = h("div", {
      class: "stack",
      tabindex: 0,
      role: "group",
      "aria-label":
        "Time plots. Arrow keys move the window, plus and minus zoom, 0 shows everything, comma and full stop move the cursor.",
      keydown: (e: KeyboardEvent) => this.#key(e),
    });
    this.bar = h(
      "div",
      { class: "timebar" },
      this.#where,
      this.#cursor,
      h("span", { class: "spacer" }),
      button("−", () => this.#zoom(1.6), { "aria-label": "Zoom out", class: "square" }),
      button("+", () => this.#zoom(1 / 1.6), { "aria-label": "Zoom in", class: "square" }),
      button("Whole run", () => this.timeline.show(this.timeline.home)),
      button("Save window as CSV", () => this.#save()),
    );
    onWidth(this.el, () => this.fit());
  }

  /** Draws columns of plots in place of those that were there; `foot` says what time counts from. */
  mount(columns: StackColumn[], foot: string): void {
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

  /** Gives every plot the width that there is. */
  fit(): void {
    const width = this.#columnWidth();
    for (const chart of this.timeline.charts) chart.resize(width);
    // Everything: this is also the last chance before printing.
    if (this.timeline.charts.length) this.timeline.redraw(true);
  }

  /** The plot of that name in every column. */
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
        h("div", { class: "panel-head" }, title, this.#hooks.beside?.(id)),
        inside(),
      );
    // A plot needs its width, so it is made when it is asked for.
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

  #cells(id: string): HTMLElement {
    const two = this.#columns.length > 1;
    const width = this.#columnWidth();
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

  #columnWidth(): number {
    const inside = this.el.clientWidth - 34;
    const two = this.#columns.length > 1 && this.el.clientWidth >= 900;
    return Math.max(200, Math.floor(two ? (inside - 24) / 2 : inside));
  }

  #zoom(factor: number): void {
    const [a, b] = this.timeline.view;
    this.timeline.zoom(factor, this.timeline.cursor ?? (a + b) / 2);
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.target === this.el)) return;
    const [a, b] = this.timeline.view;
    const cursor = this.timeline.cursor ?? (a + b) / 2;
    const small = (b - a) / 100;
    const acts: Record<string, () => void> = {
      ArrowLeft: () => this.timeline.pan(-0.15),
      ArrowRight: () => this.timeline.pan(0.15),
      "+": () => this.#zoom(1 / 1.6),
      "=": () => this.#zoom(1 / 1.6),
      "-": () => this.#zoom(1.6),
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

  /** Window and cursor in words; the address follows once the gesture is over. */
  #tell(): void {
    const { view, cursor, atHome } = this.timeline;
    const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(view[1] - view[0]))));
    this.#where.textContent = `${view[0].toFixed(digits)} to ${view[1].toFixed(digits)}\u00a0s`;
    this.#hooks.moved?.(cursor);
    this.#cursor.textContent = cursor === null ? "" : `cursor ${cursor.toFixed(digits + 1)}\u00a0s`;
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
