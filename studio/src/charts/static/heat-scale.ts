import { type Competition, competitionOf } from "../../data/fairness.ts";
import type { Group } from "../../data/groups.ts";
import { isShared, METRIC } from "../../data/metrics.ts";
import type { Point } from "../../data/points.ts";
import { keyLabel, pointKey, pointLabel } from "../../data/points.ts";
import type { Report } from "../../data/report.types.ts";
import { numbersOf } from "../../data/sweep.ts";
import { inkOn } from "../../format/palette.ts";
import { wide } from "./axes.ts";

/** Number of values that both keys need before a heat map says more than lines. */
const LEAST = 3;

/** One side of a heat map. */
export interface Side {
  key: string;
  name: string;
  values: string[];
}

/** The sides of a report's heat maps, and the competition they show, if any. */
export interface HeatAxes {
  rows: Side;
  columns: Side;
  competition: Competition | null;
}

/** One heat map: cells by row and column; null if there is no such run. */
export interface HeatMap {
  label: string;
  variant: string;
  cells: (Group | null)[][];
}

/**
 * The two keys of a sweep that make a heat map: the controllers of two flows, else the two keys
 * with most values. Null if the sweep has no such keys.
 */
export function heatAxes(report: Report): HeatAxes | null {
  const keys = report.sweep.map((s) => s.key);
  const side = (of: Report["sweep"][number], name = keyLabel(of.key, keys)): Side => {
    const { key, values } = of;
    const numbers = numbersOf(of);
    const order = values
      .map((text, i) => ({ text, number: numbers?.[i] ?? 0 }))
      .sort((a, b) => a.number - b.number);
    return { key, name, values: order.map((v) => v.text) };
  };
  const competition = competitionOf(report);
  if (competition) {
    const [rows, columns] = competition.keys.map((key, i) =>
      side(report.sweep.find((s) => s.key === key)!, competition.flows[i]!),
    ) as [Side, Side];
    return { rows, columns, competition };
  }
  const [a, b] = report.sweep
    .filter((s) => s.values.length >= LEAST)
    .sort((x, y) => y.values.length - x.values.length);
  return a && b ? { rows: side(b), columns: side(a), competition: null } : null;
}

/** The heat maps of a metric: one per variant and per combination of the other keys. */
export function heatMaps(
  report: Report,
  axes: HeatAxes,
  points: Point[],
  groupsOf: (point: Point) => Group[],
): HeatMap[] {
  const keys = report.sweep.map((s) => s.key);
  const maps = new Map<string, HeatMap>();
  for (const point of points) {
    const [r, c] = [axes.rows, axes.columns].map((s) => s.values.indexOf(point[s.key] ?? "")) as [
      number,
      number,
    ];
    if (r < 0 || c < 0) continue;
    const rest: Point = Object.fromEntries(
      Object.entries(point).filter(([key]) => key !== axes.rows.key && key !== axes.columns.key),
    );
    for (const group of groupsOf(point)) {
      const id = JSON.stringify([group.index, pointKey(rest)]);
      let map = maps.get(id);
      if (!map) {
        const label = [report.variants.length > 1 ? group.variant : "", pointLabel(rest, keys)]
          .filter(Boolean)
          .join(" · ");
        map = {
          label,
          variant: group.variant,
          cells: axes.rows.values.map(() => axes.columns.values.map(() => null)),
        };
        maps.set(id, map);
      }
      map.cells[r]![c] = group;
    }
  }
  return [...maps.values()];
}

/** How values become colours. */
export interface HeatScale {
  /** Diverging around a middle that means balance, or from small to large. */
  kind: "diverging" | "sequential";
  low: number;
  high: number;
  log: boolean;
}

/** Metrics with a fixed range, so that maps of different reports have the same colours. */
const RANGES: Record<string, [number, number]> = {
  [METRIC.share]: [0, 1],
  [METRIC.minMaxRatio]: [0, 1],
  [METRIC.jainIndex]: [0.5, 1],
};

/** The scale for a metric with these values. */
export function heatScale(metric: string, values: number[]): HeatScale {
  const range = isShared(metric) ? RANGES[metric] : undefined;
  const low = Math.min(...values, range?.[0] ?? Infinity);
  const high = Math.max(...values, range?.[1] ?? -Infinity);
  return {
    kind: metric === METRIC.share ? "diverging" : "sequential",
    low,
    high,
    log: !range && values.length > 0 && wide(values),
  };
}

/** The place of a value between the ends of its scale, from 0 to 1. */
export function placeOn(scale: HeatScale, value: number): number {
  const f = scale.log ? Math.log : (x: number): number => x;
  const span = f(scale.high) - f(scale.low);
  return span > 0 ? Math.min(1, Math.max(0, (f(value) - f(scale.low)) / span)) : 0.5;
}

/**
 * Colours at even steps of a scale. Blue and orange differ for every kind of colour blindness;
 * sequential scales have one hue and differ in lightness.
 */
const RAMPS = {
  diverging: [
    ["#a9470a", "#dd8f52", "#f6f3ee", "#6ea3d4", "#0f5594"],
    ["#f0904a", "#9c5a2c", "#262d35", "#34699a", "#6bb5f7"],
  ],
  sequential: [
    ["#f3f6f9", "#bfd6ea", "#7fb0d8", "#3b80ba", "#0d4f8b"],
    ["#1b232c", "#1f3d59", "#2a6293", "#4a90cc", "#8ac6fb"],
  ],
} as const;

/**
 * Background of a cell at a place of the scale (0 to 1), and the text colour that reads best on it.
 */
export function heatColour(
  kind: HeatScale["kind"],
  place: number,
  dark: boolean,
): { back: string; ink: string } {
  const ramp = RAMPS[kind][dark ? 1 : 0];
  const at = Math.min(1, Math.max(0, place)) * (ramp.length - 1);
  const i = Math.min(Math.floor(at), ramp.length - 2);
  const part = (k: number): number =>
    Math.round(
      parseInt(ramp[i]!.slice(k, k + 2), 16) * (1 - at + i) +
        parseInt(ramp[i + 1]!.slice(k, k + 2), 16) * (at - i),
    );
  const back = `#${[1, 3, 5].map((k) => part(k).toString(16).padStart(2, "0")).join("")}`;
  return { back, ink: inkOn(back) };
}
