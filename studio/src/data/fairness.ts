import type { Fairness, Report, Run } from "./schema.ts";

/** Flow name under which statistics of a run's flows together stand. */
export const ALL_FLOWS = "all";

/** Share of the first of two competing flows, in per cent: its goodput over the sum of both. */
export const SHARE = "share";

/** Metrics of all flows together, by the names that runs and summaries have for them. */
const OF_RUN = [
  "jain",
  "share_ratio",
  "aggregate_mbps",
  "bottleneck_utilisation",
  "bottleneck_queue_ms",
  "convergence_s",
] as const satisfies (keyof Fairness)[];

/** Metrics that are of no single flow, the share first. */
export const SHARED_METRICS: readonly string[] = [SHARE, ...OF_RUN];

/** Whether a metric is of all flows of a run together and not of one of them. */
export function isShared(metric: string): boolean {
  return SHARED_METRICS.includes(metric);
}

/** Two flows that compete, and the swept keys that give their controllers. */
export interface Competition {
  flows: [string, string];
  keys: [string, string];
}

const KEY = /^flow\.(.+)\.congestion$/;
const known = new WeakMap<Report, Competition | null>();

/** The competition that a report is about: exactly two flows have their controllers swept. */
export function competitionOf(report: Report): Competition | null {
  const before = known.get(report);
  if (before !== undefined) return before;
  const swept = report.sweep.flatMap(({ key, values }) => {
    const flow = KEY.exec(key)?.[1];
    return flow !== undefined && values.length > 1 ? [{ key, flow }] : [];
  });
  const [a, b] = swept;
  const found: Competition | null =
    a && b && swept.length === 2 ? { flows: [a.flow, b.flow], keys: [a.key, b.key] } : null;
  known.set(report, found);
  return found;
}

/** The value of a metric of all flows in one run; null where there is none. */
export function sharedValue(report: Report, run: Run, metric: string): number | null {
  if (metric !== SHARE) {
    const name = OF_RUN.find((m) => m === metric);
    return name ? (run.fairness?.[name] ?? null) : null;
  }
  return shareOf(...goodputsOf(report, run));
}

/** Goodputs of the two competing flows in one run: over the time in which their shares were counted, else over all of theirs. */
export function goodputsOf(report: Report, run: Run): [number | null, number | null] {
  const of = (name: string | undefined): number | null =>
    run.fairness?.flows.find((f) => f.flow === name)?.goodput_mbps ??
    run.flows.find((f) => f.name === name)?.goodput_mbps ??
    null;
  const [a, b] = competitionOf(report)?.flows ?? [];
  return [of(a), of(b)];
}

/** The first one's part of a sum, in per cent; null where a part is missing or both are nothing. */
export function shareOf(a: number | null | undefined, b: number | null | undefined): number | null {
  return typeof a === "number" && typeof b === "number" && a + b > 0 ? (100 * a) / (a + b) : null;
}
