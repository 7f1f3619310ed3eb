import { BYTE_LAYERS } from "./byte-layers.ts";
import type { Flow } from "./schema.ts";

/** Names of metrics that the page knows, as results and summaries give them. */
export const METRIC = {
  completion: "completion_s",
  goodput: "goodput_mbps",
  firstByte: "first_byte_s",
  handshake: "handshake_s",
  bytesSent: "bytes_sent",
  packetsSent: "packets_sent",
  lostPolicer: "packets_lost_policer",
  lostQueue: "packets_lost_queue",
  lostChannel: "packets_lost_random",
  lostRouting: "packets_lost_route",
  declaredLost: "packets_declared_lost",
  blocked: "flow_control_blocked_s",
  blockedLongest: "flow_control_blocked_longest_s",
  receiveBuffer: "receive_held_most",
  receiveWindow: "receive_window_most",
  rttMin: "rtt_min_ms",
  rttMean: "rtt_mean_ms",
  rttP99: "rtt_p99_ms",
  reversePackets: "return_packets",
  reverseBytes: "return_bytes",
  reverseOverhead: "return_overhead_percent",
  reverseAcks: "return_acks",
  reverseAcksOnly: "return_acks_only",
  dataPerAck: "data_per_ack",
  proxyBuffer: "pep_held_bytes",
  proxyAcksDropped: "pep_acks_dropped",
  /** Computed by the page: goodput of the first of two competing flows over the sum of both. */
  share: "share",
  jainIndex: "jain",
  minMaxRatio: "share_ratio",
  aggregateGoodput: "aggregate_mbps",
  bottleneckUtilisation: "bottleneck_utilisation",
  bottleneckQueue: "bottleneck_queue_ms",
  convergence: "convergence_s",
} as const;

/** The reverse bytes of all layers together. */
export const REVERSE_TOTAL = `${METRIC.reverseBytes}.total`;

/** How a metric is named, scaled and judged. */
export interface Metric {
  key: string;
  label: string;
  /** Unit of the stored values; `fraction` is shown in per cent. */
  unit: string;
  /** Which direction is better, if either is. */
  better: "lower" | "higher" | null;
}

type Known = Partial<Omit<Metric, "key">> & { label: string };

/** What the page knows of a metric beyond its name. Units not given here follow from the name. */
const KNOWN: Record<string, Known> = {
  [METRIC.share]: { label: "Share of the first flow", unit: "%" },
  [METRIC.jainIndex]: { label: "Jain's index", better: "higher" },
  [METRIC.minMaxRatio]: { label: "Min-max goodput ratio", unit: "%", better: "higher" },
  [METRIC.aggregateGoodput]: { label: "Aggregate goodput", better: "higher" },
  [METRIC.bottleneckUtilisation]: {
    label: "Bottleneck utilisation",
    unit: "fraction",
    better: "higher",
  },
  [METRIC.bottleneckQueue]: { label: "Bottleneck queueing delay" },
  [METRIC.convergence]: { label: "Convergence time" },
  [METRIC.completion]: { label: "Completion time" },
  [METRIC.goodput]: { label: "Goodput", better: "higher" },
  [METRIC.firstByte]: { label: "Time to first byte" },
  [METRIC.handshake]: { label: "Handshake time" },
  [METRIC.blocked]: { label: "Time blocked by flow control" },
  [METRIC.blockedLongest]: { label: "Longest time blocked by flow control" },
  [METRIC.receiveBuffer]: { label: "Largest receive buffer", unit: "B" },
  [METRIC.receiveWindow]: { label: "Largest receive window", unit: "B" },
  [METRIC.dataPerAck]: { label: "Data packets per ACK" },
  [METRIC.bytesSent]: { label: "Bytes sent" },
  [METRIC.reverseOverhead]: { label: "Reverse overhead" },
  [METRIC.reverseAcks]: { label: "Reverse packets with an ACK" },
  [METRIC.reverseAcksOnly]: { label: "Reverse packets with only an ACK" },
  ack_frame_min_bytes: { label: "Smallest ACK frame" },
  ack_frame_median_bytes: { label: "Median ACK frame" },
  ack_frame_p99_bytes: { label: "ACK frame, 99th percentile" },
  ack_frame_max_bytes: { label: "Largest ACK frame" },
  [METRIC.packetsSent]: { label: "Packets sent" },
  [METRIC.lostPolicer]: { label: "Packets dropped by a policer" },
  [METRIC.lostQueue]: { label: "Packets dropped by a queue" },
  [METRIC.lostChannel]: { label: "Packets lost on the channel" },
  [METRIC.lostRouting]: { label: "Packets lost to routing" },
  [METRIC.declaredLost]: { label: "Packets declared lost" },
  [METRIC.reversePackets]: { label: "Reverse packets" },
  [METRIC.reverseBytes]: { label: "Reverse bytes" },
  [REVERSE_TOTAL]: { label: "Reverse bytes" },
  ...Object.fromEntries(
    BYTE_LAYERS.map(({ key, name }) => [
      `${METRIC.reverseBytes}.${key}`,
      { label: `Reverse bytes, ${name}` },
    ]),
  ),
  [METRIC.proxyBuffer]: { label: "Largest proxy buffer" },
  [METRIC.proxyAcksDropped]: { label: "ACKs dropped by the proxy" },
  [METRIC.rttMin]: { label: "Minimum RTT" },
  [METRIC.rttMean]: { label: "Mean RTT" },
  [METRIC.rttP99]: { label: "RTT, 99th percentile" },
};

/** Units by the parts of a metric's name. */
const UNITS: [RegExp, string][] = [
  [/_percent(\.|$)/, "%"],
  [/_s$/, "s"],
  [/_ms$/, "ms"],
  [/_mbps$/, "Mbps"],
  [/(^|_)bytes(_|$|\.)/, "B"],
];

/** Looks a metric up. An unknown name is made readable and takes its unit from its ending. */
export function metricOf(key: string): Metric {
  const known = Object.hasOwn(KNOWN, key) ? KNOWN[key] : undefined;
  const unit = known?.unit ?? UNITS.find(([pattern]) => pattern.test(key))?.[1] ?? "";
  const words = key.replace(/_(s|ms|mbps)$|_percent(?=\.|$)/, "").replace(/[_.]/g, " ");
  const lower = unit === "s" || unit === "ms" || /lost/.test(key);
  return {
    key,
    label: known?.label ?? words.charAt(0).toUpperCase() + words.slice(1),
    unit,
    better: known?.better ?? (lower ? "lower" : null),
  };
}

/** Metrics of all flows of a run together, rather than of one of them. */
export const RUN_METRICS: readonly string[] = [
  METRIC.share,
  METRIC.jainIndex,
  METRIC.minMaxRatio,
  METRIC.aggregateGoodput,
  METRIC.bottleneckUtilisation,
  METRIC.bottleneckQueue,
  METRIC.convergence,
];

/** True if a metric is of all flows of a run together. */
export function isShared(metric: string): boolean {
  return RUN_METRICS.includes(metric);
}

/** Metrics offered first: usually, and if every flow lasts for a set time. */
export const FIRST = [METRIC.completion, METRIC.goodput, METRIC.firstByte, METRIC.handshake];
export const FIRST_OF_TIMED = [
  METRIC.minMaxRatio,
  METRIC.jainIndex,
  METRIC.aggregateGoodput,
  METRIC.goodput,
];

/** Metrics that together say how the flows of a run shared the path: columns of one table. */
export const SHARING: readonly string[] = FIRST_OF_TIMED;

/** Metrics among the facts of a run, in this order. */
export const RUN_FACTS: readonly string[] = [
  METRIC.completion,
  METRIC.goodput,
  METRIC.handshake,
  METRIC.firstByte,
  METRIC.rttMin,
  METRIC.rttMean,
  METRIC.rttP99,
  METRIC.packetsSent,
  METRIC.lostPolicer,
  METRIC.lostQueue,
  METRIC.lostChannel,
  METRIC.lostRouting,
  METRIC.declaredLost,
  METRIC.blocked,
  METRIC.blockedLongest,
  METRIC.proxyBuffer,
  METRIC.proxyAcksDropped,
  METRIC.reversePackets,
  METRIC.dataPerAck,
];

const finite = (x: unknown): number | null =>
  typeof x === "number" && Number.isFinite(x) ? x : null;

/** The value of a metric of one flow: its own numbers, and reverse bytes by layer. */
export function flowMetric(flow: Flow, metric: string): number | null {
  const [base, layer] = metric.split(".", 2) as [string, string?];
  if (base === METRIC.reverseBytes) return finite(flow.return_bytes[layer ?? "total"]);
  const size = /^ack_frame_(min|median|p99|max)_bytes$/.exec(metric)?.[1];
  if (size) return finite(flow.ack_frame_bytes?.[size as "min" | "median" | "p99" | "max"]);
  if (base === METRIC.reverseOverhead && layer !== undefined) {
    const part = flowMetric(flow, `${METRIC.reverseBytes}.${layer}`);
    return part !== null && flow.bytes_sent ? (100 * part) / flow.bytes_sent : null;
  }
  return Object.hasOwn(flow, metric)
    ? finite((flow as unknown as Record<string, unknown>)[metric])
    : null;
}

/** True if ACKs of a flow were counted; results of early versions lack that. */
export const isAckCounted = (flow: Flow): boolean => flowMetric(flow, METRIC.dataPerAck) !== null;

/** Metrics of a flow's reverse bytes, the sum first; layers only if its ACKs were not counted. */
export function reverseMetrics(flow: Flow): string[] {
  const layers = Object.entries(flow.return_bytes).filter(([, n]) => n > 0);
  const keys = layers.map(([layer]) => `${METRIC.reverseBytes}.${layer}`);
  const sum = flow.return_bytes.total === undefined ? [] : [REVERSE_TOTAL];
  return isAckCounted(flow) ? sum : [...new Set([...sum, ...keys])];
}

/** Numbers of a flow that say what it was rather than how it went. */
const NOT_METRICS = new Set(["visit", "bytes", "start_s"]);

/** Metrics that a flow has, without empty layers and without a single connection. */
export function metricsOfFlow(flow: Flow): string[] {
  const own = Object.entries(flow).flatMap(([key, value]) => {
    const dull = NOT_METRICS.has(key) || (key === "connections" && value === 1);
    return finite(value) === null || dull ? [] : [key];
  });
  const layers = Object.entries(flow.return_bytes).flatMap(([layer, n]) =>
    n > 0 || layer === "total" ? [`${METRIC.reverseBytes}.${layer}`] : [],
  );
  return [...own, ...layers];
}

/** Columns of a flow in the CSV of all runs. */
export const RUN_COLUMNS = [
  "transport",
  "congestion",
  "connections",
  "direction",
  "bytes",
  "completed",
  "start_s",
  METRIC.handshake,
  METRIC.firstByte,
  METRIC.completion,
  METRIC.goodput,
  METRIC.packetsSent,
  METRIC.lostPolicer,
  METRIC.lostQueue,
  METRIC.lostChannel,
  METRIC.lostRouting,
  METRIC.declaredLost,
  METRIC.blocked,
  METRIC.reversePackets,
  METRIC.rttMin,
  METRIC.rttMean,
  METRIC.rttP99,
  METRIC.proxyBuffer,
  METRIC.proxyAcksDropped,
] as const satisfies readonly (keyof Flow)[];
