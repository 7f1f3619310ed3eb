import { ALL_FLOWS, competitionOf, sharedValue } from "./fairness.ts";
import { chosenFlow, type FlowId, flowsOf, TOGETHER } from "./flows.ts";
import { memoised } from "./memoised.ts";
import {
  FIRST,
  FIRST_OF_SHARES,
  FIRST_OF_USERS,
  isShared,
  METRIC,
  metricsOfFlow,
  RUN_METRICS,
  USUAL_OF_USERS,
} from "./metrics.ts";
import { isSizeClass } from "./populations.ts";
import type { Report, Run, Summary } from "./report.types.ts";

/** True if a report has runs or statistics; a report of paths alone has neither. */
export const hasRuns = (report: Report): boolean =>
  report.runs.length > 0 || report.summary.length > 0;

/** Names of the flows that have a value of each metric. */
const owners = memoised((report: Report): Map<string, Set<string>> => {
  const all = new Map<string, Set<string>>();
  const add = (metric: string, flow: string): void => {
    all.set(metric, (all.get(metric) ?? new Set()).add(flow));
  };
  for (const s of report.summary) if (s.median !== null) add(s.metric, s.flow);
  for (const run of report.runs) {
    for (const key of RUN_METRICS) if (sharedValue(report, run, key) !== null) add(key, ALL_FLOWS);
    for (const flow of run.flows) for (const key of metricsOfFlow(flow)) add(key, flow.name);
  }
  return all;
});

/** What any transfer is about. */
const OF_TRANSFERS: readonly string[] = FIRST;

/** True if a flow has a metric: a value, or one that it lacks because it did not complete. */
function has(report: Report, { name }: FlowId, metric: string): boolean {
  if (owners(report).get(metric)?.has(name)) return true;
  const isOwn = report.headlines.some((one) => one.flow === name && one.metric === metric);
  const ofTransfers = OF_TRANSFERS.includes(metric) || (isOwn && metric !== report.headline);
  const failed = ({ flows }: Run): boolean => flows.some((f) => f.name === name && !f.completed);
  return ofTransfers && report.runs.some(failed);
}

/** Metrics that have a value in a report, the most asked for first. */
export const metricsOf = memoised((report: Report): string[] => {
  // What flows are about comes first; if they compete, how they share.
  const about = [...new Set(report.headlines.map((own) => own.metric))];
  const usual = about.includes(METRIC.flowShare)
    ? [...about, ...FIRST_OF_SHARES, ...RUN_METRICS, ...FIRST]
    : [...about, ...FIRST, ...FIRST_OF_USERS, ...RUN_METRICS];
  const first: string[] = competitionOf(report) ? [...RUN_METRICS, ...FIRST] : usual;
  const rank = (key: string): number => (first.includes(key) ? first.indexOf(key) : first.length);
  return [...owners(report).keys()].sort((a, b) => rank(a) - rank(b));
});

/** What a flow is about: what the scenario names, its workload's metric, or the first it has. */
function ownMetric(report: Report, flow: FlowId | undefined): string {
  const all = metricsOf(report);
  const own = report.headlines.find((one) => one.flow === flow?.name);
  const fits = (key: string | null | undefined): boolean =>
    !!key && all.includes(key) && (!flow || isShared(key) || has(report, flow, key));
  const rest = all.filter((key) => !isShared(key));
  const usual = [report.headline, own?.metric, ...USUAL_OF_USERS, ...rest].find(fits);
  return usual ?? all[0] ?? METRIC.completion;
}

/** The metric that a report opens with for a flow. */
export function usualMetric(report: Report, flow: FlowId | undefined): string {
  // Heat maps of two controllers are about the share of the first flow.
  const ofPairs = report.headline === null && competitionOf(report) && metricsOf(report)[0];
  return ofPairs || ownMetric(report, flow);
}

/** The medians that the studio shows: first what flows are about, then `others`. */
export function mainRows(report: Report, others: readonly string[]): Summary[] {
  const about = flowsOf(report).map((flow) => usualMetric(report, flow));
  return [...new Set([report.headline, ...about, ...others])].flatMap((metric) =>
    report.summary.filter(
      (row) => row.metric === metric && row.median !== null && !isSizeClass(row.flow),
    ),
  );
}

/** The first flow that has what the scenario is about; the first of all if it names no metric. */
export function firstFlow(report: Report): FlowId | undefined {
  const [first, ...rest] = flowsOf(report);
  const { headline } = report;
  if (headline === null || !first) return first;
  return [first, ...rest].find((flow) => has(report, flow, headline)) ?? first;
}

/** The metric to show: the wanted one if the report has it, else what its first flow is about. */
export const shownMetric = (report: Report, wanted: string): string =>
  metricsOf(report).includes(wanted) ? wanted : usualMetric(report, firstFlow(report));

/**
 * The flow that a metric is shown for: all together, or the chosen one; if that does not have the
 * metric, the first that has it.
 */
export function flowFor(report: Report, metric: string, key: string): FlowId {
  if (isShared(metric)) return TOGETHER;
  const chosen = chosenFlow(report, key);
  return [chosen, ...flowsOf(report)].find((flow) => has(report, flow, metric)) ?? chosen;
}

/**
 * The metric to show after a choice of another flow, by their keys: what that is about, if the one
 * before was shown by what it is about or the other does not have it.
 */
export function metricAfter(report: Report, metric: string, before: string, after: string): string {
  const [from, to] = [before, after].map((key) => chosenFlow(report, key)) as [FlowId, FlowId];
  if (metric === usualMetric(report, from)) return usualMetric(report, to);
  return has(report, to, metric) ? metric : ownMetric(report, to);
}
