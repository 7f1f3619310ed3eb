// Generated from report.schema.json by `npm run types`; do not edit.

import type { FlowSeries } from "./report.types.ts";

/** Direction of a transfer. */
export type Direction = "upload" | "download";
/** The end of a transfer that recorded it. */
export type RecordedBy = "sender" | "receiver" | "both";

/** What the page of a trace shows. */
export interface TracePage {
  /** What took the most time, in a sentence. */
  answer: string;
  /** Name of the file. */
  file: string;
  /** True if the packets of the application were not decrypted. */
  is_encrypted: boolean;
  /** `TCP` or `QUIC`. */
  protocol: string;
  /** The end that receives it. */
  receiver: string;
  /** Number of requests, of which `trace` has the first. */
  requests: number;
  /** The end that sends the data, as a word. */
  sender: string;
  series: FlowSeries;
  /** What the file calls the connection; may be empty. */
  title: string;
  trace: TraceDocument;
  /** Version of Bentpipe. */
  version: string;
}

/**
 * Where the time of a recorded transfer went, what would help, and what else its file has.
 * Times are in seconds since the first packet of the connection, if nothing else is said.
 */
export interface TraceDocument {
  /** What passed between the ends; null if only one recorded it. */
  both_ends: BothEndsDocument | null;
  /** Data of the transfer, in bytes. */
  bytes: number;
  /** The connections of the file, those with the most data first; empty if it has one. */
  connections: ConnectionDocument[];
  direction: Direction;
  /** The limit of flow control that took the most time; null if none took any. */
  flow_control: FlowControlDocument | null;
  losses: LossesDocument;
  /** What the file does not show, each a sentence. */
  notes: string[];
  path: PathDocument;
  pauses: PausesDocument;
  /**
   * What Bentpipe would take for the same data in one transfer; null if the file leaves too much
   * open.
   */
  prediction: PredictionDocument | null;
  /** The same as a sentence, with what it presumes; or why it is not said. */
  prediction_text: string;
  recorded_by: RecordedBy;
  /** What would help against the first cause. */
  remedies: RemedyDocument[];
  /** The request that `--request` names; null without. */
  request: RequestAccountDocument | null;
  /** The requests of the connection, in the order in which they were asked. */
  requests: RequestDocument[];
  /**
   * The transfer as it was recorded (`recorded`) and, if its path can be simulated, as it goes
   * with Bentpipe's defaults on the path as it was seen (`bentpipe`).
   */
  transfers: AccountDocument[];
}

/** What passed between the ends of a transfer that recorded it in two files. */
export interface BothEndsDocument {
  /** By how many millionths the receiver's clock runs faster than the sender's. */
  drift_ppm: number;
  to_receiver: OneWayDocument;
  to_sender: OneWayDocument;
}

/** What passed in one direction. */
export interface OneWayDocument {
  /** For how much longer than the shortest one took, at most. */
  longest_wait_ms: number;
  /** Those of them that did not arrive. */
  lost: number;
  /** Packets that were sent: segments of TCP as the file of their sender has them. */
  packets: number;
}

/** A connection of the file. */
export interface ConnectionDocument {
  /** Bytes of the server, repeats included. */
  bytes_to_client: number;
  /** Bytes of the client, repeats included. */
  bytes_to_server: number;
  /** Its first cause: a key of `time_budget`. */
  cause: string | null;
  /** Address and port of the client; empty if the file does not say. */
  client: string;
  /** How long its transfer took; null if it is not explained. */
  completion_s: number | null;
  /** Why it is not explained; null if it is. */
  not_explained: string | null;
  /** Its number, for `--connection`. */
  number: number;
  /** Packets of the server. */
  packets_to_client: number;
  /** Packets of the client. */
  packets_to_server: number;
  /** `TCP`, `QUIC` or `UDP`. */
  protocol: string;
  /** Address and port of the server; empty if the file does not say. */
  server: string;
  /** Its first packet, in seconds since the first packet of the file. */
  start_s: number;
  /** What the file calls it; empty in captures. */
  title: string;
}

/** A limit of the bytes in flight. */
export interface FlowControlDocument {
  /** Its size. */
  bytes: number;
  /** Which limit, and what it holds of the path, in words. */
  limit: string;
  /** Time for which it held the transfer up. */
  time_s: number;
}

/** Losses of data. */
export interface LossesDocument {
  /** Those of them that came upon a full queue. */
  at_a_full_queue: number;
  /** Episodes: losses within a round trip are one. */
  episodes: number;
  /** Packets that were lost. */
  packets: number;
}

/** A path. */
export interface PathDocument {
  /** Share of the data packets that were lost while the queue was not full, as a fraction. */
  loss: number;
  /** Highest rate that was held for a round trip: no link is slower. */
  proven_rate_mbps: number;
  /** True if data was lost while the queue was about that long. */
  queue_is_full: boolean;
  /** Longest wait of data in a queue. */
  queue_ms: number;
  /** True if the path was never filled: its rate may be higher. */
  rate_is_least: boolean;
  /** Highest rate towards the receiver of the data at which packets passed. */
  rate_mbps: number;
  /** Smallest RTT. */
  rtt_ms: number;
}

/** Pauses of the application. */
export interface PausesDocument {
  /** At the end that receives the data, and asks for it. */
  receiver_s: number;
  /** At the end that sends the data. */
  sender_s: number;
}

/** A range of completion times. */
export interface PredictionDocument {
  /** Its upper end. */
  high_s: number;
  /** Its lower end. */
  low_s: number;
}

/** A change that helps. */
export interface RemedyDocument {
  /** What it helps against: a key of `time_budget`. */
  cause: string;
  /** What that saves; null if it cannot be told from the file. */
  saves_s: number | null;
  /** What that saves at most, if that is all that is known; else null. */
  saves_up_to_s: number | null;
  /** What to change. */
  setting: string;
  /** To what; empty if no value says it. */
  value: string;
  /** At which end. */
  where: string;
}

/** What the time of one request was spent on. */
export interface RequestAccountDocument {
  /** Time from when it was asked to its last byte, at the end that recorded the file. */
  completion_s: number;
  /** Its number. */
  number: number;
  /** Time in which the link carried data of other requests. */
  others_s: number;
  /** All of it in a sentence. */
  text: string;
  /** The parts of that time in seconds, those that have any, by the names of `time_budget`. */
  time_budget: {
    [k: string]: number;
  };
}

/** A request and its answer, in seconds since the first packet of the connection. */
export interface RequestDocument {
  /** When it was sent or, at the end that answers, arrived; null if the file does not have it. */
  asked_s: number | null;
  /** Data of the answer. */
  bytes: number;
  /**
   * What most of its time was spent on, but for the time to send the data: a key of
   * `time_budget`; null if that is all.
   */
  cause: string | null;
  /** How long that took. */
  cause_s: number | null;
  /** First byte of the answer. */
  first_byte_s: number;
  /** Last byte of the answer. */
  last_byte_s: number;
  /** Its number, for `--request`. */
  number: number;
  /** Its stream in QUIC. */
  stream: number | null;
}

/** An account: of a transfer, or of the runs of a variant. */
export interface AccountDocument {
  /** Keys of `time_budget` that make a transfer slow, those with most time first. */
  causes: string[];
  /** Median of the completion time. */
  completion_s: number;
  /** Name of the flow. */
  flow: string;
  /** Name of the metric. */
  metric: string;
  packets_lost: PacketsLost;
  /** Values of the sweep, by key. */
  point: {
    [k: string]: string;
  };
  /** Number of runs. */
  runs: number;
  /** All of it in a sentence. */
  text: string;
  /** The parts of that time, those that have any. */
  time_budget: {
    [k: string]: number;
  };
  /** Its median. */
  value: number;
  /** Name of the variant; of a file `recorded` or `bentpipe`. */
  variant: string;
  /** 1, or 2 for the second visit. */
  visit: number;
}

/** Packets that were lost, by place. */
export interface PacketsLost {
  /** On the channel. */
  channel: number;
  /** At a policer. */
  policer: number;
  /** At a full queue. */
  queue: number;
  /** Without a route. */
  routing: number;
}
