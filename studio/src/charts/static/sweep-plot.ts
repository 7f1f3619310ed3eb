import type { Group } from "../../data/groups.ts";
import type { Metric } from "../../data/metrics.ts";
import type { Point } from "../../data/points.ts";
import type { Sweep } from "../../data/sweep.ts";
import { metricScale } from "../../format/metric.ts";
import { h } from "../../page/dom.ts";
import { rangeOf, wide } from "./axes.ts";
import { lines } from "./sweep-lines.ts";
import type { Shared } from "./sweep-parts.ts";
import { rows } from "./sweep-rows.ts";

/** Plots medians along the sweep: a panel per combination of the keys not on the axis. */
export function sweepPanels(
  sweep: Sweep,
  groupsOf: (point: Point) => Group[],
  metric: Metric,
  choose: (point: string) => void,
): { el: HTMLElement; log: boolean } {
  const all = sweep.panels.flatMap((p) => p.points.flatMap((q) => (q ? groupsOf(q) : [])));
  const numbers = all
    .flatMap((g) => [
      g.median,
      g.interval?.low,
      g.interval?.high,
      ...g.published.map((p) => p.value),
    ])
    .filter((v) => typeof v === "number");
  const log = wide(numbers);
  const shared: Shared = {
    sweep,
    metric,
    scale: metricScale(metric, Math.max(...numbers, 0)),
    range: rangeOf(numbers),
    log,
    groupsOf,
    indices: [...new Set(all.map((g) => g.index))].sort((a, b) => a - b),
    choose,
  };
  const numeric = sweep.values.every((v) => v.number !== null);
  const panels = sweep.panels.map((p) => {
    const title = p.label && h("h4", {}, p.label);
    return h(
      "div",
      { class: "sweep-panel" },
      title,
      numeric ? lines(shared, p.points) : rows(shared, p.points),
    );
  });
  return { el: h("div", { class: "sweep-panels" }, panels), log };
}
