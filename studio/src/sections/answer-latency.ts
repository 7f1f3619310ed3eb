import { type Comparison, flowOf, medianIn, type Row } from "../answer/comparison.ts";
import { runsAt } from "../data/groups.ts";
import { METRIC } from "../data/metrics.ts";
import type { Link } from "../data/report.types.ts";
import { ms } from "../format/numbers.ts";
import { type Child, h } from "../page/dom.ts";
import { delayFigure, delayRow } from "./answer-delays.ts";

/** Requests of a test of responsiveness: what they are, and their median, p95 and p99. */
const PHASES: { words: string; metrics: [string, string, string] }[] = [
  { words: "idle", metrics: [METRIC.idleMedian, METRIC.idleP95, METRIC.idleP99] },
  { words: "under load", metrics: [METRIC.loadedMedian, METRIC.loadedP95, METRIC.loadedP99] },
  {
    words: "load's connection",
    metrics: [METRIC.selfMedian, METRIC.selfP95, METRIC.selfP99],
  },
];

/** The link with the largest mean queueing delay in the first run of a row. */
function fullestLink(c: Comparison, row: Row): Link | undefined {
  const links = runsAt(c.report, row.group.variant, row.group.point)[0]?.links ?? [];
  return [...links].sort((a, b) => b.queue_mean_ms - a.queue_mean_ms)[0];
}

/** What load adds to a request, and the mean wait in the fullest queue; null if it is unknown. */
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
 * The requests of a test of responsiveness, idle beside loaded, and what load adds to them. Null of
 * other workloads.
 */
export function latencyPanel(c: Comparison): Child {
  if (flowOf(c, c.base, c.flow.name)?.workload !== "responsiveness") return null;
  const rows = c.rows.flatMap((row) =>
    PHASES.flatMap(({ words, metrics }) => delayRow(c, row, `${row.name}, ${words}`, metrics)),
  );
  const said = sentence(c, c.base);
  const note = said && h("p", { class: "howto" }, said);
  return delayFigure("Latency under load", "small requests", rows, note);
}
