import type {
  Fairness,
  Flow,
  Link,
  PathKnowledge,
  Report,
  ReverseBytes,
  SweepAxis,
} from "../src/data/report.types.ts";

/** A path that neither end knows anything about. */
export const NOTHING_KNOWN: PathKnowledge = {
  saved_window_bytes: null,
  saved_rtt_ms: null,
  observed_window_bytes: null,
  observed_rtt_ms: null,
  receiver_window_bytes: null,
  receiver_rtt_ms: null,
  retreated: null,
  token: null,
};

/** Reverse bytes by layer; layers that are not given are empty. */
export const layers = (of: Partial<ReverseBytes>): ReverseBytes => ({
  ...{ ip: 0, udp: 0, quic: 0, quic_header: 0, ack: 0, flow_control: 0, other: 0, padding: 0 },
  ...{ tag: 0, tcp: 0, tcp_options: 0, tcp_payload: 0, total: 0 },
  ...of,
});

/** A flow that sent nothing, with what is given. */
export const flowWith = (given: Partial<Flow>): Flow => ({
  name: "main",
  visit: 1,
  workload: "download",
  transport: "quic",
  congestion: "cubic",
  connections: 1,
  direction: "download",
  bytes: 0,
  completed: true,
  start_s: 0,
  completion_s: null,
  goodput_mbps: null,
  first_byte_s: null,
  handshake_s: null,
  packets_sent: 0,
  bytes_sent: 0,
  packets_lost_policer: 0,
  packets_lost_queue: 0,
  packets_lost_channel: 0,
  packets_lost_routing: 0,
  packets_marked_ce: null,
  packets_declared_lost: null,
  flow_control_blocked_s: null,
  flow_control_blocked_longest_s: null,
  receive_buffer_max_bytes: null,
  receive_window_max_bytes: null,
  reverse_packets: 0,
  reverse_packets_lost: 0,
  reverse_overhead_percent: null,
  reverse_acks: null,
  reverse_acks_only: null,
  data_per_ack: null,
  rtt_min_ms: null,
  rtt_mean_ms: null,
  rtt_p99_ms: null,
  rtt_max_ms: null,
  cwnd_max_bytes: null,
  queue_delay_mean_ms: null,
  delay_mean_ms: null,
  delay_p50_ms: null,
  delay_p95_ms: null,
  delay_p99_ms: null,
  share_percent: null,
  pep_buffer_max_bytes: null,
  pep_acks_dropped: null,
  reverse_bytes: layers({}),
  ack_frame_bytes: null,
  ack_option_bytes: null,
  path: NOTHING_KNOWN,
  time_budget: null,
  episodes: [],
  objects: [],
  error: null,
  ...given,
});

/** A link that carried nothing, with what is given. */
export const linkWith = (given: Partial<Link>): Link => ({
  name: "geo/forward",
  packets: 0,
  bytes: 0,
  dropped_policer: 0,
  dropped_queue: 0,
  dropped_channel: 0,
  marked_ce: 0,
  queue_max_bytes: 0,
  queue_mean_ms: 0,
  utilisation: 0,
  ...given,
});

/** Flows that shared evenly, with what is given. */
export const fairnessWith = (given: Partial<Fairness>): Fairness => ({
  flows: [],
  warmup_s: 0,
  from_s: 0,
  to_s: 100,
  jain_index: 1,
  min_max_ratio: 1,
  bottleneck: null,
  bottleneck_utilisation: null,
  bottleneck_queue_ms: null,
  convergence_s: null,
  aggregate_goodput_mbps: 10,
  ...given,
});

/** A report without runs, with what is given. */
export const reportWith = (given: Partial<Report>): Report => ({
  scenario: "scenario",
  title: "A scenario",
  description: null,
  seed: 1,
  clock: "virtual",
  version: "0.4.0",
  commit: null,
  headline: null,
  headlines: [],
  path_changes: false,
  complete: true,
  runs_planned: given.runs?.length ?? 0,
  runs_done: given.runs?.length ?? 0,
  notes: [],
  files: [],
  engine: "",
  source: "",
  path: null,
  variants: [],
  variant_settings: [],
  sweep: [],
  runs: [],
  summary: [],
  expectations: [],
  published: [],
  traces: [],
  ...given,
});

/** Units of swept values in the fixtures: their base unit and size in it. */
const UNITS: Record<string, [unit: string | null, size: number]> = {
  "%": [null, 0.01],
  ms: ["s", 1e-3],
  MB: ["bytes", 1e6],
  kbps: ["bps", 1e3],
  Mbps: ["bps", 1e6],
};

/** A swept key as Bentpipe writes it: values with a known unit as numbers in base units too. */
export function sweepAxis(key: string, values: string[]): SweepAxis {
  const read = values.map((text) => {
    const [number, word] = text.split(" ") as [string, string?];
    const unit = word === undefined ? ([null, 1] as const) : UNITS[word];
    return unit && Number.isFinite(Number(number)) ? { n: Number(number) * unit[1], unit } : null;
  });
  const units = new Set(read.map((r) => r?.unit[0] ?? null));
  const unit = units.size === 1 ? [...units][0]! : null;
  return { key, values, numbers: read.map((r) => r?.n ?? null), unit };
}
