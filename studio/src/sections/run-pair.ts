import { compare } from "../answer/comparison.ts";
import { strongest } from "../answer/sentence.ts";
import { isOf } from "../data/groups.ts";
import { metricOf } from "../data/metrics.ts";
import { flowFor, shownMetric } from "../data/offered.ts";
import type { Report } from "../data/report.types.ts";
import type { State } from "../page/state.ts";

/** Two runs that the answer is about. */
interface Pair {
  /** Their places among the traces: the baseline's, and that of what differs most from it. */
  run: number;
  versus: number;
  names: [string, string];
}

/** The runs of the answer's two ends, if the series of both were recorded; else null. */
export function pairOf(report: Report, state: State): Pair | null {
  // What the answer compares: a link may name a metric that no run has.
  const metric = metricOf(shownMetric(report, state.metric));
  const flow = flowFor(report, metric.key, state.flow);
  const c = compare(report, flow, metric, { baseline: state.baseline, point: state.point });
  const [other] = c ? strongest(c) : [];
  if (!c || !other) return null;
  const [run, versus] = [c.base, other].map(({ group }) =>
    report.traces.findIndex((t) => isOf(group, t)),
  ) as [number, number];
  return run < 0 || versus < 0 ? null : { run, versus, names: [c.base.name, other.name] };
}
