/** Transfers of a report: when each part of the data left, arrived and was acknowledged. */
import type { Series } from "../../data/blob.ts";
import { SERIES } from "../../data/names.ts";
import { lowerBound } from "../../data/pyramid.ts";
import type { Flow, FlowSeries, Report } from "../../data/report.types.ts";
import type { SeriesCache } from "../../data/series-cache.ts";

/** Parts that a transfer is drawn as. */
const PARTS = 200;

/** A part of the data. Times are in seconds since what counts as zero. */
export interface Part {
  /** It is handed to the path, and waits in its queue. */
  sent: number;
  /** It leaves the queue. */
  departs: number;
  arrives: number;
  /** Its acknowledgement is back at the sender. */
  acknowledged: number;
}

/** A transfer of one variant, over a path whose one-way delay is `oneWay`. */
export interface Transfer {
  variant: string;
  index: number;
  oneWay: number;
  /** Messages that cross before the data: of the handshake, and the request. */
  before: { departs: number; toServer: boolean }[];
  parts: Part[];
  /** Null if it never completed. */
  completion: number | null;
  /** Share of the data that the application has at a time. */
  delivered(time: number): number;
}

/** Time at which an ascending series reaches `level`; its last time if it never does. */
const timeOf = ({ t, v }: Series, level: number): number =>
  t[Math.min(lowerBound(v, level), t.length - 1)]!;

/** A series without the values below an earlier one, such as those of retransmissions. */
function ascending({ t, v }: Series): Series {
  const kept: [number, number][] = [];
  let most = -1;
  for (let i = 0; i < t.length; i++) {
    if (v[i]! <= most) continue;
    most = v[i]!;
    kept.push([t[i]!, most]);
  }
  return {
    t: Float64Array.from(kept, ([time]) => time),
    v: Float32Array.from(kept, ([, value]) => value),
  };
}

/** What a transfer is made from. */
interface Asked {
  variant: string;
  index: number;
  flow: FlowSeries;
  /** What the flow measured, if that is known. */
  result: Flow | undefined;
  /** Delay from end to end, in seconds; 0 if it is unknown. */
  oneWay: number;
  /** The time of the run that counts as zero, in seconds. */
  zero: number;
}

/** The transfer of a flow; null if it or its path is not known well enough. */
export function transferOf(asked: Asked, cache: SeriesCache): Transfer | null {
  const { variant, index, flow, result, oneWay, zero } = asked;
  const [sent, acked, received] = [SERIES.sent, SERIES.acked, SERIES.received].map((name) => {
    const series = cache.get(flow.series[name]);
    return series && ascending({ t: series.t, v: series.v });
  });
  if (oneWay <= 0 || !sent?.t.length || !acked?.t.length || !received?.t.length) return null;
  const total = sent.v.at(-1)!;
  const parts = Array.from({ length: PARTS }, (_, i): Part => {
    const level = (total * (i + 0.5)) / PARTS;
    const leaves = timeOf(sent, level) - zero;
    const acknowledged = Math.max(timeOf(acked, level) - zero, leaves + 2 * oneWay);
    const arrives = acknowledged - oneWay;
    return { sent: leaves, departs: arrives - oneWay, arrives, acknowledged };
  });
  // The first data leave after a whole number of crossings, of which the last is the request.
  const crossings = Math.round((sent.t[0]! - flow.start_s) / oneWay);
  const before = Array.from({ length: crossings }, (_, i) => ({
    departs: flow.start_s - zero + i * oneWay,
    toServer: (crossings - i) % 2 === 1,
  }));
  const completion = result?.completion_s ?? null;
  const end = completion === null ? Infinity : flow.start_s - zero + completion;
  const size = received.v.at(-1)!;
  const delivered = (time: number): number => {
    if (time >= end) return 1;
    const i = lowerBound(received.t, time + zero) - 1;
    return i < 0 ? 0 : received.v[i]! / size;
  };
  return { variant, index, oneWay, before, parts, completion, delivered };
}

/** A transfer that completed. */
export type Completed = Transfer & { completion: number };

/** The transfers of a report's first runs, each on the last visit of its first flow. */
export function transfersOf(report: Report, cache: SeriesCache): Completed[] {
  const oneWay = (report.path?.rtt_ms ?? 0) / 2000;
  return report.variants.flatMap((variant, index) => {
    const trace = report.traces.find((one) => one.variant === variant);
    const flow = trace?.flows.at(-1);
    if (!trace || !flow) return [];
    const run = report.runs.find((one) => one.variant === variant && one.run === trace.run);
    const result = run?.flows.find((one) => one.name === flow.name && one.visit === flow.visit);
    const asked = { variant, index, flow, result, oneWay, zero: flow.start_s };
    const made = transferOf(asked, cache);
    return made?.completion ? [made as Completed] : [];
  });
}
