import type { Group } from "../../data/groups.ts";
import { METRIC, type Metric } from "../../data/metrics.ts";
import { metricScale, metricValue, plainValue } from "../../format/metric.ts";
import { NONE, type Scale, significant } from "../../format/numbers.ts";
import { isDark } from "../../format/palette.ts";
import { type Child, h, placeTip } from "../../page/dom.ts";
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
  /** Goodputs of both flows of a competition at a cell; null without a competition. */
  goodputs: (group: Group) => [number | null, number | null] | null;
  /** True if the time plots show the run of a cell. */
  shown: (group: Group) => boolean;
  choose: (group: Group) => void;
}

/** A short value for a cell, without its unit. */
function brief(m: Metric, value: number, scale: Scale): string {
  if (scale.unit === "%") return (value / scale.divisor).toFixed(0);
  return m.key === METRIC.jainIndex
    ? value.toFixed(2)
    : plainValue(Number(value.toPrecision(3)), scale);
}

/** The legend of a scale: its colours and ends; for shares, whose they are. */
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

/** What a cell says: the pair, its median, and the goodput of each flow. */
function cellWords(
  group: Group,
  { rows, columns, competition }: HeatOptions["axes"],
  metric: Metric,
  goodputs: HeatOptions["goodputs"],
): string[] {
  const of = group.n > 1 ? `, median of ${group.n}` : "";
  const both = goodputs(group);
  const [a, b] = [group.point[rows.key] ?? "", group.point[columns.key] ?? ""];
  return [
    competition ? `${a} against ${b}` : `${rows.name} ${a}, ${columns.name} ${b}`,
    `${metric.label} ${metricValue(metric, group.median)}${of}`,
    ...(both && competition
      ? both.map(
          (x, i) => `${competition.flows[i]} ${x === null ? NONE : `${significant(x)}\u00a0Mbps`}`,
        )
      : []),
  ];
}

/** Heat maps side by side with one scale, each a table so that it can be read aloud. */
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
  const words = (group: Group): string[] => cellWords(group, axes, metric, goodputs);
  const point = (el: HTMLElement, group: Group): void => {
    tip.replaceChildren(...words(group).map((line, i) => h(i === 0 ? "b" : "span", {}, line)));
    tip.hidden = false;
    const [cell, whole] = [el.getBoundingClientRect(), body.getBoundingClientRect()];
    const x = cell.left + cell.width / 2 - whole.left;
    const y = cell.top + cell.height / 2 - whole.top;
    const edge = (x > whole.width / 2 ? -1 : 1) * (cell.width / 2 - 2);
    placeTip(tip, [x + edge, y], whole.width, "-50%");
  };
  const cell = (group: Group | null): HTMLElement => {
    if (!group || group.median === null) return h("td", { class: "none" }, NONE);
    const { back, ink } = heatColour(scale.kind, placeOn(scale, group.median), isDark());
    const text = brief(metric, group.median, unit);
    const el = h(
      "button",
      {
        type: "button",
        style: `background: ${back}; color: ${ink}`,
        "aria-label": [text, ...words(group)].join(", "),
        click: () => choose(group),
        pointerenter: () => point(el, group),
        pointerleave: () => (tip.hidden = true),
        focus: () => point(el, group),
        blur: () => (tip.hidden = true),
      },
      text,
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
