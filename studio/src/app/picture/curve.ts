/** What a picture is drawn from, whatever it shows. */
import type { Scale } from "../../format/numbers.ts";

/** One line, of which times or values of a sweep ascend. */
export interface Curve {
  /** What stands at its end. */
  name: string;
  /** What its last value is, in words. */
  end: string;
  /** Index of its colour. */
  index: number;
  /** Of the pinned run, behind those of the run that is shown. */
  isGhost: boolean;
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  /** Whether a value holds until the next one. */
  isStep: boolean;
  /** Whether each value has a mark. */
  hasMarks: boolean;
}

/** An axis with lines: the time, or a swept key. */
export interface LineScale {
  label: string;
  scale: Scale;
  log: boolean;
  /** Names of values that are no numbers, at 0, 1, 2, …; null if they are numbers. */
  names: string[] | null;
}

/** Lines over one axis. */
export interface LinePicture {
  kind: "lines";
  title: string;
  curves: Curve[];
  x: LineScale;
  y: LineScale;
}

/** One bar. */
export interface Bar {
  name: string;
  index: number;
  value: number | null;
  words: string;
  /** The value of the pinned run, if there is one. */
  ghost: number | null;
  /** The change from that, in words. */
  change: string;
}

/** Bars from zero. */
export interface BarPicture {
  kind: "bars";
  title: string;
  bars: Bar[];
  scale: Scale;
}

/** What can be drawn. */
export type Drawn = LinePicture | BarPicture;
