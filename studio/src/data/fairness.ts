import { memoised } from "./memoised.ts";
import { isShared, METRIC, type SharedName } from "./metrics.ts";
import type { Report, Run } from "./report.types.ts";

/** Flow name that summaries give to metrics of all flows of a run together. */
export const ALL_FLOWS = "all";

/** Two flows that compete, and the swept keys of their controllers. */
export interface Competition {
  flows: [string, string];
  keys: [string, string];
}

const KEY = /^flow\.(.+)\.congestion$/;

/** The competition that a report is about: the controllers of exactly two flows are swept. */
export const competitionOf = memoised((report: Report): Competition | null => {
  const swept = report.sweep.flatMap(({ key, values }) => {
    const flow = KEY.exec(key)?.[1];
    return flow !== undefined && values.length > 1 ? [{ key, flow }] : [];
  });
  const [a, b] = swept;
  return a && b && swept.length === 2 ? { flows: [a.flow, b.flow], keys: [a.key, b.key] } : null;
});

/** The value of a metric of all flows in one run; null if there is none. */
export function sharedValue(report: Report, run: Run, metric: string): number | null {
  if (metric === METRIC.share) return shareOf(...goodputsOf(report, run));
  return isShared(metric) ? (run.fairness?.[metric as SharedName] ?? null) : null;
}

/**
 * Goodputs of the two competing flows in one run: over the time in which fairness was measured if
 * that is known, else over the whole flow.
 */
export function goodputsOf(report: Report, run: Run): [number | null, number | null] {
  const of = (name: string | undefined): number | null =>
    run.fairness?.flows.find((f) => f.flow === name)?.goodput_mbps ??
    run.flows.find((f) => f.name === name)?.goodput_mbps ??
    null;
  const [a, b] = competitionOf(report)?.flows ?? [];
  return [of(a), of(b)];
}

/** The first value's part of the sum of both, as a fraction; null if it is not defined. */
export function shareOf(a: number | null | undefined, b: number | null | undefined): number | null {
  return typeof a === "number" && typeof b === "number" && a + b > 0 ? a / (a + b) : null;
}
