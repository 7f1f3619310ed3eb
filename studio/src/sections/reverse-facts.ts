import { ACKS, HEADERS } from "../data/byte-layers.ts";
import type { ReverseTraffic } from "../data/reverse.ts";
import { significant, unitValue } from "../format/numbers.ts";

/** Variants that a sentence names one by one. */
const NAMED = 3;

/** A value of one variant. */
interface Of {
  name: string;
  value: number;
}

const known = (all: ReverseTraffic[], of: (s: ReverseTraffic) => number | null): Of[] =>
  all.flatMap((s) => {
    const value = of(s);
    return value === null ? [] : [{ name: s.variant, value }];
  });

/**
 * Values of variants in words: one if all read the same, each with its variant if they are few,
 * else the smallest and the largest.
 */
function spread(values: Of[], words: (value: number) => string): string {
  if (new Set(values.map((v) => words(v.value))).size === 1) return words(values[0]!.value);
  const named = (v: Of): string => `${words(v.value)} (${v.name})`;
  if (values.length <= NAMED) return values.map(named).join(", ");
  const sorted = [...values].sort((a, b) => a.value - b.value);
  return `${named(sorted[0]!)} to ${named(sorted.at(-1)!)}`;
}

/** Per cent with two digits, which is enough in a sentence. */
const share = (x: number): string => `${significant(x * 100, 2)}\u00a0%`;

/** The smallest and the largest share, without the names of variants. */
function range(values: Of[]): string {
  const numbers = values.map((v) => v.value);
  return [...new Set([Math.min(...numbers), Math.max(...numbers)].map(share))].join(" to ");
}

/** What some layers make of all bytes; null if none of them is there. */
const part = (s: ReverseTraffic, keys: string[]): number | null => {
  const own = s.parts.filter((p) => keys.includes(p.layer.key));
  return own.length > 0 ? own.reduce((sum, p) => sum + p.bytes, 0) / s.total : null;
};

/** The reverse traffic in up to three sentences. */
export function reverseFacts(all: ReverseTraffic[]): string[] {
  const out: string[] = [];
  const perAck = known(all, (s) => s.dataPerAck);
  if (perAck.length > 0) out.push(`Data packets per ACK: ${spread(perAck, significant)}.`);
  const rates = known(all, (s) => s.rate);
  const shares = known(all, (s) => s.share);
  const ofLink = shares.length > 0 ? `, ${range(shares)} of the link's rate` : "";
  // What is sent is counted before the link, which may drop it or be slower.
  const beyond = shares.some((s) => s.value > 1) ? "; what exceeds it waits or is dropped" : "";
  if (rates.length > 0)
    out.push(
      `Mean reverse rate offered to the link: ` +
        `${spread(rates, (v) => unitValue("kbps", v))}${ofLink}${beyond}.`,
    );
  const overhead = known(all, (s) => s.overhead);
  const headers = known(all, (s) => part(s, HEADERS));
  const acks = known(all, (s) => part(s, ACKS));
  const ackPart = acks.length > 0 ? `, ACK frames ${range(acks)}` : "";
  const made = headers.length > 0 ? `IP, UDP and TCP headers make ${range(headers)}` : "";
  if (overhead.length > 0) {
    const first = `Reverse bytes are ${range(overhead)} of the bytes sent with the data`;
    out.push(`${first}${made && `; ${made} of them${ackPart}`}.`);
  } else if (made) out.push(`${made} of the reverse bytes${ackPart}.`);
  return out;
}
