import type { Series } from "./blob.ts";
import { SERIES } from "./names.ts";
import { lowerBound, type Pyramid, pyramid, sampleAt } from "./pyramid.ts";
import type { FlowSeries } from "./report.types.ts";
import type { SeriesCache } from "./series-cache.ts";

/** Crossings: each begins at a sample of `data`, and ends at the time of the same index. */
export interface Flights {
  data: Pyramid;
  ends: Float64Array;
  /** The longest of them, in seconds. */
  longest: number;
}

/** The packets and ACKs of a flow between its sender and its receiver. */
export interface Crossings {
  /** Packets, from their sending to the sending of the first ACK that covers them. */
  packets: Flights;
  acks: Flights;
  /** Packets that a link dropped, until it did. */
  dropped: Flights;
  /** True if it was recorded when ACKs left; else half of the smallest RTT is their way. */
  recorded: boolean;
}

/**
 * An ACK frame is the first of a burst if the one before left this part of an RTT earlier, and so
 * arrived before.
 */
const ALONE = 0.75;

/** ACK frames that left within this part of an RTT of each other may arrive together. */
const NEAR = 0.1;
/** ACKs differ in size, and so in their way, by up to this part of an RTT. */
const SLACK = 5e-4;

function flights(list: [from: number, to: number, value: number][]): Flights {
  const t = Float64Array.from(list, ([from]) => from);
  const v = Float32Array.from(list, ([, , value]) => value);
  const ends = Float64Array.from(list, ([, to]) => to);
  const longest = list.reduce((most, [from, to]) => Math.max(most, to - from), 0);
  return { data: pyramid({ t, v }), ends, longest };
}

/**
 * The shortest way of ACKs to the sender: that of an ACK frame with none shortly before it, which
 * is thus known to be the one that arrived next. Half of the RTT without any.
 */
function wayBack(left: Float64Array, arrived: Float64Array, rtt: number): number {
  let least = Infinity;
  left.forEach((at, i) => {
    if (at - (left[i - 1] ?? -Infinity) < ALONE * rtt) return;
    const next = arrived[lowerBound(arrived, at + 0.25 * rtt)];
    if (next !== undefined && next - at < 0.75 * rtt) least = Math.min(least, next - at);
  });
  return Number.isFinite(least) ? least : rtt / 2;
}

/**
 * When the ACKs that arrived had left: the last ones that can have arrived by then, each once if
 * another left shortly before; two samples of one ACK share its departure.
 */
function departures(left: Float64Array | null, arrived: Float64Array, rtt: number): Float64Array {
  if (!left) return arrived.map((at) => at - rtt / 2);
  const way = wayBack(left, arrived, rtt);
  const out = new Float64Array(arrived.length);
  let used = left.length;
  for (let j = arrived.length - 1; j >= 0; j--) {
    const latest = lowerBound(left, arrived[j]! - way + SLACK * rtt) - 1;
    const unused = Math.min(latest, used - 1);
    const near = unused >= 0 && left[latest]! - left[unused]! < NEAR * rtt;
    used = near ? unused : latest;
    out[j] = left[used] ?? Number.NaN;
  }
  return out;
}

/** Drops of a flow's packets by links: the time of each, by position. */
function dropsOf(flow: FlowSeries, cache: SeriesCache): Map<number, number> {
  const { droppedPolicer, droppedQueue, droppedChannel, droppedRouting } = SERIES;
  const drops = new Map<number, number>();
  for (const key of [droppedPolicer, droppedQueue, droppedChannel, droppedRouting]) {
    const series = cache.get(flow.series[key]);
    series?.v.forEach((position, i) => drops.set(position, series.t[i]!));
  }
  return drops;
}

/** The highest value until each sample. */
function highest({ t, v }: Series): Series {
  let most = -Infinity;
  return { t, v: v.map((value) => (most = Math.max(most, value))) };
}

/**
 * The packets and ACKs of a flow, from what the sender, the receiver and the links recorded of
 * them; `rtt` is its smallest RTT in seconds. Null if the sender recorded no packets or no ACKs.
 */
export function crossingsOf(flow: FlowSeries, cache: SeriesCache, rtt: number): Crossings | null {
  const [sent, acked, left] = [SERIES.sent, SERIES.acked, SERIES.ackFrameBytes].map((key) =>
    cache.get(flow.series[key]),
  );
  if (!sent || !acked || !(rtt > 0)) return null;
  const departed = departures(left?.t ?? null, acked.t, rtt);
  const covered = highest(acked);
  const drops = dropsOf(flow, cache);
  const packets: [number, number, number][] = [];
  const dropped: [number, number, number][] = [];
  sent.v.forEach((position, i) => {
    const from = sent.t[i]!;
    const drop = drops.get(position);
    if (drop !== undefined && drop >= from) {
      dropped.push([from, drop, position]);
      return;
    }
    // The first ACK after it that covers it.
    const to = departed[lowerBound(covered.v, position, sampleAt(covered, from) + 1)];
    if (to !== undefined && to > from) packets.push([from, to, position]);
  });
  const acks = [...departed].flatMap((from, j): [number, number, number][] =>
    Number.isNaN(from) ? [] : [[from, acked.t[j]!, acked.v[j]!]],
  );
  return {
    packets: flights(packets),
    acks: flights(acks),
    dropped: flights(dropped),
    recorded: left !== null,
  };
}
