/** Names of time series of a flow, as the report writer gives them. */
export const SERIES = {
  sent: "sent",
  acked: "acked",
  received: "received",
  lost: "lost",
  droppedPolicer: "dropped_policer",
  droppedQueue: "dropped_queue",
  droppedChannel: "dropped_channel",
  droppedRouting: "dropped_routing",
  cwnd: "cwnd",
  inFlight: "bytes_in_flight",
  ssthresh: "ssthresh",
  rtt: "rtt",
  smoothedRtt: "smoothed_rtt",
  pacingRate: "pacing_rate",
  responseTime: "response_time",
  playerBuffer: "player_buffer",
  playerBitrate: "player_bitrate",
  audioDownloadDelay: "audio_download_delay",
  audioUploadDelay: "audio_upload_delay",
  videoDownloadDelay: "video_download_delay",
  videoUploadDelay: "video_upload_delay",
  videoDownloadRate: "video_download_rate",
  videoUploadRate: "video_upload_rate",
  limit: "flow_control_limit",
  limitAtSender: "flow_control_limit_at_sender",
  consumed: "consumed",
  packetNumberSent: "packet_number_sent",
  packetNumberAcked: "packet_number_acked",
  reverseRate: "reverse_rate",
  dataPerAck: "data_per_ack",
  ackFrameBytes: "ack_frame_bytes",
  hops: "hops",
} as const;

/** Beginning of the names of series with the shares of time budgets. */
export const SERIES_OF_PARTS = "time_budget.";

/** Series that show data and the sender's state; without any of them a flow sent no packets. */
export const SENDER_SERIES: readonly string[] = [
  SERIES.sent,
  SERIES.acked,
  SERIES.received,
  SERIES.lost,
  SERIES.droppedPolicer,
  SERIES.droppedQueue,
  SERIES.droppedChannel,
  SERIES.droppedRouting,
  SERIES.inFlight,
  SERIES.cwnd,
  SERIES.ssthresh,
];

/** Names of time series of a link. */
export const LINK_SERIES = {
  throughput: "throughput",
  queue: "queue",
  droppedPolicer: "dropped_policer",
  droppedQueue: "dropped_queue",
  droppedChannel: "dropped_channel",
  droppedRouting: "dropped_routing",
  delay: "delay",
  requested: "requested",
  allocated: "allocated",
  used: "used",
  rate: "rate",
} as const;

/** Endings that tell the directions of links: `hop/forward` and `hop/return`. */
export const FORWARD_LINK = "/forward";
export const RETURN_LINK = "/return";
