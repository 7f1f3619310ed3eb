import { lowerBound, type Pyramid } from "../../data/pyramid.ts";
import { byteScale, type Scale } from "../../format/numbers.ts";
import { h, onWidth, svg } from "../../page/dom.ts";
import { type Axis, axis, drawXAxis, drawYAxis } from "./axes.ts";

const RATE_HEIGHT = 120;
const QUEUE_HEIGHT = 62;
/** Space above each plot for its name, and below both for the time. */
const HEAD = 18;
const FOOT = 26;

/** What a link that changes at known times could carry, carried and kept waiting. */
export interface ChangingLink {
  /** Rate over time in Mbps. */
  rate: Pyramid;
  throughput: Pyramid;
  /** Bytes in the queue. */
  queue: Pyramid;
  /** Times of the changes in s, in the run's time. */
  changes: number[];
  /** Part of the run that is shown. */
  from: number;
  to: number;
}

/** The largest and smallest value of a series in each pixel, as points of a line. */
function points({ t, v, n }: Pyramid, x: Axis, y: Axis, end: number): [number, number][] {
  const out: [number, number][] = [];
  const [from, to] = [Math.ceil(x.px(x.lo)), Math.floor(x.px(x.hi))];
  const perPixel = (x.hi - x.lo) / (to - from || 1);
  let held = Number.NaN;
  for (let px = from; px <= to; px++) {
    const begin = x.lo + (px - from) * perPixel;
    if (begin > end) break;
    const [a, b] = [lowerBound(t, begin), lowerBound(t, begin + perPixel)];
    let [low, high] = [held, held];
    for (let i = a; i < Math.min(b, n); i++) {
      held = v[i]!;
      low = Math.min(Number.isNaN(low) ? held : low, held);
      high = Math.max(Number.isNaN(high) ? held : high, held);
    }
    if (Number.isNaN(high)) continue;
    out.push([px, y.px(high)]);
    if (low < high) out.push([px, y.px(low)], [px, y.px(held)]);
  }
  return out;
}

const line = (all: [number, number][]): string =>
  all.map(([x, y], i) => `${i > 0 ? "L" : "M"}${x},${y.toFixed(1)}`).join("");

/** The area between a line and the lower end of its axis. */
const area = (all: [number, number][], bottom: number): string =>
  all.length > 0 ? `${line(all)}V${bottom}H${all[0]![0]}Z` : "";

/**
 * A link over time: above its rate as an area and its throughput as a line, below its queue, with a
 * vertical line at each change of the path.
 */
export function pathChanges(link: ChangingLink, label: string, colour: string): HTMLElement {
  const height = 2 * HEAD + RATE_HEIGHT + QUEUE_HEIGHT + FOOT;
  const plot = svg("svg", { class: "plot path-changes", role: "img", "aria-label": label });
  const most = (series: Pyramid): number => series.v.reduce((a, b) => Math.max(a, b), 0);
  const end = link.throughput.t.at(-1) ?? link.to;
  const mbps: Scale = { unit: "", divisor: 1 };
  const cell = h("div", { class: "sweep-plot" }, plot);
  onWidth(cell, (width) => {
    const [left, right] = [52, width - 8];
    plot.setAttribute("width", String(width));
    plot.setAttribute("height", String(height));
    plot.replaceChildren();
    const [top, middle] = [HEAD, HEAD + RATE_HEIGHT];
    const bottom = middle + HEAD + QUEUE_HEIGHT;
    const x = axis(link.from, link.to, left, right);
    const y = axis(0, Math.max(most(link.rate), most(link.throughput)) * 1.06, middle, top);
    const bytes = most(link.queue) || 1;
    const q = axis(0, bytes * 1.15, bottom, middle + HEAD);
    const queue = points(link.queue, x, q, end);
    plot.append(
      svg("path", { class: "offered", d: area(points(link.rate, x, y, link.to), middle) }),
      svg("path", { class: "waiting", d: area(queue, bottom), fill: colour }),
    );
    drawYAxis(plot, y, left, right, mbps);
    drawYAxis(plot, q, left, right, byteScale(bytes));
    drawXAxis(plot, x, bottom, bottom, { unit: "s", divisor: 1 });
    plot.append(
      svg("path", {
        class: "carried",
        d: line(points(link.throughput, x, y, end)),
        stroke: colour,
      }),
    );
    for (const t of link.changes) {
      const at = x.px(t);
      plot.append(svg("line", { class: "change", x1: at, x2: at, y1: top, y2: bottom }));
    }
    const named = (dy: number, text: string): SVGElement =>
      svg("text", { class: "caption", x: 0, y: dy }, text);
    plot.append(named(top - 6, "Rate, Mbps"), named(middle + HEAD - 5, "Queue"));
  });
  return cell;
}
