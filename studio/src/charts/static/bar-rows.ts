import type { Metric } from "../../data/metrics.ts";
import type { Explanation, Figure } from "../../data/report.types.ts";
import { PARTS, type TimePart } from "../../data/time-budget.ts";
import { metricScale, metricValue } from "../../format/metric.ts";
import { LONG, percent, type Scale, seconds, shortest } from "../../format/numbers.ts";
import { inkOn, partColour, variantColour } from "../../format/palette.ts";
import { tickLabels, ticks } from "../../format/ticks.ts";
import { type Child, h, onPhone, onWidth, replace } from "../../page/dom.ts";
import { swatch } from "./marks.ts";

/** Smallest width of a segment that has its time written in it, in CSS pixels. */
const WORDED = 50;
/** Room for a tick of the axis, in CSS pixels. */
const TICK = 64;

/** A row: a variant or a point, what was measured, and where its time went. */
export interface BarRow {
  name: string;
  /** Index of the variant whose mark stands before the name; null for none. */
  index: number | null;
  /** In what it differs from the others; "" if in nothing. */
  differs: string;
  /** Median; null without a value. */
  measured: number | null;
  /** The value as it is written at the end of the bar, and what stands below. */
  value: string;
  below: Child;
  of: Explanation | undefined;
  published: Figure[];
  /** Why there is no value; null if there is one. */
  failure: string | null;
}

/** What the bars are of. */
export interface BarOptions {
  metric: Metric;
  /** True if the bars are the time itself, made up of its causes; else causes stand beside. */
  time: boolean;
}

/** Parts of an explanation that have time, in the order of all parts. */
export function partsOf({ parts }: Explanation): { part: TimePart; time: number }[] {
  return PARTS.flatMap((part) => {
    const time = parts[part.name] ?? 0;
    return time > 0 ? [{ part, time }] : [];
  });
}

/** The end of a zero-based axis: the largest value with some room. */
export const axisEnd = (values: number[]): number => Math.max(...values, 0) * 1.04 || 1;

/** A place on an axis as a share of its width. */
const at = (value: number, most: number): string => `${((100 * value) / most).toFixed(3)}%`;

/** A stacked bar of causes that reaches to `most`, with a tip: at the pointer, or by arrow keys. */
function causes(name: string, of: Explanation, most: number, tip: HTMLElement): HTMLElement {
  const parts = partsOf(of);
  const words = parts.map(({ part, time }) => `${part.label} ${seconds(time)}`).join(", ");
  let chosen = -1;
  const show = (i: number, clientX?: number): void => {
    const { part, time } = parts[i]!;
    replace(
      tip,
      h("b", {}, `${part.label}: ${seconds(time)}`),
      ` ${percent(time / of.completion_s)} of ${seconds(of.completion_s)}`,
      h("span", {}, part.about),
    );
    tip.hidden = false;
    chosen = i;
    segments.forEach((el, k) => el.classList.toggle("chosen", k === i));
    const box = tip.parentElement!.getBoundingClientRect();
    const own = segments[i]!.getBoundingClientRect();
    const wanted = (clientX ?? own.left) - box.left - 30;
    const x = Math.max(0, Math.min(wanted, box.width - tip.offsetWidth));
    tip.style.transform = `translate(${Math.round(x)}px, ${own.bottom - box.top + 4}px)`;
  };
  const leave = (): void => {
    tip.hidden = true;
    segments[chosen]?.classList.remove("chosen");
    chosen = -1;
  };
  const segments = parts.map(({ part, time }, i) => {
    const background = partColour(part);
    const colours = `background: ${background}; color: ${inkOn(background)}`;
    const style = `width: ${at(time, most)}; ${colours}`;
    const point = (event: PointerEvent): void => show(i, event.clientX);
    const listen = { pointermove: point, pointerdown: point, pointerleave: leave };
    return h("span", { style, "data-part": part.name, ...listen });
  });
  const whole = h(
    "div",
    {
      class: "budget-bar",
      role: "application",
      "aria-roledescription": "bar",
      "aria-label": `${name}: ${words}`,
      tabindex: 0,
      blur: leave,
      keydown: (event: KeyboardEvent) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (event.key === "Escape") leave();
        if (!by) return;
        event.preventDefault();
        show(Math.max(0, Math.min(chosen + by, parts.length - 1)));
      },
    },
    segments,
  );
  onWidth(whole, (width) =>
    parts.forEach(({ time }, i) => {
      const wide = (time / most) * width;
      segments[i]!.textContent = wide >= WORDED ? seconds(time) : "";
      // A browser draws a part of a pixel as a whole one, of which no legend says what it is.
      segments[i]!.style.visibility = wide < 1 ? "hidden" : "";
    }),
  );
  return whole;
}

/** The ticks of a zero-based axis, in the cell below its bars. */
function axisOf(most: number, scale: Scale): HTMLElement {
  const el = h("div", { class: "bar-axis", "aria-hidden": "true" });
  onWidth(el, (width) => {
    const on = ticks(0, most / scale.divisor, Math.max(2, Math.min(8, Math.floor(width / TICK))));
    const labels = tickLabels(on);
    const style = (v: number): string => `left: ${at(v * scale.divisor, most)}`;
    replace(
      el,
      on.map((v, i) =>
        h("span", { style: style(v) }, labels[i]!, i === on.length - 1 && `\u00a0${scale.unit}`),
      ),
    );
  });
  return el;
}

/** Published values in a row's bar, as dashed lines. */
const goals = (row: BarRow, most: number): Child =>
  row.published.map((p) =>
    h("i", {
      class: `goal ${p.kind}`,
      style: `left: ${at(p.value, most)}`,
      title: `${p.label}: ${p.source}`,
    }),
  );

/** What the lines of published values are, above the first row: each value once. */
function goalNames(rows: BarRow[], metric: Metric, most: number): Child {
  const known = new Map<string, Figure>();
  for (const p of rows.flatMap((r) => r.published)) known.set(`${p.kind} ${p.value}`, p);
  if (known.size === 0) return null;
  const words = (p: Figure): string => {
    if (known.size > 2) return metricValue(metric, p.value);
    const what = p.kind === "objective" ? "objective" : "published";
    if (metric.unit === "s" && p.value >= LONG) return `${what} ${metricValue(metric, p.value)}`;
    return `${what} ${shortest(p.value)}${metric.unit && `\u00a0${metric.unit}`}`;
  };
  const side = (p: Figure): string =>
    p.value > 0.8 * most ? "end" : p.value < 0.15 * most ? "start" : "";
  return h(
    "div",
    { class: "goal-names" },
    [...known.values()]
      .slice(0, 4)
      .map((p) => h("span", { class: side(p), style: `left: ${at(p.value, most)}` }, words(p))),
  );
}

/** A row for each variant or point: bars with a common axis that begins at zero. */
export function barRows(rows: BarRow[], { metric, time }: BarOptions): HTMLElement {
  const published = rows.flatMap((r) => r.published.map((p) => p.value));
  const longest = rows.flatMap((r) => [r.measured ?? 0, time ? (r.of?.completion_s ?? 0) : 0]);
  const most = axisEnd([...longest, ...published]);
  const beside = !time && rows.some((r) => r.of);
  const tip = h("div", { class: "tip budget-tip", role: "status", hidden: true });
  const plainBar = ({ measured, index, name, value }: BarRow): Child =>
    measured !== null &&
    h(
      "div",
      { class: "budget-bar", role: "img", "aria-label": `${name}: ${value}` },
      h("span", {
        class: "value",
        style: `width: ${at(measured, most)}; background: ${variantColour(index ?? 0)}`,
      }),
    );
  const bar = (row: BarRow): Child =>
    row.failure !== null
      ? h("p", { class: "bar-failure" }, row.failure)
      : time && row.of
        ? causes(row.name, row.of, most, tip)
        : plainBar(row);
  const cells = (row: BarRow): Child => [
    h(
      "div",
      { class: "bar-name" },
      h("b", {}, row.index !== null && swatch(row.index), h("span", {}, row.name)),
      row.differs && h("small", { title: row.differs }, row.differs),
    ),
    h("div", { class: "bar-cell" }, bar(row), goals(row, most)),
    beside &&
      h(
        "div",
        { class: "bar-cell causes" },
        row.of && causes(row.name, row.of, row.of.completion_s, tip),
      ),
    h("div", { class: "bar-value" }, h("b", {}, row.value), h("small", {}, row.below)),
  ];
  const scale = metricScale(metric, most);
  return h(
    "div",
    { class: beside ? "bar-rows with-causes" : "bar-rows" },
    h(
      "div",
      { class: "bar-row head" },
      h("span", {}),
      h("div", { class: "bar-cell" }, goalNames(rows, metric, most)),
      beside && h("span", {}),
      h("span", {}),
    ),
    rows.map((row) => h("div", { class: "bar-row" }, cells(row))),
    h(
      "div",
      { class: "bar-row foot" },
      h("span", {}),
      axisOf(most, scale),
      beside &&
        h(
          "span",
          { class: "bar-axis whole" },
          h("span", {}, "0"),
          h("span", {}, "100 % of the time"),
        ),
      h("span", {}),
    ),
    tip,
  );
}

/** The share of a bar from which the legend names a part, on a phone and elsewhere: a pixel. */
const NAMED_ON_PHONE = 0.004;
const NAMED = 0.0015;

/** The legend of stacked bars: what every transfer needs, and causes of slowness. */
export function causeLegend(explanations: Explanation[], time = true): HTMLElement {
  const share = onPhone() ? NAMED_ON_PHONE : NAMED;
  const longest = Math.max(...explanations.map((of) => of.completion_s));
  const used = new Set(
    explanations.flatMap((of) => {
      // Beside other values, each bar is as long as all.
      const least = share * (time ? longest : of.completion_s);
      return Object.entries(of.parts).flatMap(([name, part]) => (part >= least ? name : []));
    }),
  );
  // What a group is called stays in the line of its first part.
  const list = (needed: boolean, name: string): Child =>
    PARTS.filter((part) => part.needed === needed && used.has(part.name)).map((part, i) =>
      h(
        "span",
        { title: part.about },
        i === 0 && h("small", {}, name),
        h("i", { class: "block", style: `background: ${partColour(part)}` }),
        part.label,
      ),
    );
  return h("div", { class: "key budget-key" }, list(true, "needed"), list(false, "causes"));
}
