import { significant, unitValue } from "../format/numbers.ts";
import { isTerminal } from "../panels/capacity.ts";
import { returnCapacity } from "../panels/overlay.ts";
import { isSplit, type Layer, partsOf } from "./byte-layers.ts";
import { type FlowId, visitOf } from "./flows.ts";
import { flowIn, pointKey } from "./groups.ts";
import type { Flow, Point, Report, Run, Trace } from "./schema.ts";

/** From this part of the return link's rate on, what goes against the data is worth a look; our choice. */
const MUCH = 0.2;
/** From this ratio on, variants differ in how often they acknowledge; our choice. */
const APART = 1.5;
/** Variants that a sentence names one by one. */
const NAMED = 3;

/** What goes against the data of one variant at one point, over its runs. Averages, so that the layers add up. */
export interface ReturnSide {
  variant: string;
  index: number;
  runs: number;
  /** Bytes of a run by layer, and all of them. */
  parts: { layer: Layer; bytes: number }[];
  total: number;
  /** Data packets to one that acknowledges; null where that was not counted. */
  dataPerAck: number | null;
  /** Mean rate against the data while it lasted, in kbps; null where no run completed. */
  rate: number | null;
  /** The part of the return link's rate that this is; null where that rate is not known. */
  share: number | null;
  /** The part of the bytes with data that all of this is; null where those were not counted. */
  overhead: number | null;
  /** Sizes of ACK frames, or of the options of TCP's pure ACKs, with their counts, ascending. */
  sizes: [bytes: number, frames: number][];
  sizesOf: "frames" | "options";
}

/** Whether a report has anything to say on return links that those of early versions have not. */
export function hasReturnSide(report: Report): boolean {
  const counted = (f: Flow): boolean =>
    (f.data_per_ack ?? null) !== null || isSplit(f.return_bytes);
  return (
    report.runs.some((r) => r.flows.some(counted)) ||
    report.traces.some((t) => t.flows.some((f) => f.series.return_rate !== undefined))
  );
}

/** The average of what is known; null where nothing is. */
function mean(values: (number | null | undefined)[]): number | null {
  const known = values.filter((v): v is number => typeof v === "number" && Number.isFinite(v));
  return known.length > 0 ? known.reduce((a, b) => a + b, 0) / known.length : null;
}

/** The return sides of all variants at a point, for one flow; without those that send nothing back. */
export function returnSides(report: Report, point: Point, flow: FlowId): ReturnSide[] {
  const at = pointKey(point);
  return report.variants.flatMap((variant, index): ReturnSide[] => {
    const visit = visitOf(report, variant, flow);
    const mine = (of: Run | Trace): boolean => of.variant === variant && pointKey(of.point) === at;
    const flows =
      visit === undefined
        ? []
        : report.runs.filter(mine).flatMap((run) => flowIn(run, { name: flow.name, visit }) ?? []);
    if (flows.length === 0) return [];
    const layers = flows.flatMap((f) => partsOf(f.return_bytes));
    const parts = [...new Set(layers.map((p) => p.layer))].map((layer) => ({
      layer,
      bytes: layers.reduce((sum, p) => sum + (p.layer === layer ? p.bytes : 0), 0) / flows.length,
    }));
    const total = parts.reduce((sum, p) => sum + p.bytes, 0);
    if (total === 0) return [];
    const rate = mean(
      flows.map((f) =>
        f.completion_s ? ((f.return_bytes.total ?? 0) * 8) / f.completion_s / 1000 : null,
      ),
    );
    const trace = report.traces.find(mine);
    const capacity = trace
      ? returnCapacity({ trace, upload: flows[0]!.direction === "upload" })
      : null;
    const sizes = new Map<number, number>();
    for (const f of flows)
      for (const [bytes, n] of Object.entries(
        (f.ack_frame_bytes ?? f.ack_option_bytes)?.counts ?? {},
      ))
        sizes.set(Number(bytes), (sizes.get(Number(bytes)) ?? 0) + n);
    return [
      {
        variant,
        index,
        runs: flows.length,
        parts,
        total,
        dataPerAck: mean(flows.map((f) => f.data_per_ack)),
        rate,
        share: rate !== null && capacity !== null && capacity > 0 ? rate / capacity : null,
        overhead: mean(
          flows.map((f) => (f.bytes_sent ? (f.return_bytes.total ?? 0) / f.bytes_sent : null)),
        ),
        sizes: [...sizes].sort(([a], [b]) => a - b),
        sizesOf: flows.some((f) => f.ack_frame_bytes) ? "frames" : "options",
      },
    ];
  });
}

/** Whether the return link is worth a look: much of it is used, variants acknowledge differently, or its capacity is allocated. */
export function isNoteworthy(report: Report, sides: ReturnSide[]): boolean {
  const ratios = sides.flatMap((s) => s.dataPerAck ?? []).filter((r) => r > 0);
  return (
    sides.some((s) => s.share !== null && s.share >= MUCH) ||
    Math.max(...ratios) >= APART * Math.min(...ratios) ||
    report.traces.some((t) => t.links.some(isTerminal))
  );
}

/** A value of one variant. */
interface Of {
  name: string;
  value: number;
}

const known = (sides: ReturnSide[], of: (s: ReturnSide) => number | null): Of[] =>
  sides.flatMap((s) => {
    const value = of(s);
    return value === null ? [] : [{ name: s.variant, value }];
  });

/** Values of variants in words: one where all read the same, each where they are few, else the least and the greatest. */
function spread(values: Of[], words: (value: number) => string): string {
  if (new Set(values.map((v) => words(v.value))).size === 1) return words(values[0]!.value);
  const named = (v: Of): string => `${words(v.value)} (${v.name})`;
  if (values.length <= NAMED) return values.map(named).join(", ");
  const sorted = [...values].sort((a, b) => a.value - b.value);
  return `${named(sorted[0]!)} to ${named(sorted.at(-1)!)}`;
}

/** The least and the greatest, without names. */
function range(values: Of[], words: (value: number) => string): string {
  const ends = [
    Math.min(...values.map((v) => v.value)),
    Math.max(...values.map((v) => v.value)),
  ].map(words);
  return [...new Set(ends)].join(" to ");
}

/** The part that some layers are of all bytes; null where none of them is there. */
const part = (s: ReturnSide, keys: string[]): number | null => {
  const own = s.parts.filter((p) => keys.includes(p.layer.key));
  return own.length > 0 ? own.reduce((sum, p) => sum + p.bytes, 0) / s.total : null;
};

/** Two digits are enough for a share in a sentence. */
const share = (x: number): string => `${significant(x * 100, 2)}\u00a0%`;

/** What is to be known of the return links, in up to three sentences. */
export function returnFacts(sides: ReturnSide[]): string[] {
  const out: string[] = [];
  const perAck = known(sides, (s) => s.dataPerAck);
  if (perAck.length > 0) out.push(`Data packets to an ACK: ${spread(perAck, significant)}.`);
  const rates = known(sides, (s) => s.rate);
  const shares = known(sides, (s) => s.share);
  if (rates.length > 0)
    out.push(
      `Return rate: ${spread(rates, (v) => unitValue("kbps", v))} on average${shares.length > 0 ? `, which is ${range(shares, share)} of the return link's rate` : ""}.`,
    );
  const overhead = known(sides, (s) => s.overhead);
  const headers = known(sides, (s) => part(s, ["ip", "udp", "tcp"]));
  const acks = known(sides, (s) => part(s, ["ack"]));
  const made =
    headers.length > 0
      ? `headers of IP, UDP and TCP are ${range(headers, share)} of them${acks.length > 0 ? `, ACK frames ${range(acks, share)}` : ""}`
      : "";
  if (overhead.length > 0)
    out.push(
      `Return bytes are ${range(overhead, share)} of the bytes with the data${made && `; ${made}`}.`,
    );
  else if (made) out.push(`Of the return bytes, ${made.replace(" of them", "")}.`);
  return out;
}
