//! A packet analyser's view of a run's capture. The tests need tshark; without it, they say so and
//! pass.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::DirectionModel;
use bentpipe_quic::{Handshake, QuicSettings};
use bentpipe_sim::{CapturePoint, HopEnd, RunOutcome, RunSpec, Stack, Visit};
use bentpipe_units::{Rate, Span};
use common::{download, flow, hop, link, run_complete, run_spec};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::process::Command;

fn direction(rate: u64) -> DirectionModel {
    link(Rate::from_mbps(rate), Span::from_millis(300), "")
}

fn visit(handshake: Handshake) -> Visit {
    // The first connection is closed by then. Both use the same ports, which would confuse
    // analysers.
    Visit { idle_before: Span::from_secs(5), ..download(1_000, handshake) }
}

/// Captures a visit with a full handshake, then one with early data, at the client.
fn captured() -> RunOutcome {
    captured_at(HopEnd::Client)
}

fn captured_at(end: HopEnd) -> RunOutcome {
    let visits = vec![visit(Handshake::OneRtt), visit(Handshake::ZeroRtt)];
    let flows = vec![flow("main", Stack::quic(QuicSettings::default()), visits)];
    let hops = vec![hop("satellite", direction(50), direction(10))];
    run_complete(&RunSpec {
        capture: Some(CapturePoint { hop: "satellite".to_owned(), end }),
        ..run_spec(Span::from_millis(600), hops, flows)
    })
}

/// Returns the `fields` of the packets that `filter` selects; `None` without tshark.
fn dissect(capture: &[u8], filter: &str, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("capture.pcapng");
    std::fs::write(&file, capture).unwrap();
    let mut command = Command::new("tshark");
    // Checksums are verified in one pass, which requires secrets before the packets they decrypt.
    command.args([
        "-n",
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
        "-T",
        "fields",
        "-r",
    ]);
    command.arg(&file).args(["-Y", filter]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: tshark is not installed");
            return None;
        }
        output => output.unwrap(),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

fn values(rows: &[Vec<String>], column: usize) -> BTreeSet<&str> {
    rows.iter().flat_map(|row| row[column].split(',')).collect()
}

#[test]
fn every_packet_is_captured_with_its_time_and_interface() {
    let outcome = captured();
    let capture = outcome.capture.unwrap();
    let fields = [
        "frame.time_epoch",
        "frame.interface_name",
        "ip.src",
        "ip.checksum.status",
        "ip.len",
        "frame.len",
    ];
    let Some(packets) = dissect(&capture, "", &fields) else { return };
    // The last datagram, with CONNECTION_CLOSE, is sent after counting has ended.
    let counted: u64 =
        outcome.flows.iter().map(|flow| flow.packets_sent + flow.reverse_packets).sum();
    assert!(
        (counted..=counted + 4).contains(&(packets.len() as u64)),
        "{} of {counted}",
        packets.len()
    );
    let nanos: Vec<u64> =
        packets.iter().map(|packet| packet[0].replace('.', "").parse().unwrap()).collect();
    assert!(nanos.is_sorted());
    assert_eq!(nanos[0], outcome.flows[0].start.as_nanos());
    assert!(nanos.contains(&outcome.flows[1].start.as_nanos()));
    assert!(nanos.iter().any(|time| time % 1000 != 0), "nanosecond resolution");
    for packet in &packets {
        let (interface, source) = (packet[1].as_str(), packet[2].as_str());
        assert!(
            [("satellite/forward", "198.19.0.0"), ("satellite/return", "198.18.0.2")]
                .contains(&(interface, source))
        );
        // 1 means good.
        assert_eq!(packet[3], "1", "checksum of the IP header");
        assert_eq!(packet[4], packet[5], "length");
    }
    assert_eq!(values(&packets, 1).len(), 2);
}

#[test]
fn a_host_has_its_own_times() {
    for end in [HopEnd::Server, HopEnd::Client] {
        let outcome = captured_at(end);
        let capture = outcome.capture.unwrap();
        let fields = ["frame.time_epoch", "ip.src"];
        let Some(packets) = dissect(&capture, "", &fields) else { return };
        let at = |packet: &[String]| packet[0].parse::<f64>().unwrap();
        assert!(packets.is_sorted_by_key(|packet| at(packet)));
        // The first answer: at once at the server, and an RTT later at the client.
        let answer = packets.iter().find(|packet| packet[1] == "198.19.0.0").unwrap();
        let waited = at(answer) - at(&packets[0]);
        let expected = if end == HopEnd::Server { 0.0 } else { 0.6 };
        assert!((waited - expected).abs() < 0.01, "{end:?}: {waited} s");
        // The request has crossed the path at the server.
        let crossed = at(&packets[0]) - outcome.flows[0].start.as_secs_f64();
        let expected = if end == HopEnd::Server { 0.3 } else { 0.0 };
        assert!((crossed - expected).abs() < 0.01, "{end:?}: {crossed} s");
    }
}

#[test]
fn reverse_direction_counters_match_the_capture() {
    let outcome = captured();
    let fields = ["frame.time_epoch", "ip.len", "quic.ack.largest_acknowledged"];
    // CONNECTION_CLOSE (RFC 9000 §19.19) is sent after counting has ended.
    let filter = "ip.src == 198.18.0.2 and not quic.frame_type in {28, 29}";
    let Some(packets) = dissect(outcome.capture.as_ref().unwrap(), filter, &fields) else { return };
    for flow in &outcome.flows {
        let begun = flow.start.as_nanos();
        let ended = begun + flow.completion.unwrap().as_nanos();
        let at = |packet: &[String]| packet[0].replace('.', "").parse::<u64>().unwrap();
        let own: Vec<&Vec<String>> =
            packets.iter().filter(|packet| (begun..=ended).contains(&at(packet))).collect();
        let total: u64 = own.iter().map(|packet| packet[1].parse::<u64>().unwrap()).sum();
        assert_eq!(total, flow.reverse_bytes.total);
        let acks = own.iter().filter_map(|packet| packet.get(2)).flat_map(|acks| acks.split(','));
        let acks = acks.filter(|ack| !ack.is_empty()).count() as u64;
        assert_eq!(acks, flow.acknowledgements.as_ref().unwrap().packets);
    }
}

#[test]
fn the_secrets_decrypt_all_packets() {
    let outcome = captured();
    let capture = outcome.capture.unwrap();
    let Some(bad) = dissect(&capture, "quic.decryption_failed or _ws.malformed", &["frame.number"])
    else {
        return;
    };
    assert_eq!(bad, Vec::<Vec<String>>::new(), "undecryptable or malformed packets");
    let fields = ["frame.time_epoch", "http3.frame_type", "frame.interface_name"];
    let second_visit = outcome.flows[1].start.as_secs_f64();
    let http = |visits: &str| {
        dissect(&capture, &format!("http3 and frame.time_epoch {visits} {second_visit}"), &fields)
            .unwrap()
    };
    // DATA, HEADERS and SETTINGS frames (RFC 9114 §7.2). In the second visit, only those of the
    // server: early data precede the choice of the application protocol, so tshark does not parse
    // them as HTTP/3.
    let (first, second) = (http("<"), http(">="));
    assert!(values(&first, 1).is_superset(&["0", "1", "4"].into()), "{first:?}");
    assert_eq!(values(&first, 2).len(), 2, "both directions");
    assert!(values(&second, 1).is_superset(&["1", "4"].into()), "{second:?}");
    // The request of the second visit is early data (RFC 9001 §4.6) in its first packet, as STREAM
    // frames.
    let fields = ["frame.time_epoch", "quic.frame_type"];
    let early = dissect(&capture, "quic.long.packet_type == 1", &fields).unwrap();
    let time: f64 = early[0][0].parse().unwrap();
    assert!((time - second_visit).abs() < 0.01, "{early:?}");
    assert!(
        values(&early, 1).iter().any(|frame| (8..16).contains(&frame.parse::<u32>().unwrap())),
        "{early:?}"
    );
    // One ClientHello each.
    let hellos = dissect(&capture, "tls.handshake.type == 1", &["frame.time_epoch"]).unwrap();
    assert_eq!(hellos.len(), 2);
}
