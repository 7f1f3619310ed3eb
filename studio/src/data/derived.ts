import { memoised } from "./memoised.ts";
import { flowMetric } from "./metrics.ts";
import type { Flow, Report, Run } from "./report.types.ts";
import { wholeOf } from "./shown.ts";

const keyOf = (flow: string, visit: number, metric: string): string =>
  JSON.stringify([flow, visit, metric]);

/** The runs of a report with their values, by flow, visit and metric. */
const indexOf = memoised((report: Report) => {
  const byKey = new Map<string, Map<Run, number | null>>();
  for (const { flow, visit, metric, values } of report.derived ?? [])
    byKey.set(
      keyOf(flow, visit, metric),
      new Map(report.runs.map((run, i) => [run, values[i] ?? null])),
    );
  return byKey;
});

/** The value of a metric of a flow in a run, a field or not; null if it has none. */
export function valueIn(report: Report, run: Run, flow: Flow, metric: string): number | null {
  const values = indexOf(wholeOf(report)).get(keyOf(flow.name, flow.visit, metric));
  return flowMetric(flow, metric) ?? values?.get(run) ?? null;
}
