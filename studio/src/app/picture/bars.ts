/** Draws medians as bars from zero, with those of the pinned run behind them. */
import { axis, drawXAxis } from "../../charts/static/axes.ts";
import { variantColour } from "../../format/palette.ts";
import { h, onWidth, svg } from "../../page/dom.ts";
import type { BarPicture } from "./curve.ts";

/** Height of a row, and of the axis below, in CSS pixels. */
const [ROW, AXIS] = [38, 26];
/** Room for the values behind the bars. */
const WORDS = 128;

/** The drawing. */
export class BarsPlot {
  readonly element: HTMLElement;
  readonly #plot = svg("svg", { class: "plot", role: "img" });
  #picture: BarPicture | null = null;
  #width = 0;

  constructor() {
    this.element = h("div", { class: "bars-plot" }, this.#plot);
    onWidth(this.element, (width) => {
      this.#width = width;
      this.#draw();
    });
  }

  /** Shows other bars. */
  show(picture: BarPicture): void {
    this.#picture = picture;
    this.#draw();
  }

  #draw(): void {
    if (!this.#picture || this.#width < 40) return;
    const { title, bars, scale } = this.#picture;
    const plot = this.#plot;
    const height = bars.length * ROW;
    plot.setAttribute("width", String(this.#width));
    plot.setAttribute("height", String(height + AXIS));
    const words = bars.map(({ name, words }) => `${name} ${words}`);
    plot.setAttribute("aria-label", `${title}: ${words.join("; ")}`);
    const longest = Math.max(...bars.map(({ name }) => name.length));
    const left = Math.min(this.#width * 0.34, 14 + 7.2 * longest);
    const most = Math.max(...bars.map((bar) => Math.max(bar.value ?? 0, bar.ghost ?? 0))) || 1;
    const xs = axis(0, most, left, Math.max(left + 40, this.#width - WORDS));
    plot.replaceChildren();
    drawXAxis(plot, xs, 0, height, scale);
    bars.forEach((bar, i) => {
      const y = i * ROW;
      const end = xs.px(bar.value ?? 0);
      const colour = variantColour(bar.index);
      plot.append(
        svg("text", { class: "end-name", x: left - 10, y: y + 24, "text-anchor": "end" }, bar.name),
        svg("rect", { x: left, y: y + 9, width: end - left, height: 20, rx: 2, fill: colour }),
      );
      if (bar.ghost !== null) {
        const to = xs.px(bar.ghost) - left;
        plot.append(
          svg("rect", {
            class: "ghost-bar",
            x: left,
            y: y + 5,
            width: to,
            height: 28,
            stroke: colour,
          }),
        );
      }
      const at = Math.max(end, xs.px(bar.ghost ?? 0)) + 8;
      plot.append(
        svg(
          "text",
          { class: "end-value", x: at, y: y + 24 },
          bar.words,
          bar.change && svg("tspan", { class: "change", dx: 8 }, bar.change),
        ),
      );
    });
  }
}
