import uPlot from "uplot";
import { h, svg } from "./dom.ts";
import { byteScale, bytes, ms, rateScale, significant, stepDecimals } from "./format.ts";
import { drawLayer, drawMarks, drawReference, type Frame } from "./paint.ts";
import { extremes, lowerBound, sampleAt, type Pyramid } from "./pyramid.ts";
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
  /** Whether the marks are named in a strip above the plot. */
  labels: boolean;
  howto: string;
  height: number;
}

/** A value with the unit of its plot. */
export function unitValue(unit: string, v: number): string {
  switch (unit) {
    case "bytes":
    case "B":
      return bytes(v);
    case "Mbps": {
      const s = rateScale(Math.abs(v));
      return `${significant(v / s.divisor)}\u00a0${s.unit}`;
    }
    case "ms":
      return ms(v);
    default:
      return unit ? `${significant(v)}\u00a0${unit}` : significant(v);
  }
}

function axisValues(unit: string, splits: number[], incr: number, hi: number): string[] {
  const s = unit === "bytes" || unit === "B" ? byteScale(hi) : unit === "Mbps" ? rateScale(hi) : { unit, divisor: 1 };
  const decimals = stepDecimals(incr / s.divisor);
  return splits.map((v) => `${(v / s.divisor).toFixed(decimals)}${s.unit ? `\u00a0${s.unit}` : ""}`);
}

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Times of wheel events: a scroll of the page that began elsewhere goes on over the plots. */
let lastScroll = 0;
addEventListener("scroll", () => (lastScroll = performance.now()), { passive: true, capture: true });

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
  readonly #values: { layer: Layer; out: HTMLElement }[] = [];
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
    this.el = h("div", { class: "chart", "data-panel": spec.id }, this.#legend(), host);
    const font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
    const grid = { stroke: () => css("--grid"), width: 1 };
    const common = { stroke: () => css("--muted"), font, grid, ticks: { ...grid, size: 4 } };
    this.#plot = new uPlot(
      {
        width,
        height: spec.height + (spec.labels ? 34 : 0),
        padding: [spec.labels ? 38 : 8, 14, 0, 0],
        cursor: { show: false },
        legend: { show: false },
        select: { show: false, left: 0, top: 0, width: 0, height: 0 },
        scales: { x: { time: false, range: (_u, a, b) => [a, b] }, y: { range: () => this.#y } },
        axes: [
          { ...common, size: 28, space: 84, values: (_u, splits, _i, _s, incr) => splits.map((v) => `${Math.abs(v) < incr * 1e-6 ? "0" : v.toFixed(stepDecimals(incr))} s`) },
          { ...common, size: 76, space: 34, values: (_u, splits, _i, _s, incr) => axisValues(spec.unit, splits, incr, this.#y[1]) },
        ],
        series: [{}, { scale: "y", show: false }],
        hooks: { draw: [() => this.#paint()] },
      },
      [[0, 1], [0, 1]],
      host,
    );
    this.#plot.over.append(this.#line, this.#band);
    this.#listen(this.#plot.over);
    charts.set(this.el, this);
    sight?.observe(this.el);
  }

  #legend(): HTMLElement {
    const swatch = (style: Style, colour: string, dash: number[] | undefined): SVGSVGElement => {
      const d = { dots: "M4,7h0M9,7h0M14,7h0", cross: "M6,4l6,6m0,-6l-6,6", triangle: "M5,4h8l-4,7z", plus: "M9,3v8M5,7h8", rug: "M5,4v6M9,4v6M13,4v6", line: "M1,7h16", step: "M1,7h16" }[style];
      return svg(
        "svg",
        { width: 18, height: 14, viewBox: "0 0 18 14", "aria-hidden": "true" },
        svg("path", { d, stroke: colour, "stroke-width": style === "dots" ? 3.2 : 2.2, "stroke-linecap": style === "dots" ? "round" : "butt", "stroke-dasharray": dash?.join(" ") ?? null, fill: style === "triangle" ? colour : "none" }),
      );
    };
    const chips = this.spec.layers.map((layer) => {
      const out = h("output", {});
      this.#values.push({ layer, out });
      const chip = h(
        "button",
        {
          type: "button",
          class: "chip",
          "aria-pressed": String(layer.shown),
          title: layer.title,
          click: () => {
            layer.shown = !layer.shown;
            chip.setAttribute("aria-pressed", String(layer.shown));
            this.timeline.schedule();
          },
        },
        swatch(layer.style, layer.colour(), layer.dash),
        h("span", {}, layer.name),
        out,
      );
      return chip;
    });
    const refs = this.spec.references.map((r) =>
      h("span", { class: "chip fixed" }, swatch("line", r.colour(), [2, 2]), h("span", {}, r.name), h("output", {}, unitValue(this.spec.unit, r.value).replace(/\.0+(?=\D|$)/, ""))),
    );
    return h("div", { class: "chips-row" }, chips, refs);
  }

  /** Range of the values in a window, before the plots of both runs agree on one. */
  extent([a, b]: [number, number]): [number, number] {
    let lo = Infinity;
    let hi = -Infinity;
    for (const { data, style, shown } of this.spec.layers) {
      if (!shown || style === "rug") continue;
      let i0 = lowerBound(data.t, a + this.t0);
      let i1 = lowerBound(data.t, b + this.t0, i0);
      while (i1 < data.n && data.t[i1]! <= b + this.t0) i1++;
      // A line that comes in from the left has its level from the sample before.
      if ((style === "step" || style === "line") && i0 > 0) i0--;
      const e = extremes(data, i0, i1);
      if (e.min < lo) lo = e.min;
      if (e.max > hi) hi = e.max;
    }
    if (!(hi >= lo)) return [0, 1];
    if (this.spec.zero || (lo >= 0 && lo < 0.15 * hi)) lo = Math.min(0, lo);
    const top = hi;
    for (const r of this.spec.references) if (r.value <= top * 1.5 && r.value > hi) hi = r.value;
    if (this.spec.references.some((r) => r.value < lo && r.value > lo - (hi - lo))) lo = Math.min(lo, ...this.spec.references.map((r) => r.value));
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
    if (inside) this.#line.style.transform = `translateX(${Math.round(((time - a) / (b - a)) * this.#plot.over.clientWidth)}px)`;
    for (const { layer, out } of this.#values) {
      let text = "";
      if (inside && layer.style !== "rug") {
        const i = sampleAt(layer.data, time + this.t0);
        if (i >= 0 && !Number.isNaN(layer.data.v[i]!)) text = unitValue(this.spec.unit, layer.data.v[i]!);
      }
      if (out.textContent !== text) out.textContent = text;
    }
  }

  /** Takes the plot off the page. */
  destroy(): void {
    sight?.unobserve(this.el);
    this.#plot.destroy();
    this.el.remove();
  }

  #paint(): void {
    const u = this.#plot;
    const { ctx } = u;
    const { left, top, width, height } = u.bbox;
    const [a, b] = this.timeline.view;
    const frame: Frame = { ctx, left, top, width, height, x0: a + this.t0, x1: b + this.t0, y0: this.#y[0], y1: this.#y[1], dpr: uPlot.pxRatio };
    drawMarks(frame, this.spec.marks, this.spec.labels, css("--muted"), css("--ink"));
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    for (const r of this.spec.references) drawReference(frame, r.value, r.colour());
    for (const layer of this.spec.layers) if (layer.shown) drawLayer(frame, layer);
    ctx.restore();
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
      this.#drag = { from: timeAt(event), x: event.clientX, pan: event.shiftKey || event.button === 1, view: this.timeline.view };
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
      if (!drag || drag.pan || event.type === "pointercancel" || Math.abs(event.clientX - drag.x) < 6) return;
      const to = timeAt(event);
      this.timeline.show([Math.min(drag.from, to), Math.max(drag.from, to)]);
    };
    over.addEventListener("pointerup", end);
    over.addEventListener("pointercancel", end);
    over.addEventListener("pointerleave", () => {
      if (!this.#drag) this.timeline.point(null);
    });
    over.addEventListener("dblclick", () => this.timeline.show(this.timeline.home));
    over.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && performance.now() - lastScroll < 250) return;
        event.preventDefault();
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.timeline.pan((event.deltaX || event.deltaY) / 1000);
        else this.timeline.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 400))), timeAt(event));
      },
      { passive: false },
    );
  }
}
