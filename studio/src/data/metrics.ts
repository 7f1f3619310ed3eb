import { CALL_ROWS, CALL_STREAMS } from "./call-metrics.generated.ts";
import { type Compared, comparedBy } from "./compared.ts";
import { METRIC_ROWS } from "./metrics.generated.ts";
import type { Flow } from "./report.types.ts";

type Known = (typeof METRIC_ROWS)[number];
type Side = Known[3];

/** Names of metrics of all flows of a run together. */
export type SharedName = Extract<Known, readonly [string, "shared", ...unknown[]]>[0];

/** Names of metrics that the page treats in a way of their own. */
export const METRIC = {
  completion: "completion_s",
  goodput: "goodput_mbps",
  firstByte: "first_byte_s",
  handshake: "handshake_s",
  bytesSent: "bytes_sent",
  packetsSent: "packets_sent",
  lostPolicer: "packets_lost_policer",
  lostQueue: "packets_lost_queue",
  lostChannel: "packets_lost_channel",
  lostRouting: "packets_lost_routing",
  declaredLost: "packets_declared_lost",
  blocked: "flow_control_blocked_s",
  blockedLongest: "flow_control_blocked_longest_s",
  lostPercent: "lost_percent",
  responseMedian: "response_p50_ms",
  responseP95: "response_p95_ms",
  responseP99: "response_p99_ms",
  idleMedian: "idle_p50_ms",
  idleP95: "idle_p95_ms",
  idleP99: "idle_p99_ms",
  loadedMedian: "loaded_p50_ms",
  loadedP95: "loaded_p95_ms",
  loadedP99: "loaded_p99_ms",
  selfMedian: "self_p50_ms",
  selfP95: "self_p95_ms",
  selfP99: "self_p99_ms",
  delayMedian: "delay_p50_ms",
  delayP95: "delay_p95_ms",
  delayP99: "delay_p99_ms",
  frameDelayMedian: "frame_delay_p50_ms",
  frameDelayP95: "frame_delay_p95_ms",
  frameDelayP99: "frame_delay_p99_ms",
  framesLate: "frames_late_percent",
  opinionScore: "mos",
  freezePercent: "freeze_percent",
  segmentMean: "segment_mean_s",
  pageLoad: "onload_s",
  stall: "stall_s",
  quality: "qoe_linear",
  bitrate: "mean_bitrate_kbps",
  rttMin: "rtt_min_ms",
  rttMean: "rtt_mean_ms",
  rttP99: "rtt_p99_ms",
  reversePackets: "reverse_packets",
  reverseBytes: "reverse_bytes",
  reverseOverhead: "reverse_overhead_percent",
  dataPerAck: "data_per_ack",
  proxyBuffer: "pep_buffer_max_bytes",
  proxyAcksDropped: "pep_acks_dropped",
  /** Computed by the page: goodput of the first of two competing flows over the sum of both. */
  share: "share",
  flowShare: "share_percent",
  jainIndex: "jain_index",
  minMaxRatio: "min_max_ratio",
  aggregateGoodput: "aggregate_goodput_mbps",
  bottleneckUtilisation: "bottleneck_utilisation",
  bottleneckQueue: "bottleneck_queue_ms",
  convergence: "convergence_s",
  meanCompletion: "mean_completion_s",
  p95Completion: "p95_completion_s",
  meanSlowdown: "mean_slowdown",
  p95Slowdown: "p95_slowdown",
  packetsDropped: "packets_dropped",
  linkShare: "link_share_percent",
  medianOpinionScore: "median_mos",
  meanStalled: "mean_stall_percent",
  linkBytes: "bytes",
  linkDroppedQueue: "dropped_queue",
  linkQueueMax: "queue_max_bytes",
  linkUtilisation: "utilisation",
} as const satisfies Record<string, Known[0] | "share">;

/** How a metric is named, scaled and judged. */
export interface Metric {
  key: string;
  label: string;
  /** Unit of the stored values; `fraction` is shown in per cent. */
  unit: string;
  better: Side;
  compared: Compared;
  /** What it measures, in a sentence or two. */
  about: string;
}

/** Fractions that are read more easily in per cent. */
const AS_PERCENT: readonly string[] = [
  METRIC.share,
  METRIC.minMaxRatio,
  METRIC.bottleneckUtilisation,
  METRIC.linkUtilisation,
];

/** The page's own metric. */
const SHARE: Metric = {
  key: METRIC.share,
  label: "Share of the first flow",
  unit: "fraction",
  better: "neither",
  compared: "points",
  about: "Goodput of the first of two competing flows over the sum of both.",
};

/** Metrics of the streams of calls. */
const OF_STREAMS = CALL_STREAMS.flatMap(([stream, words]) =>
  CALL_ROWS.map(
    ([name, scope, unit, better, label, about]) =>
      [`${stream}.${name}`, scope, unit, better, `${label}: ${words}`, about] as const,
  ),
);

const known = new Map<string, Metric>([
  [METRIC.share, SHARE],
  ...[...METRIC_ROWS, ...OF_STREAMS].map(
    ([name, , unit, better, label, about]): [string, Metric] => {
      // A label that names what is counted needs no unit.
      const counted = unit === "packets" && /packets|acks/i.test(label);
      const shown = AS_PERCENT.includes(name) ? "fraction" : counted ? "" : unit;
      const compared = comparedBy(name, shown === "fraction" ? shown : unit);
      return [name, { key: name, label, unit: shown, better, compared, about }];
    },
  ),
]);

/** Looks a metric up; the name of an unknown one is made readable. */
export function metricOf(key: string): Metric {
  const words = key.replace(/[_.]/g, " ");
  const label = words.charAt(0).toUpperCase() + words.slice(1);
  const plain = { unit: "", better: "neither", compared: "difference", about: "" } as const;
  return known.get(key) ?? { key, label, ...plain };
}

const namesOf = (scope: Known[1]): string[] =>
  METRIC_ROWS.filter((row) => row[1] === scope).map(([name]) => name);
const SHARED = namesOf("shared");

/** Metrics of flows that are no parts of others. */
const MAIN_OF_FLOWS: readonly string[] = METRIC_ROWS.flatMap((row) =>
  row[1] === "flow" && !row[6] ? [row[0]] : [],
);
const OF_POPULATIONS: readonly string[] = namesOf("population");

/** True if a metric is of the users of a population. */
export const isOfPopulation = (metric: string): boolean => OF_POPULATIONS.includes(metric);

/** Metrics of all flows of a run together, rather than of one of them. */
export const RUN_METRICS: readonly string[] = [METRIC.share, ...SHARED];

/** True if a metric is of all flows of a run together. */
export function isShared(metric: string): boolean {
  return RUN_METRICS.includes(metric);
}

/**
 * Metrics of populations that a report opens with: of groups without end, of transfers, of calls,
 * of adaptive video.
 */
export const USUAL_OF_USERS: readonly string[] = [
  METRIC.linkShare,
  METRIC.meanCompletion,
  METRIC.medianOpinionScore,
  METRIC.meanStalled,
];

/** Metrics of populations that are offered first. */
export const FIRST_OF_USERS = [
  ...USUAL_OF_USERS,
  METRIC.p95Completion,
  METRIC.meanSlowdown,
  METRIC.p95Slowdown,
  METRIC.packetsDropped,
];

/** Metrics offered first: usually, and if flows compete for as long as they last. */
export const FIRST = [METRIC.completion, METRIC.goodput, METRIC.firstByte, METRIC.handshake];
export const FIRST_OF_SHARES = [
  METRIC.flowShare,
  METRIC.minMaxRatio,
  METRIC.jainIndex,
  METRIC.aggregateGoodput,
  METRIC.goodput,
];

/** Metrics that together say how the flows of a run shared the path: columns of one table. */
export const SHARING: readonly string[] = FIRST_OF_SHARES;

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

/** Where the results have the parts of a metric, such as `reverse_bytes.ip`. */
function partOf(flow: Flow, base: string, part: string): unknown {
  if (base === "path") return flow.path[part as keyof Flow["path"]];
  const bytes = flow.reverse_bytes[part as keyof Flow["reverse_bytes"]];
  if (base === METRIC.reverseBytes) return bytes;
  if (base === METRIC.reverseOverhead && bytes !== undefined && flow.bytes_sent > 0)
    return (100 * bytes) / flow.bytes_sent;
  return null;
}

/** The value of a metric of one flow; null if it has none. */
export function flowMetric(flow: Flow, metric: string): number | null {
  const [base, part] = metric.split(".", 2) as [string, string?];
  const size = /^ack_frame_(min|median|p99|max)_bytes$/.exec(metric)?.[1];
  let value: unknown;
  if (part !== undefined) value = partOf(flow, base, part);
  else if (metric === METRIC.reverseBytes) value = flow.reverse_bytes.total;
  else if (size) value = flow.ack_frame_bytes?.[size as "min" | "median" | "p99" | "max"];
  else if (Object.hasOwn(flow, metric)) value = flow[metric as keyof Flow];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** True if ACKs of a flow were counted; datagrams and external programs have none to count. */
export const isAckCounted = (flow: Flow): boolean => flowMetric(flow, METRIC.dataPerAck) !== null;

/** Metrics of the reverse bytes by layer. */
const LAYERS = namesOf("flow").filter((n) => n.startsWith(`${METRIC.reverseBytes}.`));

/** Layers of a flow's reverse bytes that are not empty. */
const layersOf = (flow: Flow): string[] =>
  LAYERS.filter((name) => (flowMetric(flow, name) ?? 0) > 0);

/** Metrics of a flow's reverse bytes, the sum first; layers only if its ACKs were not counted. */
export const reverseMetrics = (flow: Flow): string[] => [
  METRIC.reverseBytes,
  ...(isAckCounted(flow) ? [] : layersOf(flow)),
];

/** Metrics that have a value for a flow, without details except layers that are not empty. */
export const metricsOfFlow = (flow: Flow): string[] => [
  ...MAIN_OF_FLOWS.filter((name) => flowMetric(flow, name) !== null),
  ...layersOf(flow),
];

/** Columns of a flow's metrics in the CSV of all runs. */
export const METRIC_COLUMNS: readonly string[] = [...MAIN_OF_FLOWS, ...LAYERS];

/** Columns in the CSV that say what a flow was rather than how it went. */
export const FLOW_COLUMNS = [
  "transport",
  "congestion",
  "connections",
  "direction",
  "bytes",
  "completed",
  "start_s",
] as const satisfies readonly (keyof Flow)[];
