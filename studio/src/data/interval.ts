import type { Summary } from "./report.types.ts";

/** Fewest values whose median has a 95 % confidence interval. */
const FEWEST = 6;

/** What figures draw and say beside a median: the definition that all of them share. */
export interface Interval {
  low: number;
  high: number;
  /** What both ends are. */
  words: string;
}

/**
 * The indices of the order statistics that enclose the median of `n` values with at least 95 %
 * probability: the closest pair of ranks under the binomial distribution (Conover, Practical
 * Nonparametric Statistics, 3rd ed., section 3.2). Null of fewer than six.
 */
function medianRanks(n: number): [number, number] | null {
  let [tail, ranks, log] = [0, 0, n * Math.log(0.5)];
  while (2 * ranks < n) {
    tail += Math.exp(log);
    if (tail > 0.025) break;
    log += Math.log((n - ranks) / (ranks + 1));
    ranks += 1;
  }
  return ranks > 0 ? [ranks - 1, n - ranks] : null;
}

/**
 * The interval of ascending values: the 95 % confidence interval of their median; of two to five,
 * which have none, the smallest and the largest. Null of one value or of equal ones.
 */
export function intervalOfValues(sorted: number[]): Interval | null {
  const ranks = medianRanks(sorted.length);
  const confidence = ranks?.map((rank) => sorted[rank]!) ?? null;
  return made(confidence as [number, number] | null, sorted);
}

/** The interval of runs whose summary has a confidence interval, or else of their values. */
export function intervalOf(summary: Summary | null, sorted: number[]): Interval | null {
  if (!summary) return intervalOfValues(sorted);
  const { ci95_low: low, ci95_high: high } = summary;
  return made(low !== null && high !== null ? [low, high] : null, sorted);
}

function made(confidence: [number, number] | null, sorted: number[]): Interval | null {
  if (confidence && confidence[0] < confidence[1]) {
    const [low, high] = confidence;
    return { low, high, words: "95 % confidence interval of the median" };
  }
  const n = sorted.length;
  const [low, high] = [sorted[0]!, sorted[n - 1]!];
  const few = n < FEWEST && low < high;
  return few ? { low, high, words: `smallest to largest of ${n}` } : null;
}

/** What a caption says of the intervals of a figure; empty without any. */
export function intervalWords(intervals: (Interval | null)[]): string {
  const words = new Set(intervals.flatMap((one) => one?.words.replace(/ of \d+$/, " run") ?? []));
  const plural: Record<string, string> = {
    "95 % confidence interval of the median": "95 % confidence intervals of the medians",
    "smallest to largest run": "of fewer than six runs, the smallest and the largest",
  };
  return [...words].map((word) => plural[word] ?? word).join("; ");
}
