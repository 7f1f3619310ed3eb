import type { Phases } from "../../data/phases.ts";
import type { Pyramid } from "../../data/pyramid.ts";
import type { Causes } from "../../data/time-budget.ts";
import type { Waterfall } from "./waterfall.ts";

/** How a series is drawn. */
export type Style = "line" | "step" | "dots" | "cross" | "triangle" | "plus" | "rug" | "flight";

/** One series in a plot. */
export interface Layer {
  name: string;
  title: string;
  data: Pyramid;
  style: Style;
  colour: () => string;
  fill?: boolean;
  dash?: number[];
  width?: number;
  /** Draws single samples as dots on the line if there is room. */
  points?: boolean;
  /** Lets the axis cut the series off if it is far above all others (by half, at most). */
  bounded?: boolean;
  /** Time until which the last value holds, in the run's time; Infinity: to the end of the plot. */
  hold?: number;
  /** Of crossings: when each ends, the longest one, and from which height to which they go. */
  flight?: { ends: Float64Array; longest: number; from: number; to: number };
  shown: boolean;
}

/** A constant level, such as a link's rate. */
export interface Reference {
  name: string;
  value: number;
  colour: () => string;
}

/** A named instant, in the run's time. */
export interface Mark {
  t: number;
  label: string;
}

/** What one plot shows. */
export interface PanelSpec {
  id: string;
  title: string;
  unit: string;
  /** What stands at the value axis instead of values: the names of 0 and 1. */
  ends?: [string, string];
  /** True if the value axis always starts at zero. */
  zero: boolean;
  layers: Layer[];
  references: Reference[];
  marks: Mark[];
  /** Phases of congestion control, drawn as bands behind the plot; null if unknown. */
  phases: { data: Phases; shown: boolean } | null;
  /** What the time was spent on, as a strip below the plot. */
  causes?: Causes;
  /** True if the marks are named above the plot. */
  labels: boolean;
  /** How to read the plot. */
  howto: string;
  /** A remark on this run's series. */
  note?: string;
  /** Why the plot begins folded, shown beside its title; the plot is open if missing. */
  folded?: string;
  /** For plots of too many links to show at once: their number, and if all are drawn. */
  ofLinks?: { total: number; all: boolean };
  /** Objects instead of series. */
  waterfall?: Waterfall;
  height: number;
}

/** First and last instant of some layers, in the run's time; null if they have no samples. */
export function extentOf(layers: Layer[]): [number, number] | null {
  let lo = Infinity;
  let hi = -Infinity;
  for (const { data } of layers) {
    if (data.n === 0) continue;
    lo = Math.min(lo, data.t[0]!);
    hi = Math.max(hi, data.t[data.n - 1]!);
  }
  return hi >= lo ? [lo, hi] : null;
}
