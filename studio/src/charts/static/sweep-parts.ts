import type { Group } from "../../data/groups.ts";
import type { Metric } from "../../data/metrics.ts";
import type { Point } from "../../data/points.ts";
import { pointKey, pointLabel } from "../../data/points.ts";
import type { Sweep } from "../../data/sweep.ts";
import { interval, metricValue } from "../../format/metric.ts";
import type { Scale } from "../../format/numbers.ts";
import { variantColour } from "../../format/palette.ts";
import { h, svg } from "../../page/dom.ts";
import { markerPath } from "./marks.ts";
import { onSpots, type Place } from "./spots.ts";

/** What the panels of one sweep share. */
export interface Shared {
  sweep: Sweep;
  metric: Metric;
  scale: Scale;
  range: [number, number];
  log: boolean;
  groupsOf: (point: Point) => Group[];
  indices: number[];
  choose: (point: string) => void;
}

/** A dot on the plot. */
export interface Spot extends Place {
  group: Group;
}

/** The drawing of a panel, with its tip. */
export function stageOf({ metric, sweep }: Shared): { plot: SVGSVGElement; tip: HTMLElement } {
  const label = `Median ${metric.label} by ${sweep.name}`;
  const plot = svg("svg", { class: "plot", role: "img", "aria-label": label });
  return { plot, tip: h("div", { class: "tip", hidden: true }) };
}

export function dot(group: Group, x: number, y: number): SVGPathElement {
  return svg("path", {
    class: "sweep-dot",
    d: markerPath(group.index, 5),
    fill: variantColour(group.index),
    transform: `translate(${x.toFixed(1)},${y.toFixed(1)})`,
  });
}

/** What the tip of a dot says. */
function wordsOf({ group: g }: Spot, { metric, scale }: Shared): string {
  const range = g.interval
    ? `, ${g.interval.words} ${interval(g.interval.low, g.interval.high, scale)}`
    : "";
  return `${g.variant}, ${pointLabel(g.point)}: ${metricValue(metric, g.median)}${range}`;
}

/** Describes dots at the pointer and with arrow keys, and chooses the point of one. */
export const listen = (
  plot: SVGSVGElement,
  tip: HTMLElement,
  spots: () => Spot[],
  shared: Shared,
): void =>
  onSpots(
    plot,
    tip,
    spots,
    (spot) => wordsOf(spot, shared),
    ({ group }) => shared.choose(pointKey(group.point)),
  );
