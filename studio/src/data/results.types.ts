// Generated from report.schema.json by `npm run types`; do not edit.

/** Direction of application data. */
export type Direction = "download" | "upload";
/** A kind of media. */
export type Media = "audio" | "video";

/** One run of one variant at one point of the sweep. */
export interface Run {
  /** Report of the emulator; absent on the virtual clock. */
  emulation?: Emulation | null;
  /** Fairness of competing flows; `null` without two such flows. */
  fairness: Fairness | null;
  /** One entry for each measured visit of each flow. */
  flows: Flow[];
  /** One entry for each direction of each hop. */
  links: Link[];
  /** Value of each swept key. */
  point: {
    [k: string]: string;
  };
  /**
   * One entry for each visit of each population of users, or of each of its shares; absent
   * without any.
   */
  populations?: Population[];
  /** Hops whose path changes at regular times; absent without any. */
  reconfigurations?: Reconfiguration[];
  /** Number of the run, from 0. */
  run: number;
  /** Name of the variant. */
  variant: string;
}

/** Report of the emulator on a run, which shows whether its results can be trusted. */
export interface Emulation {
  /** The directions towards the clients and towards the server. */
  directions: DirectionEmulation[];
  /** The proxies, from the clients to the server; left out without any. */
  proxies?: ProxyEmulation[];
  /** Reasons to doubt the results, such as packets that the emulator dropped or sent late. */
  warnings: string[];
}

/** Report of the emulator on one direction. */
export interface DirectionEmulation {
  /** CPU time of the thread, in seconds. */
  cpu_s: number;
  /** Packets that the emulator dropped although the path would have carried them. */
  dropped: number;
  /** Maximum lateness, in microseconds. */
  late_max_us: number;
  /** Median lateness of packets relative to their deadlines, in microseconds. */
  late_p50_us: number;
  /** 99th percentile of the lateness, in microseconds. */
  late_p99_us: number;
  /** `forward` or `return`. */
  name: string;
  /** Packets read. */
  packets: number;
  /** True if the thread of the direction had real-time priority. */
  realtime: boolean;
  /**
   * Packets missing from the emulator's accounts; a value other than zero is a bug of Bentpipe.
   */
  unaccounted: number;
}

/** Report of a proxy (`bentpipe pep`) on the path. */
export interface ProxyEmulation {
  bytes_to_client: number;
  bytes_to_server: number;
  connections: number;
  incomplete: number;
  name: string;
}

/** Fairness of the competing flows of one run. */
export interface Fairness {
  /** Goodput of all flows together. */
  aggregate_goodput_mbps: number;
  /** Link that the flows compete for; `null` if there is none. */
  bottleneck: string | null;
  /** Mean queueing delay at the bottleneck. */
  bottleneck_queue_ms: number | null;
  /** Fraction of time that the bottleneck spent transmitting. */
  bottleneck_utilisation: number | null;
  /** Time from the start of the last flow until all shares first reach their final values. */
  convergence_s: number | null;
  /** Share of each flow. */
  flows: Share[];
  /** Start of the evaluated time, in seconds since the start of the run. */
  from_s: number;
  /** Jain's index: 1 if all flows receive the same, 1/n if one of n flows receives everything. */
  jain_index: number;
  /** Smallest share divided by the largest: 1 if all flows receive the same. */
  min_max_ratio: number;
  /** End of the evaluated time, in seconds since the start of the run. */
  to_s: number;
  /** Warm-up before `from_s`, in seconds. */
  warmup_s: number;
}

/** The share of one flow. */
export interface Share {
  /** Name of the flow. */
  flow: string;
  /** Goodput in the evaluated time. */
  goodput_mbps: number;
  /** Fraction of the bytes that all flows received. */
  share: number;
}

/** One measured visit of one flow. The default is a visit of which nothing is known. */
export interface Flow {
  /** Sizes of ACK frames; QUIC only. */
  ack_frame_bytes: Distribution | null;
  /** Sizes of the options of pure ACKs; TCP only. */
  ack_option_bytes: Distribution | null;
  /** Application bytes to transfer; the bytes received if the duration is fixed. */
  bytes: number;
  /** Bytes of the packets sent, IP headers included. */
  bytes_sent: number;
  /** The streams of a call; absent of other workloads. */
  call?: CallStream[];
  /** True if all bytes arrived, or the fixed duration has passed. */
  completed: boolean;
  /**
   * Time until the last byte reached the receiving application. For an upload, time until the
   * server's response reached the client.
   */
  completion_s: number | null;
  /** The congestion controller; `none` for datagrams. */
  congestion: string;
  /** Number of connections. Time series are those of the sender of the first one. */
  connections: number;
  /** Largest congestion window of the sender; `null` on the real clock, and for datagrams. */
  cwnd_max_bytes: number | null;
  /** Data packets that reached the receiver, per packet with an ACK. */
  data_per_ack: number | null;
  /**
   * Mean one-way delay of the packets of the data that arrived, from the sender or from the last
   * proxy before the receiver; on the real clock of datagrams only, which carry their times.
   */
  delay_mean_ms: number | null;
  /** Median of the one-way delays of the packets of the data that arrived, exact to 1 %. */
  delay_p50_ms: number | null;
  /** 95th percentile of the one-way delays of the packets of the data that arrived. */
  delay_p95_ms: number | null;
  /** 99th percentile of the one-way delays of the packets of the data that arrived. */
  delay_p99_ms: number | null;
  direction: Direction;
  /**
   * The longest episodes in which time was lost to one cause, in the order in which they began.
   */
  episodes: Episode[];
  /** Why the flow ended early; `null` if it did not. */
  error: string | null;
  /** Time until the first byte reached the receiving application. */
  first_byte_s: number | null;
  /** Longest interval during which flow control or the send buffer blocked the sender. */
  flow_control_blocked_longest_s: number | null;
  /** Time during which flow control or the send buffer blocked the sender. */
  flow_control_blocked_s: number | null;
  /** Application bytes divided by the completion time. */
  goodput_mbps: number | null;
  /** Time until the handshake was confirmed to the client. */
  handshake_s: number | null;
  loss_time?: LossTime;
  /** Name of the flow. */
  name: string;
  /** The objects transferred. */
  objects: FlowObject[];
  /**
   * Packets that the sender declared lost, correctly or spuriously; segments retransmitted for
   * the kernel's TCP; `null` for datagrams, whose sender detects no losses, and for external
   * programs.
   */
  packets_declared_lost: number | null;
  /** Packets of the flow lost by a loss process of the channel. */
  packets_lost_channel: number;
  /** Packets of the flow dropped by a policer. */
  packets_lost_policer: number;
  /** Packets of the flow dropped by a full queue or by active queue management. */
  packets_lost_queue: number;
  /**
   * Packets of the flow lost by the routing of a satellite network: link down, no route, or hop
   * limit.
   */
  packets_lost_routing: number;
  /**
   * Packets of the flow that arrived with an ECN-CE mark (RFC 3168); `null` on the real clock.
   */
  packets_marked_ce: number | null;
  /** Packets sent by the sender of the data. */
  packets_sent: number;
  /** What a web page was to its user; absent of other workloads. */
  page?: Page | null;
  path: PathKnowledge;
  /** ACKs that the filter of a proxy suppressed; `null` without a filter. */
  pep_acks_dropped: number | null;
  /** Maximum of the bytes that a proxy buffered for one connection; `null` without a proxy. */
  pep_buffer_max_bytes: number | null;
  /** What the player of an adaptive video has played; absent of other workloads. */
  player?: Player | null;
  /**
   * Mean time that the packets of the data that arrived had waited in queues; `null` on the real
   * clock.
   */
  queue_delay_mean_ms: number | null;
  /**
   * Maximum of the bytes that the receiver buffered until its application read them; QUIC only.
   */
  receive_buffer_max_bytes: number | null;
  /**
   * Maximum receive window: the announced limit minus the bytes that the application has read;
   * QUIC only.
   */
  receive_window_max_bytes: number | null;
  /** What a test of responsiveness has measured; absent of other workloads. */
  responsiveness?: ResponsivenessMetrics | null;
  /** Packets of the reverse direction with an ACK; `null` for datagrams. */
  reverse_acks: number | null;
  /** Packets of the reverse direction that contain nothing but an ACK. */
  reverse_acks_only: number | null;
  reverse_bytes: ReverseBytes;
  /** Bytes of the reverse direction in percent of `bytes_sent`. */
  reverse_overhead_percent: number | null;
  /** Packets of the reverse direction, from the receiver of the data to its sender. */
  reverse_packets: number;
  /** Packets of the reverse direction that were lost or dropped on their way. */
  reverse_packets_lost: number;
  /** Largest RTT sampled by the sender. */
  rtt_max_ms: number | null;
  /** Mean RTT, one sample per ACK. */
  rtt_mean_ms: number | null;
  /** Minimum RTT sampled by the sender. */
  rtt_min_ms: number | null;
  /** 99th percentile of the RTT. */
  rtt_p99_ms: number | null;
  /**
   * Share of the bytes that all competing flows received while they shared the path; `null`
   * without other flows under congestion control.
   */
  share_percent: number | null;
  /** Time of the client's first packet since the start of the run, in seconds. */
  start_s: number;
  /** What the completion time was spent on; `null` for datagrams and on the real clock. */
  time_budget: TimeBudget | null;
  /** `quic` or `tcp`; `cbr`, `on-off` or `ping` for datagrams, `udp` for a call over UDP. */
  transport: string;
  /** Number of the visit, from 1. */
  visit: number;
  /** Key of the workload in the scenario, such as `download`; empty if it is not known. */
  workload: string;
}

/** Distribution of sizes in bytes. */
export interface Distribution {
  /**
   * Number of values by size. Above 255 bytes, each power of two counts the sizes up to the next
   * power.
   */
  counts: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^\d+$".
     */
    [k: string]: number;
  };
  /** Maximum. */
  max: number;
  /** Median: the smallest size that half of the values do not exceed. */
  median: number;
  /** Minimum. */
  min: number;
  /** Number of values. */
  n: number;
  /** 99th percentile: the smallest size that 99 % of the values do not exceed. */
  p99: number;
}

/** One stream of a call. */
export interface CallStream {
  direction: Direction;
  /** Longest time from the capture of a frame of a call until its last packet arrived. */
  frame_delay_max_ms: number | null;
  /** Mean time from the capture of a frame of a call until its last packet arrived. */
  frame_delay_mean_ms: number | null;
  /**
   * Median time from the capture of a frame of a call until its last packet arrived, exact to 1
   * %.
   */
  frame_delay_p50_ms: number | null;
  /**
   * 95th percentile of the times from the capture of a frame of a call until its last packet
   * arrived.
   */
  frame_delay_p95_ms: number | null;
  /**
   * 99th percentile of the times from the capture of a frame of a call until its last packet
   * arrived.
   */
  frame_delay_p99_ms: number | null;
  /** Frames of a call that were to be played. */
  frames: number | null;
  /** Frames that arrived after they were to be played, in percent. */
  frames_late_percent: number | null;
  /** Frames that never arrived as a whole, in percent. */
  frames_lost_percent: number | null;
  /**
   * Frames of the video of a call with `adaptation` that the encoder skipped because earlier
   * ones waited, in percent of all.
   */
  frames_skipped_percent: number | null;
  /** Time for which the video of a call was frozen, in percent of the length of the call. */
  freeze_percent: number | null;
  /** Total time for which the video of a call was frozen. */
  freeze_s: number | null;
  /** Freezes of the video of a call. */
  freezes: number | null;
  /** Interarrival jitter of the packets of a call (RFC 3550) after the last one. */
  jitter_final_ms: number | null;
  /** Mean interarrival jitter of the packets of a call (RFC 3550). */
  jitter_ms: number | null;
  /** Keyframes that the receivers of the video of a call asked for. */
  keyframe_requests: number | null;
  media: Media;
  /** Mean rate of the frames of a call that were sent, without headers. */
  media_rate_kbps: number | null;
  /**
   * Mean opinion score of the audio of a call by the E-model (ITU-T G.107), from 1 (bad) to 4.5;
   * there is none of video.
   */
  mos: number | null;
  /** Mean time from the capture of a frame until it was to be played. */
  playout_delay_ms: number | null;
  /** Mean rate of the frames of a call that were played or shown, without headers. */
  shown_rate_kbps: number | null;
}

/**
 * An interval in which time was spent on one part again and again: gaps of at most a round
 * trip are within it.
 */
export interface Episode {
  from_s: number;
  part: string;
  time_s: number;
  to_s: number;
}

/**
 * The time that losses cost, by where the packets were lost that cost it, in seconds:
 * timeouts, the detection of losses, windows that losses have reduced, and capacity for lost
 * packets.
 */
export interface LossTime {
  /** Of losses by the loss processes of links. */
  channel_s?: number;
  /** Of drops by policers. */
  policer_s?: number;
  /** Of drops by full queues or active queue management. */
  queue_s?: number;
  /**
   * The part of these that losses of the reverse direction cost: of acknowledgements and
   * requests.
   */
  reverse_s?: number;
  /** Of losses in handovers or without a route. */
  routing_s?: number;
}

/** One object of a flow. */
export interface FlowObject {
  /** Size of the object. */
  bytes: number;
  /** Time of completion, in seconds since the visit's first packet. */
  completion_s: number | null;
  /** What it is in a web page, as in `style`; absent of other workloads. */
  kind?: string | null;
  /** Name of the object. */
  name: string;
  /** Number of its origin among those of the page, from 0; absent of other workloads. */
  origin?: number | null;
  /** Time of the request, in seconds since the visit's first packet. */
  start_s: number;
}

/** A web page. */
export interface Page {
  /**
   * Byte index (Bocchi et al. 2016): mean time until a byte of documents, fonts and images
   * arrived. It is no Speed Index.
   */
  byte_index_s: number | null;
  /** Time of the client's questions for addresses, added up; they may overlap. */
  dns_time_s: number | null;
  /**
   * Time until the document, and the style sheets and scripts that rendering waits for, were
   * complete. Rendering itself takes no time.
   */
  first_render_s: number | null;
  /** Time of the handshakes of all connections, added up; they may overlap. */
  handshakes_time_s: number | null;
  /**
   * Object index (Bocchi et al. 2016): mean time until a document, font or image was complete.
   */
  object_index_s: number | null;
  /**
   * Time until the last object of the page was complete, but for those that the browser had
   * requested after its `load` event; `web_page` only.
   */
  onload_s: number | null;
  /** Its origins, the first of which has the root. */
  origins: PageOrigin[];
  /** Origins of the page. */
  page_origins: number | null;
}

/** An origin of a web page: a server with connections of its own. */
export interface PageOrigin {
  /** Their bytes. */
  bytes: number;
  /** Number of connections to it. */
  connections: number;
  /** Time until its address was known, in seconds; `null` if the client did not ask. */
  dns_s: number | null;
  /** Time of the handshakes of its connections, in seconds, added up. */
  handshakes_s: number;
  /** Name of its host. */
  name: string;
  /** Number of its objects. */
  objects: number;
}

/**
 * What both endpoints of a flow knew about the path. Windows are bytes of QUIC packets per
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
  /** True if the use of the saved path caused congestion; `null` if none was offered. */
  retreated: boolean | null;
  /** RTT of the saved path. */
  saved_rtt_ms: number | null;
  /** Window of the saved path that was offered to the sender. */
  saved_window_bytes: number | null;
  /**
   * Outcome of the client's token: `accepted`, the reason for rejection, or `none`; `null`
   * without tokens.
   */
  token: string | null;
}

/** What the player of an adaptive video has played. */
export interface Player {
  /** Mean bitrate of the segments that were played; `abr` only. */
  mean_bitrate_kbps: number | null;
  /**
   * Linear quality of experience: bitrates of all segments less their changes, in Mbps, less 4.3
   * for each second of stalls; `abr` only.
   */
  qoe_linear: number | null;
  /** Time of stalls in percent of the time from the start of the video to its end; `abr` only. */
  stall_percent: number | null;
  /** Total time of stalls, in seconds. */
  stall_s: number;
  /** Number of stalls after the player began to play; `abr` only. */
  stalls: number | null;
  /** Time until the player began to play; `abr` only. */
  startup_s: number | null;
  /** Sum of the changes of the bitrate from one segment to the next; `abr` only. */
  switch_sum_mbps: number | null;
  /** Changes of the bitrate from one segment to the next; `abr` only. */
  switches: number | null;
}

/**
 * What a test of responsiveness has measured (draft-ietf-ippm-responsiveness-09). Times are of
 * requests of one byte: idle before the load, loaded in the last 20 s.
 */
export interface ResponsivenessMetrics {
  /** Mean of the best 95 % of requests on new connections under load. */
  foreign_loaded_ms: number | null;
  /** Round trips per minute of handshakes and requests on new connections, under load. */
  foreign_rpm: number | null;
  /** Mean of the best 95 % of handshakes under load. */
  handshake_loaded_ms: number | null;
  /** Median of requests on new connections while the path was idle, without the handshake. */
  idle_p50_ms: number | null;
  /**
   * 95th percentile of requests on new connections while the path was idle, without the
   * handshake.
   */
  idle_p95_ms: number | null;
  /**
   * 99th percentile of requests on new connections while the path was idle, without the
   * handshake.
   */
  idle_p99_ms: number | null;
  /** Round trips per minute while the path was idle, which is what its RTT allows. */
  idle_rpm: number | null;
  /** Connections of the load at the end. */
  load_connections: number | null;
  /** Median of requests on new connections under load, without the handshake. */
  loaded_p50_ms: number | null;
  /** 95th percentile of requests on new connections under load, without the handshake. */
  loaded_p95_ms: number | null;
  /** 99th percentile of requests on new connections under load, without the handshake. */
  loaded_p99_ms: number | null;
  /** Round trips per minute under load: the mean of `foreign_rpm` and `self_rpm`. */
  responsiveness_rpm: number | null;
  /** Mean of the best 95 % of requests on a connection of the load. */
  self_loaded_ms: number | null;
  /** Median of requests on a connection of the load. */
  self_p50_ms: number | null;
  /** 95th percentile of requests on a connection of the load. */
  self_p95_ms: number | null;
  /** 99th percentile of requests on a connection of the load. */
  self_p99_ms: number | null;
  /** Round trips per minute of requests on a connection of the load, under load. */
  self_rpm: number | null;
}

/** Bytes of the reverse direction, from the receiver of the data to its sender, by layer. */
export interface ReverseBytes {
  ack: number;
  flow_control: number;
  ip: number;
  other: number;
  padding: number;
  quic: number;
  quic_header: number;
  tag: number;
  tcp: number;
  tcp_options: number;
  tcp_payload: number;
  total: number;
  udp: number;
}

/**
 * What the completion time of a visit was spent on, in seconds. The parts exclude each other,
 * and their sum is the completion time. Parts without time are left out.
 */
export interface TimeBudget {
  address_validation_s?: number;
  application_s?: number;
  capacity_s?: number;
  congestion_window_s?: number;
  duplicates_s?: number;
  flow_control_s?: number;
  handshake_s?: number;
  headers_s?: number;
  held_acks_s?: number;
  loss_detection_s?: number;
  lost_packets_s?: number;
  other_flows_s?: number;
  outage_s?: number;
  pacing_s?: number;
  path_change_s?: number;
  proxy_s?: number;
  request_s?: number;
  return_link_s?: number;
  serialisation_s?: number;
  slow_start_s?: number;
  timeout_s?: number;
  unattributed_s?: number;
}

/** One direction of one hop. */
export interface Link {
  /** Bytes delivered, IP headers included. */
  bytes: number;
  /** Packets lost by a loss process of the channel. */
  dropped_channel: number;
  /** Packets dropped by the policer. */
  dropped_policer: number;
  /** Packets dropped by the full queue or by active queue management. */
  dropped_queue: number;
  /** Packets that the link marked CE (RFC 3168). */
  marked_ce: number;
  /** `hop/forward` or `hop/return`. */
  name: string;
  /** Packets delivered. */
  packets: number;
  /** Maximum length of the queue. */
  queue_max_bytes: number;
  /** Mean time that packets waited in the queue. */
  queue_mean_ms: number;
  /** Fraction of time spent transmitting. */
  utilisation: number;
}

/** The users of a population, or of one share of it, in one visit. */
export interface Population {
  /**
   * Metrics by size of the transfer, from small to large; classes without users are absent, and
   * those of calls and adaptive video.
   */
  classes: SizeClass[];
  /** Users whose transfers completed, in percent. */
  completed_percent: number | null;
  /**
   * Packets of all users that the network dropped or lost, in percent of those that their
   * senders sent.
   */
  dropped_percent: number | null;
  /**
   * Application bytes of the group's users in percent of what all flows received in that
   * direction, from the first start to the last end of the group.
   */
  goodput_share_percent: number | null;
  /** Part of a group of `bulk` in the bytes of its busiest link. */
  link_share_percent?: number | null;
  /** Mean completion time of all users. */
  mean_completion_s: number | null;
  /**
   * Mean over the users of the frames of their calls that were late or lost, each of its worst
   * stream.
   */
  mean_frames_missed_percent?: number | null;
  /**
   * Mean slowdown of all users: the completion time over its lower bound on the idle path, the
   * RTTs of handshake and request and the wire bytes at the rate of the bottleneck.
   */
  mean_slowdown: number | null;
  /** Mean over the users of the time for which their adaptive video was stalled, in percent. */
  mean_stall_percent?: number | null;
  /** Median of the mean bitrates of the users' adaptive video. */
  median_bitrate_kbps?: number | null;
  /** Median of the users' completion times. */
  median_completion_s: number | null;
  /**
   * Median over the users of the mean delay of the frames of their calls, each of its slowest
   * stream.
   */
  median_frame_delay_ms?: number | null;
  /** Median of the mean opinion scores of the users' calls, each of its worse direction. */
  median_mos?: number | null;
  /** Median of the users' slowdowns. */
  median_slowdown: number | null;
  /** Median of the times until the users' adaptive video began to play. */
  median_startup_s?: number | null;
  /** Name of the population or of the share; `all` for all users of the run. */
  name: string;
  /**
   * 5th percentile of the mean bitrates of the users' adaptive video, which 95 % of the users
   * exceed.
   */
  p5_bitrate_kbps?: number | null;
  /**
   * 5th percentile of the mean opinion scores of the users' calls, which 95 % of the calls
   * exceed.
   */
  p5_mos?: number | null;
  /** 95th percentile of the users' completion times. */
  p95_completion_s: number | null;
  /**
   * 95th percentile over the users of the mean delay of the frames of their calls, each of its
   * slowest stream.
   */
  p95_frame_delay_ms?: number | null;
  /** 95th percentile of the users' slowdowns. */
  p95_slowdown: number | null;
  /**
   * 95th percentile over the users of the time for which their adaptive video was stalled, in
   * percent.
   */
  p95_stall_percent?: number | null;
  /** 95th percentile of the times until the users' adaptive video began to play. */
  p95_startup_s?: number | null;
  /** 99th percentile of the users' completion times. */
  p99_completion_s: number | null;
  /** 99th percentile of the users' slowdowns. */
  p99_slowdown: number | null;
  /** Packets of all users that the network dropped or lost. */
  packets_dropped: number;
  /** The users, in the order of their numbers; absent for `all`. */
  per_user?: Users | null;
  /**
   * Application bytes of all completed transfers over the time from the first start to the last
   * completion.
   */
  population_goodput_mbps: number | null;
  /** Jain's index of the inverse slowdowns: 1 if all users are slowed down by the same factor. */
  slowdown_jain_index: number | null;
  /** Users whose adaptive video stalled at least once, or never began. */
  stalled_users_percent?: number | null;
  /** Number of users. */
  users: number;
  /** Number of the visit, from 1. */
  visit: number;
}

/** The users of a population whose transfers have similar sizes. */
export interface SizeClass {
  /** Users whose transfers completed, in percent. */
  completed_percent: number | null;
  /**
   * Packets of all users that the network dropped or lost, in percent of those that their
   * senders sent.
   */
  dropped_percent: number | null;
  /**
   * Application bytes of the group's users in percent of what all flows received in that
   * direction, from the first start to the last end of the group.
   */
  goodput_share_percent: number | null;
  /** Part of a group of `bulk` in the bytes of its busiest link. */
  link_share_percent?: number | null;
  /** Mean completion time of all users. */
  mean_completion_s: number | null;
  /**
   * Mean over the users of the frames of their calls that were late or lost, each of its worst
   * stream.
   */
  mean_frames_missed_percent?: number | null;
  /**
   * Mean slowdown of all users: the completion time over its lower bound on the idle path, the
   * RTTs of handshake and request and the wire bytes at the rate of the bottleneck.
   */
  mean_slowdown: number | null;
  /** Mean over the users of the time for which their adaptive video was stalled, in percent. */
  mean_stall_percent?: number | null;
  /** Median of the mean bitrates of the users' adaptive video. */
  median_bitrate_kbps?: number | null;
  /** Median of the users' completion times. */
  median_completion_s: number | null;
  /**
   * Median over the users of the mean delay of the frames of their calls, each of its slowest
   * stream.
   */
  median_frame_delay_ms?: number | null;
  /** Median of the mean opinion scores of the users' calls, each of its worse direction. */
  median_mos?: number | null;
  /** Median of the users' slowdowns. */
  median_slowdown: number | null;
  /** Median of the times until the users' adaptive video began to play. */
  median_startup_s?: number | null;
  /** Name of the class, such as `up-to-1-MB`. */
  name: string;
  /**
   * 5th percentile of the mean bitrates of the users' adaptive video, which 95 % of the users
   * exceed.
   */
  p5_bitrate_kbps?: number | null;
  /**
   * 5th percentile of the mean opinion scores of the users' calls, which 95 % of the calls
   * exceed.
   */
  p5_mos?: number | null;
  /** 95th percentile of the users' completion times. */
  p95_completion_s: number | null;
  /**
   * 95th percentile over the users of the mean delay of the frames of their calls, each of its
   * slowest stream.
   */
  p95_frame_delay_ms?: number | null;
  /** 95th percentile of the users' slowdowns. */
  p95_slowdown: number | null;
  /**
   * 95th percentile over the users of the time for which their adaptive video was stalled, in
   * percent.
   */
  p95_stall_percent?: number | null;
  /** 95th percentile of the times until the users' adaptive video began to play. */
  p95_startup_s?: number | null;
  /** 99th percentile of the users' completion times. */
  p99_completion_s: number | null;
  /** 99th percentile of the users' slowdowns. */
  p99_slowdown: number | null;
  /** Packets of all users that the network dropped or lost. */
  packets_dropped: number;
  /**
   * Application bytes of all completed transfers over the time from the first start to the last
   * completion.
   */
  population_goodput_mbps: number | null;
  /** Jain's index of the inverse slowdowns: 1 if all users are slowed down by the same factor. */
  slowdown_jain_index: number | null;
  /** Users whose adaptive video stalled at least once, or never began. */
  stalled_users_percent?: number | null;
  /** Number of users. */
  users: number;
}

/** Users as columns of equal length. */
export interface Users {
  /** Mean bitrate of adaptive video in kbps; absent of other workloads. */
  bitrate_kbps?: (number | null)[];
  /** Application bytes to transfer. */
  bytes: number[];
  /** Completion time in seconds; `null` if the transfer did not complete. */
  completion_s: (number | null)[];
  /**
   * Mean delay of the frames of a call, of its slowest stream, in ms; absent of other workloads.
   */
  frame_delay_ms?: (number | null)[];
  /** Mean opinion score of the worse direction of a call; absent of other workloads. */
  mos?: (number | null)[];
  /** Packets that the network dropped or lost. */
  packets_dropped: number[];
  /**
   * Completion time over the lower bound on an idle path; `null` without a completion time, and
   * of calls and adaptive video.
   */
  slowdown: (number | null)[];
  /**
   * Time of stalls in percent of that from the start of adaptive video to its end; absent of
   * other workloads.
   */
  stall_percent?: (number | null)[];
  /** Time of the user's first packet since the start of the run, in seconds. */
  start_s: number[];
  /** Number of the user in the population, from 0. */
  user: number[];
}

/**
 * Regular changes of a hop, such as those of a satellite terminal from one satellite to the
 * next.
 */
export interface Reconfiguration {
  /** Time of the first change since the start of the run, in seconds. */
  first_s: number;
  /** Name of the hop; empty for those of a recording of the path. */
  hop: string;
  /** Time from one change to the next in seconds. */
  period_s: number;
}
