// Generated from report.schema.json by `npm run types`; do not edit.

/** Which clock a scenario runs on. */
export type Clock = "virtual" | "real";
/** Kind of a published figure. */
export type PublishedKind = "objective" | "measured";
/** Direction of application data. */
export type Direction = "download" | "upload";

/** What the page reads. */
export interface Report {
  clock: Clock;
  /** Commit that this version was built from; `null` if it is unknown. */
  commit: string | null;
  /** False if runs are missing because the whole was interrupted or one failed. */
  complete: boolean;
  /** The satellites above the runs; absent without any. */
  constellations?: ConstellationView[];
  /** Expectations, and whether they passed. */
  expectations: Expectation[];
  /** The files of the directory besides this one. */
  files: string[];
  /** What a reader of the results should know. */
  notes: string[];
  /** Path of the first case. */
  path: PathSummary | null;
  /** Published figures. */
  published: Figure[];
  /** Every run. */
  runs: Run[];
  /** Number of runs in `results.json`. */
  runs_done: number;
  /** Number of runs that the scenario asks for. */
  runs_planned: number;
  /** Name of the scenario. */
  scenario: string;
  /** Seed of every random draw. */
  seed: number;
  /** The scenario as it was run, as TOML. */
  source: string;
  /** Statistics over runs. */
  summary: Summary[];
  /** The swept keys in order. */
  sweep: SweepAxis[];
  /** Its title. */
  title: string;
  /** Time series, as places in the page's binary data. */
  traces: Trace[];
  /** What each variant uses, in the same order. */
  variant_settings: VariantSettings[];
  /** Names of the variants in order. */
  variants: string[];
  /** Version of Bentpipe that wrote it. */
  version: string;
  /** What it is for. */
  description: string | null;
}

/** Satellites, stations and links over time. */
export interface ConstellationView {
  /** When the run begins, as RFC 3339 has it. */
  begins: string;
  /** Pairs of satellites that have a link, by index. */
  isls: [number, number][];
  satellites: Satellites;
  /** The stations, in the network's order. */
  stations: StationPlace[];
}

/** Satellites over time. */
export interface Satellites {
  /** Their names. */
  names: string[];
  positions: Positions;
  /** The shell that each belongs to. */
  shell: number[];
}

/** Where in the blob positions lie. */
export interface Positions {
  /** First byte; a multiple of 8. */
  offset: number;
  /** Time between two. */
  step_s: number;
  /** How many times, the first at the run's beginning. */
  times: number;
}

/** A station on the ground. */
export interface StationPlace {
  /** Metres above the ellipsoid. */
  altitude_m: number;
  /** Degrees north. */
  latitude_deg: number;
  /** Degrees east. */
  longitude_deg: number;
  /** Its name. */
  name: string;
}

/** An expectation, and whether it passed. */
export interface Expectation {
  /** The statistic or ratio that was compared. */
  measured: number | null;
  /** Whether it does; `null` if runs that it is about are missing. */
  passed: boolean | null;
  /** What must hold, in words. */
  text: string;
}

/** A path in words, for reports. */
export interface PathSummary {
  /** Bandwidth-delay product in the direction of the data. */
  bdp_bytes: number;
  /** Each hop, from the client to the server. */
  hops: HopSummary[];
  /** Title of the profile, or the names of the hops. */
  name: string;
  /** Name of the profile, if the path is one. */
  profile: string | null;
  /** RTT of the idle path. */
  rtt_ms: number;
  /** Source of the profile's figures. */
  source: string | null;
}

/** A hop in words. */
export interface HopSummary {
  /** Towards the client. */
  forward: string;
  /** Name of the hop. */
  name: string;
  /** Towards the server. */
  return: string;
}

/** A `[[published]]` figure of a scenario. */
export interface Figure {
  /** The flow it is compared with; every flow if absent. */
  flow?: string | null;
  kind: PublishedKind;
  /** Short heading. */
  label: string;
  /** Name of the metric. */
  metric: string;
  /** Values of some swept keys. */
  point: {
    [k: string]: string;
  };
  /** Publication. */
  source: string;
  /** The figure. */
  value: number;
  /** The variant it is compared with; every variant if absent. */
  variant?: string | null;
}

/** One run of one variant at one point of the sweep. */
export interface Run {
  /** Report of the emulator; absent on the virtual clock. */
  emulation?: Emulation | null;
  /** How competing flows shared the path; `null` without two such flows. */
  fairness: Fairness | null;
  /** One entry for each measured visit of each flow. */
  flows: Flow[];
  /** One entry for each direction of each hop. */
  links: Link[];
  /** Value of each swept key. */
  point: {
    [k: string]: string;
  };
  /** Number of the run, from 0. */
  run: number;
  /** Name of the variant. */
  variant: string;
}

/** What the emulator did in a run: whether its results can be trusted. */
export interface Emulation {
  /** Towards the clients, and towards the server. */
  directions: DirectionEmulation[];
  /**
   * Why the run is doubtful, such as packets that the emulator dropped or released late; empty
   * otherwise.
   */
  warnings: string[];
}

/** What the emulator did in one direction. */
export interface DirectionEmulation {
  /** CPU time of its thread. */
  cpu_s: number;
  /** Of these, packets that the path would have carried and the emulator dropped. */
  dropped: number;
  /** Largest lateness. */
  late_max_us: number;
  /** Median lateness of packets against their deadlines. */
  late_p50_us: number;
  /** 99th percentile of the lateness. */
  late_p99_us: number;
  /** `forward` or `return`. */
  name: string;
  /** Packets read. */
  packets: number;
  /** Whether its thread had real-time priority. */
  realtime: boolean;
  /** Packets whose fate is unknown. Not zero only if Bentpipe has a bug. */
  unaccounted: number;
}

/** How the competing flows of one run shared the path. */
export interface Fairness {
  /** Goodput of all flows together. */
  aggregate_goodput_mbps: number;
  /** The link that the flows compete for. */
  bottleneck: string | null;
  /** Mean queueing delay at the bottleneck. */
  bottleneck_queue_ms: number | null;
  /** Fraction of time that the bottleneck spent transmitting. */
  bottleneck_utilisation: number | null;
  /** Time from the start of the last flow until the shares first are what they are in the end. */
  convergence_s: number | null;
  /** The share of each flow. */
  flows: Share[];
  /** Start of the time that is counted, since the start of the run. */
  from_s: number;
  /** Jain's index: 1 if all flows receive the same, 1/n if one of n receives everything. */
  jain_index: number;
  /** Smallest share over the largest: 1 if all flows receive the same. */
  min_max_ratio: number;
  /** End of the time that is counted. */
  to_s: number;
  /** Length of the warm-up before `from_s`. */
  warmup_s: number;
}

/** The share of one flow. */
export interface Share {
  /** Name of the flow. */
  flow: string;
  /** Its goodput. */
  goodput_mbps: number;
  /** Its fraction of what all flows received. */
  share: number;
}

/** One measured visit of one flow. */
export interface Flow {
  /** Sizes of ACK frames; QUIC only. */
  ack_frame_bytes: Distribution | null;
  /** Sizes of the options of pure ACKs; TCP only. */
  ack_option_bytes: Distribution | null;
  /** Application bytes to transfer; with a fixed duration, those received. */
  bytes: number;
  /** Bytes of the packets sent, IP headers included. */
  bytes_sent: number;
  /** True if all of them arrived, or the fixed duration has passed. */
  completed: boolean;
  /**
   * Time until the last byte reached the receiving application. For an upload, until the
   * server's answer reached the client.
   */
  completion_s: number | null;
  /** The congestion controller; `none` for datagrams. */
  congestion: string;
  /** Number of connections. Time series are those of the first one's sender. */
  connections: number;
  /** Data packets that reached the receiver for each packet that acknowledges. */
  data_per_ack: number | null;
  direction: Direction;
  /** Why the flow ended early, if it did. */
  error: string | null;
  /** Time until the first byte reached the receiving application. */
  first_byte_s: number | null;
  /** Longest interval during which flow control or the send buffer blocked the sender. */
  flow_control_blocked_longest_s: number | null;
  /** Time during which flow control or the send buffer blocked the sender. */
  flow_control_blocked_s: number | null;
  /** Application bytes over the completion time. */
  goodput_mbps: number | null;
  /** Time until the handshake was confirmed to the client. */
  handshake_s: number | null;
  /** Name of the flow. */
  name: string;
  /** Each object that was transferred. */
  objects: FlowObject[];
  /**
   * Packets that the sender declared lost, rightly or not. For the kernel's TCP, segments
   * retransmitted; `null` for external programs.
   */
  packets_declared_lost: number | null;
  /** Packets of the flow lost by a loss process of the channel. */
  packets_lost_channel: number;
  /** Packets of the flow dropped by a policer. */
  packets_lost_policer: number;
  /** Packets of the flow dropped by a queue: full, or by active queue management. */
  packets_lost_queue: number;
  /**
   * Packets of the flow lost in a network of satellites without a link's fault: link down, no
   * route, or hop limit.
   */
  packets_lost_routing: number;
  /** Packets sent by the sender of the data. */
  packets_sent: number;
  path: PathKnowledge;
  /** ACKs that a proxy's filter suppressed; `null` without a filter. */
  pep_acks_dropped: number | null;
  /** Most bytes that a proxy buffered for one connection; `null` without a proxy. */
  pep_buffer_max_bytes: number | null;
  /** Most bytes that the receiver buffered before its application read them; QUIC only. */
  receive_buffer_max_bytes: number | null;
  /**
   * Largest receive window: the announced limit minus the bytes that the application has read;
   * QUIC only.
   */
  receive_window_max_bytes: number | null;
  /** Packets of the reverse direction that acknowledge; `null` for datagrams. */
  reverse_acks: number | null;
  /** Packets of the reverse direction that only acknowledge. */
  reverse_acks_only: number | null;
  reverse_bytes: ReverseBytes;
  /** Bytes of the reverse direction in percent of `bytes_sent`. */
  reverse_overhead_percent: number | null;
  /** Packets of the reverse direction, from the receiver of the data to its sender. */
  reverse_packets: number;
  /** Mean RTT, one sample per ACK. */
  rtt_mean_ms: number | null;
  /** Minimum RTT sampled by the sender. */
  rtt_min_ms: number | null;
  /** 99th percentile of the RTT. */
  rtt_p99_ms: number | null;
  /** Time of the client's first packet since the start of the run, in seconds. */
  start_s: number;
  /** `quic` or `tcp`; `cbr`, `on-off` or `ping` for datagrams. */
  transport: string;
  /** Number of the visit, from 1. */
  visit: number;
}

/** How often something had which size. */
export interface Distribution {
  /**
   * Sizes in bytes, and how many had them. Above 255 bytes, a power of two stands for all sizes
   * below the next.
   */
  counts: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^\d+$".
     */
    [k: string]: number;
  };
  /** The largest. */
  max: number;
  /** The smallest size that half of them do not exceed. */
  median: number;
  /** The smallest. */
  min: number;
  /** Number of sizes. */
  n: number;
  /** The smallest size that 99 % of them do not exceed. */
  p99: number;
}

/** One object of a flow. */
export interface FlowObject {
  /** Its size. */
  bytes: number;
  /** When it was complete, in seconds since the visit's first packet. */
  completion_s: number | null;
  /** Name of the object. */
  name: string;
  /** When it was requested, in seconds since the visit's first packet. */
  start_s: number;
}

/**
 * What both ends of a flow knew about the path. Windows count the bytes of QUIC packets in one
 * RTT.
 */
export interface PathKnowledge {
  /** Minimum RTT that the sender would save. */
  observed_rtt_ms: number | null;
  /** Window that the sender would save. */
  observed_window_bytes: number | null;
  /** Smallest of the receiver's smoothed RTTs. */
  receiver_rtt_ms: number | null;
  /** Most bytes that arrived at the receiver within one of its RTTs. */
  receiver_window_bytes: number | null;
  /** Whether the offered path met congestion; `null` if none was offered. */
  retreated: boolean | null;
  /** RTT of that path. */
  saved_rtt_ms: number | null;
  /** Window of the saved path that was offered to the sender. */
  saved_window_bytes: number | null;
  /** Outcome of the client's token: `accepted`, why not, or `none`; `null` without tokens. */
  token: string | null;
}

/** Bytes of the reverse direction, from the receiver of the data to its sender, by layer. */
export interface ReverseBytes {
  /** ACK frames. */
  ack: number;
  /** Flow-control frames: MAX_DATA and MAX_STREAM_DATA. */
  flow_control: number;
  /** IP headers. */
  ip: number;
  /**
   * Other frames, such as requests and the handshake, and packets that were not parsed, such as
   * stateless resets.
   */
  other: number;
  /** PADDING frames. */
  padding: number;
  /** QUIC packets: the sum of the next six. */
  quic: number;
  /** QUIC headers with packet numbers. */
  quic_header: number;
  /** Authentication tags. */
  tag: number;
  /** TCP headers without options. */
  tcp: number;
  /** TCP options. */
  tcp_options: number;
  /** TCP payload. */
  tcp_payload: number;
  /** The sum of all layers; `quic` is itself a sum. */
  total: number;
  /** UDP headers. */
  udp: number;
}

/** One direction of one hop. */
export interface Link {
  /** Bytes delivered, IP headers included. */
  bytes: number;
  /** Packets lost by a loss process of the channel. */
  dropped_channel: number;
  /** Packets dropped by the policer. */
  dropped_policer: number;
  /** Packets dropped by the queue: full, or by active queue management. */
  dropped_queue: number;
  /** `hop/forward` or `hop/return`. */
  name: string;
  /** Packets delivered. */
  packets: number;
  /** Longest queue. */
  queue_max_bytes: number;
  /** Fraction of time spent transmitting. */
  utilisation: number;
}

/** Statistics of one metric over the runs of one variant at one point. */
export interface Summary {
  /** Upper end of that interval. */
  ci95_high: number | null;
  /** Lower end of the 95 % confidence interval of the median; `null` if there is none. */
  ci95_low: number | null;
  /** Name of the flow, or `all` for a metric of all flows together. */
  flow: string;
  /** Arithmetic mean. */
  mean: number | null;
  /** Median. */
  median: number | null;
  /** Name of the metric. */
  metric: string;
  /** Number of runs in which it has a value. */
  n: number;
  /** 5th percentile; `null` for one run. */
  p5: number | null;
  /** 95th percentile; `null` for one run. */
  p95: number | null;
  /** Value of each swept key. */
  point: {
    [k: string]: string;
  };
  /** Name of the variant. */
  variant: string;
  /** Number of the visit, from 1. */
  visit: number;
}

/** A swept key. */
export interface SweepAxis {
  /** Its dotted path. */
  key: string;
  /** The same values as numbers in base units; `null` for what is no quantity. */
  numbers: (number | null)[];
  /** Unit of the numbers: `bytes`, `s` or `bps`; `null` if there is none or they differ. */
  unit: string | null;
  /** Its values in order, as text. */
  values: string[];
}

/** The series of one run. */
export interface Trace {
  /**
   * What stands above the run, by its place among the constellations; none for a path of hops.
   */
  constellation?: number | null;
  /** One entry for each visit of each flow. */
  flows: FlowSeries[];
  /** One entry for each direction of each hop. */
  links: LinkSeries[];
  /** Where in the sweep. */
  point: {
    [k: string]: string;
  };
  /** The routes of the flows' data through a network, in the order of their times. */
  routes?: Route[];
  /** Number of the run. */
  run: number;
  /** The variant's name. */
  variant: string;
}

/** The series of one visit of a flow. */
export interface FlowSeries {
  /** What happened at a point in time. */
  marks: Mark[];
  /** The flow's name. */
  name: string;
  /** What the sender's congestion control was doing, each from that time until the next. */
  phases: Mark[];
  /** Its series by name. */
  series: {
    [k: string]: SeriesRef;
  };
  /** When it began. */
  start_s: number;
  /** Which connection of the flow. */
  visit: number;
}

/** Something that happened. */
export interface Mark {
  /** What. */
  label: string;
  /** When, since the run began. */
  t_s: number;
}

/** Where in the blob a series lies. */
export interface SeriesRef {
  /** How many points. */
  n: number;
  /** First byte; a multiple of 8. */
  offset: number;
  /** Unit of the values. */
  unit: string;
}

/** The series of one direction of one hop. */
export interface LinkSeries {
  /** `hop/forward` or `hop/return`. */
  name: string;
  /** What its queue holds, where that is counted in bytes. */
  queue_limit_bytes: number | null;
  /** Its rate, where that is constant. */
  rate_mbps: number | null;
  /** Its series by name. */
  series: {
    [k: string]: SeriesRef;
  };
}

/** A way that a flow's data takes from a time until the flow's next. */
export interface Route {
  /** The flow. */
  flow: string;
  /** Satellites by index, stations after them; none where there is no way. */
  nodes: number[];
  /** From when, since the run began. */
  t_s: number;
}

/** What a variant uses at the first point of the sweep. */
export interface VariantSettings {
  /** What its flows use, each once. */
  flows: FlowSettings[];
  /** Name of the variant. */
  name: string;
}

/** The settings of a flow that decide most about its results. */
export interface FlowSettings {
  /** The ACK policy. */
  ack: string | null;
  /** The congestion controller. */
  congestion: string | null;
  /** The preset, if one was named. */
  preset: string | null;
  /** The slow-start algorithm. */
  slow_start: string | null;
  /** `quic` or `tcp`; the kind of workload for others. */
  transport: string;
}
