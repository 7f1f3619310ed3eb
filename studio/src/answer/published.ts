import { changeOf } from "../data/compared.ts";
import { chosenFlow, flowKey, flowsOf } from "../data/flows.ts";
import { groupsAt } from "../data/groups.ts";
import { memoised } from "../data/memoised.ts";
import { isShared, metricOf } from "../data/metrics.ts";
import { pointsOf } from "../data/points.ts";
import type { Figure, Report } from "../data/report.types.ts";
import { groupBy } from "../data/statistics.ts";
import { plural, significant } from "../format/numbers.ts";
import { listed } from "./words.ts";

/** A published value beside what was measured. */
export interface PublishedResult {
  figure: Figure;
  variant: string;
  point: Record<string, string>;
  measured: number;
  /** Measured over published, or less it. */
  change: number;
  /** Whether an objective was met; null of a measurement, which is not to be met. */
  met: boolean | null;
}

/** All published values that apply to a result, beside it. */
export const publishedOf = memoised((report: Report): PublishedResult[] => {
  const metrics = [...new Set(report.published.map((p) => p.metric))];
  const seen = new Set<string>();
  return metrics.flatMap((name) => {
    const metric = metricOf(name);
    const flows = isShared(name) ? [chosenFlow(report, "")] : flowsOf(report);
    return flows.flatMap((flow) =>
      pointsOf(report).flatMap((point) =>
        groupsAt(report, point, flow, name).flatMap((g) =>
          g.published.flatMap((figure): PublishedResult[] => {
            const id = JSON.stringify([name, flowKey(flow), g.variant, point, figure.label]);
            if (g.median === null || seen.has(id)) return [];
            seen.add(id);
            const better =
              metric.better === "higher" ? g.median >= figure.value : g.median <= figure.value;
            const met = figure.kind === "objective" ? better : null;
            const change = changeOf(metric.compared, g.median, figure.value);
            return [{ figure, variant: g.variant, point, measured: g.median, change, met }];
          }),
        ),
      ),
    );
  });
});

/** True if what was measured is compared with the published value by their ratio. */
export const isRatio = (b: PublishedResult): boolean =>
  metricOf(b.figure.metric).compared === "ratio" && Number.isFinite(b.change);

/** The published figures in a few words: objectives met, or the range of the ratios. */
export function publishedWords(all: PublishedResult[]): string {
  const goals = all.filter((b) => b.met !== null);
  if (goals.length > 0) return `${goals.filter((b) => b.met).length} of ${goals.length}`;
  const ratios = all.filter(isRatio).map((b) => b.change);
  if (ratios.length === 0) return plural(all.length, "value");
  const [low, high] = [Math.min(...ratios), Math.max(...ratios)].map((r) => significant(r, 2));
  return low === high ? low! : `${low} to ${high}`;
}

/** Which variants meet every published objective, and which none; null if that says little. */
export function publishedSentence(report: Report): string | null {
  const goals = publishedOf(report).filter((b) => b.met !== null);
  const variants = [...groupBy(goals, (b) => b.variant)];
  if (variants.length < 2 || goals.length < 2) return null;
  const whose = (all: boolean): string[] =>
    variants.filter(([, list]) => list.every((b) => b.met === all)).map(([name]) => name);
  const [every, none] = [whose(true), whose(false)];
  const meets = (names: string[], what: string): string =>
    `${listed(names, 3)} ${names.length > 1 ? what : `${what}s`}`;
  const parts = [
    ...(every.length > 0 ? [`${meets(every, "meet")} every published objective`] : []),
    ...(none.length > 0
      ? [meets(none, "meet").concat(every.length > 0 ? " none" : " no published objective")]
      : []),
  ];
  return parts.length > 0 ? `${parts.join("; ")}.` : null;
}
