import type { Metric } from "../../data/metrics.ts";
import type { Started } from "../../data/start-times.ts";
import { metricScale, metricValue } from "../../format/metric.ts";
import { seconds } from "../../format/numbers.ts";
import { variantColour } from "../../format/palette.ts";
import { h, onWidth, svg } from "../../page/dom.ts";
import { axis, drawXAxis, drawYAxis, rangeOf, wide } from "./axes.ts";
import { markerPath } from "./marks.ts";
import { onSpots, type Place } from "./spots.ts";

const HEIGHT = 220;

/** Runs by the time at which their visits began: a dot for each. */
export function startTimes(
  runs: Started[],
  metric: Metric,
  choose: (variant: string, run: number) => void,
): HTMLElement {
  const label = `${metric.label} by start time`;
  const plot = svg("svg", { class: "plot", role: "img", "aria-label": label });
  const values = runs.map((r) => r.value);
  const starts = runs.map((r) => r.start);
  const tip = h("div", { class: "tip", hidden: true });
  const cell = h("div", { class: "sweep-plot" }, plot, tip);
  let spots: (Place & { of: Started })[] = [];
  onSpots(
    plot,
    tip,
    () => spots,
    ({ of: { group, run, value, start } }) =>
      `${group.variant}, run ${run}: ${metricValue(metric, value)}, begun at ${seconds(start)}`,
    ({ of: { group, run } }) => choose(group.variant, run),
  );
  onWidth(cell, (width) => {
    const [left, right, top, bottom] = [62, width - 14, 8, HEIGHT - 40];
    plot.setAttribute("width", String(width));
    plot.setAttribute("height", String(HEIGHT));
    plot.replaceChildren();
    const y = axis(...rangeOf(values), bottom, top, wide(values));
    const [first, last] = [Math.min(...starts), Math.max(...starts)];
    const pad = 0.03 * (last - first);
    const x = axis(Math.max(0, first - pad), last + pad, left, right);
    drawYAxis(plot, y, left, right, metricScale(metric, Math.max(...values)));
    drawXAxis(plot, x, top, bottom, { unit: "s", divisor: 1 });
    const caption = { class: "caption", x: (left + right) / 2, y: HEIGHT - 4 };
    plot.append(
      svg("text", { ...caption, "text-anchor": "middle" }, "start of the visit in its run"),
    );
    spots = runs.map((of) => {
      const { group, start, value } = of;
      const spot = { of, row: group.index, x: x.px(start), y: y.px(value) };
      plot.append(
        svg("path", {
          class: "sweep-dot",
          d: markerPath(group.index, 4),
          fill: variantColour(group.index),
          transform: `translate(${spot.x.toFixed(1)},${spot.y.toFixed(1)})`,
        }),
      );
      return spot;
    });
  });
  return cell;
}
