import uPlot from "uplot";
import { partsIn } from "../../data/time-budget.ts";
import { LONG, plotScale } from "../../format/numbers.ts";
import { partColour } from "../../format/palette.ts";
import { clockTick, stepDecimals, stepsOf } from "../../format/ticks.ts";
import { h } from "../../page/dom.ts";
import { drawAxes, type Ticks } from "./axes.ts";
import { CAUSE_ROOM, CausePointer, drawCauses } from "./cause-strip.ts";
import { type Frame, font, type Surface } from "./frame.ts";
import { listen } from "./gestures.ts";
import { Legend } from "./legend.ts";
import { drawMarks, drawReference } from "./levels.ts";
import { drawBars, RowPointer } from "./object-bars.ts";
import { drawLayer } from "./paint.ts";
import { drawBands, STRIP } from "./phase-bands.ts";
import type { PanelSpec } from "./spec.ts";
import { SvgPath } from "./svg-surface.ts";
import type { Timeline } from "./timeline.ts";
import { valueRange } from "./value-range.ts";

/** Width of the value axis with its labels, in CSS pixels. */
const AXIS_WIDTH = 76;

function axisValues(unit: string, splits: number[], step: number, max: number): string[] {
  if (unit === "ms" && max >= LONG * 1000)
    return splits.map((v) => clockTick(v / 1000, step / 1000));
  const scale = unit === "packets" ? { unit: "", divisor: 1 } : plotScale(unit, max);
  const decimals = stepDecimals(step / scale.divisor);
  const suffix = scale.unit && `\u00a0${scale.unit}`;
  return splits.map((v) => (v / scale.divisor).toFixed(decimals) + suffix);
}

function timeValues(splits: number[], step: number, max: number): string[] {
  if (max >= LONG && step >= 1) return splits.map((v) => clockTick(v, step));
  const decimals = stepDecimals(step);
  return splits.map((v) => `${Math.abs(v) < step * 1e-6 ? "0" : v.toFixed(decimals)} s`);
}

/** The value of a variable of the style sheet. */
const css = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const charts = new WeakMap<Element, TimeChart>();
const observer =
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

/** One plot on the shared time axis. uPlot draws the axes; series are drawn from their pyramids. */
export class TimeChart {
  readonly el: HTMLElement;
  /** True if the reader can see it, or nearly. */
  inSight = true;
  /** True if it still shows an earlier window. */
  stale = true;
  readonly #plot: uPlot;
  readonly #line = h("div", { class: "cursor-line", hidden: true });
  readonly #legend: Legend;
  readonly #rows: RowPointer | null;
  readonly #causes: CausePointer | null;
  /** Room between the plot and its time axis, in CSS pixels. */
  #below = 0;
  #y: [number, number] = [0, 1];
  #height = 0;
  /** Labelled positions of the axes. */
  readonly #ticks: Ticks = { x: [], y: [] };

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
    this.#plot = this.#uplot(host, width);
    const { over } = this.#plot;
    over.append(this.#line);
    this.#rows = spec.waterfall ? new RowPointer(spec.waterfall, over, t0) : null;
    this.#causes = spec.causes ? new CausePointer(spec.causes, over, t0) : null;
    if (spec.waterfall) {
      const label = `Waterfall of ${spec.waterfall.rows.length} objects`;
      over.setAttribute("role", "img");
      over.setAttribute("aria-label", `${label}; the list of objects above has the same numbers`);
    }
    listen(over, timeline, (event) => {
      this.#pointRow(event);
      this.#causes?.show(event, (timeline.cursor ?? 0) + t0);
    });
    charts.set(this.el, this);
    observer?.observe(this.el);
  }

  #uplot(host: HTMLElement, width: number): uPlot {
    const { spec } = this;
    this.#below = spec.causes ? CAUSE_ROOM : 0;
    // Room above the plot for names of marks, or for the strip of phases.
    const above = spec.labels ? 38 : spec.phases ? STRIP + 4 : 8;
    const grid = { stroke: () => css("--grid"), width: 1 };
    const ticks = { ...grid, size: 4 };
    const common = { stroke: () => css("--muted"), font: font(12), grid, ticks };
    const time: uPlot.Axis = {
      ...common,
      size: 28 + this.#below,
      gap: 5 + this.#below,
      space: 84,
      incrs: (_u, _i, _min, max) => stepsOf(max, 1),
      values: (u, splits, _i, _s, step) => {
        const words = timeValues(splits, step, u.scales.x?.max ?? 0);
        this.#ticks.x = splits.map((at, i) => ({ at: at + this.t0, words: words[i]! }));
        return words;
      },
    };
    // The rows of a waterfall have names instead of values, and no lines between them.
    const value: uPlot.Axis = spec.waterfall
      ? { ...common, size: AXIS_WIDTH, splits: () => [], values: () => [] }
      : {
          ...common,
          size: AXIS_WIDTH,
          space: 34,
          incrs: (_u, _i, _min, max) => stepsOf(max, spec.unit === "ms" ? 1000 : null),
          ...(spec.ends && { splits: () => [0, 1] }),
          values: (_u, splits, _i, _s, step) => {
            const words = spec.ends ?? axisValues(spec.unit, splits, step, this.#y[1]);
            this.#ticks.y = splits.map((at, i) => ({ at, words: words[i]! }));
            return words;
          },
        };
    const options: uPlot.Options = {
      width,
      height: spec.height + above - 8 + this.#below,
      padding: [above, 14, 0, 0],
      cursor: { show: false },
      legend: { show: false },
      select: { show: false, left: 0, top: 0, width: 0, height: 0 },
      scales: { x: { time: false, range: (_u, a, b) => [a, b] }, y: { range: () => this.#y } },
      axes: [time, value],
      series: [{}, { scale: "y", show: false }],
      hooks: { drawClear: [() => this.#paintBands()], draw: [() => this.#paint()] },
    };
    this.#height = options.height;
    const none = [0, 1];
    return new uPlot(options, [none, none], host);
  }

  /** Range of the values in a window, before the plots of both runs agree on one. */
  extent([a, b]: [number, number]): [number, number] {
    return valueRange(this.spec, a + this.t0, b + this.t0);
  }

  /** Shows a window with a value range. */
  draw(view: [number, number], y: [number, number]): void {
    this.#y = y;
    this.stale = false;
    this.#plot.batch((u: uPlot) => {
      u.setScale("x", { min: view[0], max: view[1] });
      u.setScale("y", { min: y[0], max: y[1] });
    });
  }

  /** Gives the plot another width and, while it is enlarged, another height. */
  resize(width: number, height = this.#height): void {
    if (width !== this.#plot.width || height !== this.#plot.height)
      this.#plot.setSize({ width, height });
  }

  /** Height that the plot is made for, in CSS pixels. */
  get height(): number {
    return this.#height;
  }

  /** Size of the plot with its axes, in CSS pixels. */
  get size(): { width: number; height: number } {
    return { width: this.#plot.width, height: this.#plot.height };
  }

  /** What is shown, each with its colour. */
  legendItems(): { words: string; colour: string }[] {
    const { layers, references, waterfall, causes } = this.spec;
    const kinds = waterfall?.kinds ?? [];
    return [
      ...[...layers, ...kinds].filter((item) => item.shown),
      ...references,
      ...(causes ? partsIn(causes) : []).map((part) => ({
        name: `strip: ${part.label}`,
        colour: () => partColour(part),
      })),
    ].map(({ name, colour }) => ({ words: name, colour: colour() }));
  }

  /** Draws the plot with its axes on another surface, at one pixel per CSS pixel. */
  drawOn(surface: Surface, ink: string, grid: string): void {
    const { dpr, left, top, width, height, ...rest } = this.#frame();
    const frame: Frame = {
      ...rest,
      ctx: surface,
      path: (from) => new SvgPath(from),
      left: left / dpr,
      top: top / dpr,
      width: width / dpr,
      height: height / dpr,
      dpr: 1,
    };
    this.#paintBands(frame);
    drawAxes(frame, this.#ticks, this.#below, ink, grid);
    this.#paint(frame);
  }

  /** Shows the cursor at a time of the shared axis, and the values there. */
  point(time: number | null): void {
    const [a, b] = this.timeline.view;
    const inside = time !== null && time >= a && time <= b;
    this.#line.hidden = !inside;
    if (inside) this.#line.style.transform = `translateX(${Math.round(this.#place(time))}px)`;
    this.#legend.point(inside ? time + this.t0 : null);
  }

  /** Highlights the row of an object that the reader points at in another plot; null: none. */
  mark(name: string | null): void {
    this.#rows?.show(name, (row) => this.#place(row.from - this.t0));
  }

  /** Takes the plot off the page. */
  destroy(): void {
    observer?.unobserve(this.el);
    this.#plot.destroy();
    this.el.remove();
  }

  /** Position of a time of the shared axis, in CSS pixels from the left of the plot. */
  #place(time: number): number {
    const [a, b] = this.timeline.view;
    return ((time - a) / (b - a)) * this.#plot.over.clientWidth;
  }

  #frame(): Frame {
    const { ctx, bbox } = this.#plot;
    const [x0, x1] = this.timeline.view.map((t) => t + this.t0) as [number, number];
    const [y0, y1] = this.#y;
    const { left, top, width, height } = bbox;
    const path = (from?: Path2D): Path2D => new Path2D(from);
    return { ctx, path, left, top, width, height, x0, x1, y0, y1, dpr: uPlot.pxRatio };
  }

  /** Draws what lies behind the grid. */
  #paintBands(frame = this.#frame()): void {
    const { phases } = this.spec;
    if (phases?.shown) drawBands(frame, phases.data, { text: css("--ink"), line: css("--line") });
  }

  #paint(frame = this.#frame()): void {
    const { ctx, left, top, width, height } = frame;
    drawMarks(frame, this.spec.marks, this.spec.labels, css("--muted"), css("--ink"));
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    for (const r of this.spec.references) drawReference(frame, r.value, r.colour());
    for (const layer of this.spec.layers) if (layer.shown) drawLayer(frame, layer);
    ctx.restore();
    if (this.spec.causes) drawCauses(frame, this.spec.causes);
    if (this.spec.waterfall) drawBars(frame, this.spec.waterfall, css("--muted"));
  }

  /** Highlights the object under the pointer, here and by its name in the plots of other runs. */
  #pointRow(event: PointerEvent | null): void {
    if (!this.#rows) return;
    const box = this.#plot.over.getBoundingClientRect();
    const row = event && this.#rows.at(event.clientY - box.top);
    const name = row === null ? null : this.#rows.name(row);
    for (const chart of this.timeline.charts) if (chart !== this) chart.mark(name);
    this.#rows.show(row, () => event!.clientX - box.left + 14);
  }
}
