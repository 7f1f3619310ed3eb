/**
 * The data of a report page. studio/README.md is the reference of this format.
 * Names of fields are those of the JSON that Bentpipe writes. Other folders use them only for
 * fields whose names are settled: metrics go by `METRIC` in metrics.ts, series by names.ts.
 */
export interface Report {
  scenario: string;
  title: string;
  description?: string;
  seed: number;
  clock: string;
  version: string;
  /** False if the runs were ended early. */
  complete: boolean;
  /** Warnings about these runs. */
  notes: string[];
  /** The resolved scenario (TOML); empty if only results were loaded. */
  source: string;
  /** Missing if only results were loaded. */
  path?: PathInfo;
  /** Names in order; the index gives a variant's colour. */
  variants: string[];
  sweep: { key: string; values: string[] }[];
  runs: Run[];
  summary: Summary[];
  expectations: Expectation[];
  published: Published[];
  traces: Trace[];
  /** Constellations that traces refer to by index. */
  skies: Sky[];
}

/** Values of the swept keys, as text. */
export type Point = Record<string, string>;

/** The path under test, from the client's side to the server's. */
export interface PathInfo {
  name: string;
  hops: { name: string; forward: string; return: string }[];
  rtt_ms: number;
  bdp_bytes: number;
  profile?: string;
  source?: string;
}

/** One run of one variant at one sweep point. */
export interface Run {
  variant: string;
  point: Point;
  run: number;
  flows: Flow[];
  links: LinkResult[];
  /** How the flows shared the path; null or missing for a single flow. */
  fairness?: Fairness | null;
}

/** How the flows of a run shared the path, measured over a part of the run. */
export interface Fairness {
  /** Goodput of each flow in that part; empty if unknown. */
  flows: { flow: string; goodput_mbps: number | null }[];
  from_s: number | null;
  to_s: number | null;
  /** Jain's index of the flows' rates: 1 for equal shares, 1/n if one of n flows has all. */
  jain: number | null;
  /** The smallest rate over the largest, in per cent. */
  share_ratio: number | null;
  /** Name of the bottleneck link. */
  bottleneck: string | null;
  /** Fraction of the time in which that link was sending. */
  bottleneck_utilisation: number | null;
  /** Mean queueing delay there. */
  bottleneck_queue_ms: number | null;
  convergence_s: number | null;
  aggregate_mbps: number | null;
}

/** What one flow measured in one run; null if it has no value. */
export interface Flow {
  name: string;
  visit: number;
  transport: string;
  congestion: string;
  /** Number of connections of the visit; missing in early results. */
  connections?: number;
  direction: string;
  bytes: number;
  completed: boolean;
  start_s: number;
  handshake_s: number | null;
  first_byte_s: number | null;
  completion_s: number | null;
  goodput_mbps: number | null;
  packets_sent: number;
  /** Missing in results from before there were policers. */
  packets_lost_policer?: number;
  packets_lost_queue: number;
  packets_lost_random: number;
  /** Packets lost on no link, for want of a route; missing in early results. */
  packets_lost_route?: number;
  /** Null for external programs, which do not report it. */
  packets_declared_lost: number | null;
  flow_control_blocked_s: number | null;
  /** The longest single block; missing in early results. */
  flow_control_blocked_longest_s?: number | null;
  return_packets: number;
  return_bytes: Record<string, number>;
  /**
   * Bytes of packets with data, and the reverse bytes in per cent of them. These and the next four
   * are missing in early results.
   */
  bytes_sent?: number;
  return_overhead_percent?: number | null;
  /** Reverse packets with an ACK, and those with nothing else. */
  return_acks?: number | null;
  return_acks_only?: number | null;
  /** Data packets received per packet with an ACK. */
  data_per_ack?: number | null;
  /** Sizes of ACK frames (QUIC), and of the options of pure ACKs (TCP). */
  ack_frame_bytes?: Distribution | null;
  ack_option_bytes?: Distribution | null;
  /**
   * Largest buffer of a proxy per connection, and ACKs that its filter dropped; null without a
   * proxy.
   */
  pep_held_bytes?: number | null;
  pep_acks_dropped?: number | null;
  rtt_min_ms: number | null;
  rtt_mean_ms: number | null;
  rtt_p99_ms: number | null;
  /** What the ends knew of the path; missing in early results. */
  path?: PathView;
  objects: { name: string; bytes: number; start_s: number; completion_s: number | null }[];
  /** Why the flow did not complete. */
  error?: string | null;
}

/** A distribution of sizes in bytes. */
export interface Distribution {
  n: number;
  min: number;
  median: number;
  p99: number;
  max: number;
  /** Counts by size; above 255 bytes, of all sizes up to twice that size. */
  counts: Record<string, number>;
}

/** What the ends knew of the path: saved before, observed by the sender, by the receiver. */
export interface PathView {
  saved_window_bytes: number | null;
  saved_rtt_ms: number | null;
  observed_window_bytes: number | null;
  observed_rtt_ms: number | null;
  receiver_window_bytes: number | null;
  receiver_rtt_ms: number | null;
  retreated: boolean | null;
  token: string | null;
}

/** Totals of one direction of one hop. */
export interface LinkResult {
  name: string;
  packets: number;
  bytes: number;
  /** Missing in results written before there were policers. */
  dropped_policer?: number;
  dropped_queue: number;
  dropped_loss: number;
  queue_max_bytes: number;
  utilisation: number;
}

/** One metric over the repeats of one variant at one point. */
export interface Summary {
  variant: string;
  point: Point;
  flow: string;
  visit: number;
  metric: string;
  n: number;
  median: number | null;
  p5: number | null;
  p95: number | null;
  mean: number | null;
  ci95_low: number | null;
  ci95_high: number | null;
}

/** An expectation of the scenario, and whether the runs met it. */
export interface Expectation {
  text: string;
  held: boolean | null;
  measured: number | null;
}

/** A number from a published document, to compare with. */
export interface Published {
  label: string;
  kind: "objective" | "measured";
  metric: string;
  variant?: string;
  point: Point;
  value: number;
  source: string;
}

/** Time series of one run. */
export interface Trace {
  variant: string;
  point: Point;
  run: number;
  flows: TraceFlow[];
  links: TraceLink[];
  /** Index of the constellation over this run. */
  sky?: number;
  /** Routes of the flows, each from its time until the flow's next entry. */
  paths?: RouteEntry[];
}

/**
 * The route of a flow from `t_s` on: satellites by index, then stations; empty if there is no
 * route.
 */
export interface RouteEntry {
  flow: string;
  t_s: number;
  nodes: number[];
}

/** Satellites and stations over the time of a run. */
export interface Sky {
  /** The date and time at which runs begin, as text. */
  begins: string;
  satellites: {
    names: string[];
    /** Index of each satellite's shell. */
    shell: number[];
    positions: PositionsRef;
  };
  stations: Station[];
  /** Pairs of satellites that have a link. */
  isls: [number, number][];
}

/**
 * Where positions lie in the blob. For each of `times` instants, `step_s` apart from the start of
 * the run, there are three float32 per satellite: latitude and longitude in degrees, altitude above
 * the WGS84 ellipsoid in kilometres.
 */
export interface PositionsRef {
  offset: number;
  times: number;
  step_s: number;
}

/** A place on the ground. */
export interface Station {
  name: string;
  latitude_deg: number;
  longitude_deg: number;
  altitude_m: number;
}

/** Time series of one flow; times count from the start of the run. */
export interface TraceFlow {
  name: string;
  visit: number;
  start_s: number;
  series: Record<string, SeriesRef>;
  marks: { t_s: number; label: string }[];
  /** Phases of congestion control, each from its time until the next; empty in early reports. */
  phases: { t_s: number; label: string }[];
}

/** Time series of one direction of one hop. */
export interface TraceLink {
  name: string;
  rate_mbps: number | null;
  queue_limit_bytes: number | null;
  series: Record<string, SeriesRef>;
}

/** Where a series lies in the blob: n float64 times, then n float32 values. */
export interface SeriesRef {
  offset: number;
  n: number;
  unit: string;
}
