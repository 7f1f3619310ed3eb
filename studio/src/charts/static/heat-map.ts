import type { Group } from "../../data/groups.ts";
import { METRIC, type Metric } from "../../data/metrics.ts";
import { pointKey } from "../../data/points.ts";
import { metricScale, metricValue, plainValue } from "../../format/metric.ts";
import { NONE, type Scale, significant } from "../../format/numbers.ts";
import { isDark } from "../../format/palette.ts";
import { type Child, h } from "../../page/dom.ts";
import {
  type HeatAxes,
  type HeatMap,
  type HeatScale,
  heatColour,
  heatScale,
  placeOn,
} from "./heat-scale.ts";

/** What heat maps need besides their values. */
export interface HeatOptions {
  axes: HeatAxes;
  maps: HeatMap[];
  metric: Metric;
  /** Goodputs of both flows of a competition at a cell; null where there is no competition. */
  goodputs: (group: Group) => [number | null, number | null] | null;
  /** Whether a cell's run is the one that the time plots show. */
  shown: (group: Group) => boolean;
  choose: (group: Group) => void;
}

/** A value as a cell has it: short, its unit stands elsewhere. */
function brief(m: Metric, value: number, scale: Scale): string {
  if (scale.unit === "%") return (value / scale.divisor).toFixed(0);
  return m.key === METRIC.jainIndex
    ? value.toFixed(2)
    : plainValue(Number(value.toPrecision(3)), scale);
}

/** The colours of a scale with its ends, and for shares whose they are. */
function key(scale: HeatScale, m: Metric, unit: Scale, axes: HeatAxes): Child {
  const dark = isDark();
  const steps = Array.from({ length: 9 }, (_, i) => heatColour(scale.kind, i / 8, dark).back);
  const end = (v: number): string => metricValue(m, v);
  const competition = m.key === METRIC.share ? axes.competition : null;
  return h(
    "div",
    { class: "heat-key" },
    h("span", {}, competition ? `${competition.flows[1]} has all` : end(scale.low)),
    h("span", {
      class: "heat-bar",
      style: `background: linear-gradient(to right, ${steps.join(", ")})`,
    }),
    h("span", {}, competition ? `${competition.flows[0]} has all` : end(scale.high)),
    scale.log && h("small", {}, "log scale"),
    unit.unit && h("small", {}, `numbers in ${unit.unit}`),
  );
}

/** Heat maps side by side with one scale for all: a table each, so that they can be read aloud, and a tip. */
export function heatView({ axes, maps, metric, goodputs, shown, choose }: HeatOptions): {
  el: HTMLElement;
  mark: () => void;
} {
  const values = maps.flatMap((m) =>
    m.cells.flat().flatMap((g) => (g && g.median !== null ? [g.median] : [])),
  );
  const scale = heatScale(metric.key, values);
  const unit = metricScale(metric, Math.max(...values, 0));
  const tip = h("div", { class: "tip heat-tip", hidden: true });
  const buttons: { el: HTMLElement; group: Group }[] = [];
  const { rows, columns, competition } = axes;
  const words = (group: Group): string[] => {
    const both = goodputs(group);
    const [a, b] = [group.point[rows.key] ?? "", group.point[columns.key] ?? ""];
    return [
      competition ? `${a} against ${b}` : `${rows.name} ${a}, ${columns.name} ${b}`,
      `${metric.label} ${metricValue(metric, group.median)}${group.n > 1 ? `, median of ${group.n}` : ""}`,
      ...(both && competition
        ? both.map(
            (x, i) =>
              `${competition.flows[i]} ${x === null ? NONE : `${significant(x)}\u00a0Mbps`}`,
          )
        : []),
    ];
  };
  const point = (el: HTMLElement, group: Group): void => {
    tip.replaceChildren(...words(group).map((line, i) => h(i === 0 ? "b" : "span", {}, line)));
    tip.hidden = false;
    const [cell, whole] = [el.getBoundingClientRect(), body.getBoundingClientRect()];
    const right = cell.left + cell.width / 2 > whole.left + whole.width / 2;
    tip.style.transform = `translate(${Math.round((right ? cell.left - 8 : cell.right + 8) - whole.left)}px, ${Math.round(cell.top + cell.height / 2 - whole.top)}px) translate(${right ? "-100%" : "0"}, -50%)`;
  };
  const cell = (group: Group | null): HTMLElement => {
    if (!group || group.median === null) return h("td", { class: "none" }, NONE);
    const { back, ink } = heatColour(scale.kind, placeOn(scale, group.median), isDark());
    const el = h(
      "button",
      {
        type: "button",
        style: `background: ${back}; color: ${ink}`,
        "aria-label": words(group).join(", "),
        click: () => choose(group),
        pointerenter: () => point(el, group),
        pointerleave: () => (tip.hidden = true),
        focus: () => point(el, group),
        blur: () => (tip.hidden = true),
      },
      brief(metric, group.median, unit),
    );
    buttons.push({ el, group });
    return h("td", {}, el);
  };
  const table = (map: HeatMap): HTMLElement =>
    h(
      "div",
      { class: "heat-map" },
      map.label && h("h4", {}, map.label),
      h(
        "div",
        { class: "heat-scroll" },
        h(
          "table",
          { class: "heat" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("td", {}),
              h(
                "th",
                { scope: "colgroup", colspan: columns.values.length, class: "heat-side" },
                competition ? `${columns.name} uses` : columns.name,
              ),
            ),
            h(
              "tr",
              {},
              h("td", { class: "heat-side" }, competition ? `${rows.name} uses` : rows.name),
              columns.values.map((v) => h("th", { scope: "col" }, v)),
            ),
          ),
          h(
            "tbody",
            {},
            map.cells.map((line, i) =>
              h("tr", {}, h("th", { scope: "row" }, rows.values[i]!), line.map(cell)),
            ),
          ),
        ),
      ),
    );
  const body = h("div", { class: "heat-maps" }, maps.map(table), tip);
  const mark = (): void => {
    for (const { el, group } of buttons) el.classList.toggle("shown", shown(group));
  };
  mark();
  return { el: h("div", {}, key(scale, metric, unit, axes), body), mark };
}

/** Whether a cell's run is this one. */
export const isOf = (
  group: Group,
  run: { variant: string; point: Group["point"] } | undefined,
): boolean =>
  run !== undefined &&
  run.variant === group.variant &&
  pointKey(run.point) === pointKey(group.point);
