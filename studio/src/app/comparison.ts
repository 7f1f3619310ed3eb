/** The main metrics of the shown and the pinned runs, side by side. */
import { metricOf } from "../data/metrics.ts";
import type { Summary } from "../data/report.types.ts";
import { groupBy } from "../data/statistics.ts";
import { changed, metricValue } from "../format/metric.ts";
import { type Child, h, replace } from "../page/dom.ts";

/** Largest number of rows of the comparison; it says how many it leaves out. */
const MAX_ROWS = 60;

/** A run with its summary. */
export interface ComparedRun {
  id: number;
  summary: Summary[];
}

const rowKey = (row: Summary): string =>
  JSON.stringify([row.metric, row.variant, Object.entries(row.point), row.flow, row.visit]);

/** Flow and visit, if they tell rows apart. */
function place(row: Summary, several: boolean): string {
  const point = Object.entries(row.point).map(([key, value]) => `${key} = ${value}`);
  const flow = several ? [row.visit > 1 ? `${row.flow}, visit ${row.visit}` : row.flow] : [];
  return [...flow, ...point].join(", ");
}

/** Medians of the main metrics: a column for each run, the first one the base of differences. */
export function comparison(runs: ComparedRun[]): HTMLElement | null {
  const [base, ...others] = runs;
  if (!base) return null;
  const values = runs.map((run) => new Map(run.summary.map((row) => [rowKey(row), row])));
  const rows = new Map(runs.flatMap((run) => run.summary).map((row) => [rowKey(row), row]));
  const flows = new Set([...rows.values()].map((row) => `${row.flow} ${row.visit}`));
  const table = h("table", { class: "comparison" });
  const body: Child[] = [];
  let metric = "";
  // What the scenario is about is first in each run.
  const sorted = [...groupBy(rows.values(), (row) => row.metric).values()].flat();
  for (const row of sorted.slice(0, MAX_ROWS)) {
    const known = metricOf(row.metric);
    if (row.metric !== metric)
      body.push(
        h(
          "tr",
          { class: "group" },
          h("th", { colspan: runs.length + 1, scope: "rowgroup" }, known.label),
        ),
      );
    metric = row.metric;
    const first = values[0]!.get(rowKey(row))?.median ?? null;
    body.push(
      h(
        "tr",
        {},
        h("th", { scope: "row" }, row.variant, " ", h("small", {}, place(row, flows.size > 1))),
        values.map((of, i) => {
          const median = of.get(rowKey(row))?.median ?? null;
          const text = metricValue(known, median);
          return h("td", {}, text, i > 0 && h("small", {}, ` ${changed(known, first, median)}`));
        }),
      ),
    );
  }
  const left = sorted.length - MAX_ROWS;
  const rest = `${left} more ${left === 1 ? "row is" : "rows are"} in the reports`;
  if (left > 0) body.push(h("tr", {}, h("td", { colspan: runs.length + 1 }, h("small", {}, rest))));
  replace(
    table,
    h("caption", {}, "Medians", others.length > 0 && `, and their change from run ${base.id}`),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("td", {}),
        runs.map((run) => h("th", { scope: "col" }, `Run ${run.id}`)),
      ),
    ),
    h("tbody", {}, body),
  );
  return table;
}
