import uPlot from "uplot";
import type { Waterfall } from "../../data/objects.ts";
import type { Phases } from "../../data/phases.ts";
import { extremes, lowerBound, type Pyramid } from "../../data/pyramid.ts";
import { plotScale, stepDecimals } from "../../format/numbers.ts";
import { h } from "../../page/dom.ts";
import { Legend } from "./legend.ts";
import { drawBars, RowPointer } from "./object-bars.ts";
import { drawLayer, drawMarks, drawReference, type Frame } from "./paint.ts";
import { drawBands, STRIP } from "./phase-bands.ts";
import type { Timeline } from "./timeline.ts";

/** How a series is drawn. */
export type Style = "line" | "step" | "dots" | "cross" | "triangle" | "plus" | "rug";

/** One series in a plot. */
export interface Layer {
  name: string;
  title: string;
  data: Pyramid;
  style: Style;
  colour: () => string;
  fill?: boolean;
  dash?: number[];
  width?: number;
  /** Whether single samples are dots on the line, where there is room for them. */
  points?: boolean;
  /** Whether the axis leaves it where it is far above all others: at most half as high again. */
  bounded?: boolean;
  shown: boolean;
}

/** A level that never changes, such as a link's rate. */
export interface Reference {
  name: string;
  value: number;
  colour: () => string;
}

/** What one plot shows. */
export interface PanelSpec {
  id: string;
  title: string;
  unit: string;
  /** The value axis starts at zero whatever is in view. */
  zero: boolean;
  layers: Layer[];
  references: Reference[];
  marks: { t: number; label: string }[];
  /** What the congestion control was doing, as bands behind the plot; null where that says nothing. */
  phases: { data: Phases; shown: boolean } | null;
  /** Whether the marks are named in a strip above the plot. */
  labels: boolean;
  howto: string;
  /** What has to be known about this run's series in particular. */
  note?: string;
  /** Why the plot begins folded, in words that stand beside its title; missing: it is open. */
  folded?: string;
  /** In plots of links that are too many to be drawn together: how many there are, and whether all are drawn. */
  ofLinks?: { total: number; all: boolean };
  /** Objects instead of series. */
  waterfall?: Waterfall;
  height: number;
}

function axisValues(unit: string, splits: number[], incr: number, hi: number): string[] {
  const s = unit === "packets" ? { unit: "", divisor: 1 } : plotScale(unit, hi);
  const decimals = stepDecimals(incr / s.divisor);
  return splits.map(
    (v) => `${(v / s.divisor).toFixed(decimals)}${s.unit ? `\u00a0${s.unit}` : ""}`,
  );
}

const css = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Times of wheel events: a scroll of the page that began elsewhere goes on over the plots. */
let lastScroll = 0;
addEventListener("scroll", () => (lastScroll = performance.now()), {
  passive: true,
  capture: true,
});

const charts = new WeakMap<Element, TimeChart>();
const sight =
  typeof IntersectionObserver === "undefined"
    ? null
    : new IntersectionObserver(
        (entries) => {
          for (const { target, isIntersecting } of entries) {
            const chart = charts.get(target);
            if (!chart) continue;
            chart.inSight = isIntersecting;
            if (isIntersecting && chart.stale) chart.timeline.schedule();
          }
        },
        { rootMargin: "150px" },
      );

/** One plot on the shared time axis: uPlot draws the axes, `paint` the series straight from their pyramids. */
export class TimeChart {
  readonly el: HTMLElement;
  /** Whether the reader can see it (or nearly), and whether it still shows an earlier window. */
  inSight = true;
  stale = true;
  readonly #plot: uPlot;
  readonly #line = h("div", { class: "cursor-line", hidden: true });
  readonly #band = h("div", { class: "select-band", hidden: true });
  readonly #legend: Legend;
  readonly #rows: RowPointer | null;
  #y: [number, number] = [0, 1];
  #drag: { from: number; x: number; pan: boolean; view: [number, number] } | null = null;

  /** `t0` is the run's time at which the axis shows zero. */
  constructor(
    readonly spec: PanelSpec,
    readonly timeline: Timeline,
    readonly t0: number,
    width: number,
  ) {
    const host = h("div", { class: "chart-host" });
    this.#legend = new Legend(spec, () => timeline.schedule());
    this.el = h("div", { class: "chart", "data-panel": spec.id }, this.#legend.el, host);
    // What stands above the plot: names of marks, or the strip of phases.
    const above = spec.labels ? 38 : spec.phases ? STRIP + 4 : 8;
    const font =
      "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
    const grid = { stroke: () => css("--grid"), width: 1 };
    const common = { stroke: () => css("--muted"), font, grid, ticks: { ...grid, size: 4 } };
    this.#plot = new uPlot(
      {
        width,
        height: spec.height + above - 8,
        padding: [above, 14, 0, 0],
        cursor: { show: false },
        legend: { show: false },
        select: { show: false, left: 0, top: 0, width: 0, height: 0 },
        scales: { x: { time: false, range: (_u, a, b) => [a, b] }, y: { range: () => this.#y } },
        axes: [
          {
            ...common,
            size: 28,
            space: 84,
            values: (_u, splits, _i, _s, incr) =>
              splits.map(
                (v) => `${Math.abs(v) < incr * 1e-6 ? "0" : v.toFixed(stepDecimals(incr))} s`,
              ),
          },
          // Rows have names instead of values, and what lies between them would be a pattern.
          spec.waterfall
            ? { ...common, size: 76, splits: () => [], values: () => [] }
            : {
                ...common,
                size: 76,
                space: 34,
                values: (_u, splits, _i, _s, incr) =>
                  axisValues(spec.unit, splits, incr, this.#y[1]),
              },
        ],
        series: [{}, { scale: "y", show: false }],
        hooks: { drawClear: [() => this.#paintBands()], draw: [() => this.#paint()] },
      },
      [
        [0, 1],
        [0, 1],
      ],
      host,
    );
    this.#plot.over.append(this.#line, this.#band);
    this.#rows = spec.waterfall ? new RowPointer(spec.waterfall, this.#plot.over, t0) : null;
    if (spec.waterfall) {
      this.#plot.over.setAttribute("role", "img");
      this.#plot.over.setAttribute(
        "aria-label",
        `Waterfall of ${spec.waterfall.rows.length} objects; the list of objects above has the same numbers`,
      );
    }
    this.#listen(this.#plot.over);
    charts.set(this.el, this);
    sight?.observe(this.el);
  }

  /** Range of the values in a window, before the plots of both runs agree on one. */
  extent([a, b]: [number, number]): [number, number] {
    let lo = Infinity;
    let hi = -Infinity;
    let over = -Infinity;
    const open = this.spec.layers.some((l) => l.shown && !l.bounded);
    for (const { data, style, shown, bounded } of this.spec.layers) {
      if (!shown || style === "rug") continue;
      let i0 = lowerBound(data.t, a + this.t0);
      let i1 = lowerBound(data.t, b + this.t0, i0);
      while (i1 < data.n && data.t[i1]! <= b + this.t0) i1++;
      // A line that comes in from the left has its level from the sample before.
      if ((style === "step" || style === "line") && i0 > 0) i0--;
      const e = extremes(data, i0, i1);
      if (bounded && open) {
        over = Math.max(over, e.max);
        continue;
      }
      if (e.min < lo) lo = e.min;
      if (e.max > hi) hi = e.max;
    }
    if (!(hi >= lo)) return [0, 1];
    hi = Math.max(hi, Math.min(over, hi * 1.5));
    if (this.spec.zero || (lo >= 0 && lo < 0.15 * hi)) lo = Math.min(0, lo);
    const top = hi;
    for (const r of this.spec.references) if (r.value <= top * 1.5 && r.value > hi) hi = r.value;
    if (this.spec.references.some((r) => r.value < lo && r.value > lo - (hi - lo)))
      lo = Math.min(lo, ...this.spec.references.map((r) => r.value));
    const pad = (hi - lo || Math.abs(hi) || 1) * 0.06;
    return [lo === 0 ? 0 : lo - pad, hi + pad];
  }

  /** Shows a window with that value range. */
  draw(view: [number, number], y: [number, number]): void {
    this.#y = y;
    this.stale = false;
    this.#plot.batch((u: uPlot) => {
      u.setScale("x", { min: view[0], max: view[1] });
      u.setScale("y", { min: y[0], max: y[1] });
    });
  }

  /** Gives the plot another width. */
  resize(width: number): void {
    if (width !== this.#plot.width) this.#plot.setSize({ width, height: this.#plot.height });
  }

  /** Shows the cursor at a time of the shared axis, and the values there. */
  point(time: number | null): void {
    const [a, b] = this.timeline.view;
    const inside = time !== null && time >= a && time <= b;
    this.#line.hidden = !inside;
    if (inside) this.#line.style.transform = `translateX(${Math.round(this.#place(time))}px)`;
    this.#legend.point(inside ? time + this.t0 : null);
  }

  /** Marks the row of an object that is pointed at in this plot or in another one; null: none. */
  mark(name: string | null): void {
    this.#rows?.show(name, (row) => this.#place(row.from - this.t0));
  }

  /** Where a time of the shared axis is, in CSS pixels from the left of the plot. */
  #place(time: number): number {
    const [a, b] = this.timeline.view;
    return ((time - a) / (b - a)) * this.#plot.over.clientWidth;
  }

  /** Takes the plot off the page. */
  destroy(): void {
    sight?.unobserve(this.el);
    this.#plot.destroy();
    this.el.remove();
  }

  #frame(): Frame {
    const { ctx, bbox } = this.#plot;
    const { left, top, width, height } = bbox;
    const [a, b] = this.timeline.view;
    return {
      ctx,
      left,
      top,
      width,
      height,
      x0: a + this.t0,
      x1: b + this.t0,
      y0: this.#y[0],
      y1: this.#y[1],
      dpr: uPlot.pxRatio,
    };
  }

  /** What lies behind the grid. */
  #paintBands(): void {
    const { phases } = this.spec;
    if (phases?.shown)
      drawBands(this.#frame(), phases.data, { text: css("--ink"), line: css("--line") });
  }

  #paint(): void {
    const frame = this.#frame();
    const { ctx, left, top, width, height } = frame;
    drawMarks(frame, this.spec.marks, this.spec.labels, css("--muted"), css("--ink"));
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    for (const r of this.spec.references) drawReference(frame, r.value, r.colour());
    for (const layer of this.spec.layers) if (layer.shown) drawLayer(frame, layer);
    ctx.restore();
    if (this.spec.waterfall) drawBars(frame, this.spec.waterfall, css("--muted"));
  }

  /** The object under the pointer, here and by its name in the plots of other runs. */
  #pointRow(event: PointerEvent | null): void {
    if (!this.#rows) return;
    const box = this.#plot.over.getBoundingClientRect();
    const row = event && this.#rows.at(event.clientY - box.top);
    const name = row === null ? null : this.#rows.name(row);
    for (const chart of this.timeline.charts) if (chart !== this) chart.mark(name);
    this.#rows.show(row, () => event!.clientX - box.left + 14);
  }

  #listen(over: HTMLElement): void {
    const timeAt = (event: MouseEvent): number => {
      const [a, b] = this.timeline.view;
      const box = over.getBoundingClientRect();
      return a + ((event.clientX - box.left) / box.width) * (b - a);
    };
    over.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || (event.button !== 0 && event.button !== 1)) return;
      event.preventDefault();
      over.setPointerCapture(event.pointerId);
      this.#drag = {
        from: timeAt(event),
        x: event.clientX,
        pan: event.shiftKey || event.button === 1,
        view: this.timeline.view,
      };
      over.closest<HTMLElement>("[tabindex]")?.focus({ preventScroll: true });
    });
    over.addEventListener("pointermove", (event) => {
      const drag = this.#drag;
      if (drag?.pan) {
        const [a, b] = drag.view;
        const shift = ((event.clientX - drag.x) / over.clientWidth) * (b - a);
        this.timeline.show([a - shift, b - shift]);
        return;
      }
      this.timeline.point(timeAt(event));
      this.#pointRow(drag ? null : event);
      if (drag) {
        const box = over.getBoundingClientRect();
        const x0 = Math.max(0, Math.min(drag.x, event.clientX) - box.left);
        const x1 = Math.min(box.width, Math.max(drag.x, event.clientX) - box.left);
        this.#band.hidden = x1 - x0 < 4;
        this.#band.style.left = `${x0}px`;
        this.#band.style.width = `${x1 - x0}px`;
      }
    });
    const end = (event: PointerEvent): void => {
      const drag = this.#drag;
      this.#drag = null;
      this.#band.hidden = true;
      if (
        !drag ||
        drag.pan ||
        event.type === "pointercancel" ||
        Math.abs(event.clientX - drag.x) < 6
      )
        return;
      const to = timeAt(event);
      this.timeline.show([Math.min(drag.from, to), Math.max(drag.from, to)]);
    };
    over.addEventListener("pointerup", end);
    over.addEventListener("pointercancel", end);
    over.addEventListener("pointerleave", () => {
      if (!this.#drag) this.timeline.point(null);
      this.#pointRow(null);
    });
    over.addEventListener("dblclick", () => this.timeline.show(this.timeline.home));
    over.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && performance.now() - lastScroll < 250) return;
        event.preventDefault();
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
          this.timeline.pan((event.deltaX || event.deltaY) / 1000);
        else
          this.timeline.zoom(
            Math.exp(Math.max(-1, Math.min(1, event.deltaY / 400))),
            timeAt(event),
          );
      },
      { passive: false },
    );
  }
}
