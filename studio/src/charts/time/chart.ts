import { partsIn } from "../../data/time-budget.ts";
import { partColour } from "../../format/palette.ts";
import { h } from "../../page/dom.ts";
import { drawAxes, timeTicks, valueTicks } from "./axes.ts";
import { CAUSE_ROOM, CausePointer, drawCauses } from "./cause-strip.ts";
import type { Frame, Surface } from "./frame.ts";
import { listen } from "./gestures.ts";
import { Legend } from "./legend.ts";
import { drawMarks, drawReference } from "./levels.ts";
import { drawBars, RowPointer } from "./object-bars.ts";
import { drawLayer } from "./paint.ts";
import { drawBands, STRIP } from "./phase-bands.ts";
import { PlotCanvas } from "./plot-canvas.ts";
import type { PanelSpec } from "./spec.ts";
import { SvgPath } from "./svg-surface.ts";
import type { Timeline } from "./timeline.ts";
import { valueRange } from "./value-range.ts";

/** Room for the value axis with its labels, the time axis, and beside the plot, in CSS pixels. */
const LEFT = 76;
const BOTTOM = 28;
const RIGHT = 14;

/** Room above a plot with names of marks, and above one without anything, in CSS pixels. */
const NAMES = 38;
const NOTHING = 8;

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

/** One plot on the shared time axis. Series are drawn from their pyramids. */
export class TimeChart {
  readonly el: HTMLElement;
  /** True if the reader can see it, or nearly. */
  inSight = true;
  /** True if it still shows an earlier window. */
  stale = true;
  /** Height that the plot is made for, in CSS pixels. */
  readonly height: number;
  readonly #canvas: PlotCanvas;
  readonly #line = h("div", { class: "cursor-line", hidden: true });
  readonly #legend: Legend;
  readonly #rows: RowPointer | null;
  readonly #causes: CausePointer | null;
  /** Room between the plot and its time axis, in CSS pixels. */
  readonly #below: number;
  #y: [number, number] = [0, 1];

  /** `t0` is the run's time at which the axis shows zero. */
  constructor(
    readonly spec: PanelSpec,
    readonly timeline: Timeline,
    readonly t0: number,
    width: number,
  ) {
    this.#below = spec.causes ? CAUSE_ROOM : 0;
    const top = spec.labels ? NAMES : spec.phases ? STRIP + 4 : NOTHING;
    const edges = { left: LEFT, right: RIGHT, top, bottom: BOTTOM + this.#below };
    this.height = spec.height + top - NOTHING + this.#below;
    this.#canvas = new PlotCanvas(edges, width, this.height);
    this.#legend = new Legend(spec, () => timeline.schedule());
    this.el = h(
      "div",
      { class: "chart", "data-panel": spec.id },
      this.#legend.el,
      h("div", { class: "chart-host" }, this.#canvas.el),
    );
    const over = this.#canvas.area;
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

  /** Range of the values in a window, before the plots of both runs agree on one. */
  extent([a, b]: [number, number]): [number, number] {
    return valueRange(this.spec, a + this.t0, b + this.t0);
  }

  /** Shows the window of the shared axis with a value range. */
  draw(y: [number, number]): void {
    this.#y = y;
    this.stale = false;
    const path = (from?: Path2D): Path2D => new Path2D(from);
    this.#paint({ ...this.#canvas.clear(), path, ...this.#window });
  }

  /** Gives the plot another width and, while it is enlarged, another height; draw it then. */
  resize(width: number, height = this.height): void {
    if (width !== this.#canvas.width || height !== this.#canvas.height)
      this.#canvas.resize(width, height);
  }

  /** Size of the plot with its axes, in CSS pixels. */
  get size(): { width: number; height: number } {
    return this.#canvas;
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
  drawOn(ctx: Surface): void {
    const path = (from?: Path2D): SvgPath => new SvgPath(from);
    this.#paint({ ctx, path, ...this.#canvas.plot, ...this.#window, dpr: 1 });
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
    this.el.remove();
  }

  /** Position of a time of the shared axis, in CSS pixels from the left of the plot. */
  #place(time: number): number {
    const [a, b] = this.timeline.view;
    return ((time - a) / (b - a)) * this.#canvas.plot.width;
  }

  /** The run's times and the values that are shown. */
  get #window(): Pick<Frame, "x0" | "x1" | "y0" | "y1"> {
    const [x0, x1] = this.timeline.view.map((t) => t + this.t0) as [number, number];
    const [y0, y1] = this.#y;
    return { x0, x1, y0, y1 };
  }

  #paint(frame: Frame): void {
    const { ctx, left, top, width, height } = frame;
    const { phases } = this.spec;
    const [ink, muted] = [css("--ink"), css("--muted")];
    if (phases?.shown) drawBands(frame, phases.data, { text: ink, line: css("--line") });
    const { plot } = this.#canvas;
    const times = timeTicks(this.timeline.view, plot.width).map(({ at, words }) => ({
      at: at + this.t0,
      words,
    }));
    const values = valueTicks(this.spec, this.#y, plot.height);
    drawAxes(frame, times, values, this.#below, muted, css("--grid"));
    drawMarks(frame, this.spec.marks, this.spec.labels, muted, ink);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    for (const r of this.spec.references) drawReference(frame, r.value, r.colour());
    for (const layer of this.spec.layers) if (layer.shown) drawLayer(frame, layer);
    ctx.restore();
    if (this.spec.causes) drawCauses(frame, this.spec.causes);
    if (this.spec.waterfall) drawBars(frame, this.spec.waterfall, muted);
  }

  /** Highlights the object under the pointer, here and by its name in the plots of other runs. */
  #pointRow(event: PointerEvent | null): void {
    if (!this.#rows) return;
    const box = this.#canvas.area.getBoundingClientRect();
    const row = event && this.#rows.at(event.clientY - box.top);
    const name = row === null ? null : this.#rows.name(row);
    for (const chart of this.timeline.charts) if (chart !== this) chart.mark(name);
    this.#rows.show(row, () => event!.clientX - box.left + 14);
  }
}
