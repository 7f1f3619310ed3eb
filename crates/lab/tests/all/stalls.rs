//! Transfers that would stop for ever if the stack were used without precautions.

#![allow(clippy::unwrap_used)]

use bentpipe_lab::Lab;
use bentpipe_results::Results;

/// The start of BBRv1 loses 14,000 packets. What was left of them is sent again in packets of up to
/// a hundred small frames, of which noq-proto 1.4 loses data if streams are read out of order.
#[test]
fn transfers_survive_retransmissions_in_many_small_frames() {
    let text = r#"
        name = "small-frames"
        time_limit = "1 min"
        [path]
        forward = { rate = "150 Mbps", delay = "305 ms" }
        return = { rate = "150 Mbps", delay = "305 ms" }
        [workload]
        download = "100 MB"
        [defaults]
        congestion = "bbr1"
        slow_start = "standard"
        ack = "stack"
        resume = "none"
        max_window = "1 GB"
        flow_control.preset = "auto"
        [[variant]]
        name = "h3"
        [[variant]]
        name = "raw"
        http = "raw"
    "#;
    let results = Lab::new().run(text).unwrap();
    for run in &results.runs {
        let flow = &run.flows[0];
        assert!(flow.completed, "{}: {:?}", run.variant, flow.error);
        let lost = flow.metrics.packets_lost_queue;
        assert!(lost > 10_000, "{}: {lost} packets lost", run.variant);
    }
}

/// Updates of flow control are lost on a return link that is full of acknowledgements. In batches
/// of datagrams of the size of a small first one, noq-proto 1.4 has no room for them when it sends
/// them again, and fills the small window of the receiver with padding.
#[test]
fn credit_that_is_lost_on_a_full_return_link_is_sent_again() {
    let text = r#"
        name = "lost-credit"
        seed = 1
        repeat = 6
        [path]
        profile = "hylas"
        mtu = "1308 B"
        return = { rate = "30 kbps" }
        [workload]
        download = "10 MB"
        start_jitter = "1 s"
        [defaults]
        congestion = "newreno"
        slow_start = "standard"
        http = "raw"
        ack = "1:2"
        resume = "none"
        quic.pacing = false
        flow_control.preset = "auto"
        flow_control.connection_window = "1 MiB"
        flow_control.window_update_fraction = 0.5
    "#;
    let results = Lab::new().run(text).unwrap();
    assert_eq!(results.runs.len(), 6);
    for run in &results.runs {
        assert!(run.flows[0].completed, "run {}: {:?}", run.run, run.flows[0].error);
    }
}

/// noq-proto 1.4 sends no acknowledgement while other frames wait for the congestion window. That
/// of a client once fell to two packets, since its few frames had proven nothing and waited behind
/// the download: a probe of its MTU then held back all acknowledgements for a round trip.
#[test]
fn acknowledgements_do_not_wait_for_the_receivers_own_window() {
    let text = r#"
        name = "receivers-window"
        [path]
        mtu = "1480 B"
        forward = { rate = "5 Mbps", delay = "325 ms", queue = "1 BDP" }
        return = { rate = "1 Mbps", delay = "325 ms", queue = "1 BDP" }
        [workload]
        download = "2 MB"
        [defaults]
        resume = "none"
        [[variant]]
        name = "small"
        quic.initial_mtu = "1200 B"
        [[variant]]
        name = "probing"
        quic.mtu_discovery = true
    "#;
    let results = Lab::new().run(text).unwrap();
    let (small, probing) = (seconds(&results, "small"), seconds(&results, "probing"));
    assert!(probing < small + 0.1, "{probing} s, without probes {small} s");
}

/// The server of a page sends little and pauses, and what it proves may be a few bytes per second.
/// Paced at that rate, one packet once took 24 minutes.
#[test]
fn a_page_with_pauses_is_not_paced_at_the_rate_of_a_pause() {
    let text = r#"
        name = "pauses"
        [path]
        forward = { rate = "50 Mbps", delay = "300 ms" }
        return = { rate = "10 Mbps", delay = "300 ms", capacity_allocation = { rbdc = "10 Mbps" } }
        [workload]
        web_page = 50
        [defaults]
        ack = "stack"
        http = "h1"
        [[variant]]
        name = "auto"
        [[variant]]
        name = "standard"
        slow_start = "standard"
    "#;
    let results = Lab::new().run(text).unwrap();
    let (auto, standard) = (seconds(&results, "auto"), seconds(&results, "standard"));
    assert!(auto < 1.1 * standard, "{auto} s, with standard slow start {standard} s");
}

/// Returns the completion time of a variant in seconds.
fn seconds(results: &Results, variant: &str) -> f64 {
    let run = results.runs.iter().find(|run| run.variant == variant).unwrap();
    run.flows[0].metrics.completion_s.unwrap()
}
