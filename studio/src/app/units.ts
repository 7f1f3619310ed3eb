/** Units of quantities in scenarios, with their size in the unit that they are compared in. */
import { type Quantity, quantity } from "./quantity.ts";

/** What a quantity measures. */
export type Kind = "time" | "rate" | "size" | "BDP" | "number";

const TIMES: Record<string, number> = { us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };
const RATES: Record<string, number> = { bps: 1, kbps: 1e3, Mbps: 1e6, Gbps: 1e9 };
const SIZES: Record<string, number> = {
  ...{ B: 1, kB: 1e3, MB: 1e6, GB: 1e9 },
  ...{ KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 },
};
const PLAIN: Record<string, number> = { "": 1, "%": 0.01 };

const KINDS: [Kind, Record<string, number>][] = [
  ["time", TIMES],
  ["rate", RATES],
  ["size", SIZES],
  ["BDP", { BDP: 1 }],
  ["number", PLAIN],
];

/** Units in which values are written, from the smallest. */
const WRITTEN: Record<Kind, string[]> = {
  time: ["us", "ms", "s"],
  rate: ["bps", "kbps", "Mbps", "Gbps"],
  size: ["B", "kB", "MB", "GB"],
  BDP: ["BDP"],
  number: [""],
};

/** A value in the unit of its kind: seconds, bit/s, bytes, bandwidth-delay products. */
export interface Measured {
  kind: Kind;
  value: number;
}

/** Reads "2 MB" or "0.001"; null for what is no number with a unit of this list. */
export function measured(text: string): Measured | null {
  const read = quantity(text);
  if (!read) return null;
  for (const [kind, units] of KINDS) {
    const size = Object.hasOwn(units, read.unit) ? units[read.unit] : undefined;
    if (size !== undefined) return { kind, value: read.value * size };
  }
  return null;
}

/** Unit and size with which people write values of about this size. */
export function unitFor({ kind, value }: Measured): { unit: string; size: number } {
  const sizes = KINDS.find(([one]) => one === kind)![1];
  const units = WRITTEN[kind].map((unit) => ({ unit, size: sizes[unit]! }));
  // A second is not written as 1,000 ms, but 650 ms not as 0.65 s.
  return units.findLast(({ size }) => value >= size * 0.9995) ?? units[0]!;
}

/** A value as a quantity in a scenario. */
export function asQuantity(of: Measured): Quantity {
  const { unit, size } = unitFor(of);
  return { value: of.value / size, unit };
}
