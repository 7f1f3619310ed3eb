import { compare } from "../answer/comparison.ts";
import { strongest } from "../answer/sentence.ts";
import { isOf } from "../charts/static/heat-map.ts";
import { chosenFlow } from "../data/flows.ts";
import { metricOf } from "../data/metrics.ts";
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
  const { metric, flow, baseline, point } = state;
  const choice = { baseline, point };
  const c = compare(report, chosenFlow(report, flow), metricOf(metric), choice);
  const [other] = c ? strongest(c) : [];
  if (!c || !other) return null;
  const [run, versus] = [c.base, other].map(({ group }) =>
    report.traces.findIndex((t) => isOf(group, t)),
  ) as [number, number];
  return run < 0 || versus < 0 ? null : { run, versus, names: [c.base.name, other.name] };
}
