import { memoised } from "./memoised.ts";
import { flowMetric } from "./metrics.ts";
import type { Flow, Report, Run } from "./report.types.ts";
import { wholeOf } from "./shown.ts";

const keyOf = (flow: string, visit: number, metric: string): string =>
  JSON.stringify([flow, visit, metric]);

/** The places of a report's runs, and the values of all runs by flow, visit and metric. */
const indexOf = memoised((report: Report) => ({
  places: new Map(report.runs.map((run, i) => [run, i])),
  values: new Map((report.derived ?? []).map((d) => [keyOf(d.flow, d.visit, d.metric), d.values])),
}));

/** The value of a metric of a flow in a run, a field or not; null if it has none. */
export function valueIn(report: Report, run: Run, flow: Flow, metric: string): number | null {
  const own = flowMetric(flow, metric);
  if (own !== null) return own;
  const { places, values } = indexOf(wholeOf(report));
  return values.get(keyOf(flow.name, flow.visit, metric))?.[places.get(run) ?? -1] ?? null;
}
