import { METRIC, type Metric } from "../data/metrics.ts";
import type { Flow } from "../data/report.types.ts";
import { byteScale, plural, shortest } from "../format/numbers.ts";

/** A part of a sentence that is set apart, with the side it is on. */
export interface Strong {
  strong: string;
  side: "better" | "worse" | "plain";
}

/** A sentence in pieces. */
export type Sentence = (string | Strong)[];

/** A sentence as plain text. */
export const plain = (sentence: Sentence): string =>
  sentence.map((piece) => (typeof piece === "string" ? piece : piece.strong)).join("");

/** Names in a sentence: "a", "a and b", "a, b and c"; of many, their number. */
export function listed(names: string[], most = Infinity, what = "variant"): string {
  if (names.length > most) return plural(names.length, what);
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** A label within a sentence: abbreviations and names keep their capitals. */
export const inSentence = (label: string): string =>
  /^([A-Z]{2}|Jain)/.test(label) ? label : label.charAt(0).toLowerCase() + label.slice(1);

/** A text as the beginning of a sentence. */
export const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** A size without zeros at its end: 2 MB. */
export function size(x: number): string {
  const { unit, divisor } = byteScale(x);
  return `${shortest(x / divisor)}\u00a0${unit}`;
}

/** Numbers that are read with a vowel at their beginning: eight, eighty, eleven, eighteen. */
const VOWEL = /^(8|11(?!\d)|18(?!\d))/;

/** What a flow transfers, such as "a 2 MB download". */
export function taskOf(flow: Flow | undefined): string {
  if (!flow || flow.workload === "external") return "the transfer";
  const { workload, direction, bytes, objects } = flow;
  if (workload === "web_page") return `a page of ${plural(objects.length, "object")}`;
  const what = `${size(bytes)} ${direction}`;
  const article = VOWEL.test(what) ? "an" : "a";
  return workload === "objects" && objects.length > 1
    ? `${article} ${what} of ${objects.length} objects`
    : `${article} ${what}`;
}

/** Labels that do not read well in a sentence. */
const PHRASES: Record<string, string> = {
  [METRIC.lostPercent]: "the share of packets lost",
  [METRIC.responseMedian]: "the median response time",
  [METRIC.responseP95]: "the 95th percentile of response times",
  [METRIC.responseP99]: "the 99th percentile of response times",
  [METRIC.framesLate]: "the share of late frames",
  [METRIC.freezePercent]: "the share of time with a frozen picture",
  [METRIC.frameDelayP99]: "the 99th percentile of frame delays",
  [METRIC.stall]: "the time of stalls",
  [METRIC.pageLoad]: "the page load time",
  [METRIC.medianOpinionScore]: "the users' median opinion score",
};

/** A metric in a sentence, with its article: "the goodput". */
export const theMetric = (m: Metric): string => PHRASES[m.key] ?? `the ${inSentence(m.label)}`;
