import {
  ALL_FLOWS,
  competitionOf,
  goodputsOf,
  isShared,
  SHARE,
  SHARED_METRICS,
  sharedValue,
  shareOf,
} from "./fairness.ts";
import { type FlowId, visitOf } from "./flows.ts";
import type { Flow, Point, Published, Report, Run, Summary, Trace } from "./schema.ts";

/** The p-quantile of ascending values, interpolated (type 7). */
export function quantile(sorted: ArrayLike<number>, p: number): number {
  if (sorted.length === 0) return NaN;
  const at = (sorted.length - 1) * p;
  const i = Math.floor(at);
  const a = sorted[i]!;
  const b = sorted[Math.min(i + 1, sorted.length - 1)]!;
  return a + (b - a) * (at - i);
}

/** A point's identity: its entries in order of their keys. */
export function pointKey(point: Point): string {
  let key = keys.get(point);
  if (key === undefined) {
    key = JSON.stringify(Object.entries(point).sort(([a], [b]) => (a < b ? -1 : 1)));
    keys.set(point, key);
  }
  return key;
}

const keys = new WeakMap<Point, string>();

/** A swept key in words: its last part, with the direction where that is the return one, or all of it where another key ends alike. */
export function keyLabel(key: string, among: string[]): string {
  const [last, before] = key.split(".").reverse() as [string, string?];
  const rival = among.some((other) => other !== key && other.split(".").at(-1) === last);
  return (rival ? key : before === "return" ? `return ${last}` : last).replaceAll("_", " ");
}

/** A point in words. */
export function pointLabel(point: Point, keys = Object.keys(point)): string {
  return Object.entries(point)
    .map(([key, value]) => `${keyLabel(key, keys)} ${value}`)
    .join(", ");
}

/** True when every entry of `part` stands in `whole`. */
export function within(part: Point, whole: Point): boolean {
  return Object.entries(part).every(([key, value]) => whole[key] === value);
}

/** The metrics of a flow: its own numbers, and the return bytes, as a sum and by layer. */
export function flowMetric(flow: Flow, metric: string): number | null {
  if (metric === "return_bytes") return number(flow.return_bytes.total);
  if (metric.startsWith("return_bytes.")) {
    const layer = metric.slice("return_bytes.".length);
    return Object.hasOwn(flow.return_bytes, layer) ? number(flow.return_bytes[layer]) : null;
  }
  const size = /^ack_frame_(min|median|p99|max)_bytes$/.exec(metric)?.[1] as
    | "min"
    | "median"
    | "p99"
    | "max"
    | undefined;
  if (size) return number(flow.ack_frame_bytes?.[size]);
  if (metric.startsWith("return_overhead_percent.")) {
    const part = flowMetric(flow, metric.replace("return_overhead_percent", "return_bytes"));
    return part !== null && flow.bytes_sent ? (100 * part) / flow.bytes_sent : null;
  }
  return Object.hasOwn(flow, metric)
    ? number((flow as unknown as Record<string, unknown>)[metric])
    : null;
}

function number(x: unknown): number | null {
  return typeof x === "number" && Number.isFinite(x) ? x : null;
}

const FIRST = ["completion_s", "goodput_mbps", "first_byte_s", "handshake_s"];
/** Where flows last for a time, how they shared and what they got in it comes before when they were done. */
const FIRST_OF_TIMED = ["share_ratio", "jain", "aggregate_mbps", "goodput_mbps"];
const NOT_METRICS = new Set(["visit", "bytes", "start_s"]);

/**
 * Whether flows ended because their time was over, so that completion times say nothing: those of each flow are the same in
 * all runs, though what was carried in them is not, or the scenario says how long flows last.
 */
export function isTimed(report: Report): boolean {
  const flows = new Map<string, { times: Set<number>; bytes: Set<number> }>();
  for (const run of report.runs) {
    for (const f of run.flows) {
      if (f.completion_s === null) continue;
      const key = JSON.stringify([f.name, f.visit]);
      const seen = flows.get(key) ?? { times: new Set(), bytes: new Set() };
      flows.set(key, seen);
      seen.times.add(f.completion_s);
      seen.bytes.add(f.bytes);
    }
  }
  const all = [...flows.values()];
  if (all.length === 0 || all.some((f) => f.times.size > 1)) return false;
  return all.some((f) => f.bytes.size > 1) || /^\s*lasts\s*=/m.test(report.source);
}

/** Metrics that have a value somewhere, the usual ones first; neither layers that no run used, nor connections where each visit took one. */
export function metricsOf(report: Report): string[] {
  const keys = new Set<string>();
  for (const s of report.summary) if (s.median !== null) keys.add(s.metric);
  for (const run of report.runs) {
    for (const key of SHARED_METRICS) if (sharedValue(report, run, key) !== null) keys.add(key);
    for (const flow of run.flows) {
      for (const [key, value] of Object.entries(flow))
        if (
          number(value) !== null &&
          !NOT_METRICS.has(key) &&
          !(key === "connections" && value === 1)
        )
          keys.add(key);
      for (const [layer, n] of Object.entries(flow.return_bytes))
        if (n > 0 || layer === "total") keys.add(`return_bytes.${layer}`);
    }
  }
  // The same number under two names: the summary's knows the interval.
  if (keys.has("return_bytes")) keys.delete("return_bytes.total");
  // Where flows compete, how they share comes first.
  const usual = isTimed(report)
    ? [...FIRST_OF_TIMED, ...SHARED_METRICS, ...FIRST]
    : [...FIRST, ...SHARED_METRICS];
  const first = competitionOf(report) ? [...SHARED_METRICS, ...FIRST] : usual;
  const rank = (key: string): number => (first.includes(key) ? first.indexOf(key) : first.length);
  return [...keys].sort((a, b) => rank(a) - rank(b));
}

/** Sweep points in order of appearance. */
export function pointsOf(report: Report): Point[] {
  const seen = new Map<string, Point>();
  for (const { point } of [...report.runs, ...report.summary]) {
    const key = pointKey(point);
    if (!seen.has(key)) seen.set(key, point);
  }
  return [...seen.values()];
}

/** One variant at one point: every run's value and what summarises them. */
export interface Group {
  variant: string;
  index: number;
  point: Point;
  visit: number;
  /** Values by run; null where the metric did not happen. */
  values: { run: number; value: number | null }[];
  /** Runs whose flow did not complete, and why where that is known. */
  failed: { run: number; error: string }[];
  /** Values that exist, ascending. */
  sorted: number[];
  summary: Summary | null;
  n: number;
  median: number | null;
  p5: number | null;
  p95: number | null;
  published: Published[];
}

interface Index {
  runs: Map<string, Run[]>;
  summary: Map<string, Summary>;
  /** Of all flows together, whatever visit they are said to be of. */
  shared: Map<string, Summary>;
}

const indices = new WeakMap<Report, Index>();

function indexOf(report: Report): Index {
  let index = indices.get(report);
  if (index) return index;
  index = { runs: new Map(), summary: new Map(), shared: new Map() };
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
  indices.set(report, index);
  return index;
}

/** The groups of one point, in order of the variants; those without any run are left out. A metric of all flows needs no flow. */
export function groupsAt(report: Report, point: Point, flow: FlowId, metric: string): Group[] {
  const key = pointKey(point);
  const index = indexOf(report);
  return report.variants.flatMap((variant, i) => {
    const runs = index.runs.get(JSON.stringify([variant, key])) ?? [];
    if (isShared(metric)) {
      const summary = index.shared.get(JSON.stringify([variant, key, metric])) ?? null;
      const values = runs.map((run) => ({ run: run.run, value: sharedValue(report, run, metric) }));
      // Without runs, the share of the medians is the best there is.
      const instead =
        metric === SHARE && runs.length === 0
          ? shareOf(...goodputsAt(report, { variant, point }))
          : null;
      if (values.every((v) => v.value === null) && !summary && instead === null) return [];
      return [
        groupOf(
          report,
          { variant, index: i, point, visit: summary?.visit ?? 1, values, failed: [], summary },
          metric,
          instead,
        ),
      ];
    }
    const visit = visitOf(report, variant, flow);
    if (visit === undefined) return [];
    const values: Group["values"] = [];
    const failed: Group["failed"] = [];
    for (const run of runs) {
      const f = flowIn(run, { name: flow.name, visit });
      if (!f) continue;
      values.push({ run: run.run, value: flowMetric(f, metric) });
      if (!f.completed) failed.push({ run: run.run, error: f.error ?? "" });
    }
    const summary =
      index.summary.get(JSON.stringify([variant, key, flow.name, visit, metric])) ?? null;
    if (values.length === 0 && !summary) return [];
    return [groupOf(report, { variant, index: i, point, visit, values, failed, summary }, metric)];
  });
}

/** Median goodputs of the two flows that compete at a group's point, as its share counts them. */
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
      index.summary.get(JSON.stringify([variant, key, name, visit, "goodput_mbps"]))?.median ?? null
    );
  }) as [number | null, number | null];
}

/** Statistics of single values, of the summary where there is one; `instead` is the median where there is neither. */
function groupOf(
  report: Report,
  found: Pick<Group, "variant" | "index" | "point" | "visit" | "values" | "failed" | "summary">,
  metric: string,
  instead: number | null = null,
): Group {
  const { summary } = found;
  const sorted = found.values
    .flatMap((v) => (v.value === null ? [] : [v.value]))
    .sort((a, b) => a - b);
  const several = sorted.length > 1;
  return {
    ...found,
    sorted,
    n: summary?.n ?? sorted.length,
    median: summary ? summary.median : sorted.length ? quantile(sorted, 0.5) : instead,
    p5: summary ? summary.p5 : several ? quantile(sorted, 0.05) : null,
    p95: summary ? summary.p95 : several ? quantile(sorted, 0.95) : null,
    published: report.published.filter(
      (p) =>
        p.metric === metric &&
        (p.variant === undefined || p.variant === found.variant) &&
        within(p.point, found.point),
    ),
  };
}

/** The run that time series are of. */
export function runOf(report: Report, trace: Trace): Run | undefined {
  return indexOf(report)
    .runs.get(JSON.stringify([trace.variant, pointKey(trace.point)]))
    ?.find((r) => r.run === trace.run);
}

/** The flow of that name and visit in a run. */
export function flowIn(run: Run, id: { name: string; visit: number }): Flow | undefined {
  return run.flows.find((f) => f.name === id.name && f.visit === id.visit);
}

/** Steps of the empirical distribution: after `x`, the share `y` of all `total` runs has finished. */
export function cdf(sorted: number[], total: number): { x: number; y: number }[] {
  const out: { x: number; y: number }[] = [];
  sorted.forEach((x, i) => {
    const y = (i + 1) / total;
    const last = out.at(-1);
    if (last && last.x === x) last.y = y;
    else out.push({ x, y });
  });
  return out;
}
