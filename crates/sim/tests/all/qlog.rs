//! Contents of a run's qlog traces.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::DirectionModel;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::qlog::check::{check, check_qvis};
use bentpipe_quic::qlog::{CAREFUL_RESUME_SCHEMA, Forms, HTTP3_SCHEMA, QUIC_SCHEMA, TCP_SCHEMA};
use bentpipe_quic::{AckBy, Handshake, QuicSettings};
use bentpipe_sim::{RunOutcome, RunSpec, Stack, Visit};
use bentpipe_tcp::http::Version;
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Rate, Span};
use common::{download, flow, hop, link, run_complete, run_spec, tcp_stack};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn direction(patch: &str) -> DirectionModel {
    link(Rate::from_mbps(50), Span::from_millis(300), patch)
}

fn visit(handshake: Handshake, measured: bool) -> Visit {
    Visit { idle_before: Span::from_millis(500), measured, ..download(2_000_000, handshake) }
}

fn run(forward: &str, visits: Vec<Visit>) -> RunOutcome {
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
    let hops = vec![hop("satellite", direction(forward), direction(""))];
    let flows = vec![flow("main", stack, visits)];
    checked(&RunSpec { qlog: Forms::BOTH, ..run_spec(Span::from_millis(600), hops, flows) })
}

fn lossy() -> RunOutcome {
    run("loss = 0.01", vec![visit(Handshake::OneRtt, true)])
}

/// Runs `spec` and checks all its traces.
fn checked(spec: &RunSpec) -> RunOutcome {
    let outcome = run_complete(spec);
    assert!(!outcome.qlog.is_empty());
    for file in &outcome.qlog {
        check(&file.current).unwrap_or_else(|defect| panic!("{}: {defect}", file.name));
        check_qvis(&file.qvis).unwrap_or_else(|defect| panic!("{}: {defect}", file.name));
    }
    outcome
}

/// Returns head and events of a trace.
fn parse(bytes: &[u8]) -> (Value, Vec<Value>) {
    let trace = check(bytes).unwrap();
    (trace.head, trace.events)
}

/// Returns the events of both ends, client first.
fn ends(outcome: &RunOutcome) -> [Vec<Value>; 2] {
    [0, 1].map(|index| parse(&outcome.qlog[index].current).1)
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["name"] == name).map(|event| &event["data"]).collect()
}

fn sizes(packets: &[&Value]) -> u64 {
    packets.iter().map(|packet| packet["raw"]["length"].as_u64().unwrap()).sum()
}

/// Counts the datagrams of one side's packets. A packet with a long header is followed by the rest
/// of its datagram.
fn datagrams(events: &[Value]) -> u64 {
    let sent: Vec<&Value> =
        events.iter().filter(|event| event["name"] == "quic:packet_sent").collect();
    let continues = |pair: &&[&Value]| {
        pair[0]["data"]["header"].get("scid").is_some() && pair[0]["time"] == pair[1]["time"]
    };
    (sent.len() - sent.windows(2).filter(continues).count()) as u64
}

fn frames<'a>(packet: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    packet["frames"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(move |frame| frame["frame_type"] == kind)
}

#[test]
fn each_measured_visit_has_a_file_of_each_end() {
    let outcome = run("", vec![visit(Handshake::OneRtt, false), visit(Handshake::ZeroRtt, true)]);
    let names: Vec<&str> = outcome.qlog.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["main-visit2-client", "main-visit2-server"]);
    let begin = outcome.flows[0].start.as_secs_f64() * 1e3;
    let mut groups = BTreeSet::new();
    for (file, side) in outcome.qlog.iter().zip(["client", "server"]) {
        let (head, events) = parse(&file.current);
        assert_eq!(head["file_schema"], "urn:ietf:params:qlog:file:sequential");
        assert_eq!(head["serialization_format"], "application/qlog+json-seq");
        assert_eq!(head["title"], file.name.as_str());
        let trace = &head["trace"];
        assert_eq!(trace["vantage_point"]["type"], side);
        assert_eq!(
            trace["event_schemas"],
            serde_json::json!([QUIC_SCHEMA, CAREFUL_RESUME_SCHEMA, HTTP3_SCHEMA])
        );
        let common = &trace["common_fields"];
        assert_eq!(common["time_format"], "relative_to_epoch");
        assert_eq!(
            common["reference_time"],
            serde_json::json!({"clock_type": "monotonic", "epoch": "unknown"})
        );
        groups.insert(common["group_id"].as_str().unwrap().to_owned());

        let times: Vec<f64> = events.iter().map(|event| event["time"].as_f64().unwrap()).collect();
        // Times count from the start of the run at both ends.
        let expected = if side == "client" { begin } else { begin + 300.0 };
        assert!(
            (times[0] - expected).abs() < 5.0,
            "{}: starts at {} ms, expected {expected}",
            file.name,
            times[0]
        );
    }
    assert_eq!(groups.len(), 1, "one connection: {groups:?}");
    let [client, server] = ends(&outcome);
    for (events, kind) in [(&client, "quic:packet_sent"), (&server, "quic:packet_received")] {
        assert!(
            named(events, kind).iter().any(|packet| packet["header"]["packet_type"] == "0RTT"),
            "no 0-RTT {kind}"
        );
    }
}

#[test]
fn packets_match_the_flow_counters() {
    let outcome = lossy();
    let flow = &outcome.flows[0];
    let [client, server] = ends(&outcome);
    assert_eq!(datagrams(&server), flow.packets_sent);
    assert_eq!(datagrams(&client), flow.reverse_packets);
    assert_eq!(sizes(&named(&client, "quic:packet_sent")), flow.reverse_bytes.quic);
    assert!(flow.packets_declared_lost > Some(0));
    assert_eq!(
        named(&server, "quic:packet_lost").len() as u64,
        flow.packets_declared_lost.unwrap_or_default()
    );
    // All packets of the client are delivered.
    assert_eq!(named(&client, "quic:packet_lost").len(), 0);
    let (sent, received) =
        (named(&client, "quic:packet_sent"), named(&server, "quic:packet_received"));
    let (first_sent, first_received) = (sent[0], received[0]);
    assert_eq!(
        first_received["raw"]["length"], first_sent["raw"]["length"],
        "first packet with its tag"
    );
    let known: BTreeSet<String> = sent.iter().map(|packet| identity(packet)).collect();
    assert!(received.iter().all(|packet| known.contains(&identity(packet))));
}

#[test]
fn acknowledgement_counters_match_the_events() {
    let outcome = lossy();
    let flow = &outcome.flows[0];
    let report = flow.acknowledgements.as_ref().unwrap();
    let [client, server] = ends(&outcome);
    let sent = named(&client, "quic:packet_sent");
    let has = |packet: &&&Value, kind: &str| frames(packet, kind).next().is_some();
    let only = |packet: &&&Value| {
        packet["frames"]
            .as_array()
            .unwrap()
            .iter()
            .all(|frame| ["ack", "padding"].contains(&frame["frame_type"].as_str().unwrap()))
    };
    let acks = sent.iter().filter(|packet| has(packet, "ack"));
    assert_eq!(acks.clone().count() as u64, report.packets);
    assert_eq!(acks.filter(only).count() as u64, report.only);
    assert_eq!(sent.len() as u64 * 16, flow.reverse_bytes.tag);
    // All packets are ack-eliciting, except pure ACKs and CONNECTION_CLOSE.
    let data =
        named(&client, "quic:packet_received").iter().filter(|packet| !only(packet)).count() as u64;
    assert_eq!(data, report.data);
    assert!(report.data <= named(&server, "quic:packet_sent").len() as u64);
}

fn identity(packet: &Value) -> String {
    format!(
        "{}{} of {} bytes",
        packet["header"]["packet_type"], packet["header"]["packet_number"], packet["raw"]["length"]
    )
}

#[test]
fn acknowledgements_refer_to_received_packets() {
    for events in ends(&lossy()) {
        let mut arrived: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        let mut acks = 0;
        for event in &events {
            let packet = &event["data"];
            let Some(kind) = packet["header"]["packet_type"].as_str() else { continue };
            let space = if kind == "0RTT" { "1RTT" } else { kind };
            match event["name"].as_str().unwrap() {
                "quic:packet_received" => {
                    let number = packet["header"]["packet_number"].as_u64().unwrap();
                    arrived.entry(space).or_default().insert(number);
                }
                "quic:packet_sent" => {
                    for ack in frames(packet, "ack") {
                        acks += 1;
                        let delay = ack["ack_delay"].as_f64().unwrap();
                        // In milliseconds. In the field's own unit of 8 microseconds, delayed ACKs
                        // would have thousands.
                        assert!((0.0..=100.0).contains(&delay), "{delay} ms");
                        let mut largest = 0;
                        for range in ack["acked_ranges"].as_array().unwrap() {
                            let range: Vec<u64> = range
                                .as_array()
                                .unwrap()
                                .iter()
                                .map(|end| end.as_u64().unwrap())
                                .collect();
                            let (first, last) = (range[0], *range.last().unwrap());
                            assert!(
                                (1..=2).contains(&range.len())
                                    && (range.len() == 1 || first < last),
                                "{range:?}"
                            );
                            assert!(
                                (first..=last).all(|number| arrived[space].contains(&number)),
                                "{range:?} in {space}"
                            );
                            largest = largest.max(last);
                        }
                        assert_eq!(Some(&largest), arrived[space].last(), "latest in {space}");
                    }
                }
                _ => {}
            }
        }
        assert!(acks > 1);
    }
}

#[test]
fn metrics_match_the_sender() {
    let [_, server] = ends(&lossy());
    let metrics = named(&server, "quic:recovery_metrics_updated");
    let values =
        |field: &str| metrics.iter().filter_map(|data| data[field].as_f64()).collect::<Vec<_>>();
    // No threshold before the first loss, then CUBIC's fraction of the window.
    let thresholds = values("ssthresh");
    assert!(
        !thresholds.is_empty() && thresholds.iter().all(|&bytes| bytes < 16e6),
        "{thresholds:?}"
    );
    assert!(values("congestion_window").iter().any(|&bytes| bytes > 50_000.0));
    let rtt = *values("min_rtt").last().unwrap();
    assert!((600.0..610.0).contains(&rtt), "{rtt} ms");
}

#[test]
fn pacing_rates_are_those_of_the_controller_and_follow_the_first_rtt() {
    let outcome = run("", vec![visit(Handshake::OneRtt, false), visit(Handshake::ZeroRtt, true)]);
    for events in ends(&outcome) {
        let (mut window, mut rtt, mut seen) = (0.0, None, 0);
        for metrics in named(&events, "quic:recovery_metrics_updated") {
            window = metrics["congestion_window"].as_f64().unwrap_or(window);
            rtt = metrics["smoothed_rtt"].as_f64().or(rtt);
            let Some(rate) = metrics["pacing_rate"].as_f64() else { continue };
            seen += 1;
            // RFC 9002 §7.7: 1.25 windows in an RTT, to the byte that the window is written in.
            let expected = 1.25 * window * 8.0 / (rtt.expect("an RTT first") / 1e3);
            assert!((rate / expected - 1.0).abs() < 1e-3, "{rate} bit/s, expected {expected}");
        }
        assert!(seen > 0);
    }
}

#[test]
fn bytes_in_flight_have_their_peaks_and_their_falls() {
    let [_, server] = ends(&lossy());
    let flights: Vec<u64> = named(&server, "quic:recovery_metrics_updated")
        .iter()
        .filter_map(|metrics| metrics["bytes_in_flight"].as_u64())
        .collect();
    let windows = named(&server, "quic:recovery_metrics_updated");
    let largest = windows.iter().filter_map(|metrics| metrics["congestion_window"].as_u64()).max();
    let peak = flights.iter().max().copied();
    assert!(peak > Some(50_000) && peak <= largest.map(|window| window + 1472), "{peak:?}");
    assert!(flights.windows(2).any(|pair| pair[1] < pair[0]));
    // A peak and a fall for each ACK, and a few for losses.
    let acks = named(&server, "quic:packet_received").len();
    assert!(flights.len() < 2 * acks + 50, "{} for {acks} ACKs", flights.len());
}

#[test]
fn acknowledgements_that_were_held_back_are_written_when_they_leave() {
    let window = Bytes::from_mb(16);
    let stack = QuicSettings {
        ack: "rtt/4".parse().unwrap(),
        ack_by: AckBy::Receiver,
        stream_window: window,
        connection_window: window,
        send_buffer: window,
        ..QuicSettings::default()
    };
    let hops = vec![hop("satellite", direction(""), direction(""))];
    let flows = vec![flow("main", Stack::quic(stack), vec![visit(Handshake::OneRtt, true)])];
    let spec = RunSpec { qlog: Forms::BOTH, ..run_spec(Span::from_millis(600), hops, flows) };
    let outcome = checked(&spec);
    let flow = &outcome.flows[0];
    let [client, _] = ends(&outcome);
    assert_eq!(datagrams(&client), flow.reverse_packets);
    assert_eq!(sizes(&named(&client, "quic:packet_sent")), flow.reverse_bytes.quic);
    let acks = named(&client, "quic:packet_sent").len();
    let data = named(&client, "quic:packet_received").len();
    assert!(acks < data / 10, "{acks} for {data}: few are left of those held back");
}

#[test]
fn http3_frames_are_seen_at_both_ends() {
    let [client, server] = ends(&lossy());
    let lengths = |events: &[Value], name: &str, kind: &str| -> Vec<u64> {
        let frames = named(events, name).into_iter().map(|data| &data["frame"]);
        frames
            .filter(|frame| frame["frame_type"] == kind)
            .map(|frame| frame["raw"]["payload_length"].as_u64().unwrap())
            .collect()
    };
    let created = lengths(&server, "http3:frame_created", "data");
    assert_eq!(created.iter().sum::<u64>(), 2_000_000);
    assert_eq!(lengths(&client, "http3:frame_parsed", "data"), created);
    for kind in ["headers", "settings"] {
        for (from, to) in [(&client, &server), (&server, &client)] {
            let created = lengths(from, "http3:frame_created", kind);
            assert_eq!(lengths(to, "http3:frame_parsed", kind), created, "{kind}");
            assert_eq!(created.len(), 1, "{kind}");
        }
    }
    let opened = named(&client, "http3:stream_type_set");
    assert!(
        opened
            .iter()
            .any(|data| { data["stream_type"] == "control" && data["initiator"] == "remote" })
    );
}

#[test]
fn changes_of_the_resume_phase_are_in_their_place() {
    let window = Bytes::from_mb(16);
    let stack = QuicSettings {
        congestion: CongestionConfig {
            slow_start: "standard".parse().unwrap(),
            resume: "careful".parse().unwrap(),
            ..CongestionConfig::default()
        },
        stream_window: window,
        connection_window: window,
        send_buffer: window,
        ..QuicSettings::default()
    };
    let visit = |handshake, measured| Visit {
        idle_before: Span::from_secs(2),
        measured,
        ..download(10_000_000, handshake)
    };
    let visits = vec![visit(Handshake::OneRtt, false), visit(Handshake::ZeroRtt, true)];
    let hops = vec![hop("satellite", direction(""), direction(""))];
    let flows = vec![flow("main", Stack::quic(stack), visits)];
    let spec = RunSpec { qlog: Forms::BOTH, ..run_spec(Span::from_millis(600), hops, flows) };
    let outcome = checked(&spec);
    let [_, server] = ends(&outcome);
    let phases: Vec<&str> = named(&server, "quic:careful_resume_phase_updated")
        .iter()
        .map(|data| data["new"].as_str().unwrap())
        .collect();
    assert_eq!(phases[..2], ["reconnaissance", "unvalidated"], "{phases:?}");
    // The jump comes before the packets that it allows, at the same time.
    let at = |name: &str, new: &str| {
        server.iter().position(|event| event["name"] == name && event["data"]["new"] == new)
    };
    let jump = at("quic:careful_resume_phase_updated", "unvalidated").unwrap();
    let sent = server[jump..].iter().position(|event| event["name"] == "quic:packet_sent").unwrap();
    assert_eq!(server[jump]["time"], server[jump + sent]["time"]);
}

#[test]
fn restored_parameters_come_before_those_of_the_handshake() {
    let outcome = run("", vec![visit(Handshake::OneRtt, false), visit(Handshake::ZeroRtt, true)]);
    let [client, server] = ends(&outcome);
    let restored = named(&client, "quic:parameters_restored");
    assert_eq!(restored.len(), 1);
    assert_eq!(restored[0]["initial_max_data"], 16_000_000);
    assert_eq!(named(&server, "quic:parameters_restored").len(), 0);
    for events in [&client, &server] {
        let owners: Vec<&str> = named(events, "quic:parameters_set")
            .iter()
            .map(|data| data["initiator"].as_str().unwrap())
            .collect();
        assert_eq!(owners, ["local", "remote"]);
    }
}

#[test]
fn tcp_has_traces_of_both_ends_too() {
    let congestion =
        CongestionConfig { slow_start: "standard".parse().unwrap(), ..CongestionConfig::default() };
    let stack = tcp_stack(Version::H2, congestion, Bytes::from_mb(16));
    let hops = vec![hop("satellite", direction("loss = 0.01"), direction(""))];
    let flows =
        vec![flow("main", Stack::Tcp(Box::new(stack)), vec![visit(Handshake::OneRtt, true)])];
    let spec = RunSpec { qlog: Forms::BOTH, ..run_spec(Span::from_millis(600), hops, flows) };
    let outcome = checked(&spec);
    let names: Vec<&str> = outcome.qlog.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["main-visit1-client", "main-visit1-server"]);
    let (head, _) = parse(&outcome.qlog[0].current);
    assert_eq!(
        head["trace"]["event_schemas"],
        serde_json::json!([QUIC_SCHEMA, CAREFUL_RESUME_SCHEMA, TCP_SCHEMA])
    );
    let flow = &outcome.flows[0];
    let [client, server] = ends(&outcome);
    assert_eq!(named(&server, "tcp:packet_sent").len() as u64, flow.packets_sent);
    assert_eq!(named(&client, "tcp:packet_sent").len() as u64, flow.reverse_packets);
    let lost = named(&server, "tcp:packet_lost").len() as u64;
    assert!(lost > 0);
    assert_eq!(Some(lost), flow.packets_declared_lost);
    let phases = named(&server, "quic:congestion_state_updated");
    assert!(phases.windows(2).all(|pair| pair[1]["old"] == pair[0]["new"]), "{phases:?}");
    assert!(phases.len() > 1, "{phases:?}");
    let metrics = named(&server, "quic:recovery_metrics_updated");
    assert!(metrics.iter().any(|data| data["ssthresh"].is_u64()));
    let acks = named(&server, "tcp:packet_received");
    assert!(metrics.len() < 3 * acks.len(), "{} for {} ACKs", metrics.len(), acks.len());
    assert!(acks.iter().any(|data| data["header"]["sack"].is_array()));
}

#[test]
fn the_qvis_format_keeps_the_data_of_the_congestion_graph() {
    let outcome = lossy();
    for file in &outcome.qlog {
        let old = &file.qvis;
        let start = std::str::from_utf8(&old[..1024]).unwrap();
        assert!(
            start.contains(r#""qlog_version":"0.3""#)
                && start.contains(r#""qlog_format":"JSON-SEQ""#)
        );
        let (_, current) = parse(&file.current);
        let qvis = check_qvis(old).unwrap();
        let (head, old) = (qvis.head, qvis.events);
        assert!(head["trace"].is_object());
        for (now, then) in [
            ("quic:packet_sent", "transport:packet_sent"),
            ("quic:packet_received", "transport:packet_received"),
            ("quic:packet_lost", "recovery:packet_lost"),
            ("quic:recovery_metrics_updated", "recovery:metrics_updated"),
            ("quic:parameters_set", "transport:parameters_set"),
        ] {
            assert_eq!(named(&current, now).len(), named(&old, then).len(), "{then}");
        }
        for name in ["transport:packet_sent", "transport:packet_received"] {
            for packet in named(&old, name) {
                assert!(packet["raw"]["length"].as_u64().is_some_and(|length| length > 0));
                assert!(
                    packet["header"]["packet_type"].is_string()
                        && packet["header"]["packet_number"].is_u64()
                );
                for stream in frames(packet, "stream") {
                    assert_eq!(stream["length"], stream["raw"]["payload_length"]);
                }
            }
        }
        let remote = named(&old, "transport:parameters_set")
            .into_iter()
            .find(|data| data["owner"] == "remote")
            .unwrap();
        assert_eq!(remote["initial_max_data"], 16_000_000);
        let metrics = named(&old, "recovery:metrics_updated");
        for field in
            ["bytes_in_flight", "congestion_window", "min_rtt", "smoothed_rtt", "latest_rtt"]
        {
            assert!(
                metrics.iter().any(|data| data[field].is_number()),
                "{}: no {field}",
                file.name
            );
        }
    }
    let [_, server] = ends(&outcome);
    let received = named(&server, "quic:packet_received");
    assert!(
        received
            .iter()
            .any(|packet| frames(packet, "ack").any(|ack| ack["acked_ranges"].is_array()))
    );
}

#[test]
fn variables_of_a_controller_are_in_series_and_traces_of_whoever_asks() {
    let stack = |congestion: &str| {
        Stack::quic(QuicSettings {
            congestion: CongestionConfig {
                controller: congestion.parse().unwrap(),
                slow_start: "standard".parse().unwrap(),
                ..CongestionConfig::default()
            },
            ..QuicSettings::default()
        })
    };
    let recorded = |congestion: &str, controller_state: bool| {
        let hops = vec![hop("satellite", direction(""), direction(""))];
        let flows = vec![flow("main", stack(congestion), vec![visit(Handshake::OneRtt, true)])];
        let spec = run_spec(Span::from_millis(600), hops, flows);
        let trace = Some(SeriesLimit::FULL);
        let outcome = checked(&RunSpec { qlog: Forms::BOTH, trace, controller_state, ..spec });
        let series = outcome.trace.as_ref().unwrap().flows[0].series.clone();
        let [_, server] = ends(&outcome);
        let variables: BTreeSet<String> = named(&server, "quic:recovery_metrics_updated")
            .iter()
            .filter_map(|data| data["controller"].as_object())
            .flat_map(|fields| fields.keys().cloned())
            .collect();
        (series, variables)
    };
    let (series, variables) = recorded("bbr3", true);
    let last = |name: &str| {
        let found =
            series.iter().find(|series| series.name == name).unwrap_or_else(|| panic!("{name}"));
        found.points.last().unwrap().1
    };
    assert_eq!(last("full_bw_reached"), 0.0, "2 MB end in Startup");
    assert!(last("max_bw") > 1.0 && last("min_rtt") >= 600.0);
    for name in ["pacing_gain", "full_bw_count", "inflight_longterm_bytes", "max_bw_mbps"] {
        assert!(variables.contains(name), "{name}: {variables:?}");
    }
    let (series, variables) = recorded("newreno", true);
    assert!(series.iter().any(|series| series.name == "delivery_rate"));
    assert_eq!(variables.len(), 2, "a controller without variables: {variables:?}");
    let (series, variables) = recorded("bbr3", false);
    assert!(variables.is_empty());
    assert!(series.iter().all(|series| series.name != "max_bw"));
}
