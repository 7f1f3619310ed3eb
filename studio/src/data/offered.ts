import { competitionOf, sharedValue } from "./fairness.ts";
import { FIRST, FIRST_OF_TIMED, FIRST_OF_USERS, metricsOfFlow, RUN_METRICS } from "./metrics.ts";
import type { Report } from "./report.types.ts";

/** True if a report has runs or statistics; a report of paths alone has neither. */
export const hasRuns = (report: Report): boolean =>
  report.runs.length > 0 || report.summary.length > 0;

/**
 * True if flows ended because their time was over, so that completion times say nothing. Then each
 * flow's completion times are equal in all runs although its bytes are not, or the scenario sets
 * the duration of flows.
 */
export function isTimed(report: Report): boolean {
  const flows = new Map<string, { times: Set<number>; bytes: Set<number> }>();
  for (const run of report.runs) {
    for (const f of run.flows) {
      if (f.completion_s === null) continue;
      const key = JSON.stringify([f.name, f.visit]);
      const seen = flows.get(key) ?? { times: new Set(), bytes: new Set() };
      flows.set(key, seen);
      seen.times.add(f.completion_s);
      seen.bytes.add(f.bytes);
    }
  }
  const all = [...flows.values()];
  if (all.length === 0 || all.some((f) => f.times.size > 1)) return false;
  return all.some((f) => f.bytes.size > 1) || /^\s*duration\s*=/m.test(report.source);
}

/** Metrics that have a value in a report, the most asked for first. */
export function metricsOf(report: Report): string[] {
  const keys = new Set<string>();
  for (const s of report.summary) if (s.median !== null) keys.add(s.metric);
  for (const run of report.runs) {
    for (const key of RUN_METRICS) if (sharedValue(report, run, key) !== null) keys.add(key);
    for (const flow of run.flows) for (const key of metricsOfFlow(flow)) keys.add(key);
  }
  // If flows compete, how they share comes first.
  const usual = isTimed(report)
    ? [...FIRST_OF_TIMED, ...RUN_METRICS, ...FIRST]
    : [...FIRST, ...FIRST_OF_USERS, ...RUN_METRICS];
  const first: string[] = competitionOf(report) ? [...RUN_METRICS, ...FIRST] : usual;
  const rank = (key: string): number => (first.includes(key) ? first.indexOf(key) : first.length);
  return [...keys].sort((a, b) => rank(a) - rank(b));
}
