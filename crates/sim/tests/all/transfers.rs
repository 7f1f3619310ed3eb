//! Whole transfers over simulated paths.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::DirectionModel;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{FlowControlRule, Handshake, Http, PacketThreshold, QuicSettings};
use bentpipe_sim::{
    Direction, FlowSpec, HopSpec, PepSpec, Pieces, RunSpec, Stack, TcpStack, Visit,
};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Rate, Span};
use common::{download as visit, flow, hop, link, run, run_spec, tcp_stack};

fn direction(rate_mbps: u64, delay_ms: u64, patch: &str) -> DirectionModel {
    link(Rate::from_mbps(rate_mbps), Span::from_millis(delay_ms), patch)
}

/// 50/10 Mbps, RTT 650 ms, queues of one BDP.
fn geo(visits: Vec<Visit>) -> RunSpec {
    let window = Bytes::from_mb(16);
    let stack = Stack::quic(QuicSettings {
        // Standard slow start makes the expected values easy to compute.
        congestion: CongestionConfig {
            slow_start: "standard".parse().unwrap(),
            ..CongestionConfig::default()
        },
        stream_window: window,
        connection_window: window,
        send_buffer: window,
        ..QuicSettings::default()
    });
    let queue = r#"queue = "1 BDP""#;
    let hops = vec![hop("satellite", direction(50, 325, queue), direction(10, 325, queue))];
    run_spec(Span::from_millis(650), hops, vec![flow("download", stack, visits)])
}

/// TCP, with proxies around the second hop if `split`.
fn tcp(split: bool) -> Stack {
    let congestion = CongestionConfig::default();
    Stack::Tcp(Box::new(TcpStack {
        pep: split.then(|| PepSpec {
            hop: 1,
            terminal: true,
            gateway: true,
            to_client: CongestionConfig::default(),
            to_server: CongestionConfig::default(),
            initial_window: 10,
            ack: Default::default(),
            buffer: Bytes::from_mb(2),
            ack_filter: Some(Span::from_millis(20)),
            failure: None,
        }),
        ..tcp_stack(Default::default(), congestion, Bytes::from_mb(16))
    }))
}

fn seconds(span: Option<Span>) -> f64 {
    span.unwrap().as_secs_f64()
}

#[test]
fn a_download_takes_the_round_trips_of_slow_start() {
    let outcome = run(&geo(vec![visit(2_000_000, Handshake::OneRtt)]));
    let flow = &outcome.flows[0];
    assert!(flow.completed, "{:?}", flow.error);
    // One round trip for the handshake, and at least one for request and response.
    assert!((0.65..0.70).contains(&seconds(flow.handshake)), "{:?}", flow.handshake);
    assert!((1.30..1.40).contains(&seconds(flow.first_byte)), "{:?}", flow.first_byte);
    // With 14.7 kB doubling every round, 2 MB take eight rounds after that of the request.
    assert!((4.5..7.0).contains(&seconds(flow.completion)), "{:?}", flow.completion);
    assert_eq!(flow.packets_declared_lost, Some(0));
}

#[test]
fn early_data_saves_one_round_trip() {
    let one = run(&geo(vec![visit(200_000, Handshake::OneRtt)]));
    let two =
        run(&geo(vec![visit(200_000, Handshake::OneRtt), visit(200_000, Handshake::ZeroRtt)]));
    assert!(two.flows[1].completed, "{:?}", two.flows[1].error);
    let (full, early) = (seconds(one.flows[0].completion), seconds(two.flows[1].completion));
    assert!(
        (full - early - 0.65).abs() < 0.03,
        "{full} s with a full handshake, {early} s with early data"
    );
}

#[test]
fn early_data_without_a_ticket_fails() {
    let outcome = run(&geo(vec![visit(2_000, Handshake::ZeroRtt)]));
    assert!(!outcome.flows[0].completed);
    assert!(outcome.flows[0].error.as_ref().unwrap().contains("0-RTT"));
}

#[test]
fn a_paced_writer_sets_the_time_of_a_transfer() {
    for direction in [Direction::Download, Direction::Upload] {
        let mut paced = Visit { direction, ..visit(20_500, Handshake::OneRtt) };
        let interval = Span::from_millis(100);
        paced.objects[0].pieces = Some(Pieces { size: Bytes::new(1000), interval });
        let outcome = run(&geo(vec![paced]));
        let flow = &outcome.flows[0];
        assert!(flow.completed, "{:?}", flow.error);
        // 21 pieces, the first at once; the answer to an upload comes after the last one.
        let (first, last) = (seconds(flow.first_byte), seconds(flow.completion));
        let answer = if direction == Direction::Upload { 0.325 } else { 0.0 };
        assert!((1.99..2.1).contains(&(last - answer - first)), "{direction:?}: {first}, {last}");
    }
}

#[test]
fn an_upload_completes() {
    let mut upload = visit(1_000_000, Handshake::OneRtt);
    upload.direction = Direction::Upload;
    for http in [Http::H3, Http::Raw] {
        let mut spec = geo(vec![upload.clone()]);
        spec.flows[0].stack.quic_mut().unwrap().http = http;
        let outcome = run(&spec);
        let flow = &outcome.flows[0];
        assert!(flow.completed, "{http:?}: {:?}", flow.error);
        assert!(flow.packets_sent > 680, "{http:?}: {} packets up", flow.packets_sent);
    }
}

#[test]
fn a_lossy_path_delivers_all_bytes_and_all_losses_have_a_cause() {
    let mut spec = geo(vec![visit(5_000_000, Handshake::OneRtt)]);
    spec.hops[0].forward = direction(50, 325, "loss = 0.01\nqueue = \"1 BDP\"");
    let outcome = run(&spec);
    let flow = &outcome.flows[0];
    assert!(flow.completed, "{:?}", flow.error);
    assert!(flow.packets_lost_channel > 10);
    let counters = outcome.links[0].counters;
    assert_eq!(counters.dropped_loss.packets, flow.packets_lost_channel);
}

#[test]
fn policer_drops_are_counted_separately_from_queue_drops() {
    let mut spec = geo(vec![visit(5_000_000, Handshake::OneRtt)]);
    let policer = "queue = \"4 BDP\"\npolicer = { rate = \"20 Mbps\", burst = \"64 kB\" }";
    spec.hops[0].forward = direction(50, 325, policer);
    spec.trace = Some(SeriesLimit::DEFAULT);
    let outcome = run(&spec);
    let flow = &outcome.flows[0];
    assert!(flow.completed, "{:?}", flow.error);
    assert!(flow.packets_lost_policer > 10 && flow.packets_lost_queue == 0);
    let counters = outcome.links[0].counters;
    assert_eq!(
        (counters.dropped_policer.packets, counters.dropped_queue.packets),
        (flow.packets_lost_policer, 0)
    );
    let trace = outcome.trace.unwrap();
    let of_flow = trace.flows[0].series.iter().find(|series| series.name == "dropped_policer");
    let of_link = trace.links[0].series.iter().find(|series| series.name == "dropped_policer");
    for series in [of_flow, of_link] {
        assert_eq!(
            series.map(|series| series.points.len() as u64),
            Some(flow.packets_lost_policer)
        );
    }
}

#[test]
fn two_flows_share_one_terminal_link() {
    let mut spec = geo(vec![visit(10_000_000, Handshake::OneRtt)]);
    let mut second = spec.flows[0].clone();
    second.name = "second".into();
    spec.flows.push(second);
    let outcome = run(&spec);
    for flow in &outcome.flows {
        assert!(flow.completed, "{}: {:?}", flow.name, flow.error);
    }
    assert!(outcome.links[0].counters.bytes_out > 20_000_000);
}

#[test]
fn separate_terminals_do_not_share_links() {
    let mut spec = geo(vec![visit(1_000_000, Handshake::OneRtt)]);
    let alone = seconds(run(&spec).flows[0].completion);
    spec.hops[0].shared = false;
    spec.terminals = 2;
    let mut second = spec.flows[0].clone();
    second.name = "second".into();
    second.terminal = 1;
    spec.flows.push(second);
    let outcome = run(&spec);
    assert_eq!(outcome.links.len(), 4);
    for flow in &outcome.flows {
        // Packet numbers are skipped at random (RFC 9000 §21.4), which changes a few packets.
        assert!(
            (seconds(flow.completion) - alone).abs() < 0.02 * alone,
            "{}: {:?}, alone {alone} s",
            flow.name,
            flow.completion
        );
    }
}

#[test]
fn two_hops_add_their_delays() {
    let mut spec = geo(vec![visit(1_000, Handshake::OneRtt)]);
    let one = seconds(run(&spec).flows[0].handshake);
    let hop = HopSpec {
        name: "terrestrial".into(),
        forward: direction(1000, 15, ""),
        reverse: direction(1000, 15, ""),
        shared: true,
    };
    spec.hops.push(hop);
    let two = seconds(run(&spec).flows[0].handshake);
    assert!((two - one - 0.030).abs() < 0.001, "{one} s, then {two} s");
}

#[test]
fn an_incomplete_transfer_ends_at_the_time_limit() {
    let mut spec = geo(vec![visit(1_000_000_000, Handshake::OneRtt)]);
    spec.time_limit = Span::from_secs(10);
    let outcome = run(&spec);
    let flow = &outcome.flows[0];
    assert!(!flow.completed);
    assert_eq!(flow.completion, None);
    assert!(flow.error.as_ref().unwrap().contains("10 s"), "{:?}", flow.error);
    assert!(outcome.end.as_secs_f64() < 10.1);
}

#[test]
fn a_transfer_over_a_dead_path_is_given_up() {
    let mut spec = geo(vec![visit(1_000, Handshake::OneRtt)]);
    spec.hops[0].forward = direction(50, 325, "loss = 1.0");
    spec.time_limit = Span::from_secs(30);
    let outcome = run(&spec);
    assert!(!outcome.flows[0].completed);
    assert_eq!(outcome.flows[0].handshake, None);
}

#[test]
fn the_same_spec_gives_the_same_outcome() {
    let mut spec =
        geo(vec![visit(3_000_000, Handshake::OneRtt), visit(3_000_000, Handshake::ZeroRtt)]);
    spec.hops[0].forward = direction(50, 325, "loss = 0.005\nqueue = \"1 BDP\"\nframe = \"10 ms\"");
    let (one, two) = (run(&spec), run(&spec));
    assert_eq!(format!("{:?}", one.flows), format!("{:?}", two.flows));
    assert_eq!(one.events, two.events);
    spec.run = 1;
    assert_ne!(format!("{:?}", one.flows), format!("{:?}", run(&spec).flows));
}

#[test]
fn time_blocked_by_small_windows_is_counted() {
    let mut spec = geo(vec![visit(2_000_000, Handshake::OneRtt)]);
    spec.flows[0].stack.quic_mut().unwrap().stream_window = Bytes::new(65_536);
    let outcome = run(&spec);
    let flow = &outcome.flows[0];
    assert!(flow.completed, "{:?}", flow.error);
    // 64 kB per RTT, so flow control blocks most of the time.
    assert!(seconds(flow.completion) > 15.0, "{:?}", flow.completion);
    assert!(
        seconds(flow.flow_control_blocked) > 0.5 * seconds(flow.completion),
        "{:?}",
        flow.flow_control_blocked
    );
    let free = run(&geo(vec![visit(2_000_000, Handshake::OneRtt)]));
    assert!(
        seconds(free.flows[0].flow_control_blocked) < 0.01,
        "{:?}",
        free.flows[0].flow_control_blocked
    );
}

#[test]
fn a_tuned_window_follows_the_path_without_blocking() {
    // 10 MB complete before slow start has filled the queue, so only random losses occur.
    for loss in ["", "loss = 0.01\n"] {
        let mut spec = geo(vec![visit(10_000_000, Handshake::OneRtt)]);
        spec.hops[0].forward = direction(50, 325, &format!("{loss}queue = \"1 BDP\""));
        let free = run(&spec);
        let settings = spec.flows[0].stack.quic_mut().unwrap();
        settings.flow_control = FlowControlRule::tuned();
        settings.stream_window = settings.flow_control.max_window;
        settings.connection_window = Bytes::new(64_000);
        let outcome = run(&spec);
        spec.trace = Some(SeriesLimit::DEFAULT);
        let again = run(&spec);
        assert_eq!(
            format!("{:?}", outcome.flows),
            format!("{:?}", again.flows),
            "with and without recording"
        );
        let series = &again.trace.unwrap().flows[0].series;
        for name in ["flow_control_limit", "flow_control_limit_at_sender", "consumed"] {
            let found = series.iter().find(|series| series.name == name).unwrap();
            assert!(
                found.points.len() > 20 && found.points.is_sorted_by(|a, b| a.1 <= b.1),
                "{name}"
            );
        }
        let flow = &outcome.flows[0];
        // The last round of slow start exceeds the path's capacity, so flow control limits it.
        assert!(
            seconds(flow.completion) < 1.03 * seconds(free.flows[0].completion),
            "{:?}",
            flow.completion
        );
        assert!(
            seconds(flow.flow_control_blocked_longest) < 0.65,
            "{:?}",
            flow.flow_control_blocked_longest
        );
        let product = Rate::from_mbps(50).bytes_in(flow.rtt_p99.unwrap());
        assert_eq!(flow.packets_lost_queue, 0);
        let factor = if loss.is_empty() { 2.0 } else { 4.0 };
        let credit = flow.flow_control.unwrap();
        assert!(credit.max_window <= product.mul_f64(factor), "{} of {product}", credit.max_window);
        assert!(credit.max_held <= credit.max_window, "{credit:?}");
    }
}

#[test]
fn traces_record_the_sender_and_the_links() {
    let mut spec = geo(vec![visit(2_000_000, Handshake::OneRtt)]);
    spec.trace = Some(SeriesLimit::DEFAULT);
    let outcome = run(&spec);
    let trace = outcome.trace.unwrap();
    let names: Vec<_> = trace.flows[0].series.iter().map(|series| series.name).collect();
    for name in ["sent", "acked", "received", "cwnd", "bytes_in_flight", "rtt", "smoothed_rtt"] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    assert_eq!(trace.links.len(), 2);
}

#[test]
fn a_packet_threshold_of_many_packets_takes_no_reordering_for_loss() {
    let jitter = r#"delay = { base = "325 ms", jitter = "3 ms", distribution = "normal",
                    keep_order = false }"#;
    let declared = |packet_threshold: PacketThreshold, patch: &str| {
        let mut spec = geo(vec![visit(2_000_000, Handshake::OneRtt)]);
        spec.hops[0].forward = direction(50, 325, patch);
        let settings = spec.flows[0].stack.quic_mut().unwrap();
        settings.loss_detection.packet_threshold = packet_threshold;
        let outcome = run(&spec);
        assert!(outcome.flows[0].completed, "{:?}", outcome.flows[0].error);
        outcome.flows[0].packets_declared_lost.unwrap()
    };
    assert!(declared(PacketThreshold::Packets(3), jitter) > 20);
    for threshold in [PacketThreshold::Packets(64), PacketThreshold::None] {
        assert_eq!(declared(threshold, jitter), 0);
        // Real losses are found all the same.
        let lost = declared(threshold, "loss = { model = \"periodic\", every = 500 }");
        assert!((2..=4).contains(&lost), "{threshold:?}: {lost}");
    }
}

#[test]
fn losses_on_a_fast_long_path_with_many_chunks_are_repaired() {
    let mut spec = geo(vec![visit(60_000_000, Handshake::OneRtt)]);
    spec.hops[0].forward =
        direction(250, 325, "queue = \"2 BDP\"\nloss = { model = \"periodic\", every = 20000 }");
    let window = Bytes::from_mb(100);
    let settings = spec.flows[0].stack.quic_mut().unwrap();
    (settings.stream_window, settings.connection_window, settings.send_buffer) =
        (window, window, window);
    let outcome = run(&spec);
    let flow = &outcome.flows[0];
    assert!(flow.completed, "{:?}", flow.error);
    assert!(flow.packets_lost_channel >= 1);
}

#[test]
fn the_checks_pass_on_all_kinds_of_links() {
    let outage = "rate = { schedule = [{ at = \"0 s\", rate = \"20 Mbps\" }, \
                  { at = \"2 s\", rate = \"0 bps\" }, { at = \"2.3 s\", rate = \"5 Mbps\" }], \
                  repeat = \"5 s\" }";
    for patch in [
        r#"delay = { base = "325 ms", jitter = "40 ms", keep_order = false }"#,
        r#"delay = { base = "30 ms", jitter = "20 ms", distribution = "normal" }"#,
        "delay = { schedule = [{ at = \"0 s\", delay = \"40 ms\" }, { at = \"2 s\", \
         delay = \"15 ms\" }], repeat = \"3 s\", interpolate = true }",
        "queue = { limit = \"1 BDP\", aqm = \"codel\" }\nframe = \"26.5 ms\"",
        "queue = \"20 packets\"\npolicer = { rate = \"5 Mbps\", burst = \"64 kB\" }\nloss = 0.005",
        outage,
    ] {
        for direction_of_data in [Direction::Download, Direction::Upload] {
            let mut visits =
                vec![visit(3_000_000, Handshake::OneRtt), visit(1_000_000, Handshake::ZeroRtt)];
            visits.iter_mut().for_each(|visit| visit.direction = direction_of_data);
            visits[1].measured = patch == outage;
            let mut spec = geo(visits);
            (spec.hops[0].forward, spec.hops[0].reverse) =
                (direction(10, 325, patch), direction(10, 325, patch));
            let own = HopSpec {
                name: "own".into(),
                forward: direction(30, 5, ""),
                reverse: direction(30, 5, ""),
                shared: false,
            };
            spec.hops.insert(0, own.clone());
            spec.hops.push(HopSpec { name: "terrestrial".into(), shared: true, ..own });
            spec.terminals = 2;
            let mut second = spec.flows[0].clone();
            (second.name, second.terminal, second.start) =
                ("second".into(), 1, Span::from_millis(700));
            let mut split = second.clone();
            (split.name, split.stack) = ("split".into(), tcp(true));
            spec.flows.extend([second, split]);
            spec.flows[1].stack = tcp(false);
            // One run ends during its transfers, with packets on all links.
            spec.time_limit = Span::from_secs(if patch == outage { 3 } else { 100 });
            let outcome = run(&spec);
            assert_eq!(
                outcome.flows.iter().any(|flow| !flow.completed),
                patch == outage,
                "{patch}"
            );
        }
    }
}

#[test]
fn terminals_with_allocated_capacity_have_separate_queues_and_shares() {
    // Two uploads of 500 kB over 4 Mbps: with constant capacity, each has 2 Mbps.
    let mut spec =
        geo(vec![Visit { direction: Direction::Upload, ..visit(500_000, Handshake::OneRtt) }]);
    spec.hops[0].reverse = direction(4, 250, r#"capacity_allocation = { cra = "2 Mbps" }"#);
    spec.terminals = 2;
    spec.trace = Some(SeriesLimit::DEFAULT);
    let second = FlowSpec { name: "other".into(), terminal: 1, ..spec.flows[0].clone() };
    spec.flows.push(second);
    let outcome = run(&spec);
    for flow in &outcome.flows {
        assert!(seconds(flow.completion) > 500_000.0 * 8.0 / 2e6, "{:?}", flow.completion);
    }
    let names: Vec<&str> = outcome.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["satellite/forward", "satellite/return"], "one link with a port for each");
    let trace = outcome.trace.unwrap();
    for terminal in ["satellite/return#0", "satellite/return#1"] {
        let link = trace.links.iter().find(|link| link.name == terminal).unwrap();
        let points =
            |name: &str| &link.series.iter().find(|series| series.name == name).unwrap().points;
        assert!(points("allocated").iter().all(|(_, mbps)| (mbps - 2.0).abs() < 0.001));
        assert!(points("used").iter().all(|(_, mbps)| *mbps < 2.001));
        assert!(points("used").iter().any(|(_, mbps)| *mbps > 1.9));
    }
}
