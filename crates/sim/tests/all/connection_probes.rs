//! Probes on the connection of another flow.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{Handshake, Http, QuicSettings};
use bentpipe_sim::{ConnectionProbe, Direction, Object, RunSpec, Stack, Visit};
use bentpipe_tcp::http::Version;
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Rate, Span};
use common::{download, flow, hop, link, run_complete, run_spec, tcp_stack};

const RTT: Span = Span::from_millis(100);

/// Requests of 100 bytes every 100 ms, after the answer to the first one.
fn probe(requests: u64) -> ConnectionProbe {
    let first = Object::new("first", Bytes::new(100));
    let later = (1..=requests).map(|number| Object {
        after: vec![0],
        delay: Span::from_millis(100) * number,
        ..Object::new(format!("probe-{number}"), Bytes::new(100))
    });
    let objects = std::iter::once(first).chain(later).collect();
    ConnectionProbe { name: "probe".to_owned(), objects }
}

/// A flow with `visit`, and the flow of its probe, over links of 10 Mbps.
fn spec(stack: Stack, visit: Visit) -> RunSpec {
    let direction = || link(Rate::from_mbps(10), RTT / 2, "");
    let hops = vec![hop("link", direction(), direction())];
    let flows = vec![flow("load", stack.clone(), vec![visit]), flow("probe", stack, vec![])];
    RunSpec { trace: Some(SeriesLimit::DEFAULT), ..run_spec(RTT, hops, flows) }
}

fn quic(http: Http) -> Stack {
    Stack::quic(QuicSettings { http, ..QuicSettings::default() })
}

/// Two small objects 5 s apart, with probes that would go on for longer than that.
fn idle(direction: Direction) -> Visit {
    let first = Object::new("first", Bytes::new(1_000));
    let delay = Span::from_secs(5);
    let second = Object { after: vec![0], delay, ..Object::new("second", Bytes::new(1_000)) };
    let (objects, probes) = (vec![first, second], vec![probe(1_000)]);
    Visit { direction, objects, probes, ..download(0, Handshake::OneRtt) }
}

#[test]
fn requests_on_an_idle_connection_take_an_rtt_and_end_with_it() {
    let h2 = tcp_stack(Version::H2, CongestionConfig::default(), Bytes::from_mb(16));
    for (stack, direction) in [
        (quic(Http::H3), Direction::Download),
        (quic(Http::H3), Direction::Upload),
        (quic(Http::Raw), Direction::Download),
        (Stack::Tcp(Box::new(h2)), Direction::Download),
    ] {
        let name = format!("{} {direction:?}", stack.name());
        let outcome = run_complete(&spec(stack, idle(direction)));
        let [load, probe] = &outcome.flows[..] else { panic!("{name}: {:?}", outcome.flows) };
        assert_eq!((load.name.as_str(), probe.name.as_str()), ("load", "probe"));
        assert_eq!((load.bytes, load.received, load.objects.len()), (2_000, 2_000, 2), "{name}");
        assert_eq!((probe.connections, probe.packets_sent), (0, 0), "{name}");
        // A request every 100 ms of the 5 s in between, but for those that are not answered.
        let answers = probe.objects.len();
        assert!((48..=52).contains(&answers), "{name}: {answers}");
        assert_eq!(probe.received, 100 * answers as u64, "{name}");
        for object in &probe.objects[1..] {
            let took = object.completion.unwrap() - object.start;
            assert!((RTT..RTT + Span::from_millis(3)).contains(&took), "{name}: {took}");
        }
        let series = &outcome.trace.as_ref().unwrap().flows;
        let own = series.iter().find(|visit| visit.name == "probe").unwrap();
        assert_eq!(own.series.len(), 1, "{name}");
        assert_eq!(own.series[0].points.len(), answers, "{name}");
    }
}

#[test]
fn requests_beside_data_wait_in_its_queue_and_do_not_prolong_the_visit() {
    let visit = |probes| Visit {
        duration: Some(Span::from_secs(10)),
        objects: vec![Object::new("endless", Bytes::new(1 << 40))],
        probes,
        ..download(0, Handshake::OneRtt)
    };
    let outcome = run_complete(&spec(quic(Http::H3), visit(vec![probe(1_000)])));
    let [load, probe] = &outcome.flows[..] else { panic!("{:?}", outcome.flows) };
    assert_eq!(load.completion, Some(Span::from_secs(10)));
    assert!(load.objects.is_empty());
    let took = |number: usize| {
        let object: &bentpipe_sim::ObjectOutcome = &probe.objects[number];
        object.completion.unwrap() - object.start
    };
    let mut times: Vec<Span> = (20..probe.objects.len()).map(took).collect();
    times.sort_unstable();
    // CUBIC keeps the queue of one BDP from three tenths full to full, and an answer first waits
    // for room in the sender's window.
    let median = times[times.len() / 2];
    assert!((RTT.mul_f64(1.3)..RTT.mul_f64(4.0)).contains(&median), "{median}");
    let alone = run_complete(&spec(quic(Http::H3), visit(Vec::new())));
    assert_eq!(alone.flows.len(), 1);
    let lost = load.received as f64 / alone.flows[0].received as f64;
    assert!((0.98..1.02).contains(&lost), "{lost}");
}
