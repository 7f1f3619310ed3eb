/** Numbers with units in a scenario, such as "2 MB" or 0.001, and the range of their sliders. */

/** A number and what follows it. */
export interface Quantity {
  value: number;
  unit: string;
}

/** Positions of a slider. */
export const STEPS = 120;
/** A slider goes from a tenth to ten times its middle. */
const SPAN = 10;

/** Reads "2 MB", "1.5 BDP" or "0.001"; null for anything else, such as names and lists. */
export function quantity(text: string): Quantity | null {
  const match = /^\s*(\d[\d_]*(?:\.\d+)?(?:e-?\d+)?)\s*([A-Za-z%µ]*)\s*$/.exec(text);
  if (!match) return null;
  const value = Number(match[1]!.replaceAll("_", ""));
  return Number.isFinite(value) ? { value, unit: match[2]! } : null;
}

/** Writes a quantity with three digits. */
export function written({ value, unit }: Quantity, whole = false): string {
  const rounded = Number(value.toPrecision(3));
  const number = whole ? Math.max(1, Math.round(rounded)) : rounded;
  const text = number.toString();
  return unit ? `${text} ${unit}` : text;
}

/** The value at a position of a slider whose middle is `middle`. */
export const atStep = (middle: number, step: number): number =>
  middle * SPAN ** ((2 * step) / STEPS - 1);

/** The position of a value. */
export function stepOf(middle: number, value: number): number {
  if (!(value > 0) || !(middle > 0)) return 0;
  const step = ((Math.log(value / middle) / Math.log(SPAN) + 1) * STEPS) / 2;
  return Math.min(STEPS, Math.max(0, Math.round(step)));
}
