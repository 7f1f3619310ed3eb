/** Pictures of a run: series over time, and medians of a metric, with those of a pinned run. */
import { wide } from "../../charts/static/axes.ts";
import type { Series } from "../../data/blob.ts";
import { flowLabel, flowsOf, visitOf } from "../../data/flows.ts";
import { type Metric, metricOf } from "../../data/metrics.ts";
import { SERIES } from "../../data/names.ts";
import { type Point, pointKey, pointLabel } from "../../data/points.ts";
import type { Report, Summary } from "../../data/report.types.ts";
import type { SeriesCache } from "../../data/series-cache.ts";
import { groupBy } from "../../data/statistics.ts";
import { changed, metricScale, metricValue } from "../../format/metric.ts";
import { plotScale, seconds, unitValue } from "../../format/numbers.ts";
import { binOf, rateOf } from "../../panels/goodput.ts";
import { measured, unitFor } from "../units.ts";
import type { Bar, BarPicture, Curve, LinePicture, LineScale } from "./curve.ts";

/** Largest number of lines: more cannot be told apart. */
const MAX_CURVES = 12;
/** Largest number of bars. */
const MAX_BARS = 16;

/** A run with its medians and, once they are read, its series. */
export interface PicturedRun {
  id: number;
  summary: Summary[];
  report: Report | null;
  cache: SeriesCache | null;
}

/** A series over time that a picture can show. */
export interface TimeMeasure {
  key: string;
  label: string;
  series: string;
  unit: string;
  isStep: boolean;
  /** Whether the picture shows the rate at which the series grows. */
  isRate?: boolean;
}

/** All of them; the first one that a run has is shown at first. */
export const TIME_MEASURES: readonly TimeMeasure[] = [
  {
    key: "time:received",
    label: "Data received",
    series: SERIES.received,
    unit: "bytes",
    isStep: true,
  },
  {
    key: "time:goodput",
    label: "Goodput",
    series: SERIES.received,
    unit: "Mbps",
    isStep: true,
    isRate: true,
  },
  {
    key: "time:cwnd",
    label: "Congestion window",
    series: SERIES.cwnd,
    unit: "bytes",
    isStep: true,
  },
  {
    key: "time:flight",
    label: "Bytes in flight",
    series: SERIES.inFlight,
    unit: "bytes",
    isStep: true,
  },
  {
    key: "time:rtt",
    label: "Smoothed RTT",
    series: SERIES.smoothedRtt,
    unit: "ms",
    isStep: false,
  },
];

/** Points of a sweep that have series, in their order. */
export function pointsWithSeries({ traces }: Report): Point[] {
  const points = new Map(traces.map(({ point }) => [pointKey(point), point]));
  return [...points.values()];
}

/** The lines of a run over time, at one point of its sweep; none if it has no such series. */
function curvesOf(run: PicturedRun, measure: TimeMeasure, point: string, ghost: boolean): Curve[] {
  const { report, cache } = run;
  if (!report || !cache) return [];
  const flows = flowsOf(report);
  const curves: Curve[] = [];
  for (const [at, variant] of report.variants.entries()) {
    const trace = report.traces.find(
      (one) => one.variant === variant && pointKey(one.point) === point,
    );
    for (const [place, flow] of flows.entries()) {
      const visit = visitOf(report, variant, flow);
      const found = trace?.flows.find((one) => one.name === flow.name && one.visit === visit);
      const series = found && cache.get(found.series[measure.series]);
      if (!found || !series) continue;
      const bin = binOf(report.path ?? undefined, [series.t.at(-1)! - series.t[0]!]);
      const shown: Series = measure.isRate ? rateOf(series, bin) : series;
      // Several flows share the time of their run; one alone counts from its first packet.
      const start = flows.length > 1 ? 0 : found.start_s;
      const names = [
        report.variants.length > 1 || flows.length === 1 ? variant : "",
        flows.length > 1 ? flowLabel(report, flow) : "",
      ];
      curves.push({
        name: names.filter(Boolean).join(", "),
        end: ending(measure, shown, start),
        index: report.variants.length > 1 ? at : place,
        isGhost: ghost,
        x: start === 0 ? shown.t : shown.t.map((t) => t - start),
        y: shown.v,
        isStep: measure.isStep,
        hasMarks: false,
      });
    }
  }
  return curves.slice(0, MAX_CURVES);
}

/** What a line's end says: of received data, when it was all there. */
function ending(measure: TimeMeasure, { t, v }: Series, start: number): string {
  if (measure.series === SERIES.received && !measure.isRate) return seconds(t.at(-1)! - start);
  return measure.isRate ? "" : unitValue(measure.unit, v.at(-1)!);
}

/** A picture over time; null if the run has no such series. */
export function timePicture(
  measure: TimeMeasure,
  point: string,
  shown: PicturedRun,
  pinned: PicturedRun | null,
): LinePicture | null {
  const own = curvesOf(shown, measure, point, false);
  if (own.length === 0) return null;
  const ghosts = pinned ? curvesOf(pinned, measure, point, true) : [];
  const curves = [...ghosts, ...own];
  const most = Math.max(...curves.map(({ y }) => largest(y)));
  return {
    kind: "lines",
    title: measure.label,
    curves,
    x: { label: "time", scale: { unit: "s", divisor: 1 }, log: false, names: null },
    y: { label: measure.label, scale: plotScale(measure.unit, most), log: false, names: null },
  };
}

function largest(of: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < of.length; i++) if (of[i]! > most) most = of[i]!;
  return most;
}

/** Metrics of which a run has medians, in their order. */
export const metricsIn = (run: PicturedRun): Metric[] =>
  [...new Set(run.summary.map(({ metric }) => metric))].map(metricOf);

/** Names the rows of a metric that belong together: those of one variant, flow and visit. */
function lineName(row: Summary, rows: Summary[]): string {
  const flows = new Set(rows.map(({ flow }) => flow));
  const visits = new Set(
    rows.filter((one) => one.variant === row.variant).map(({ visit }) => visit),
  );
  const parts = [row.variant];
  if (flows.size > 1) parts.push(row.flow);
  if (visits.size > 1) parts.push(`visit ${row.visit}`);
  return parts.join(", ");
}

/** A median as a picture: lines along a sweep, or bars. */
export function medianPicture(
  metric: Metric,
  shown: PicturedRun,
  pinned: PicturedRun | null,
): LinePicture | BarPicture | null {
  const rows = shown.summary.filter((row) => row.metric === metric.key);
  if (rows.length === 0) return null;
  const before = pinned?.summary.filter((row) => row.metric === metric.key) ?? [];
  const axis = axisOf(rows);
  return axis
    ? sweepPicture(metric, axis, rows, before)
    : barPicture(metric, rows, before.length > 0 ? before : null);
}

/** The swept key with most values, and its values in order; null without a sweep. */
function axisOf(rows: Summary[]): { key: string; values: string[] } | null {
  const values = new Map<string, Set<string>>();
  for (const { point } of rows)
    for (const [key, value] of Object.entries(point)) {
      const known = values.get(key) ?? new Set();
      values.set(key, known.add(value));
    }
  const [most] = [...values].sort(([, a], [, b]) => b.size - a.size);
  return most && most[1].size > 1 ? { key: most[0], values: [...most[1]] } : null;
}

function sweepPicture(
  metric: Metric,
  { key, values }: { key: string; values: string[] },
  rows: Summary[],
  before: Summary[],
): LinePicture {
  const read = values.map(measured);
  const [first] = read;
  const isNumeric = read.every((one) => one !== null && one.kind === first?.kind);
  const places = new Map(values.map((value, i) => [value, isNumeric ? read[i]!.value : i]));
  const variants = [...new Set(rows.map(({ variant }) => variant))];
  const lines = (of: Summary[], isGhost: boolean): Curve[] => {
    const groups = groupBy(of, (row) => {
      const { [key]: _, ...others } = row.point;
      return [lineName(row, of), pointLabel(others)].filter(Boolean).join(", ");
    });
    return [...groups].slice(0, MAX_CURVES).map(([name, own]) => {
      const dots = own
        .flatMap(({ point, median }) => {
          const x = places.get(point[key] ?? "");
          return x === undefined || median === null ? [] : [{ x, y: median }];
        })
        .sort((a, b) => a.x - b.x);
      return {
        name,
        end: metricValue(metric, dots.at(-1)?.y),
        index: Math.max(0, variants.indexOf(own[0]!.variant)),
        isGhost,
        x: dots.map(({ x }) => x),
        y: dots.map(({ y }) => y),
        isStep: false,
        hasMarks: true,
      };
    });
  };
  const curves = [...lines(before, true), ...lines(rows, false)].filter(({ x }) => x.length > 0);
  const numbers = [...places.values()];
  const most = Math.max(...numbers);
  const { unit, size } = first ? unitFor({ kind: first.kind, value: most }) : { unit: "", size: 1 };
  const all = curves.flatMap(({ y }) => Array.from(y));
  const x: LineScale = {
    label: key,
    scale: { unit, divisor: size },
    log: isNumeric && wide(numbers),
    names: isNumeric ? null : values,
  };
  const log = Math.min(...all) > 0 && Math.max(...all) > 30 * Math.min(...all);
  const scale = metricScale(metric, Math.max(...all, 0));
  return {
    kind: "lines",
    title: `${metric.label}, medians`,
    curves,
    x,
    y: { label: metric.label, scale, log, names: null },
  };
}

function barPicture(metric: Metric, rows: Summary[], before: Summary[] | null): BarPicture {
  const variants = [...new Set(rows.map(({ variant }) => variant))];
  const old = new Map(before?.map((row) => [lineName(row, before), row.median]));
  const bars = rows.slice(0, MAX_BARS).map((row): Bar => {
    const name = lineName(row, rows);
    const ghost = old.get(name) ?? null;
    return {
      name,
      index: variants.indexOf(row.variant),
      value: row.median,
      words: metricValue(metric, row.median),
      ghost,
      change: changed(metric, ghost, row.median),
    };
  });
  const all = bars.flatMap(({ value, ghost }) => [value ?? 0, ghost ?? 0]);
  return {
    kind: "bars",
    title: `${metric.label}, medians`,
    bars,
    scale: metricScale(metric, Math.max(...all)),
  };
}
