import { competitionOf } from "../data/fairness.ts";
import { TOGETHER } from "../data/flows.ts";
import { type Group, groupsAt } from "../data/groups.ts";
import { METRIC } from "../data/metrics.ts";
import { pointsOf } from "../data/points.ts";
import type { Report } from "../data/report.types.ts";
import { percent } from "../format/numbers.ts";
import type { Sentence } from "./words.ts";

/** Shares of the first flow between these count as even; our choice. */
const EVEN = [0.4, 0.6] as const;

/** The pairs of controllers that a report is about, with the share of the first flow. */
export function pairsOf(report: Report): { names: [string, string]; group: Group }[] {
  const competition = competitionOf(report);
  if (!competition) return [];
  const [a, b] = competition.keys;
  return pointsOf(report).flatMap((point) =>
    groupsAt(report, point, TOGETHER, METRIC.share).flatMap((group) =>
      group.median === null
        ? []
        : [{ names: [point[a] ?? "", point[b] ?? ""] as [string, string], group }],
    ),
  );
}

type Pair = ReturnType<typeof pairsOf>[number];

/** Who receives more than half against most of the others, and who against fewest. */
function winners(pairs: Pair[]): string {
  const names = [...new Set(pairs.map((p) => p.names[0]))];
  const won = names.map((name) => {
    const own = pairs.filter((p) => p.names[0] === name && p.names[1] !== name);
    return { name, of: own.length, n: own.filter((p) => p.group.median! > 0.5).length };
  });
  const [first, ...rest] = won.sort((a, b) => b.n - a.n);
  const last = rest.at(-1);
  if (!first || !last) return "";
  return (
    `${first.name} receives more than half against ${first.n} of ${first.of} others, ` +
    `${last.name} against ${last.n}.`
  );
}

/** The sentences of a matrix of controllers: the least even pair, and how many are even. */
export function pairsSentence(report: Report): { answer: Sentence; more: string } | null {
  const pairs = pairsOf(report);
  if (pairs.length === 0) return null;
  const least = leastEven(pairs.map((p) => p.group));
  const worst = pairs.find(({ group }) => group === least)!;
  const share = worst.group.median!;
  const [more, less] = share >= 0.5 ? worst.names : [worst.names[1], worst.names[0]];
  const strong = percent(Math.max(share, 1 - share));
  const even = pairs.filter(({ group: { median: m } }) => m! >= EVEN[0] && m! <= EVEN[1]).length;
  return {
    answer: [
      `${more} against ${less} is the least even of ${pairs.length} pairs: ${more} receives `,
      { strong, side: "worse" },
      " of what both receive.",
    ],
    more:
      `In ${even} of ${pairs.length} pairs, both receive ${EVEN[0] * 100} to ${EVEN[1] * 100} %. ` +
      winners(pairs),
  };
}

/** The group of the least even pair; null without any. */
export function leastEven(groups: Group[]): Group | null {
  const uneven = (g: Group): number => Math.abs((g.median ?? 0.5) - 0.5);
  return groups.reduce<Group | null>((a, b) => (!a || uneven(b) > uneven(a) ? b : a), null);
}
