import { h } from "../../page/dom.ts";
import type { Frame } from "./frame.ts";

/** Room around the plot on its canvas, in CSS pixels. */
export interface Edges {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

type Place = Pick<Frame, "left" | "top" | "width" | "height">;

/** The canvas of a plot, and above it the area of the plot, which takes the pointer. */
export class PlotCanvas {
  readonly area = h("div", { class: "plot-area" });
  readonly el: HTMLElement;
  readonly #canvas = h("canvas", {});
  readonly #ctx = this.#canvas.getContext("2d")!;
  readonly #edges: Edges;
  /** With the axes, in CSS pixels. */
  width = 0;
  height = 0;

  constructor(edges: Edges, width: number, height: number) {
    this.#edges = edges;
    this.el = h("div", { class: "plot-canvas" }, this.#canvas, this.area);
    this.resize(width, height);
  }

  /** Takes another size, with the axes. What was drawn is lost. */
  resize(width: number, height: number): void {
    Object.assign(this, { width, height });
    Object.assign(this.el.style, { width: `${width}px`, height: `${height}px` });
    for (const [key, px] of Object.entries(this.plot)) this.area.style.setProperty(key, `${px}px`);
  }

  /** Place of the plot within its axes, in CSS pixels. */
  get plot(): Place {
    const { left, right, top, bottom } = this.#edges;
    return { left, top, width: this.width - left - right, height: this.height - top - bottom };
  }

  /** Empties the canvas, for the pixels of the screen that it is on, to draw on it. */
  clear(): Place & Pick<Frame, "ctx" | "dpr"> {
    const dpr = devicePixelRatio;
    const wide = Math.round(this.width * dpr);
    const high = Math.round(this.height * dpr);
    if (this.#canvas.width === wide && this.#canvas.height === high)
      this.#ctx.clearRect(0, 0, wide, high);
    else Object.assign(this.#canvas, { width: wide, height: high });
    const scaled = Object.entries(this.plot).map(([key, px]) => [key, Math.round(px * dpr)]);
    return { ...(Object.fromEntries(scaled) as Place), ctx: this.#ctx, dpr };
  }
}
