import { valueIn } from "./derived.ts";
import { ALL_FLOWS, competitionOf, goodputsOf, sharedValue, shareOf } from "./fairness.ts";
import { type FlowId, visitOf } from "./flows.ts";
import { type Interval, intervalOf } from "./interval.ts";
import { memoised } from "./memoised.ts";
import { isShared, METRIC } from "./metrics.ts";
import type { Point } from "./points.ts";
import { pointKey, within } from "./points.ts";
import { userMetric } from "./populations.ts";
import type { Figure, Flow, Report, Run, Summary, Trace } from "./report.types.ts";
import { isShown, wholeOf } from "./shown.ts";
import { quantile, type Spread, spreadOf } from "./statistics.ts";

/** One variant at one point: every run's value, and their statistics. */
export interface Group {
  variant: string;
  index: number;
  point: Point;
  visit: number;
  /** Values by run; null if the metric has none. */
  values: { run: number; value: number | null }[];
  /** Runs whose flow did not complete, with the reason if it is known. */
  failed: { run: number; error: string }[];
  /** Known values, ascending. */
  sorted: number[];
  summary: Summary | null;
  n: number;
  median: number | null;
  /** Where most values lie, for tables; null of one value. */
  spread: Spread | null;
  /** What figures draw beside the median; null of one value. */
  interval: Interval | null;
  published: Figure[];
}

/** True if a run belongs to a group. */
export const isOf = (group: Group, run: { variant: string; point: Point } | undefined): boolean =>
  run !== undefined &&
  run.variant === group.variant &&
  pointKey(run.point) === pointKey(group.point);

interface Index {
  runs: Map<string, Run[]>;
  summary: Map<string, Summary>;
  /** Summaries of all flows together, whose visit number means nothing. */
  shared: Map<string, Summary>;
}

const indexOf = memoised((report: Report): Index => {
  const index: Index = { runs: new Map(), summary: new Map(), shared: new Map() };
  for (const run of report.runs) {
    const key = JSON.stringify([run.variant, pointKey(run.point)]);
    const list = index.runs.get(key);
    if (list) list.push(run);
    else index.runs.set(key, [run]);
  }
  for (const s of report.summary) {
    if (s.flow === ALL_FLOWS && isShared(s.metric))
      index.shared.set(JSON.stringify([s.variant, pointKey(s.point), s.metric]), s);
    index.summary.set(JSON.stringify([s.variant, pointKey(s.point), s.flow, s.visit, s.metric]), s);
  }
  return index;
});

/** The groups that were made of each report: sentences, figures and tables ask for the same. */
const made = memoised((_: Report) => new Map<string, Group[]>());

/**
 * The groups of one point, in order of the variants, without those that have no run or are hidden.
 * `flow` is not used for a metric of all flows.
 */
export function groupsAt(report: Report, point: Point, flow: FlowId, metric: string): Group[] {
  // Of a part of a report, the groups of the whole are used again.
  const whole = wholeOf(report);
  const known = made(whole);
  const key = JSON.stringify([pointKey(point), flow.name, flow.place, metric]);
  const groups = known.get(key) ?? makeGroups(whole, point, flow, metric);
  known.set(key, groups);
  return whole === report ? groups : groups.filter((g) => isShown(report, g.variant));
}

function makeGroups(report: Report, point: Point, flow: FlowId, metric: string): Group[] {
  const key = pointKey(point);
  const index = indexOf(report);
  return report.variants.flatMap((variant, i) => {
    const runs = index.runs.get(JSON.stringify([variant, key])) ?? [];
    if (isShared(metric)) {
      const summary = index.shared.get(JSON.stringify([variant, key, metric])) ?? null;
      const values = runs.map((run) => ({ run: run.run, value: sharedValue(report, run, metric) }));
      // Without runs, the share of the medians stands in.
      const instead =
        metric === METRIC.share && runs.length === 0
          ? shareOf(...goodputsAt(report, { variant, point }))
          : null;
      if (values.every((v) => v.value === null) && !summary && instead === null) return [];
      return [
        groupOf(
          report,
          { variant, index: i, point, visit: summary?.visit ?? 1, values, failed: [], summary },
          metric,
          ALL_FLOWS,
          instead,
        ),
      ];
    }
    const visit = visitOf(report, variant, flow);
    if (visit === undefined) return [];
    const values: Group["values"] = [];
    const failed: Group["failed"] = [];
    for (const run of runs) {
      const ofUsers = userMetric(run, { name: flow.name, visit }, metric);
      if (ofUsers !== undefined) {
        values.push({ run: run.run, value: ofUsers });
        continue;
      }
      const f = flowIn(run, { name: flow.name, visit });
      if (!f) continue;
      values.push({ run: run.run, value: valueIn(report, run, f, metric) });
      if (!f.completed) failed.push({ run: run.run, error: f.error ?? "" });
    }
    const summary =
      index.summary.get(JSON.stringify([variant, key, flow.name, visit, metric])) ?? null;
    if (values.length === 0 && !summary) return [];
    // Of a part that neither a run nor `derived` has, such as a stream's score, one run has the
    // median.
    const [one] = values;
    if (values.length === 1 && summary?.n === 1 && one) one.value ??= summary.median;
    return [
      groupOf(
        report,
        { variant, index: i, point, visit, values, failed, summary },
        metric,
        flow.name,
      ),
    ];
  });
}

/** The runs of a variant at a point. */
export function runsAt(report: Report, variant: string, point: Point): Run[] {
  return indexOf(report).runs.get(JSON.stringify([variant, pointKey(point)])) ?? [];
}

/** Median goodputs of the two competing flows at a group's point. */
export function goodputsAt(
  report: Report,
  { variant, point }: Pick<Group, "variant" | "point">,
): [number | null, number | null] {
  const index = indexOf(report);
  const key = pointKey(point);
  const runs = (index.runs.get(JSON.stringify([variant, key])) ?? []).map((run) =>
    goodputsOf(report, run),
  );
  const flows = competitionOf(report)?.flows;
  return [0, 1].map((i) => {
    const known = runs.flatMap((both) => both[i] ?? []).sort((a, b) => a - b);
    if (known.length > 0) return quantile(known, 0.5);
    const name = flows?.[i];
    const visit = name === undefined ? undefined : visitOf(report, variant, { name, place: 1 });
    return (
      index.summary.get(JSON.stringify([variant, key, name, visit, METRIC.goodput]))?.median ?? null
    );
  }) as [number | null, number | null];
}

/** Adds statistics: of the summary, else of the values, else `instead` as the median. */
function groupOf(
  report: Report,
  found: Pick<Group, "variant" | "index" | "point" | "visit" | "values" | "failed" | "summary">,
  metric: string,
  flow: string,
  instead: number | null = null,
): Group {
  const { summary } = found;
  const sorted = found.values
    .flatMap((v) => (v.value === null ? [] : [v.value]))
    .sort((a, b) => a - b);
  const n = summary?.n ?? sorted.length;
  const [p5, p95] = summary
    ? [summary.p5, summary.p95]
    : [0.05, 0.95].map((p) => (sorted.length ? quantile(sorted, p) : null));
  return {
    ...found,
    sorted,
    n,
    median: summary ? summary.median : sorted.length ? quantile(sorted, 0.5) : instead,
    spread: spreadOf(sorted, n, p5 ?? null, p95 ?? null),
    interval: intervalOf(summary, sorted),
    published: report.published.filter(
      (p) =>
        p.metric === metric &&
        (p.variant ?? found.variant) === found.variant &&
        (p.flow ?? flow) === flow &&
        within(p.point, found.point),
    ),
  };
}

/** The run that a trace belongs to. */
export function runOf(report: Report, trace: Trace): Run | undefined {
  return indexOf(report)
    .runs.get(JSON.stringify([trace.variant, pointKey(trace.point)]))
    ?.find((r) => r.run === trace.run);
}

/** The flow of a name and visit in a run. */
export function flowIn(run: Run, id: { name: string; visit: number }): Flow | undefined {
  return run.flows.find((f) => f.name === id.name && f.visit === id.visit);
}
