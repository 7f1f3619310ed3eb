// Generated from report.schema.json by `npm run types`; do not edit.

/** Parts of time budgets, in their order. */
export const TIME_PARTS = [
  {
    name: "handshake_s",
    label: "Handshake",
    words: "handshake",
    needed: true,
    about: "Handshake.",
  },
  {
    name: "request_s",
    label: "Requests",
    words: "round trips of requests",
    needed: true,
    about: "Round trips of requests, up to the first packet of data; the response to an upload.",
  },
  {
    name: "serialisation_s",
    label: "Data on the link",
    words: "time to send the data",
    needed: true,
    about: "New bytes of the application on the slowest link of the path.",
  },
  {
    name: "headers_s",
    label: "Headers",
    words: "headers",
    needed: true,
    about: "Headers, and everything else that is neither application data nor sent twice.",
  },
  {
    name: "lost_packets_s",
    label: "Lost packets",
    words: "capacity for packets that were lost",
    needed: false,
    about: "Packets of the flow that used the link's capacity and were then lost.",
  },
  {
    name: "duplicates_s",
    label: "Duplicates",
    words: "spurious retransmissions",
    needed: false,
    about: "Packets of the flow that arrived for the second time.",
  },
  {
    name: "other_flows_s",
    label: "Other flows",
    words: "waiting for other flows",
    needed: false,
    about: "Waits for packets of other flows.",
  },
  {
    name: "capacity_s",
    label: "Capacity",
    words: "waiting for capacity",
    needed: false,
    about: "Waits for capacity: allocation, frames, opportunities of a trace.",
  },
  {
    name: "outage_s",
    label: "Outages",
    words: "outages",
    needed: false,
    about: "Waits for the end of an outage or a handover.",
  },
  {
    name: "path_change_s",
    label: "Path changes",
    words: "longer path",
    needed: false,
    about: "Growth of the path's delay.",
  },
  {
    name: "slow_start_s",
    label: "Slow start",
    words: "slow start",
    needed: false,
    about: "Idle link while slow start, or what takes its place, limited the sender.",
  },
  {
    name: "congestion_window_s",
    label: "Congestion window",
    words: "congestion window",
    needed: false,
    about:
      "Idle link while the congestion window limited the sender, after slow start or in the slow start that follows a timeout.",
  },
  {
    name: "pacing_s",
    label: "Pacing",
    words: "pacing",
    needed: false,
    about: "Idle link while pacing limited the sender, after slow start.",
  },
  {
    name: "flow_control_s",
    label: "Flow control",
    words: "flow control",
    needed: false,
    about: "Idle link while flow control or the send buffer limited the sender.",
  },
  {
    name: "application_s",
    label: "Application",
    words: "pauses of the application",
    needed: false,
    about: "Idle link while the application had nothing to send.",
  },
  {
    name: "address_validation_s",
    label: "Address validation",
    words: "address validation",
    needed: false,
    about: "Idle link because the client's address was not yet validated.",
  },
  {
    name: "loss_detection_s",
    label: "Loss detection",
    words: "detection of losses",
    needed: false,
    about: "Idle link until the sender noticed a loss, with nothing else to send.",
  },
  {
    name: "timeout_s",
    label: "Timeouts",
    words: "timeouts",
    needed: false,
    about: "Idle link until a probe or retransmission timeout expired.",
  },
  {
    name: "return_link_s",
    label: "Return link",
    words: "waiting on the return link",
    needed: false,
    about: "Idle link because acknowledgements or requests waited on their way.",
  },
  {
    name: "held_acks_s",
    label: "Held ACKs",
    words: "acknowledgements held back",
    needed: false,
    about: "Idle link because the receiver, or a filter of acknowledgements, held them back.",
  },
  {
    name: "proxy_s",
    label: "Proxy",
    words: "waiting for a proxy",
    needed: false,
    about: "Idle link because a proxy had nothing to forward or had not yet forwarded.",
  },
  {
    name: "unattributed_s",
    label: "Unknown",
    words: "unknown causes",
    needed: false,
    about: "Time whose cause is unknown.",
  },
] as const satisfies readonly {
  name: string;
  label: string;
  /** What it is called in a sentence. */
  words: string;
  /** True if every transfer needs it: not a cause of slowness. */
  needed: boolean;
  about: string;
}[];
