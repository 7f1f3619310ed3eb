import { METRIC, metricOf } from "../data/metrics.ts";
import type { Explanation } from "../data/report.types.ts";
import { PARTS, type TimePart } from "../data/time-budget.ts";
import { metricValue } from "../format/metric.ts";
import { seconds } from "../format/numbers.ts";
import {
  addsUp,
  type Comparison,
  explanationOf,
  failuresOf,
  medianIn,
  type Row,
} from "./comparison.ts";
import { strongest } from "./sentence.ts";
import { capital, listed, theMetric } from "./words.ts";

/** What scores are made up of. */
const MADE_OF: Record<string, string[]> = {
  [METRIC.opinionScore]: [METRIC.frameDelayP99],
  [METRIC.quality]: [METRIC.bitrate, METRIC.stall],
};

/** Most parts that a reason names, and the least share of the difference that it names. */
const MOST_PARTS = 2;
const LEAST_SHARE = 0.1;

/** A part of the time, and how much more of it one has than the other. */
interface Change {
  part: TimePart;
  time: number;
}

/** What one explanation has more of than another, in each part. */
function changes(from: Explanation, to: Explanation): Change[] {
  return PARTS.map((part) => ({
    part,
    time: (from.parts[part.name] ?? 0) - (to.parts[part.name] ?? 0),
  }));
}

/** The largest of some changes: at least a tenth of `whole`. */
function largest(all: Change[], whole: number): Change[] {
  const least = LEAST_SHARE * Math.abs(whole);
  const notable = all.filter(({ time }) => time > 0 && time >= least);
  return notable.sort((a, b) => b.time - a.time).slice(0, MOST_PARTS);
}

/** Why a transfer takes more or less time: the parts that make the difference. */
function ofTime(base: Explanation, other: Explanation, name: string): string | null {
  const saved = base.completion_s - other.completion_s;
  const [from, to] = saved > 0 ? [base, other] : [other, base];
  const main = largest(changes(from, to), saved);
  if (main.length === 0) return null;
  const [back] = largest(changes(to, from), saved);
  const sum = main.reduce((total, { time }) => total + time, 0);
  const verb = saved > 0 ? "saved" : "added";
  // Parts that were won back elsewhere are no share of what is left of them.
  if (!back && sum <= Math.abs(saved) * 1.01) {
    const parts = main.map(({ part, time }) => `${seconds(time)} is ${part.said}`);
    return `Of the ${seconds(Math.abs(saved))} ${verb}, ${listed(parts)}.`;
  }
  const [less, more] = saved > 0 ? ["less", "more"] : ["more", "less"];
  const parts = main.map(
    ({ part, time }, i) => `${seconds(time)} ${less}${i > 0 ? "" : " goes"} to ${part.said}`,
  );
  const but = back ? `, but ${seconds(back.time)} ${more} to ${back.part.said}` : "";
  return `With ${name}, ${listed(parts)}${but}.`;
}

/** True if a part may be the reason of a result: pauses of the application itself are none. */
const isCause = (part: TimePart): boolean => !part.needed && part.name !== "application_s";

/**
 * What the time of a flow that lasts a given time was spent on, and how that differs. Of other
 * times, such as that of a page, what every transfer needs is a cause if it makes up half.
 */
function ofCauses(
  { metric, base: { group } }: Comparison,
  row: Row,
  base: Explanation,
  other: Explanation,
  names: [string, string],
): string | null {
  const whole = metric.unit === "s" ? Math.abs(row.group.median! - group.median!) : Infinity;
  const all = [...changes(base, other), ...changes(other, base)].filter(
    ({ part, time }) => isCause(part) || (part.needed && time >= whole / 2),
  );
  const [top] = largest(all, 0);
  if (!top || top.time < 0.01 * base.completion_s) return null;
  const of = (e: Explanation): string => seconds(e.parts[top.part.name] ?? 0);
  const first = `${of(base)} of ${seconds(base.completion_s)} with ${names[0]}`;
  return `${capital(top.part.words)}: ${first}, ${of(other)} with ${names[1]}.`;
}

/** The largest part of one transfer's time. */
function ofOne(e: Explanation): string | null {
  const causes = PARTS.filter(isCause);
  const [most] = [...causes].sort((a, b) => (e.parts[b.name] ?? 0) - (e.parts[a.name] ?? 0));
  const time = e.parts[most!.name] ?? 0;
  if (time < 0.01 * e.completion_s) {
    const needed = seconds(
      PARTS.filter((p) => p.needed).reduce((sum, p) => sum + (e.parts[p.name] ?? 0), 0),
    );
    return `${needed} of ${seconds(e.completion_s)} is what every transfer needs on this path.`;
  }
  const share = `${seconds(time)} of ${seconds(e.completion_s)}`;
  return `The largest cause beyond what every transfer needs: ${most!.words}, ${share}.`;
}

/** What a score is made up of, where both rows differ in it; null of other metrics. */
function ofScore(c: Comparison, row: Row): string | null {
  const all = (MADE_OF[c.metric.key] ?? []).flatMap((key) => {
    const m = metricOf(key);
    const [a, b] = [c.base, row].map((r) => metricValue(m, medianIn(c, r, key)));
    return a === b ? [] : `${theMetric(m)} is ${a} with ${c.base.name}, ${b} with ${row.name}`;
  });
  return all.length > 0 ? `${capital(all.join("; "))}.` : null;
}

/** Why a comparison came out as it did, in a sentence; null if that is unknown. */
export function reasonSentence(c: Comparison): string | null {
  if (c.rows.some((row) => failuresOf(row) > 0)) return null;
  const [first]: Row[] = strongest(c);
  const score = first && ofScore(c, first);
  if (score) return score;
  const base = explanationOf(c, c.base);
  if (!base) return null;
  const other = first && explanationOf(c, first);
  if (!first || !other) return ofOne(base);
  return addsUp(c)
    ? ofTime(base, other, first.name)
    : ofCauses(c, first, base, other, [c.base.name, first.name]);
}
