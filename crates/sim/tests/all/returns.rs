//! Counters of the reverse direction: layers, acknowledgements, series.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::DirectionModel;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{Handshake, QuicSettings};
use bentpipe_sim::overhead::{Overhead, SMALLEST_ACK_FRAME};
use bentpipe_sim::{Direction, FlowOutcome, RunOutcome, RunSpec, Stack, Visit};
use bentpipe_timeseries::{Series, SeriesLimit};
use bentpipe_units::{Bytes, Span};
use common::{download, flow, hop, link, run_complete, run_spec, tcp_stack};
use proptest::prelude::*;

fn direction(rate: &str, loss: f64) -> DirectionModel {
    let patch = format!("queue = \"1 BDP\"\nloss = {loss:.4}");
    link(rate.parse().unwrap(), Span::from_millis(315), &patch)
}

/// Runs one transfer over 8.5/1.5 Mbps and 630 ms.
fn transfer(
    seed: u64,
    stack: Stack,
    toward: Direction,
    bytes: u64,
    loss: f64,
    trace: bool,
) -> RunOutcome {
    let visit = Visit { direction: toward, ..download(bytes, Handshake::OneRtt) };
    let flows = vec![flow("main", stack, vec![visit])];
    let hops = vec![hop("satellite", direction("8.5 Mbps", loss), direction("1.5 Mbps", loss))];
    run_complete(&RunSpec {
        seed,
        trace: trace.then_some(SeriesLimit::DEFAULT),
        ..run_spec(Span::from_millis(630), hops, flows)
    })
}

/// QUIC in IP packets of 1280 bytes.
fn quic() -> Stack {
    Stack::quic(QuicSettings { initial_mtu: 1252, max_mtu: 1252, ..QuicSettings::default() })
}

fn tcp() -> Stack {
    let congestion = CongestionConfig::default();
    Stack::Tcp(Box::new(tcp_stack(Default::default(), congestion, Bytes::from_mb(16))))
}

/// Checks that layers add up to the bytes, and counts inside packets match those of packets.
fn check(flow: &FlowOutcome) {
    let bytes = &flow.reverse_bytes;
    let report = flow.acknowledgements.as_ref().unwrap();
    assert_eq!(bytes.ip, flow.reverse_packets * 20);
    // Several packets share a datagram only in the handshake.
    assert!(report.only <= report.packets && report.data < flow.packets_sent + 10, "{report:?}");
    if flow.transport == "tcp" {
        assert_eq!(bytes.ip + bytes.tcp + bytes.options + bytes.payload, bytes.total);
        assert_eq!((bytes.tcp, bytes.quic), (flow.reverse_packets * 20, 0));
        assert_eq!(report.sizes.count(), report.only);
        return;
    }
    assert_eq!(bytes.ip + bytes.udp + bytes.quic, bytes.total);
    let inside =
        [bytes.quic_header, bytes.ack, bytes.flow_control, bytes.other, bytes.padding, bytes.tag];
    assert_eq!((inside.iter().sum::<u64>(), bytes.unseen), (bytes.quic, 0), "{bytes:?}");
    assert_eq!(bytes.tag % 16, 0);
    assert!(
        (flow.reverse_packets..flow.reverse_packets + 10).contains(&(bytes.tag / 16)),
        "{bytes:?}"
    );
    let sizes =
        report.sizes.counts().iter().map(|(&size, &count)| u64::from(size) * count).sum::<u64>();
    assert!(report.sizes.max().unwrap() > 255 || sizes == bytes.ack, "{sizes} of {}", bytes.ack);
    assert_eq!(report.sizes.count(), report.packets);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn layers_add_up_exactly(
        seed in 0..1_000u64,
        is_quic: bool,
        upload: bool,
        bytes in 1..1_500_000u64,
        loss in prop_oneof![Just(0.0), 0.0..0.05],
    ) {
        let toward = if upload { Direction::Upload } else { Direction::Download };
        let stack = if is_quic { quic() } else { tcp() };
        check(&transfer(seed, stack, toward, bytes, loss, false).flows[0]);
    }
}

#[test]
fn measured_overhead_matches_the_computed_one() {
    let percent = |flow: &FlowOutcome, bytes: u64| 100.0 * bytes as f64 / flow.bytes_sent as f64;
    let near = |ours: f64, computed: f64| {
        assert!((ours - computed).abs() < 0.1, "{ours}, computed {computed}")
    };
    let outcome = transfer(1, quic(), Direction::Download, 10_000_000, 0.0, false);
    let (flow, bytes) = (&outcome.flows[0], &outcome.flows[0].reverse_bytes);
    let computed = Overhead::of_quic(2, 1280, SMALLEST_ACK_FRAME);
    near(percent(flow, bytes.ip), computed.ip);
    near(percent(flow, bytes.udp), computed.udp);
    near(percent(flow, bytes.quic_header + bytes.tag), computed.quic);
    let outcome = transfer(1, tcp(), Direction::Download, 10_000_000, 0.0, false);
    let (flow, bytes) = (&outcome.flows[0], &outcome.flows[0].reverse_bytes);
    let computed = Overhead::of_tcp(2, 1500);
    near(percent(flow, bytes.ip), computed.ip);
    near(percent(flow, bytes.tcp), computed.tcp);
    near(percent(flow, bytes.tcp + bytes.options), computed.tcp + computed.tcp_options);
}

fn series<'a>(outcome: &'a RunOutcome, name: &str) -> &'a Series {
    let all = &outcome.trace.as_ref().unwrap().flows[0].series;
    all.iter().find(|series| series.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn series_match_the_counters() {
    for stack in [quic(), tcp()] {
        let outcome = transfer(3, stack, Direction::Download, 3_000_000, 0.002, true);
        let flow = &outcome.flows[0];
        let report = flow.acknowledgements.as_ref().unwrap();
        // Kilobits in bins of 100 ms.
        let sum =
            |name: &str| series(&outcome, name).points.iter().map(|(_, value)| value).sum::<f64>();
        let bytes = sum("reverse_rate") * 100.0 / 8.0;
        assert!((bytes - flow.reverse_bytes.total as f64).abs() < 1.0, "{bytes}");
        let sent = &series(&outcome, "packet_number_sent").points;
        assert!(sent.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1), "{}", flow.transport);
        assert!(
            sent.len() as u64 <= flow.packets_sent && sent.len() as u64 > flow.packets_sent - 20
        );
        let acked = &series(&outcome, "packet_number_acked").points;
        assert!(acked.len() as u64 <= report.packets && acked.len() > 100);
        let last = sent.last().unwrap().1;
        assert!(acked.iter().all(|&(_, number)| number <= last));
        let per_ack = &series(&outcome, "data_per_ack").points;
        assert!(per_ack.iter().all(|&(_, value)| (0.0..=10.0).contains(&value)), "{per_ack:?}");
        let mean = report.data as f64 / report.packets as f64;
        // Two packets per ACK, and one during loss recovery.
        assert!((1.0..2.1).contains(&mean), "{mean}");
        if flow.transport == "quic" {
            assert_eq!(sum("ack_frame_bytes"), flow.reverse_bytes.ack as f64);
            assert_eq!(series(&outcome, "ack_frame_bytes").points.len() as u64, report.packets);
        }
    }
}

#[test]
fn recording_does_not_change_the_outcome() {
    let counted =
        |trace| transfer(5, quic(), Direction::Upload, 500_000, 0.01, trace).flows.remove(0);
    let (with, without) = (counted(true), counted(false));
    assert_eq!((with.reverse_bytes, with.completion), (without.reverse_bytes, without.completion));
    assert_eq!(with.acknowledgements, without.acknowledgements);
}
