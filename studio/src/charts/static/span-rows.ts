import { variantColour } from "../../format/palette.ts";
import { ticks } from "../../format/ticks.ts";
import { type Child, h } from "../../page/dom.ts";
import { axisEnd } from "./bar-rows.ts";
import { swatch } from "./marks.ts";

/** A mark at a middle value and a line to a high one. */
export interface Span {
  /** Index of the variant whose mark and colour it has. */
  index: number;
  middle: number;
  high: number;
  /** What a tip says. */
  words: string;
}

/** A row of spans with its name and what stands below it. */
export interface SpanRow {
  name: string;
  below: string;
  spans: Span[];
}

/** Rows of spans on one axis, which begins at zero; `tick` writes a value of the axis. */
export function spanRows(rows: SpanRow[], tick: (value: number) => string): HTMLElement {
  const most = axisEnd(rows.flatMap((row) => row.spans.map((s) => s.high)));
  const at = (v: number): string => `${((100 * v) / most).toFixed(2)}%`;
  const steps = ticks(0, most, 5);
  const span = ({ index, middle, high, words }: Span): Child => {
    const place = `left: ${at(middle)}; width: ${at(high - middle)}`;
    return h(
      "div",
      { class: "span-line", role: "img", "aria-label": words, title: words },
      h("i", { style: `${place}; background: ${variantColour(index)}` }),
      h("span", { style: `left: ${at(middle)}` }, swatch(index)),
    );
  };
  return h(
    "div",
    { class: "span-rows" },
    rows.map((row) => [
      h("div", { class: "span-name" }, h("b", {}, row.name), h("small", {}, row.below)),
      h(
        "div",
        { class: "span-cell" },
        steps.map((v) => h("i", { class: "tick-line", style: `left: ${at(v)}` })),
        row.spans.map(span),
      ),
    ]),
    h("span", {}),
    h(
      "div",
      { class: "bar-axis" },
      steps.map((v) => h("span", { style: `left: ${at(v)}` }, tick(v))),
    ),
  );
}
