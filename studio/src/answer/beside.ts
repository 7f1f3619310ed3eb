import { competitionOf } from "../data/fairness.ts";
import { type FlowId, flowKey, flowLabel, flowsOf } from "../data/flows.ts";
import { METRIC, type Metric, metricOf } from "../data/metrics.ts";
import { metricsOf, usualMetric } from "../data/offered.ts";
import { pointKey } from "../data/points.ts";
import { isSizeClass } from "../data/populations.ts";
import { metricValue } from "../format/metric.ts";
import { percent } from "../format/numbers.ts";
import { type Comparison, compare, failuresOf, medianIn } from "./comparison.ts";
import { answerSentence, strongest } from "./sentence.ts";
import { listed, plain } from "./words.ts";

/** Most other flows that have a sentence. */
const MOST_FLOWS = 2;

/** A comparison of another flow or metric, with the same baseline at the same point. */
const compareAlike = (c: Comparison, flow: FlowId, metric: Metric): Comparison | null =>
  compare(c.report, flow, metric, { baseline: c.base.name, point: pointKey(c.point) });

/** How flows that compete share the path, in a sentence; null if none compete. */
function sharing(c: Comparison): string | null {
  if (c.metric.key === METRIC.flowShare || competitionOf(c.report)) return null;
  const rows = [c.base, ...strongest(c)].slice(0, 2);
  const said = rows.flatMap((row) => {
    const share = medianIn(c, row, METRIC.flowShare);
    return share === null ? [] : [`${percent(share / 100)} with ${row.name}`];
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
      const own = compareAlike(c, flow, metric);
      if (!own || own.by === "point") return [];
      if (own.rows.length < 2) return c.rows.length < 2 ? [plain(answerSentence(own))] : [];
      if (own.rows.some((row) => failuresOf(row) > 0)) return [];
      const name = `‘${flowLabel(c.report, flow)}’`;
      const said = plain(answerSentence(own));
      if (strongest(own).length > 0) return [said.includes(name) ? said : `${name}: ${said}`];
      const chance = own.rows.some((row) => row.contrast?.chance) ? " larger than chance" : "";
      return [`For ${name}, there is no difference${chance}.`];
    });
}

/** Stalls of a video, in a sentence; null without video. */
function stalls(c: Comparison): string | null {
  if (c.metric.key !== METRIC.segmentMean || !metricsOf(c.report).includes(METRIC.stall))
    return null;
  const own = compareAlike(c, c.flow, metricOf(METRIC.stall));
  if (!own) return null;
  const stalled = own.rows.filter((row) => (row.group.median ?? 0) > 0);
  if (stalled.length === 0) return "The video never stalls.";
  const each = stalled.map((r) => `${metricValue(own.metric, r.group.median)} with ${r.name}`);
  return `The video stalls for ${listed(each)}.`;
}

/** What else there is to say about a comparison. */
export const besideSentences = (c: Comparison): string[] =>
  [stalls(c), sharing(c), ...others(c)].filter((s) => s !== null);
