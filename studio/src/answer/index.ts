import { competitionOf } from "../data/fairness.ts";
import { chosenFlow, type FlowId, flowsOf } from "../data/flows.ts";
import { METRIC, type Metric, metricOf } from "../data/metrics.ts";
import { firstFlow, usualMetric } from "../data/offered.ts";
import type { Report } from "../data/report.types.ts";
import { besideSentences } from "./beside.ts";
import { changeSentence } from "./change.ts";
import { type Choice, type Comparison, compare, weight } from "./comparison.ts";
import { pairsSentence } from "./pairs.ts";
import { publishedSentence } from "./published.ts";
import { reasonSentence } from "./reason.ts";
import { answerSentence } from "./sentence.ts";
import type { Sentence } from "./words.ts";

/** Most sentences after the answer. */
const MOST_MORE = 4;

/** What a report answers, in sentences, with the comparison that they are about. */
export interface Answer {
  /** Null for a matrix of pairs, which is not about a baseline. */
  comparison: Comparison | null;
  sentence: Sentence;
  more: string[];
}

/** True if a report and a metric are about pairs of controllers. */
export const isOfPairs = (report: Report, metric: Metric): boolean =>
  metric.key === METRIC.share && competitionOf(report) !== null;

/**
 * The flow that a report opens with: the first that has what the scenario is about, or its first
 * visit that differs if it does not.
 */
export function usualFlow(report: Report): FlowId | undefined {
  const first = firstFlow(report);
  const visits = flowsOf(report).filter((f) => f.name === first?.name);
  const differs = (flow: FlowId | undefined): boolean => {
    const metric = metricOf(usualMetric(report, flow));
    const c = flow && compare(report, flow, metric, { baseline: "", point: "" });
    return !!c && weight(c) > 0;
  };
  return visits.length > 1 ? (visits.find(differs) ?? first) : first;
}

/** The answer of a report for a metric of a flow; null if no run has it. */
export function answerOf(
  report: Report,
  metric: Metric,
  flow: string,
  choice: Choice,
): Answer | null {
  const pairs = isOfPairs(report, metric) ? pairsSentence(report) : null;
  if (pairs) return { comparison: null, sentence: pairs.answer, more: [pairs.more] };
  const c = compare(report, chosenFlow(report, flow), metric, choice);
  if (!c) return null;
  const more = [
    reasonSentence(c),
    changeSentence(c),
    publishedSentence(report),
    ...besideSentences(c),
  ].filter((s) => s !== null);
  return { comparison: c, sentence: answerSentence(c), more: more.slice(0, MOST_MORE) };
}
