import { isApart } from "../data/compared.ts";
import { type FlowId, visitOf } from "../data/flows.ts";
import { flowIn, type Group, groupsAt, runsAt } from "../data/groups.ts";
import { METRIC, type Metric } from "../data/metrics.ts";
import {
  keyLabel,
  type Point,
  pointKey,
  pointLabel,
  pointsOf,
  valueWords,
} from "../data/points.ts";
import type { Explanation, Flow, Report } from "../data/report.types.ts";
import { ABOVE_EFFECTS, type Contrast, contrastOf, effectOf } from "./contrast.ts";

/** What is compared: a variant, or a point of the sweep if there is only one variant. */
export interface Row {
  name: string;
  group: Group;
  /** Beside the baseline; null of the baseline itself, and without medians. */
  contrast: Contrast | null;
}

/** Variants at one point, or the points of a single variant, beside one of them. */
export interface Comparison {
  report: Report;
  flow: FlowId;
  metric: Metric;
  by: "variant" | "point";
  /** In the order of the report. */
  rows: Row[];
  base: Row;
  /** The point of the rows; of the first one if they are points. */
  point: Point;
}

/** Short names of points: of long values, the beginning, if that tells them apart. */
function pointNames(points: Point[]): string[] {
  const keys = Object.keys(points[0] ?? {});
  const varied = keys.filter((key) => new Set(points.map((p) => p[key])).size > 1);
  const [key] = varied;
  if (varied.length !== 1 || key === undefined) return points.map((p) => pointLabel(p));
  const whole = points.map((p) => valueWords(p[key] ?? ""));
  const brief = whole.map((text) => text.split(", ", 1)[0]!);
  const values = new Set(brief).size === points.length ? brief : whole;
  return values.map((value) => `${keyLabel(key, keys)} ${value}`);
}

/** What a reader has chosen; "" for what suits the report. */
export interface Choice {
  baseline: string;
  point: string;
}

/** The variant that others are compared with: the chosen one, the scenario's, or the first. */
export function baselineOf(report: Report, chosen: string): string {
  const names = [chosen, report.baseline ?? "", report.variants[0] ?? ""];
  return names.find((name) => report.variants.includes(name)) ?? "";
}

function comparison(
  shared: Pick<Comparison, "report" | "flow" | "metric" | "by">,
  named: [string, Group][],
  isBase: (name: string) => boolean,
): Comparison | null {
  // Of a metric that no run has, there is nothing to say.
  if (named.every(([, g]) => g.median === null && g.failed.length === 0)) return null;
  const at = Math.max(
    0,
    named.findIndex(([name]) => isBase(name)),
  );
  const [, ofBase] = named[at]!;
  const rows = named.map(([name, group], i): Row => {
    const contrast = i === at ? null : contrastOf(ofBase, group, shared.metric);
    return { name, group, contrast };
  });
  return { ...shared, rows, base: rows[at]!, point: ofBase.point };
}

/** Runs of a row that did not complete. */
export const failuresOf = (row: Row): number => row.group.failed.length;

/** How much a comparison has to say: failures of some rows count more than any difference. */
export function weight({ rows }: Comparison): number {
  const failing = rows.filter((row) => failuresOf(row) > 0).length;
  const some = failing > 0 && failing < rows.length ? ABOVE_EFFECTS : 0;
  return some + Math.max(...rows.map((row) => effectOf(row.contrast)));
}

/**
 * The comparison that a report opens with: at the chosen point, else at the one with the largest
 * difference from the baseline. Null if no run has the metric.
 */
export function compare(
  report: Report,
  flow: FlowId,
  metric: Metric,
  choice: Choice,
): Comparison | null {
  const points = pointsOf(report);
  const shared = { report, flow, metric };
  const at = (point: Point): Group[] => groupsAt(report, point, flow, metric.key);
  if (report.variants.length === 1 && points.length > 1) {
    const names = pointNames(points);
    const named = points.flatMap((p, i) => at(p).map((g): [string, Group] => [names[i]!, g]));
    return comparison({ ...shared, by: "point" }, named, () => false);
  }
  const baseline = baselineOf(report, choice.baseline);
  const of = (point: Point): Comparison | null => {
    const named = at(point).map((g): [string, Group] => [g.variant, g]);
    return comparison({ ...shared, by: "variant" }, named, (name) => name === baseline);
  };
  const one = points.find((p) => pointKey(p) === choice.point);
  if (one) return of(one);
  const all = points.flatMap((p) => of(p) ?? []);
  const most = Math.max(...all.map(weight));
  return all.find((c) => weight(c) === most) ?? null;
}

/** The median of any metric of a row; null if there is none. */
export function medianIn({ report, flow }: Comparison, row: Row, metric: string): number | null {
  const { variant, point } = row.group;
  const groups = groupsAt(report, point, flow, metric);
  return groups.find((g) => g.variant === variant)?.median ?? null;
}

/** True for delays and scores of them: what a transfer's time was spent on is not their cause. */
const isOfQueues = ({ key, unit }: Metric): boolean =>
  unit === "ms" || unit === "RPM" || key === METRIC.opinionScore;

/** The explanation of a row, if there is one. */
export function explanationOf(
  { report, flow, metric }: Comparison,
  row: Row,
): Explanation | undefined {
  if (isOfQueues(metric)) return undefined;
  const { variant, point } = row.group;
  const visit = visitOf(report, variant, flow);
  const key = pointKey(point);
  return report.explanations?.find(
    (e) =>
      e.flow === flow.name &&
      e.variant === variant &&
      e.visit === visit &&
      pointKey(e.point) === key,
  );
}

/** True if the causes of each row add up to what was measured: of whole transfers and pages. */
export const addsUp = (c: Comparison): boolean =>
  isTime(c.metric) ||
  (c.metric.unit === "s" &&
    c.rows.every((row) => {
      const of = explanationOf(c, row);
      return of ? !isApart(of.completion_s, row.group.median ?? 0) : row.group.median === null;
    }));

/** The first flow of a row's runs, which says what is transferred. */
export function flowOf({ report }: Comparison, { group }: Row, name: string): Flow | undefined {
  for (const run of runsAt(report, group.variant, group.point)) {
    const flow = flowIn(run, { name, visit: group.visit });
    if (flow) return flow;
  }
  return undefined;
}

/** True if a comparison is about how long transfers take as a whole. */
export const isTime = (m: Metric): boolean =>
  m.key === METRIC.completion || m.key === METRIC.meanCompletion;
