import { type Comparison, flowOf, medianIn, type Row } from "../answer/comparison.ts";
import { type SpanRow, spanRows } from "../charts/static/span-rows.ts";
import { METRIC } from "../data/metrics.ts";
import { ms, significant } from "../format/numbers.ts";
import { type Child, h } from "../page/dom.ts";

/** What the delays of a workload are, and its metrics: median, 95th and 99th percentile. */
const DELAYS: Record<string, { what: string; metrics: [string, string, string] }> = {
  probe: {
    what: "Response times",
    metrics: [METRIC.responseMedian, METRIC.responseP95, METRIC.responseP99],
  },
  call: {
    what: "Frame delays",
    metrics: [METRIC.frameDelayMedian, METRIC.frameDelayP95, METRIC.frameDelayP99],
  },
  cbr: {
    what: "One-way delays",
    metrics: [METRIC.delayMedian, METRIC.delayP95, METRIC.delayP99],
  },
};
// A ping's packets are datagrams, as those of a call are.
DELAYS.ping = DELAYS.cbr!;

/** Delays of a row by the metrics of their median, p95 and p99; none without values. */
export function delayRow(c: Comparison, row: Row, name: string, metrics: string[]): SpanRow[] {
  const [middle, p95, high] = metrics.map((m) => medianIn(c, row, m));
  if (middle == null || p95 == null || high == null) return [];
  const words = `${name}: median ${ms(middle)}, 95 % within ${ms(p95)}, 99 % within ${ms(high)}`;
  const spans = [{ index: row.group.index, middle, high, words }];
  return [{ name, below: `95 % within ${ms(p95)}`, spans }];
}

/** The figure of such rows; null without any. */
export function delayFigure(title: string, what: string, rows: SpanRow[], notes?: Child): Child {
  if (rows.length === 0) return null;
  return h(
    "figure",
    { class: "card across" },
    h("figcaption", {}, h("h3", {}, title, h("small", {}, ` ${what}, in ms`))),
    spanRows(rows, (v) => significant(v)),
    h("p", { class: "howto" }, "A mark at the median, a line to the 99th percentile."),
    notes,
  );
}

/**
 * The delays of a flow that is about them, such as a call: a mark at the median, a line to the 99th
 * percentile, on an axis that begins at zero. Null of other flows.
 */
export function delaysPanel(c: Comparison): Child {
  const kind = DELAYS[flowOf(c, c.base, c.flow.name)?.workload ?? ""];
  if (!kind) return null;
  const rows = c.rows.flatMap((row) => delayRow(c, row, row.name, kind.metrics));
  return delayFigure(kind.what, `of ${c.flow.name}`, rows);
}
