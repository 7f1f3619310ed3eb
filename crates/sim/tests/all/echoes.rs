//! Keystrokes of a remote shell and their echoes, with known answers.

use crate::common;

use bentpipe_quic::Handshake;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_sim::{FlowOutcome, Object, RunSpec, Stack, Visit};
use bentpipe_tcp::http::Version;
use bentpipe_units::{Bytes, Rate, Span};
use common::{download, flow, hop, link, run_complete, run_spec, tcp_stack};

const RTT: Span = Span::from_millis(40);
/// A keystroke or an echo of 100 B, with 20 B of IP and 32 B of TCP.
const PACKET: Bytes = Bytes::new(152);

/// Keys at equal intervals after the first echo, over links of 10 Mbps; `patch` changes that to the
/// server.
fn spec(keys: u64, interval: Span, patch: &str) -> RunSpec {
    let rate = Rate::from_mbps(10);
    let key = |number: u64| Object {
        after: if number == 0 { Vec::new() } else { vec![0] },
        delay: interval * number,
        ..Object::new(format!("key-{number}"), Bytes::new(100))
    };
    let visit = Visit { objects: (0..keys).map(key).collect(), ..download(0, Handshake::OneRtt) };
    let stack = tcp_stack(Version::Echo, CongestionConfig::default(), Bytes::from_mb(16));
    let hops = vec![hop("link", link(rate, RTT / 2, ""), link(rate, RTT / 2, patch))];
    run_spec(RTT, hops, vec![flow("shell", Stack::Tcp(Box::new(stack)), vec![visit])])
}

/// Returns how long each echo took.
fn echoes(flow: &FlowOutcome) -> Vec<Span> {
    let took = |object: &bentpipe_sim::ObjectOutcome| Some(object.completion? - object.start);
    flow.objects.iter().filter_map(took).collect()
}

#[test]
fn an_echo_takes_an_rtt_and_two_packets() {
    let flow = run_complete(&spec(50, Span::from_millis(200), "")).flows.remove(0);
    let expected = RTT + Rate::from_mbps(10).time_for(PACKET) * 2;
    let (first, others) = (echoes(&flow)[0], &echoes(&flow)[1..]);
    assert_eq!(others, vec![expected; 49]);
    // The first key leaves behind the ACK that opens the connection, of 52 B.
    assert_eq!(first, expected + Rate::from_mbps(10).time_for(Bytes::new(52)));
    assert_eq!((flow.connections, flow.received), (1, 5_000));
}

#[test]
fn a_lost_keystroke_holds_up_those_behind_it() {
    // One of the keystrokes, of all packets to the server.
    let patch = "loss = { model = \"periodic\", every = 1000, offset = 12 }";
    let flow = run_complete(&spec(50, Span::from_millis(10), patch)).flows.remove(0);
    let echoes = echoes(&flow);
    let ends: Vec<_> = flow.objects.iter().map(|object| object.completion).collect();
    assert!(ends.is_sorted(), "{ends:?}");
    let late = echoes.iter().filter(|echo| **echo > RTT * 3 / 2).count();
    assert!(late > 2, "{echoes:?}");
}
