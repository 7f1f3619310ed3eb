/** The data a report page gets. README.md is the reference of this format. */
export interface Report {
  scenario: string;
  title: string;
  description?: string;
  seed: number;
  clock: string;
  version: string;
  /** False when the runs were ended before all were done. */
  complete: boolean;
  /** What the laboratory had to say about these runs. */
  notes: string[];
  /** The scenario as resolved (TOML). Empty when only results were loaded. */
  source: string;
  /** Absent when only results were loaded. */
  path?: PathInfo;
  /** In order: a variant's colour goes by its index. */
  variants: string[];
  sweep: { key: string; values: string[] }[];
  runs: Run[];
  summary: Summary[];
  expectations: Expectation[];
  published: Published[];
  traces: Trace[];
  /** Skies that traces refer to by their index; empty where no path goes over a constellation. */
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
  /** How the flows shared the links; null or missing where one flow was alone. */
  fairness?: Fairness | null;
}

/** How the flows of a run shared what they met on, over a part of the run. */
export interface Fairness {
  /** What each flow received in that part; empty where only the whole is known. */
  flows: { flow: string; goodput_mbps: number | null }[];
  from_s: number | null;
  to_s: number | null;
  /** Jain's index of the flows' rates: 1 for equal shares, 1/n where one of n has all (Jain, Chiu and Hawe 1984). */
  jain: number | null;
  /** The smallest rate over the greatest one, in per cent. */
  share_ratio: number | null;
  /** Name of the link that limited them. */
  bottleneck: string | null;
  /** Part of the time in which that link was sending. */
  bottleneck_utilisation: number | null;
  /** How long packets waited there on average. */
  bottleneck_queue_ms: number | null;
  convergence_s: number | null;
  aggregate_mbps: number | null;
}

/** What one flow measured in one run; null stands for what did not happen. */
export interface Flow {
  name: string;
  visit: number;
  transport: string;
  congestion: string;
  /** How many connections the visit took; early results lack it. */
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
  /** Missing in results written before there were policers. */
  packets_lost_policer?: number;
  packets_lost_queue: number;
  packets_lost_random: number;
  /** Lost in a network of satellites where no link was to blame; missing in results written before there were any. */
  packets_lost_route?: number;
  /** Null where nobody can be asked: of programs. */
  packets_declared_lost: number | null;
  flow_control_blocked_s: number | null;
  /** The longest of these times at a stretch; missing in results written before it was measured. */
  flow_control_blocked_longest_s?: number | null;
  return_packets: number;
  return_bytes: Record<string, number>;
  /** Bytes of the packets with data, and what goes against it in per cent of them; these and the next four are missing in results written before they were counted. */
  bytes_sent?: number;
  return_overhead_percent?: number | null;
  /** Packets against the data that acknowledge, and of those, packets that do nothing else. */
  return_acks?: number | null;
  return_acks_only?: number | null;
  /** Data packets received to one that acknowledges. */
  data_per_ack?: number | null;
  /** Sizes of ACK frames (QUIC), and of the options of segments that only acknowledge (TCP). */
  ack_frame_bytes?: Distribution | null;
  ack_option_bytes?: Distribution | null;
  /** The most a proxy held for one connection, and what its filter of ACKs did not pass on; null where none is passed. */
  pep_held_bytes?: number | null;
  pep_acks_dropped?: number | null;
  rtt_min_ms: number | null;
  rtt_mean_ms: number | null;
  rtt_p99_ms: number | null;
  /** What both ends knew of the path; results of early versions lack it. */
  path?: PathView;
  objects: { name: string; bytes: number; start_s: number; completion_s: number | null }[];
  /** Why the flow did not complete. */
  error?: string | null;
}

/** How often something had which size, in bytes. */
export interface Distribution {
  n: number;
  min: number;
  median: number;
  p99: number;
  max: number;
  /** How many had each size; a size above 255 stands for all up to before its double. */
  counts: Record<string, number>;
}

/** What both ends knew of the path: what was offered to the sender, what it found, what the receiver saw. */
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

/** What the scenario asked for, and whether it held. */
export interface Expectation {
  text: string;
  held: boolean | null;
  measured: number | null;
}

/** A number from a published document, to stand beside ours. */
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
  /** Index of the sky above this run. */
  sky?: number;
  /** Ways of the flows, each from its time until the flow's next entry. */
  paths?: RouteEntry[];
}

/** From `t_s` on, what a flow sends goes over these nodes: satellites by their index, then stations. None: there is no way. */
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
 * Where positions lie in the blob: for each of `times` instants, `step_s` apart from the run's beginning on, three float32
 * for each satellite: latitude and longitude in degrees, altitude above the WGS84 ellipsoid in kilometres.
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

/** Time series of one flow; times count from the run's beginning. */
export interface TraceFlow {
  name: string;
  visit: number;
  start_s: number;
  series: Record<string, SeriesRef>;
  marks: { t_s: number; label: string }[];
  /** What the sender's congestion control was doing, each from that time until the next; empty in older reports. */
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
