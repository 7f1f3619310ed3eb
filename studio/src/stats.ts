import type { Flow, Point, Published, Report, Run, Summary } from "./types.ts";

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

/** A point in words. One swept key is named by its last part, several by enough to tell them apart. */
export function pointLabel(point: Point): string {
  const entries = Object.entries(point);
  const short = (key: string): string => {
    const last = key.split(".").at(-1)!;
    const rival = entries.some(([other]) => other !== key && other.split(".").at(-1) === last);
    return (rival ? key : last).replaceAll("_", " ");
  };
  return entries.map(([key, value]) => `${short(key)} ${value}`).join(", ");
}

/** True when every entry of `part` stands in `whole`. */
export function within(part: Point, whole: Point): boolean {
  return Object.entries(part).every(([key, value]) => whole[key] === value);
}

/** A flow that can be chosen: its name and visit. */
export interface FlowId {
  name: string;
  visit: number;
}

/** A flow's identity as text. */
export function flowKey(f: FlowId): string {
  return JSON.stringify([f.name, f.visit]);
}

/** The metrics of a flow: its own numbers, and the return bytes by layer. */
export function flowMetric(flow: Flow, metric: string): number | null {
  if (metric.startsWith("return_bytes.")) {
    const layer = metric.slice("return_bytes.".length);
    return Object.hasOwn(flow.return_bytes, layer) ? number(flow.return_bytes[layer]) : null;
  }
  return Object.hasOwn(flow, metric) ? number((flow as unknown as Record<string, unknown>)[metric]) : null;
}

function number(x: unknown): number | null {
  return typeof x === "number" && Number.isFinite(x) ? x : null;
}

const FIRST = ["completion_s", "goodput_mbps", "first_byte_s", "handshake_s"];
const NOT_METRICS = new Set(["visit", "bytes", "start_s"]);

/** Metrics that have a value somewhere, the usual ones first. */
export function metricsOf(report: Report): string[] {
  const keys = new Set<string>();
  for (const s of report.summary) if (s.median !== null) keys.add(s.metric);
  for (const run of report.runs) {
    for (const flow of run.flows) {
      for (const [key, value] of Object.entries(flow)) if (number(value) !== null && !NOT_METRICS.has(key)) keys.add(key);
      for (const layer of Object.keys(flow.return_bytes)) keys.add(`return_bytes.${layer}`);
    }
  }
  const rank = (key: string): number => (FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length);
  return [...keys].sort((a, b) => rank(a) - rank(b));
}

/** Flows of the whole report, in order of appearance. */
export function flowsOf(report: Report): FlowId[] {
  const seen = new Map<string, FlowId>();
  const add = (f: FlowId): void => {
    const key = flowKey(f);
    if (!seen.has(key)) seen.set(key, { name: f.name, visit: f.visit });
  };
  for (const run of report.runs) run.flows.forEach(add);
  for (const s of report.summary) add({ name: s.flow, visit: s.visit });
  return [...seen.values()];
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
  /** Values by run; null where the metric did not happen. */
  values: { run: number; value: number | null }[];
  /** Values that exist, ascending. */
  sorted: number[];
  summary: Summary | null;
  n: number;
  median: number | null;
  p5: number | null;
  p95: number | null;
  published: Published[];
}

/** The groups of one point, in order of the variants; those without any value are left out. */
export function groupsAt(report: Report, point: Point, flow: FlowId, metric: string): Group[] {
  const key = pointKey(point);
  const out: Group[] = [];
  report.variants.forEach((variant, index) => {
    const values: Group["values"] = [];
    for (const run of report.runs) {
      if (run.variant !== variant || pointKey(run.point) !== key) continue;
      const f = flowIn(run, flow);
      if (f) values.push({ run: run.run, value: flowMetric(f, metric) });
    }
    const sorted = values.flatMap((v) => (v.value === null ? [] : [v.value])).sort((a, b) => a - b);
    const summary =
      report.summary.find(
        (s) => s.variant === variant && s.metric === metric && s.flow === flow.name && s.visit === flow.visit && pointKey(s.point) === key,
      ) ?? null;
    if (values.length === 0 && !summary) return;
    const several = sorted.length > 1;
    out.push({
      variant,
      index,
      point,
      values,
      sorted,
      summary,
      n: summary?.n ?? sorted.length,
      median: summary ? summary.median : sorted.length ? quantile(sorted, 0.5) : null,
      p5: summary ? summary.p5 : several ? quantile(sorted, 0.05) : null,
      p95: summary ? summary.p95 : several ? quantile(sorted, 0.95) : null,
      published: report.published.filter(
        (p) => p.metric === metric && (p.variant === undefined || p.variant === variant) && within(p.point, point),
      ),
    });
  });
  return out;
}

/** The flow of that identity in a run. */
export function flowIn(run: Run, id: FlowId): Flow | undefined {
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
