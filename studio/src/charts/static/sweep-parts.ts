import type { Group } from "../../data/groups.ts";
import type { Metric } from "../../data/metrics.ts";
import type { Point } from "../../data/points.ts";
import { pointKey, pointLabel } from "../../data/points.ts";
import type { Sweep } from "../../data/sweep.ts";
import { interval, metricValue } from "../../format/metric.ts";
import type { Scale } from "../../format/numbers.ts";
import { variantColour } from "../../format/palette.ts";
import { h, placeTip, svg } from "../../page/dom.ts";
import { markerPath } from "./marks.ts";

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
export interface Spot {
  x: number;
  y: number;
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
  const range = g.spread
    ? `, ${g.spread.words} ${interval(g.spread.low, g.spread.high, scale)}`
    : "";
  return `${g.variant}, ${pointLabel(g.point)}: ${metricValue(metric, g.median)}${range}`;
}

/** Describes the dot nearest to the pointer, and chooses its point on a click. */
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

/** Describes the spot nearest to the pointer, and chooses it on a click. */
export function onSpots<S extends { x: number; y: number }>(
  plot: SVGSVGElement,
  tip: HTMLElement,
  spots: () => S[],
  words: (spot: S) => string,
  choose: (spot: S) => void,
): void {
  const nearest = (event: MouseEvent): S | null => {
    const box = plot.getBoundingClientRect();
    let best: S | null = null;
    let distance = 18;
    for (const s of spots()) {
      const d = Math.hypot(s.x - (event.clientX - box.left), s.y - (event.clientY - box.top));
      if (d < distance) {
        distance = d;
        best = s;
      }
    }
    return best;
  };
  plot.addEventListener("pointermove", (event) => {
    const hit = nearest(event);
    tip.hidden = !hit;
    plot.style.cursor = hit ? "pointer" : "";
    if (!hit) return;
    tip.textContent = words(hit);
    placeTip(tip, [hit.x, hit.y], plot.clientWidth, "-120%");
  });
  plot.addEventListener("pointerleave", () => (tip.hidden = true));
  plot.addEventListener("click", (event) => {
    const hit = nearest(event);
    if (hit) choose(hit);
  });
}
