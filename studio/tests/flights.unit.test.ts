import { expect, it } from "vitest";
import { crossingsOf } from "../src/data/flights.ts";
import type { FlowSeries } from "../src/data/report.types.ts";
import { SeriesCache } from "../src/data/series-cache.ts";
import { BlobWriter } from "./blobwriter.ts";

/** A flow with these series: times, and values. */
function flowOf(series: Record<string, [number[], number[]]>) {
  const blob = new BlobWriter();
  const refs = Object.entries(series).map(([name, [t, v]]) => [name, blob.add({ t, v }, "bytes")]);
  const flow = { name: "main", visit: 1, start_s: 0, marks: [], phases: [] };
  return {
    flow: { ...flow, series: Object.fromEntries(refs) } as unknown as FlowSeries,
    cache: new SeriesCache(blob.bytes().buffer as ArrayBuffer),
  };
}

/** Five packets over a path of 100 ms there and back, in two bursts; the third is dropped. */
const SENT: [number[], number[]] = [
  [0, 1, 1.001, 1.002, 1.003],
  [1000, 2000, 3000, 4000, 5000],
];
const ACKED: [number[], number[]] = [
  [0.1, 1.101, 1.103],
  [1000, 2000, 5000],
];
const ACKS_LEFT: [number[], number[]] = [
  [0.05, 1.051, 1.053],
  [20, 20, 20],
];
const DROPPED: [number[], number[]] = [[1.0015], [3000]];

it("ends packets where the ACK that reports them left, and dropped ones where they were", () => {
  const { flow, cache } = flowOf({
    sent: SENT,
    acked: ACKED,
    ack_frame_bytes: ACKS_LEFT,
    dropped_queue: DROPPED,
  });
  const { packets, acks, dropped, recorded } = crossingsOf(flow, cache, 0.1)!;
  expect(recorded).toBe(true);
  expect([...packets.data.v]).toEqual([1000, 2000, 4000, 5000]);
  expect([...packets.ends]).toEqual([0.05, 1.051, 1.053, 1.053]);
  expect([...acks.data.t]).toEqual([0.05, 1.051, 1.053]);
  expect([...acks.ends]).toEqual(ACKED[0]);
  expect([...dropped.data.t]).toEqual([1.001]);
  expect([...dropped.ends]).toEqual([1.0015]);
  expect(packets.longest).toBeCloseTo(0.051, 9);
});

it("lets ACKs that arrive together leave one after the other, and samples share one", () => {
  const { flow, cache } = flowOf({
    sent: SENT,
    acked: [
      [0.1, 1.11, 1.11, 1.11],
      [1000, 2000, 4000, 5000],
    ],
    ack_frame_bytes: ACKS_LEFT,
  });
  const { acks } = crossingsOf(flow, cache, 0.1)!;
  // Three samples and two ACKs: the earliest sample shares the ACK of the next one.
  expect([...acks.data.t].slice(1).every((t) => t > 1)).toBe(true);
  expect(new Set(acks.data.t)).toEqual(new Set(ACKS_LEFT[0]));
});

it("takes the way back from the first ACK of a burst, which may be a little less than half", () => {
  // The last one leaves while others are on their way.
  const left = [1, 1.001, 1.002, 1.03];
  const { flow, cache } = flowOf({
    sent: [
      [0.94, 0.941, 0.942, 0.97],
      [1000, 2000, 3000, 4000],
    ],
    acked: [left.map((t) => t + 0.049), [1000, 2000, 3000, 4000]],
    ack_frame_bytes: [left, left],
  });
  expect([...crossingsOf(flow, cache, 0.1)!.acks.data.t]).toEqual(left);
});

it("computes when ACKs left if that was not recorded, and says so", () => {
  const { flow, cache } = flowOf({ sent: SENT, acked: ACKED });
  const { packets, recorded } = crossingsOf(flow, cache, 0.1)!;
  expect(recorded).toBe(false);
  expect(packets.ends[0]).toBeCloseTo(0.05, 9);
});

it("has nothing of flows without packets, ACKs or RTT", () => {
  const { flow, cache } = flowOf({ sent: SENT });
  expect(crossingsOf(flow, cache, 0.1)).toBeNull();
  const other = flowOf({ sent: SENT, acked: ACKED });
  expect(crossingsOf(other.flow, other.cache, 0)).toBeNull();
});
