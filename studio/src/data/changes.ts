import { runOf } from "./groups.ts";
import type { Report, Run, Trace } from "./report.types.ts";

/** Times of the changes of a run's path between two times, in its own time. */
export const changesBetween = (run: Run, from: number, to: number): number[] =>
  (run.reconfigurations ?? []).flatMap(({ first_s: first, period_s: period }) => {
    const n = Math.max(0, Math.floor((to - first) / period) + 1);
    return Array.from({ length: n }, (_, i) => first + i * period).filter((t) => t >= from);
  });

/** Times of the changes of a recorded run's path; none if they are not known. */
export function changesOf(report: Report, trace: Trace): number[] {
  const run = runOf(report, trace);
  if (!run?.reconfigurations) return [];
  const ends = run.flows.map((f) => f.start_s + (f.completion_s ?? 0));
  return changesBetween(run, 0, Math.max(0, ...ends));
}
