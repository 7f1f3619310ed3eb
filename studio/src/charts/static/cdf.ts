import type { Group } from "../../data/groups.ts";
import type { Metric } from "../../data/metrics.ts";
import { cdf } from "../../data/statistics.ts";
import { variantColour, variantDash } from "../../format/palette.ts";
import { svg } from "../../page/dom.ts";
import type { Axis } from "./axes.ts";
import { markerPath } from "./marks.ts";

/** Draws the cumulative distribution on the axis of a strip plot: a step line per variant. */
export function drawCdf(
  groups: Group[],
  m: Metric,
  x: Axis,
  top: number,
  bottom: number,
): SVGGElement {
  const out = svg("g", { class: "cdf" }, svg("title", {}, `Share of runs by ${m.label}`));
  const y = (share: number): number => bottom - share * (bottom - top);
  const [left, right] = [x.px(x.lo), x.px(x.hi)];
  for (const share of [0.5, 1]) {
    const at = Math.round(y(share)) + 0.5;
    out.append(svg("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }));
    out.append(
      svg(
        "text",
        { class: "tick", x: left - 6, y: at + 4, "text-anchor": "end" },
        `${share * 100}\u00a0%`,
      ),
    );
  }
  for (const g of groups) {
    const steps = cdf(g.sorted, g.values.length);
    if (steps.length === 0) continue;
    const d =
      `M${left.toFixed(1)},${y(0).toFixed(1)}` +
      steps.map((s) => `H${x.px(s.x).toFixed(1)}V${y(s.y).toFixed(1)}`).join("") +
      `H${right.toFixed(1)}`;
    const colour = variantColour(g.index);
    out.append(
      svg(
        "path",
        {
          class: "step",
          d,
          stroke: colour,
          "stroke-dasharray": variantDash(g.index).join(" ") || null,
        },
        svg("title", {}, g.variant),
      ),
    );
    const middle = steps[Math.floor((steps.length - 1) / 2)]!;
    out.append(
      svg("path", {
        d: markerPath(g.index, 3.6),
        fill: colour,
        transform: `translate(${x.px(middle.x).toFixed(1)},${y(middle.y).toFixed(1)})`,
      }),
    );
  }
  return out;
}
