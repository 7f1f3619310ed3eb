import { valueIn } from "./derived.ts";
import { FLOW_COLUMNS, METRIC_COLUMNS } from "./metrics.ts";
import type { Report } from "./report.types.ts";

/** The results document as `bentpipe run --json` prints it. */
export function resultsJson(report: Report): string {
  const { scenario, seed, clock, version, runs, summary, expectations } = report;
  const document = { scenario, seed, clock, version, runs, summary, expectations };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** A table of all runs: a row of heads, then a row per flow of every run. */
export function runsTable(report: Report): (string | number | null)[][] {
  const keys = report.sweep.map((s) => s.key);
  const flows = report.runs.flatMap((run) => run.flows.map((flow) => ({ run, flow })));
  return [
    ["variant", ...keys, "run", "flow", "visit", ...FLOW_COLUMNS, ...METRIC_COLUMNS],
    ...flows.map(({ run, flow }) => [
      run.variant,
      ...keys.map((key) => run.point[key] ?? null),
      run.run,
      flow.name,
      flow.visit,
      ...FLOW_COLUMNS.map((c) => (c === "completed" ? String(flow[c]) : flow[c])),
      ...METRIC_COLUMNS.map((c) => valueIn(report, run, flow, c)),
    ]),
  ];
}
