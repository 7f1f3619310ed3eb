//! The registry of metrics. One row defines the name, unit, label, direction and meaning of a
//! metric.
//!
//! The rows determine the fields of `results.json`, the columns of `flows.parquet`, the names
//! that `[[expect]]` and `[[published]]` accept, the summary, the JSON Schema of results, the
//! tables of the book, and the names, units and labels of the report page. To add a metric, add a
//! row here and set its field where `bentpipe-lab` converts outcomes to results.

mod row;

pub use row::{Better, Metric, Number, Row};

use row::metrics;

metrics! {
    /// Stored metrics of one visit of one flow. Times count from the visit's first packet. `null`
    /// means that the event did not happen or was not measured.
    FlowMetrics, FLOW;

    /// Time until the last byte reached the receiving application. For an upload, time until the
    /// server's response reached the client.
    "Completion time", "s", Lower: completion_s: Option<f64>,
    /// Application bytes divided by the completion time.
    "Goodput", "Mbps", Higher: goodput_mbps: Option<f64>,
    /// Time until the first byte reached the receiving application.
    "First byte", "s", Lower: first_byte_s: Option<f64>,
    /// Time until the handshake was confirmed to the client.
    "Handshake", "s", Lower: handshake_s: Option<f64>,
    /// Packets sent by the sender of the data.
    "Packets sent", "packets", Neither: packets_sent: u64,
    /// Bytes of the packets sent, IP headers included.
    "Bytes sent", "bytes", Lower: bytes_sent: u64,
    /// Packets of the flow dropped by a policer.
    "Dropped by a policer", "packets", Lower: packets_lost_policer: u64,
    /// Packets of the flow dropped by a full queue or by active queue management.
    "Dropped by a queue", "packets", Lower: packets_lost_queue: u64,
    /// Packets of the flow lost by a loss process of the channel.
    "Lost on the channel", "packets", Lower: packets_lost_channel: u64,
    /// Packets of the flow lost by the routing of a satellite network: link down, no route, or hop
    /// limit.
    "Lost by routing", "packets", Lower: packets_lost_routing: u64,
    /// Packets of the flow that arrived with an ECN-CE mark (RFC 3168); `null` on the real clock.
    "Marked CE", "packets", Lower: packets_marked_ce: Option<u64>,
    /// Packets that the sender declared lost, correctly or spuriously; segments retransmitted for
    /// the kernel's TCP; `null` for datagrams, whose sender detects no losses, and for external
    /// programs.
    "Declared lost", "packets", Lower: packets_declared_lost: Option<u64>,
    /// Time during which flow control or the send buffer blocked the sender.
    "Blocked by flow control", "s", Lower: flow_control_blocked_s: Option<f64>,
    /// Longest interval during which flow control or the send buffer blocked the sender.
    "Longest block by flow control", "s", Lower: flow_control_blocked_longest_s: Option<f64>,
    /// Maximum of the bytes that the receiver buffered until its application read them; QUIC only.
    "Largest receive buffer", "bytes", Lower: receive_buffer_max_bytes: Option<u64>,
    /// Maximum receive window: the announced limit minus the bytes that the application has read;
    /// QUIC only.
    "Largest receive window", "bytes", Neither: receive_window_max_bytes: Option<u64>,
    /// Packets of the reverse direction, from the receiver of the data to its sender.
    "Reverse packets", "packets", Lower: reverse_packets: u64,
    /// Packets of the reverse direction that were lost or dropped on their way.
    "Lost reverse packets", "packets", Lower: reverse_packets_lost: u64,
    /// Bytes of the reverse direction in percent of `bytes_sent`.
    "Reverse overhead", "%", Lower: reverse_overhead_percent: Option<f64>,
    /// Packets of the reverse direction with an ACK; `null` for datagrams.
    "ACKs", "packets", Lower: reverse_acks: Option<u64>,
    /// Packets of the reverse direction that contain nothing but an ACK.
    "Pure ACKs", "packets", Lower: reverse_acks_only: Option<u64>,
    /// Data packets that reached the receiver, per packet with an ACK.
    "Data packets per ACK", "", Neither: data_per_ack: Option<f64>,
    /// Minimum RTT sampled by the sender.
    "Minimum RTT", "ms", Lower: rtt_min_ms: Option<f64>,
    /// Mean RTT, one sample per ACK.
    "Mean RTT", "ms", Lower: rtt_mean_ms: Option<f64>,
    /// 99th percentile of the RTT.
    "RTT, 99th percentile", "ms", Lower: rtt_p99_ms: Option<f64>,
    /// Largest RTT sampled by the sender.
    "Largest RTT", "ms", Lower: rtt_max_ms: Option<f64>,
    /// Largest congestion window of the sender; `null` on the real clock, and for datagrams.
    "Largest congestion window", "bytes", Neither: cwnd_max_bytes: Option<u64>,
    /// Mean time that the packets of the data that arrived had waited in queues; `null` on the real
    /// clock.
    "Mean queueing delay", "ms", Lower: queue_delay_mean_ms: Option<f64>,
    /// Mean one-way delay of the packets of the data that arrived, from the sender or from the last
    /// proxy before the receiver; on the real clock of datagrams only, which carry their times.
    "Mean one-way delay", "ms", Lower: delay_mean_ms: Option<f64>,
    /// Median of the one-way delays of the packets of the data that arrived, exact to 1 %.
    "One-way delay, median", "ms", Lower: delay_p50_ms: Option<f64>,
    /// 95th percentile of the one-way delays of the packets of the data that arrived.
    "One-way delay, 95th percentile", "ms", Lower: delay_p95_ms: Option<f64>,
    /// 99th percentile of the one-way delays of the packets of the data that arrived.
    "One-way delay, 99th percentile", "ms", Lower: delay_p99_ms: Option<f64>,
    /// Share of the bytes that all competing flows received while they shared the path; `null`
    /// without other flows under congestion control.
    "Share", "%", Neither: share_percent: Option<f64>,
    /// Maximum of the bytes that a proxy buffered for one connection; `null` without a proxy.
    "Largest proxy buffer", "bytes", Lower: pep_buffer_max_bytes: Option<u64>,
    /// ACKs that the filter of a proxy suppressed; `null` without a filter.
    "ACKs suppressed by a proxy", "packets", Neither: pep_acks_dropped: Option<u64>,
}

metrics! {
    /// Metrics of one stream of a call: its audio or its video, in one direction. Frames count if
    /// they were to be played before the call ended.
    CallMetrics, CALL;

    /// Mean opinion score of the audio of a call by the E-model (ITU-T G.107), from 1 (bad) to 4.5;
    /// there is none of video.
    "Mean opinion score", "", Higher: mos: Option<f64>,
    /// Mean time from the capture of a frame of a call until its last packet arrived.
    "Mean frame delay", "ms", Lower: frame_delay_mean_ms: Option<f64>,
    /// Median time from the capture of a frame of a call until its last packet arrived, exact to
    /// 1 %.
    "Frame delay, median", "ms", Lower: frame_delay_p50_ms: Option<f64>,
    /// 95th percentile of the times from the capture of a frame of a call until its last packet
    /// arrived.
    "Frame delay, 95th percentile", "ms", Lower: frame_delay_p95_ms: Option<f64>,
    /// 99th percentile of the times from the capture of a frame of a call until its last packet
    /// arrived.
    "Frame delay, 99th percentile", "ms", Lower: frame_delay_p99_ms: Option<f64>,
    /// Longest time from the capture of a frame of a call until its last packet arrived.
    "Longest frame delay", "ms", Lower: frame_delay_max_ms: Option<f64>,
    /// Mean interarrival jitter of the packets of a call (RFC 3550).
    "Jitter", "ms", Lower: jitter_ms: Option<f64>,
    /// Interarrival jitter of the packets of a call (RFC 3550) after the last one.
    "Jitter at the end", "ms", Lower: jitter_final_ms: Option<f64>,
    /// Frames of a call that were to be played.
    "Frames", "", Neither: frames: Option<u64>,
    /// Frames of the video of a call with `adaptation` that the encoder skipped because earlier
    /// ones waited, in percent of all.
    "Skipped frames", "%", Lower: frames_skipped_percent: Option<f64>,
    /// Frames that arrived after they were to be played, in percent.
    "Late frames", "%", Lower: frames_late_percent: Option<f64>,
    /// Frames that never arrived as a whole, in percent.
    "Lost frames", "%", Lower: frames_lost_percent: Option<f64>,
    /// Mean time from the capture of a frame until it was to be played.
    "Playout delay", "ms", Lower: playout_delay_ms: Option<f64>,
    /// Freezes of the video of a call.
    "Freezes", "", Lower: freezes: Option<u64>,
    /// Total time for which the video of a call was frozen.
    "Frozen", "s", Lower: freeze_s: Option<f64>,
    /// Time for which the video of a call was frozen, in percent of the length of the call.
    "Frozen share of the call", "%", Lower: freeze_percent: Option<f64>,
    /// Keyframes that the receivers of the video of a call asked for.
    "Keyframe requests", "", Lower: keyframe_requests: Option<u64>,
    /// Mean rate of the frames of a call that were sent, without headers.
    "Media rate", "kbps", Neither: media_rate_kbps: Option<f64>,
    /// Mean rate of the frames of a call that were played or shown, without headers.
    "Shown media rate", "kbps", Neither: shown_rate_kbps: Option<f64>,
}

metrics! {
    /// What the player of an adaptive video has played.
    PlayerMetrics, PLAYER;

    /// Time until the player began to play; `abr` only.
    "Start of the video", "s", Lower: startup_s: Option<f64>,
    /// Number of stalls after the player began to play; `abr` only.
    "Number of stalls", "", Lower: stalls: Option<u64>,
    /// Time of stalls in percent of the time from the start of the video to its end; `abr` only.
    "Stalled", "%", Lower: stall_percent: Option<f64>,
    /// Mean bitrate of the segments that were played; `abr` only.
    "Mean bitrate", "kbps", Higher: mean_bitrate_kbps: Option<f64>,
    /// Changes of the bitrate from one segment to the next; `abr` only.
    "Bitrate switches", "", Lower: switches: Option<u64>,
    /// Sum of the changes of the bitrate from one segment to the next; `abr` only.
    "Sum of bitrate switches", "Mbps", Lower: switch_sum_mbps: Option<f64>,
    /// Linear quality of experience: bitrates of all segments less their changes, in Mbps, less 4.3
    /// for each second of stalls; `abr` only.
    "Quality of experience", "", Higher: qoe_linear: Option<f64>,
}

metrics! {
    /// What a web page was to its user. Times count from the visit's first packet.
    PageMetrics, PAGE;

    /// Time until the last object of the page was complete, but for those that the browser had
    /// requested after its `load` event; `web_page` only.
    "Page load", "s", Lower: onload_s: Option<f64>,
    /// Time until the document, and the style sheets and scripts that rendering waits for, were
    /// complete. Rendering itself takes no time.
    "First render", "s", Lower: first_render_s: Option<f64>,
    /// Byte index (Bocchi et al. 2016): mean time until a byte of documents, fonts and images
    /// arrived. It is no Speed Index.
    "Byte index", "s", Lower: byte_index_s: Option<f64>,
    /// Object index (Bocchi et al. 2016): mean time until a document, font or image was complete.
    "Object index", "s", Lower: object_index_s: Option<f64>,
    /// Origins of the page.
    "Origins", "", Neither: page_origins: Option<u64>,
    /// Time of the client's questions for addresses, added up; they may overlap.
    "Time in DNS", "s", Lower: dns_time_s: Option<f64>,
    /// Time of the handshakes of all connections, added up; they may overlap.
    "Time in handshakes", "s", Lower: handshakes_time_s: Option<f64>,
}

metrics! {
    /// What a test of responsiveness has measured (draft-ietf-ippm-responsiveness-09). Times are of
    /// requests of one byte: idle before the load, loaded in the last 20 s.
    ResponsivenessMetrics, RESPONSIVENESS;

    /// Round trips per minute under load: the mean of `foreign_rpm` and `self_rpm`.
    "Responsiveness", "RPM", Higher: responsiveness_rpm: Option<f64>,
    /// Round trips per minute while the path was idle, which is what its RTT allows.
    "Idle responsiveness", "RPM", Higher: idle_rpm: Option<f64>,
    /// Round trips per minute of handshakes and requests on new connections, under load.
    "Responsiveness of new connections", "RPM", Higher: foreign_rpm: Option<f64>,
    /// Round trips per minute of requests on a connection of the load, under load.
    "Responsiveness of the load's connection", "RPM", Higher: self_rpm: Option<f64>,
    /// Median of requests on new connections while the path was idle, without the handshake.
    "Idle request, median", "ms", Lower: idle_p50_ms: Option<f64>,
    /// 95th percentile of requests on new connections while the path was idle, without the
    /// handshake.
    "Idle request, 95th percentile", "ms", Lower: idle_p95_ms: Option<f64>,
    /// 99th percentile of requests on new connections while the path was idle, without the
    /// handshake.
    "Idle request, 99th percentile", "ms", Lower: idle_p99_ms: Option<f64>,
    /// Median of requests on new connections under load, without the handshake.
    "Loaded request, median", "ms", Lower: loaded_p50_ms: Option<f64>,
    /// 95th percentile of requests on new connections under load, without the handshake.
    "Loaded request, 95th percentile", "ms", Lower: loaded_p95_ms: Option<f64>,
    /// 99th percentile of requests on new connections under load, without the handshake.
    "Loaded request, 99th percentile", "ms", Lower: loaded_p99_ms: Option<f64>,
    /// Median of requests on a connection of the load.
    "Request beside the load's data, median", "ms", Lower: self_p50_ms: Option<f64>,
    /// 95th percentile of requests on a connection of the load.
    "Request beside the load's data, 95th percentile", "ms", Lower: self_p95_ms: Option<f64>,
    /// 99th percentile of requests on a connection of the load.
    "Request beside the load's data, 99th percentile", "ms", Lower: self_p99_ms: Option<f64>,
    /// Mean of the best 95 % of handshakes under load.
    "Loaded handshake", "ms", Lower: handshake_loaded_ms: Option<f64>,
    /// Mean of the best 95 % of requests on new connections under load.
    "Loaded request", "ms", Lower: foreign_loaded_ms: Option<f64>,
    /// Mean of the best 95 % of requests on a connection of the load.
    "Request beside the load's data", "ms", Lower: self_loaded_ms: Option<f64>,
    /// Connections of the load at the end.
    "Connections of the load", "", Neither: load_connections: Option<u64>,
}

metrics! {
    /// Metrics of all competing flows of a run.
    SharedMetrics, SHARED;

    /// Jain's index: 1 if all flows receive the same, 1/n if one of n flows receives everything.
    "Jain's index", "", Higher: jain_index: f64,
    /// Smallest share divided by the largest: 1 if all flows receive the same.
    "Min-max ratio", "", Higher: min_max_ratio: f64,
    /// Goodput of all flows together.
    "Total goodput", "Mbps", Higher: aggregate_goodput_mbps: f64,
    /// Fraction of time that the bottleneck spent transmitting.
    "Bottleneck use", "", Higher: bottleneck_utilisation: Option<f64>,
    /// Mean queueing delay at the bottleneck.
    "Bottleneck delay", "ms", Lower: bottleneck_queue_ms: Option<f64>,
    /// Time from the start of the last flow until all shares first reach their final values.
    "Convergence", "s", Lower: convergence_s: Option<f64>,
}

metrics! {
    /// Metrics of the users of a population. `null` means that some users have no value, because
    /// their transfers did not complete.
    PopulationMetrics, POPULATION;

    /// Number of users.
    "Users", "", Neither: users: u64,
    /// Users whose transfers completed, in percent.
    "Completed", "%", Higher: completed_percent: Option<f64>,
    /// Mean completion time of all users.
    "Mean completion", "s", Lower: mean_completion_s: Option<f64>,
    /// Median of the users' completion times.
    "Median completion", "s", Lower: median_completion_s: Option<f64>,
    /// 95th percentile of the users' completion times.
    "Completion, 95th percentile", "s", Lower: p95_completion_s: Option<f64>,
    /// 99th percentile of the users' completion times.
    "Completion, 99th percentile", "s", Lower: p99_completion_s: Option<f64>,
    /// Mean slowdown of all users: the completion time over its lower bound on the idle path, the
    /// RTTs of handshake and request and the wire bytes at the rate of the bottleneck.
    "Mean slowdown", "", Lower: mean_slowdown: Option<f64>,
    /// Median of the users' slowdowns.
    "Median slowdown", "", Lower: median_slowdown: Option<f64>,
    /// 95th percentile of the users' slowdowns.
    "Slowdown, 95th percentile", "", Lower: p95_slowdown: Option<f64>,
    /// 99th percentile of the users' slowdowns.
    "Slowdown, 99th percentile", "", Lower: p99_slowdown: Option<f64>,
    /// Jain's index of the inverse slowdowns: 1 if all users are slowed down by the same factor.
    "Jain's index of speeds", "", Higher: slowdown_jain_index: Option<f64>,
    /// Application bytes of all completed transfers over the time from the first start to the last
    /// completion.
    "Goodput of all users", "Mbps", Higher: population_goodput_mbps: Option<f64>,
    /// Application bytes of the group's users in percent of what all flows received in that
    /// direction, from the first start to the last end of the group.
    "Share of the goodput", "%", Neither: goodput_share_percent: Option<f64>,
    /// Part of a group of `bulk` in the bytes of its busiest link.
    "Share of the link", "%", Neither: link_share_percent: Option<f64> = "Option::is_none",
    /// Packets of all users that the network dropped or lost.
    "Packets dropped", "packets", Lower: packets_dropped: u64,
    /// Packets of all users that the network dropped or lost, in percent of those that their
    /// senders sent.
    "Dropped", "%", Lower: dropped_percent: Option<f64>,
    /// Median of the mean opinion scores of the users' calls, each of its worse direction.
    "Mean opinion score of users, median", "", Higher: median_mos: Option<f64> = "Option::is_none",
    /// 5th percentile of the mean opinion scores of the users' calls, which 95 % of the calls
    /// exceed.
    "Mean opinion score of users, 5th percentile", "", Higher:
        p5_mos: Option<f64> = "Option::is_none",
    /// Median over the users of the mean delay of the frames of their calls, each of its slowest
    /// stream.
    "Mean frame delay of users, median", "ms", Lower:
        median_frame_delay_ms: Option<f64> = "Option::is_none",
    /// 95th percentile over the users of the mean delay of the frames of their calls, each of its
    /// slowest stream.
    "Mean frame delay of users, 95th percentile", "ms", Lower:
        p95_frame_delay_ms: Option<f64> = "Option::is_none",
    /// Mean over the users of the frames of their calls that were late or lost, each of its worst
    /// stream.
    "Late and lost frames of users", "%", Lower:
        mean_frames_missed_percent: Option<f64> = "Option::is_none",
    /// Users whose adaptive video stalled at least once, or never began.
    "Users with stalls", "%", Lower: stalled_users_percent: Option<f64> = "Option::is_none",
    /// Mean over the users of the time for which their adaptive video was stalled, in percent.
    "Mean stalled time of users", "%", Lower: mean_stall_percent: Option<f64> = "Option::is_none",
    /// 95th percentile over the users of the time for which their adaptive video was stalled, in
    /// percent.
    "Stalled time of users, 95th percentile", "%", Lower:
        p95_stall_percent: Option<f64> = "Option::is_none",
    /// Median of the times until the users' adaptive video began to play.
    "Start of users' video, median", "s", Lower:
        median_startup_s: Option<f64> = "Option::is_none",
    /// 95th percentile of the times until the users' adaptive video began to play.
    "Start of users' video, 95th percentile", "s", Lower:
        p95_startup_s: Option<f64> = "Option::is_none",
    /// Median of the mean bitrates of the users' adaptive video.
    "Bitrate of users, median", "kbps", Higher:
        median_bitrate_kbps: Option<f64> = "Option::is_none",
    /// 5th percentile of the mean bitrates of the users' adaptive video, which 95 % of the users
    /// exceed.
    "Bitrate of users, 5th percentile", "kbps", Higher:
        p5_bitrate_kbps: Option<f64> = "Option::is_none",
}

metrics! {
    /// Counters of one direction of one hop.
    LinkMetrics, LINK;

    /// Packets delivered.
    "Packets delivered", "packets", Neither: packets: u64,
    /// Bytes delivered, IP headers included.
    "Bytes delivered", "bytes", Neither: bytes: u64,
    /// Packets dropped by the policer.
    "Dropped by the policer", "packets", Lower: dropped_policer: u64,
    /// Packets dropped by the full queue or by active queue management.
    "Dropped by the queue", "packets", Lower: dropped_queue: u64,
    /// Packets lost by a loss process of the channel.
    "Lost on the channel", "packets", Lower: dropped_channel: u64,
    /// Packets that the link marked CE (RFC 3168).
    "Marked CE", "packets", Lower: marked_ce: u64,
    /// Maximum length of the queue.
    "Longest queue", "bytes", Lower: queue_max_bytes: u64,
    /// Mean time that packets waited in the queue.
    "Mean queueing delay", "ms", Lower: queue_mean_ms: f64,
    /// Fraction of time spent transmitting.
    "Utilisation", "", Higher: utilisation: f64,
}
