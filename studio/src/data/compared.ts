/**
 * How two values of a metric are compared: as a ratio (times, rates, bytes, factors), or by their
 * difference: of shares in percentage points, of scores and counts as it is.
 */
export type Compared = "ratio" | "points" | "difference";

/** Units of quantities whose ratio is what people say: "3 times as fast". */
const OF_RATIOS: readonly string[] = ["s", "ms", "bytes", "Mbps", "kbps"];

/** Numbers without a unit that are ratios themselves. */
const FACTORS = /slowdown$|^data_per_ack$/;

/** Packets of a transfer, which are an amount as its bytes are; other packets are events. */
const AMOUNTS = /^(packets|packets_sent|reverse_packets|reverse_acks|reverse_acks_only)$/;

/**
 * How values of a metric are compared. Scores begin anywhere (mean opinion scores at 1), shares end
 * at 100 %, and counts of events begin at none, so that a ratio of them says little or nothing.
 */
export function comparedBy(name: string, unit: string): Compared {
  if (unit === "%" || unit === "fraction") return "points";
  if (OF_RATIOS.includes(unit) || FACTORS.test(name) || AMOUNTS.test(name)) return "ratio";
  return "difference";
}

/** Smallest difference that counts as one, as a share of the smaller value. Our choice. */
const LEAST = 0.01;

/** True if two values differ by more than a per cent: others may read the same in three digits. */
export const isApart = (a: number, b: number): boolean =>
  Math.abs(a - b) > LEAST * Math.min(Math.abs(a), Math.abs(b)) * (1 + 1e-12);

/** What stands for no difference. */
export const evenOf = (by: Compared): number => (by === "ratio" ? 1 : 0);

/** A value beside a reference: their ratio, or their difference. A ratio over 0 is infinite. */
export function changeOf(by: Compared, value: number, reference: number): number {
  if (by !== "ratio") return value - reference;
  return reference === 0 ? (value === 0 ? 1 : Infinity) : value / reference;
}
