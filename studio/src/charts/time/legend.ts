import { kindsIn, type PhaseKind, phaseAt } from "../../data/phases.ts";
import { sampleAt } from "../../data/pyramid.ts";
import type { Causes } from "../../data/time-budget.ts";
import { bytes, count, unitValue } from "../../format/numbers.ts";
import { phaseColour } from "../../format/palette.ts";
import { type Child, h, svg } from "../../page/dom.ts";
import { causeLegend } from "./cause-strip.ts";
import type { Layer, PanelSpec, Reference, Style } from "./spec.ts";
import { type Kind, progressText, type Waterfall } from "./waterfall.ts";

const SHAPES: Record<Style, string> = {
  dots: "M4,7h0M9,7h0M14,7h0",
  cross: "M6,4l6,6m0,-6l-6,6",
  triangle: "M5,4h8l-4,7z",
  plus: "M9,3v8M5,7h8",
  rug: "M5,4v6M9,4v6M13,4v6",
  line: "M1,7h16",
  step: "M1,7h16",
  flight: "M4,2l10,10",
};

const picture = (...children: Child[]): SVGSVGElement =>
  svg("svg", { width: 18, height: 14, viewBox: "0 0 18 14", "aria-hidden": "true" }, children);

function swatch(style: Style, colour: string, dash: number[] | undefined): SVGSVGElement {
  const dots = style === "dots";
  return picture(
    svg("path", {
      d: SHAPES[style],
      stroke: colour,
      "stroke-width": dots ? 3.2 : 2.2,
      "stroke-linecap": dots ? "round" : "butt",
      "stroke-dasharray": dash?.join(" ") ?? null,
      fill: style === "triangle" ? colour : "none",
    }),
  );
}

/** The band as in the plot: the strip on top, the tint below. */
function bandSwatch(kind: PhaseKind): SVGSVGElement {
  const { head, body } = phaseColour(kind);
  return picture(
    svg("path", { d: "M1,1h16v5h-16z", fill: head }),
    svg("path", { d: "M1,6h16v7h-16z", fill: head, "fill-opacity": body }),
  );
}

/**
 * The legend above a plot: its series and phases with their values at the cursor. A click shows or
 * hides one.
 */
export class Legend {
  readonly el: HTMLElement;
  /** The outputs, and the text of each at a time of the run. */
  readonly #readouts: { out: HTMLElement; at: (time: number) => string }[] = [];
  readonly #changed: () => void;

  /** `changed` is called after a click has shown or hidden something. */
  constructor(
    { layers, references, phases, waterfall, unit, causes }: PanelSpec,
    changed: () => void,
  ) {
    this.#changed = changed;
    this.el = h(
      "div",
      {},
      h(
        "div",
        { class: "chips-row" },
        layers.map((l) => this.#series(l, unit)),
        references.map((r) => fixed(r, unit)),
        waterfall && this.#kinds(waterfall),
      ),
      phases && this.#phases(phases),
      causes && this.#causes(causes),
    );
  }

  /** Writes the values at a time of the run; null clears them. */
  point(time: number | null): void {
    for (const { out, at } of this.#readouts) {
      const text = time === null ? "" : at(time);
      if (out.textContent !== text) out.textContent = text;
    }
  }

  #chip(item: { shown: boolean }, title: string, children: Child[]): HTMLElement {
    const chip = h(
      "button",
      {
        type: "button",
        class: "chip",
        "aria-pressed": String(item.shown),
        title,
        click: () => {
          item.shown = !item.shown;
          chip.setAttribute("aria-pressed", String(item.shown));
          this.#changed();
        },
      },
      children,
    );
    return chip;
  }

  #series(layer: Layer, unit: string): HTMLElement {
    const out = h("output", {});
    const at = (time: number): string => {
      const i = layer.style === "rug" ? -1 : sampleAt(layer.data, time);
      return i >= 0 && !Number.isNaN(layer.data.v[i]!) ? unitValue(unit, layer.data.v[i]!) : "";
    };
    this.#readouts.push({ out, at });
    return this.#chip(layer, layer.title, [
      swatch(layer.style, layer.colour(), layer.dash),
      h("span", {}, layer.name),
      out,
    ]);
  }

  #kinds(waterfall: Waterfall): Child[] {
    // At the end of the row, so that nothing moves when the text changes its length.
    const out = h("output", { class: "progress" });
    this.#readouts.push({ out, at: (time) => progressText(waterfall, time) });
    const chip = (k: Kind): HTMLElement =>
      this.#chip(
        k,
        `${count(k.objects)} ${k.objects === 1 ? "object" : "objects"}, ${bytes(k.bytes)}`,
        [
          picture(svg("path", { d: "M1,3h16v8h-16z", fill: k.colour() })),
          h("span", {}, k.name),
          h("small", {}, count(k.objects)),
        ],
      );
    return [...waterfall.kinds.map(chip), out];
  }

  #causes(causes: Causes): HTMLElement {
    const { el, at } = causeLegend(causes);
    this.#readouts.push({ out: el.querySelector("output")!, at });
    return el;
  }

  #phases(phases: NonNullable<PanelSpec["phases"]>): HTMLElement {
    const kinds = kindsIn(phases.data).filter((k) => k !== "other");
    // At the end of the row, so that nothing moves when the name changes its length.
    const out = h("output", {});
    this.#readouts.push({ out, at: (time) => phaseAt(phases.data, time) });
    return h(
      "div",
      { class: "chips-row phases" },
      this.#chip(
        phases,
        "What the sender's congestion control was doing, as bands behind the plot",
        [bandSwatch("other"), h("span", {}, "phase")],
      ),
      kinds.map((k) => h("span", { class: "chip fixed" }, bandSwatch(k), h("span", {}, k))),
      out,
    );
  }
}

function fixed(r: Reference, unit: string): HTMLElement {
  return h(
    "span",
    { class: "chip fixed" },
    swatch("line", r.colour(), [2, 2]),
    h("span", {}, r.name),
    h("output", {}, unitValue(unit, r.value).replace(/\.0+(?=\D|$)/, "")),
  );
}
