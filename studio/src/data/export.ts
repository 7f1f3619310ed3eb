import { METRIC, RUN_COLUMNS } from "./metrics.ts";
import type { Report } from "./schema.ts";

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
  const layers = [...new Set(flows.flatMap(({ flow }) => Object.keys(flow.return_bytes)))];
  const byLayer = layers.map((l) => `${METRIC.reverseBytes}.${l}`);
  return [
    ["variant", ...keys, "run", "flow", "visit", ...RUN_COLUMNS, ...byLayer],
    ...flows.map(({ run, flow }) => [
      run.variant,
      ...keys.map((key) => run.point[key] ?? null),
      run.run,
      flow.name,
      flow.visit,
      ...RUN_COLUMNS.map((c) => {
        const value = flow[c];
        return typeof value === "boolean" ? String(value) : (value ?? null);
      }),
      ...layers.map((l) => flow.return_bytes[l] ?? null),
    ]),
  ];
}
