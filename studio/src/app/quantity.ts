/** Numbers with units in a scenario, such as "2 MB" or 0.001, and places of sliders. */

/** A number and what follows it. */
export interface Quantity {
  value: number;
  unit: string;
}

/** Positions of a slider. */
export const STEPS = 240;

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

/** The ends of a slider; equal steps are equal ratios. */
export interface Ends {
  least: number;
  most: number;
}

/** The value at a position of a slider. */
export const atStep = ({ least, most }: Ends, step: number): number =>
  least * (most / least) ** (step / STEPS);

/** The position of a value. */
export function stepOf({ least, most }: Ends, value: number): number {
  if (!(value > 0) || !(least > 0) || !(most > least)) return 0;
  const step = (Math.log(value / least) / Math.log(most / least)) * STEPS;
  return Math.min(STEPS, Math.max(0, Math.round(step)));
}
