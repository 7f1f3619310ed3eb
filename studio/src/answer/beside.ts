import { competitionOf } from "../data/fairness.ts";
import { flowKey, flowLabel, flowsOf } from "../data/flows.ts";
import { runsAt } from "../data/groups.ts";
import { METRIC, metricOf } from "../data/metrics.ts";
import { metricsOf, usualMetric } from "../data/offered.ts";
import { isSizeClass } from "../data/populations.ts";
import { quantile } from "../data/statistics.ts";
import { metricValue } from "../format/metric.ts";
import { percent } from "../format/numbers.ts";
import { type Comparison, compare, failuresOf, type Row } from "./comparison.ts";
import { answerSentence, strongest } from "./sentence.ts";
import { listed, plain } from "./words.ts";

/** Most other flows that have a sentence. */
const MOST_FLOWS = 2;

/** The median share of a flow, from 0 to 1, in the runs of a row; null without competing flows. */
function shareIn(c: Comparison, row: Row): number | null {
  const shares = runsAt(c.report, row.group.variant, row.group.point)
    .flatMap((run) => run.fairness?.flows.find((f) => f.flow === c.flow.name)?.share ?? [])
    .sort((a, b) => a - b);
  return shares.length > 0 ? quantile(shares, 0.5) : null;
}

/** How flows that compete share the path, in a sentence; null if none compete. */
function sharing(c: Comparison): string | null {
  if (c.metric.key === METRIC.flowShare || competitionOf(c.report)) return null;
  const rows = [c.base, ...strongest(c)].slice(0, 2);
  const said = rows.flatMap((row) => {
    const share = shareIn(c, row);
    return share === null ? [] : [`${percent(share)} with ${row.name}`];
  });
  if (said.length === 0) return null;
  return `While all flows share the path, ‘${c.flow.name}’ receives ${listed(said)}.`;
}

/** What happened to the other flows, a sentence each. */
function others(c: Comparison): string[] {
  const rest = flowsOf(c.report).filter(
    (f) => flowKey(f) !== flowKey(c.flow) && !isSizeClass(f.name),
  );
  return rest
    .filter((f) => f.name !== "all")
    .slice(0, MOST_FLOWS)
    .flatMap((flow) => {
      const metric = metricOf(usualMetric(c.report, flow));
      const choice = {
        baseline: c.base.name,
        point: JSON.stringify(Object.entries(c.point).sort()),
      };
      const own = compare(c.report, flow, metric, choice);
      if (!own || own.rows.length < 2 || own.by === "point") return [];
      if (own.rows.some((row) => failuresOf(row) > 0)) return [];
      const name = `‘${flowLabel(c.report, flow)}’`;
      if (strongest(own).length > 0) return [`${name}: ${plain(answerSentence(own))}`];
      const chance = own.rows.some((row) => row.contrast?.chance) ? " larger than chance" : "";
      return [`For ${name}, there is no difference${chance}.`];
    });
}

/** Stalls of a video, in a sentence; null without video. */
function stalls(c: Comparison): string | null {
  if (c.metric.key !== METRIC.segmentMean || !metricsOf(c.report).includes(METRIC.stall))
    return null;
  const own = compare(c.report, c.flow, metricOf(METRIC.stall), {
    baseline: c.base.name,
    point: JSON.stringify(Object.entries(c.point).sort()),
  });
  if (!own) return null;
  const stalled = own.rows.filter((row) => (row.group.median ?? 0) > 0);
  if (stalled.length === 0) return "The video never stalls.";
  const each = stalled.map((r) => `${metricValue(own.metric, r.group.median)} with ${r.name}`);
  return `The video stalls for ${listed(each)}.`;
}

/** What else there is to say about a comparison. */
export const besideSentences = (c: Comparison): string[] =>
  [stalls(c), sharing(c), ...others(c)].filter((s) => s !== null);
