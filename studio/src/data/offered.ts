import { competitionOf, sharedValue } from "./fairness.ts";
import { type FlowId, flowKey, flowsOf } from "./flows.ts";
import { memoised } from "./memoised.ts";
import {
  FIRST,
  FIRST_OF_SHARES,
  FIRST_OF_USERS,
  METRIC,
  metricsOfFlow,
  RUN_METRICS,
  USUAL_OF_USERS,
} from "./metrics.ts";
import type { Report } from "./report.types.ts";

/** True if a report has runs or statistics; a report of paths alone has neither. */
export const hasRuns = (report: Report): boolean =>
  report.runs.length > 0 || report.summary.length > 0;

/** Metrics that have a value in a report, the most asked for first. */
export const metricsOf = memoised((report: Report): string[] => {
  const keys = new Set<string>();
  for (const s of report.summary) if (s.median !== null) keys.add(s.metric);
  for (const run of report.runs) {
    for (const key of RUN_METRICS) if (sharedValue(report, run, key) !== null) keys.add(key);
    for (const flow of run.flows) for (const key of metricsOfFlow(flow)) keys.add(key);
  }
  // What flows are about comes first; if they compete, how they share.
  const about = [...new Set(report.headlines.map((own) => own.metric))];
  const usual = about.includes(METRIC.flowShare)
    ? [...about, ...FIRST_OF_SHARES, ...RUN_METRICS, ...FIRST]
    : [...about, ...FIRST, ...FIRST_OF_USERS, ...RUN_METRICS];
  const first: string[] = competitionOf(report) ? [...RUN_METRICS, ...FIRST] : usual;
  const rank = (key: string): number => (first.includes(key) ? first.indexOf(key) : first.length);
  return [...keys].sort((a, b) => rank(a) - rank(b));
});

/** The metric that a report opens with for a flow: what the scenario or the workload is about. */
export function usualMetric(report: Report, flow: FlowId | undefined): string {
  const all = metricsOf(report);
  const own = report.headlines.find((one) => one.flow === flow?.name);
  const ofUsers = USUAL_OF_USERS.find((key) =>
    report.summary.some((s) => s.flow === flow?.name && s.metric === key && s.median !== null),
  );
  // Heat maps of two controllers are about the share of the first flow.
  const usual = report.headline ?? (competitionOf(report) ? undefined : (own?.metric ?? ofUsers));
  return usual && all.includes(usual) ? usual : (all[0] ?? METRIC.completion);
}

/** The metric to show: the wanted one if the report has it, else what its first flow is about. */
export const shownMetric = (report: Report, wanted: string): string =>
  metricsOf(report).includes(wanted) ? wanted : usualMetric(report, flowsOf(report)[0]);

/**
 * The metric to show after a choice of another flow, by their keys: what that is about, if the one
 * before was shown by what it is about.
 */
export function metricAfter(report: Report, metric: string, before: string, after: string): string {
  const usual = (key: string): string => {
    const flow = flowsOf(report).find((f) => flowKey(f) === key);
    return flow ? usualMetric(report, flow) : metric;
  };
  return metric === usual(before) ? usual(after) : metric;
}
