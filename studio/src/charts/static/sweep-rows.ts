import type { Point } from "../../data/points.ts";
import { variantColour } from "../../format/palette.ts";
import { h, onWidth, svg } from "../../page/dom.ts";
import { axis, drawXAxis } from "./axes.ts";
import { publishedMark } from "./marks.ts";
import { dot, listen, type Shared, type Spot, stageOf } from "./sweep-parts.ts";

/** A panel with names on its axis: a row per name, without lines between dots. */
export function rows(shared: Shared, points: (Point | null)[]): HTMLElement {
  const { sweep, scale, range, log, indices } = shared;
  const { plot, tip } = stageOf(shared);
  const longest = Math.max(...sweep.values.map((v) => v.text.length));
  const row = Math.max(30, indices.length * 9 + 12, Math.ceil(longest / 24) * 18 + 8);
  const cell = h(
    "div",
    { class: "sweep-plot", style: `grid-row: 1 / span ${points.length + 1}` },
    plot,
    tip,
  );
  const names = sweep.values.map((v, i) =>
    h("div", { class: "sweep-name", style: `grid-row: ${i + 1}` }, v.text),
  );
  let spots: Spot[] = [];
  listen(plot, tip, () => spots, shared);
  onWidth(cell, (width) => {
    const bottom = points.length * row;
    plot.setAttribute("width", String(width));
    plot.setAttribute("height", String(bottom + 22));
    plot.replaceChildren();
    spots = [];
    const x = axis(...range, 10, width - 16, log);
    drawXAxis(plot, x, 0, bottom, scale);
    points.forEach((point, i) => {
      if (i > 0)
        plot.append(
          svg("line", {
            class: "rowline",
            x1: 10,
            x2: width - 16,
            y1: i * row + 0.5,
            y2: i * row + 0.5,
          }),
        );
      const groups = point ? shared.groupsOf(point) : [];
      for (const g of groups) {
        for (const p of g.published) {
          const at = x.px(p.value);
          plot.append(
            svg("line", {
              class: "published-line",
              x1: at,
              x2: at,
              y1: i * row + 3,
              y2: (i + 1) * row - 3,
            }),
          );
          plot.append(publishedMark(p.kind, at, (i + 0.5) * row));
        }
      }
      for (const g of groups) {
        if (g.median === null) continue;
        const y = (i + 0.5) * row + (indices.indexOf(g.index) - (indices.length - 1) / 2) * 9;
        const spot = { group: g, x: x.px(g.median), y, row: i };
        if (g.interval)
          plot.append(
            svg("line", {
              stroke: variantColour(g.index),
              "stroke-width": 1.5,
              x1: x.px(g.interval.low),
              x2: x.px(g.interval.high),
              y1: y,
              y2: y,
            }),
          );
        plot.append(dot(g, spot.x, y));
        spots.push(spot);
      }
    });
  });
  return h(
    "div",
    { class: "sweep-rows", style: `grid-template-rows: repeat(${points.length}, ${row}px) 22px` },
    names,
    cell,
  );
}
