import type { Explanation } from "../../data/report.types.ts";
import { PARTS, type TimePart } from "../../data/time-budget.ts";
import { percent, seconds } from "../../format/numbers.ts";
import { inkOn, partColour } from "../../format/palette.ts";
import { type Child, h, onWidth, replace } from "../../page/dom.ts";
import { swatch } from "./marks.ts";

/** Smallest width of a segment that has its time written in it, in CSS pixels. */
const WORDED = 52;

/** A bar: a variant, by its index, and where its time went. */
export interface BudgetRow {
  name: string;
  index: number;
  of: Explanation;
}

/** Parts of an explanation that have time, in the order of all parts. */
export function partsOf({ parts }: Explanation): { part: TimePart; time: number }[] {
  return PARTS.flatMap((part) => {
    const time = parts[part.name] ?? 0;
    return time > 0 ? [{ part, time }] : [];
  });
}

/** The sentence below a bar. */
export function sentenceOf({ text, compared }: Explanation): string {
  return compared ?? text;
}

/** A stacked bar for each row, on one scale that reaches to `most` seconds. */
export function budgetBars(rows: BudgetRow[], most: number): HTMLElement {
  const tip = h("div", { class: "tip budget-tip", hidden: true });
  const el = h("div", { class: "budget-rows" });
  const bar = ({ name, of }: BudgetRow): HTMLElement => {
    const parts = partsOf(of);
    const words = parts.map(({ part, time }) => `${part.label} ${seconds(time)}`).join(", ");
    const label = `${name}: ${words}`;
    const segments = parts.map(({ part, time }) => {
      const background = partColour(part);
      const ink = inkOn(background);
      const width = `${((100 * time) / most).toFixed(3)}%`;
      const style = `width: ${width}; background: ${background}; color: ${ink}`;
      const show = (event: PointerEvent): void => {
        replace(
          tip,
          h("b", {}, `${part.label}: ${seconds(time)}`),
          ` ${percent(time / of.completion_s)} of ${seconds(of.completion_s)}`,
          h("span", {}, part.about),
        );
        tip.hidden = false;
        const box = el.getBoundingClientRect();
        const own = (event.currentTarget as HTMLElement).getBoundingClientRect();
        const x = Math.max(0, Math.min(event.clientX - box.left - 30, box.width - tip.offsetWidth));
        tip.style.transform = `translate(${Math.round(x)}px, ${own.bottom - box.top + 4}px)`;
      };
      const leave = (): void => {
        tip.hidden = true;
      };
      return h("span", {
        style,
        pointermove: show,
        pointerdown: show,
        pointerleave: leave,
        "data-part": part.name,
      });
    });
    const whole = h("div", { class: "budget-bar", role: "img", "aria-label": label }, segments);
    onWidth(whole, (width) =>
      parts.forEach(({ time }, i) => {
        segments[i]!.textContent = (time / most) * width >= WORDED ? seconds(time) : "";
      }),
    );
    return whole;
  };
  const row = (r: BudgetRow): Child => [
    h("div", { class: "budget-name" }, swatch(r.index), h("span", {}, r.name)),
    bar(r),
    h("div", { class: "num strong" }, seconds(r.of.completion_s)),
    h("p", { class: "budget-words" }, sentenceOf(r.of)),
  ];
  el.append(...rows.flatMap((r) => row(r) as Node[]), tip);
  return el;
}

/** The share of the longest bar from which the legend names a part: a pixel or two. */
const NAMED = 0.002;

/** The legend of stacked bars: what every transfer needs, and causes of slowness. */
export function budgetLegend(rows: BudgetRow[]): HTMLElement {
  const least = NAMED * Math.max(...rows.map(({ of }) => of.completion_s));
  const used = new Set(
    rows.flatMap(({ of }) =>
      Object.entries(of.parts).flatMap(([name, time]) => (time >= least ? name : [])),
    ),
  );
  const list = (needed: boolean): Child =>
    PARTS.filter((part) => part.needed === needed && used.has(part.name)).map((part) =>
      h(
        "span",
        { title: part.about },
        h("i", { class: "block", style: `background: ${partColour(part)}` }),
        part.label,
      ),
    );
  return h(
    "div",
    { class: "key budget-key" },
    h("small", {}, "needed"),
    list(true),
    h("small", {}, "causes"),
    list(false),
  );
}
