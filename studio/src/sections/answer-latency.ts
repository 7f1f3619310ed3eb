import { type Comparison, flowOf, medianIn, type Row } from "../answer/comparison.ts";
import { type SpanRow, spanRows } from "../charts/static/span-rows.ts";
import { runsAt } from "../data/groups.ts";
import { METRIC } from "../data/metrics.ts";
import type { Link } from "../data/report.types.ts";
import { ms, significant } from "../format/numbers.ts";
import { type Child, h } from "../page/dom.ts";

/** Requests of a test of responsiveness: what they are, and their median, p95 and p99. */
const PHASES: { words: string; metrics: [string, string, string] }[] = [
  { words: "idle", metrics: [METRIC.idleMedian, METRIC.idleP95, METRIC.idleP99] },
  { words: "under load", metrics: [METRIC.loadedMedian, METRIC.loadedP95, METRIC.loadedP99] },
  {
    words: "on the load's connection",
    metrics: [METRIC.selfMedian, METRIC.selfP95, METRIC.selfP99],
  },
];

/** The link whose queue held packets longest in the first run of a row. */
function fullestLink(c: Comparison, row: Row): Link | undefined {
  const links = runsAt(c.report, row.group.variant, row.group.point)[0]?.links ?? [];
  return [...links].sort((a, b) => b.queue_mean_ms - a.queue_mean_ms)[0];
}

/** Which queue holds how much of what load adds to a request; null if nothing is known. */
function sentence(c: Comparison, row: Row): string | null {
  const idle = medianIn(c, row, METRIC.idleMedian);
  const loaded = medianIn(c, row, METRIC.loadedMedian);
  if (idle === null || loaded === null) return null;
  const link = fullestLink(c, row);
  const queue = link
    ? ` A packet waited ${ms(link.queue_mean_ms)} on average in the queue of ${link.name}.`
    : "";
  const more = Math.max(0, loaded - idle);
  return `${row.name}: of ${ms(loaded)} under load, ${ms(more)} are more than when idle.${queue}`;
}

/**
 * The requests of a test of responsiveness, idle beside loaded, and which queue holds how much.
 * Null of other workloads.
 */
export function latencyPanel(c: Comparison): Child {
  if (flowOf(c, c.base, c.flow.name)?.workload !== "responsiveness") return null;
  const rows = c.rows.flatMap((row) =>
    PHASES.flatMap(({ words, metrics }): SpanRow[] => {
      const [middle, p95, high] = metrics.map((m) => medianIn(c, row, m));
      if (middle == null || p95 == null || high == null) return [];
      const name = `${row.name}, ${words}`;
      const said = `${name}: median ${ms(middle)}, 99 % within ${ms(high)}`;
      const spans = [{ index: row.group.index, middle, high, words: said }];
      return [{ name, below: `95 % within ${ms(p95)}`, spans }];
    }),
  );
  if (rows.length === 0) return null;
  return h(
    "figure",
    { class: "card across" },
    h(
      "figcaption",
      {},
      h("h3", {}, "Latency under load", h("small", {}, " small requests, in ms")),
    ),
    spanRows(rows, (v) => significant(v)),
    h("p", { class: "howto" }, "A mark at the median, a line to the 99th percentile."),
    c.rows.map((row) => {
      const said = sentence(c, row);
      return said && h("p", { class: "note" }, said);
    }),
  );
}
