//! Web pages: origins, names, servers that take their time, and priorities.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{Handshake, Http, QuicSettings};
use bentpipe_sim::{FlowOutcome, Object, RunSpec, Stack, Visit};
use bentpipe_tcp::http::{self, Names, ObjectKind, Page, PageObject, Priority, Source, Version};
use bentpipe_units::{Bytes, Rate, Span};
use common::{flow, hop, link, run, run_complete, run_spec, tcp_stack};
use std::sync::Arc;

const RTT: Span = Span::from_millis(100);
const MS: Span = Span::from_millis(1);

/// An object of `bytes` from an origin, after those in `after`.
fn object(bytes: u64, origin: usize, after: &[usize]) -> PageObject {
    PageObject {
        name: format!("object of {bytes} B"),
        object: http::Object {
            bytes: Bytes::new(bytes),
            after: after.to_vec(),
            delay: Span::ZERO,
            source: Source { origin, ..Source::default() },
        },
        kind: ObjectKind::Image,
        blocks_render: after.is_empty(),
        after_load: false,
    }
}

/// A visit of a page with these objects.
fn visit(objects: Vec<PageObject>, resolves_names: bool) -> Visit {
    let names = if resolves_names { Names::Udp } else { Names::Known };
    visit_by(objects, names, Span::ZERO)
}

/// The same, with names learned in this way.
fn visit_by(objects: Vec<PageObject>, names: Names, resolver_rtt: Span) -> Visit {
    let last = objects.iter().map(|one| one.object.source.origin).max().unwrap();
    let planned = objects.iter().map(|one| Object {
        name: one.name.clone(),
        bytes: one.object.bytes,
        after: one.object.after.clone(),
        delay: one.object.delay,
        pieces: None,
    });
    Visit {
        objects: planned.collect(),
        page: Some(Arc::new(Page {
            origins: (0..=last).map(|origin| format!("origin-{origin}")).collect(),
            objects,
            names,
            resolver_rtt,
        })),
        ..Visit::default()
    }
}

fn spec(stack: Stack, visits: Vec<Visit>, rate: u64, rtt: Span) -> RunSpec {
    let direction = || link(Rate::from_mbps(rate), rtt / 2, "");
    let hops = vec![hop("link", direction(), direction())];
    run_spec(rtt, hops, vec![flow("page", stack, visits)])
}

fn quic(http: Http) -> Stack {
    Stack::quic(QuicSettings { http, ..QuicSettings::default() })
}

fn tcp(version: Version) -> Stack {
    let mut stack = tcp_stack(version, CongestionConfig::default(), Bytes::from_mb(64));
    stack.http.connections = 6;
    Stack::Tcp(Box::new(stack))
}

/// Plays one visit over 100 Mbps, on which small objects take no time.
fn play(stack: Stack, visit: Visit) -> FlowOutcome {
    run_complete(&spec(stack, vec![visit], 100, RTT)).flows.remove(0)
}

fn close(is: Span, asked: Span, what: &str) {
    assert!((asked..asked + MS * 2).contains(&is), "{what}: {is}, asked {asked}");
}

#[test]
fn a_name_takes_exactly_an_rtt() {
    for (stack, name) in [(quic(Http::H3), "h3"), (tcp(Version::H2), "h2")] {
        let with = |names| play(stack.clone(), visit(vec![object(1_000, 0, &[])], names));
        let (known, asked) = (with(false), with(true));
        let page = |flow: &FlowOutcome| flow.page.clone().unwrap();
        let (before, after) = (page(&known).onload.unwrap(), page(&asked).onload.unwrap());
        close(after - before, RTT, name);
        close(asked.handshake.unwrap() - known.handshake.unwrap(), RTT, name);
        assert_eq!(page(&known).origins[0].resolved, None);
        close(page(&asked).origins[0].resolved.unwrap(), RTT, name);
        // Its packets are none of the visit.
        assert_eq!(known.packets_sent, asked.packets_sent, "{name}");
    }
}

#[test]
fn names_over_https_take_an_rtt_each_and_one_more_for_the_connection() {
    for (stack, name) in [(quic(Http::H3), "h3"), (tcp(Version::H2), "h2")] {
        let chain = || vec![object(1_000, 0, &[]), object(1_000, 1, &[0]), object(1_000, 2, &[1])];
        let with = |names, behind| play(stack.clone(), visit_by(chain(), names, behind));
        let page = |flow: &FlowOutcome| flow.page.clone().unwrap();
        let onload = |flow: &FlowOutcome| page(flow).onload.unwrap();
        let known = with(Names::Known, Span::ZERO);
        let more = |names, behind| onload(&with(names, behind)) - onload(&known);
        close(more(Names::Udp, Span::ZERO), RTT * 3, name);
        close(more(Names::Https, Span::ZERO), RTT * 4, name);
        // A resolver behind the path: one more round trip of each exchange.
        close(more(Names::Udp, MS * 20), (RTT + MS * 20) * 3, name);
        close(more(Names::Https, MS * 20), (RTT + MS * 20) * 4, name);
        let asked = with(Names::Https, Span::ZERO);
        let resolved: Vec<Span> =
            page(&asked).origins.iter().map(|one| one.resolved.unwrap()).collect();
        for (is, trips) in resolved.into_iter().zip([2, 1, 1]) {
            close(is, RTT * trips, name);
        }
        // Its packets are none of the visit, and its connection none of the page.
        assert_eq!(known.packets_sent, asked.packets_sent, "{name}");
        assert_eq!(known.connections, asked.connections, "{name}");
    }
}

#[test]
fn a_connection_to_a_resolver_outlives_visits_until_it_is_idle_for_too_long() {
    for (idle, trips) in [(2, 1), (90, 2)] {
        let first = visit_by(vec![object(1_000, 0, &[])], Names::Https, Span::ZERO);
        // A page of the same server, and of one that the first page has not met.
        let objects = vec![object(1_000, 0, &[]), object(1_000, 1, &[0])];
        let mut second = visit_by(objects, Names::Https, Span::ZERO);
        second.idle_before = Span::from_secs(idle);
        let run = run_complete(&spec(quic(Http::H3), vec![first, second], 100, RTT));
        let page = run.flows[1].page.as_ref().unwrap();
        assert_eq!(page.origins[0].resolved, None, "{idle} s");
        close(page.origins[1].resolved.unwrap(), RTT * trips, "another server");
    }
}

#[test]
fn a_resolver_that_does_not_answer_ends_the_visit() {
    let mut spec = spec(
        quic(Http::H3),
        vec![visit_by(vec![object(1_000, 0, &[])], Names::Https, Span::ZERO)],
        100,
        RTT,
    );
    let dead = "loss = { model = \"bernoulli\", ratio = 1 }";
    spec.hops = vec![hop(
        "link",
        link(Rate::from_mbps(100), RTT / 2, ""),
        link(Rate::from_mbps(100), RTT / 2, dead),
    )];
    let flow = run(&spec).flows.remove(0);
    let error = flow.error.unwrap();
    assert!(error.contains("the resolver"), "{error}");
}

#[test]
fn each_origin_costs_a_name_a_handshake_and_a_request() {
    for (stack, trips, connections, name) in [
        (quic(Http::H3), 3, 3, "h3"),
        (quic(Http::Raw), 3, 3, "raw"),
        (tcp(Version::H2), 4, 3, "h2"),
        // Three objects at once from one of them.
        (tcp(Version::H1), 4, 5, "h1"),
    ] {
        let first = object(1_000, 0, &[]);
        let others = || object(1_000, 1, &[0]);
        let objects = vec![first, others(), others(), others(), object(1_000, 2, &[0])];
        let flow = play(stack, visit(objects, true));
        let page = flow.page.as_ref().unwrap();
        let end = |index: usize| flow.objects[index].completion.unwrap();
        close(end(4) - end(0), RTT * trips, name);
        assert_eq!(flow.connections, connections, "{name}");
        let counts: Vec<_> = page.origins.iter().map(|one| (one.objects, one.bytes)).collect();
        assert_eq!(counts, [(1, 1_000), (3, 3_000), (1, 1_000)], "{name}");
        for origin in &page.origins[1..] {
            close(origin.resolved.unwrap(), RTT, name);
            // Of QUIC one RTT, of TCP and TLS two.
            let handshakes = RTT * (trips - 2) * origin.connections as u64;
            close(origin.connecting, handshakes, name);
        }
        assert_eq!(page.first_render, Some(end(0)), "{name}");
        assert_eq!(page.onload, flow.objects.iter().map(|one| one.completion.unwrap()).max());
    }
}

#[test]
fn an_object_that_waits_for_another_server_leaves_when_that_one_has_answered() {
    for (stack, name) in [
        (quic(Http::H3), "h3"),
        (quic(Http::Raw), "raw"),
        (tcp(Version::H2), "h2"),
        (tcp(Version::H1), "h1"),
    ] {
        // The connection to the other server is open, and idle, when it is needed.
        let objects = vec![
            object(1_000, 0, &[]),
            object(1_000, 1, &[0]),
            object(5_000_000, 0, &[0]),
            object(1_000, 1, &[2]),
        ];
        let flow = play(stack, visit(objects, false));
        let end = |index: usize| flow.objects[index].completion.unwrap();
        assert!(end(1) + RTT < end(2), "{name}");
        close(end(3) - end(2), RTT, name);
    }
}

#[test]
fn a_later_visit_knows_names_and_tickets_of_all_origins() {
    for (stack, trips, name) in [(quic(Http::H3), 1, "h3"), (tcp(Version::H2), 2, "h2")] {
        let objects = || vec![object(1_000, 0, &[]), object(1_000, 1, &[0])];
        let first = visit(objects(), true);
        let again = Visit { handshake: Handshake::ZeroRtt, ..first.clone() };
        let flows = run_complete(&spec(stack, vec![first, again], 100, RTT)).flows;
        let ends = flows[1].objects.iter().map(|one| one.completion.unwrap());
        let ends: Vec<_> = ends.collect();
        close(ends[0], RTT * trips, name);
        close(ends[1] - ends[0], RTT * trips, name);
        assert!(flows[1].page.as_ref().unwrap().origins.iter().all(|one| one.resolved.is_none()));
    }
}

#[test]
fn a_server_takes_its_time() {
    for (stack, name) in [
        (quic(Http::H3), "h3"),
        (quic(Http::Raw), "raw"),
        (tcp(Version::H2), "h2"),
        (tcp(Version::H1), "h1"),
    ] {
        let with = |server_time| {
            let mut second = object(1_000, 0, &[0]);
            second.object.source.server_time = server_time;
            let flow = play(stack.clone(), visit(vec![object(1_000, 0, &[]), second], false));
            flow.page.unwrap().onload.unwrap()
        };
        close(with(MS * 345) - with(Span::ZERO), MS * 345, name);
    }
}

#[test]
fn a_name_without_an_answer_ends_the_visit_after_15_s() {
    let mut spec = spec(quic(Http::H3), vec![visit(vec![object(1, 0, &[])], true)], 10, RTT);
    spec.hops[0].forward = link(Rate::from_mbps(10), RTT / 2, "loss = 1.0");
    let outcome = run(&spec);
    let error = outcome.flows[0].error.as_deref().unwrap();
    assert!(error.contains("origin 0 got no answer in 15 s"), "{error}");
    assert_eq!(outcome.end.since_start(), Span::from_secs(15));
}

/// An object of `bytes` with this priority, requested after `delay`.
fn urgent(bytes: u64, (urgency, incremental): (u8, bool), delay: Span) -> PageObject {
    let mut one = object(bytes, 0, &[]);
    one.object.delay = delay;
    one.object.source.priority = Priority { urgency, incremental };
    one
}

/// Check W1 of the specification: two objects of S at rate C end both after 2S/C in turn; one after
/// the other they end after S/C and 2S/C.
#[test]
fn objects_share_the_rate_in_turn_or_follow_each_other() {
    let size = 10_000_000;
    let one = Span::from_secs_f64(size as f64 * 8.0 / 10e6);
    for (stack, name) in [(quic(Http::H3), "h3"), (tcp(Version::H2), "h2")] {
        for (incremental, asked) in [(true, [2.0, 2.0]), (false, [1.0, 2.0])] {
            let object = || urgent(size, (3, incremental), Span::ZERO);
            let page = visit(vec![object(), object()], false);
            let page = Visit { priorities: true, ..page };
            let flow = &run_complete(&spec(stack.clone(), vec![page], 10, MS * 20)).flows[0];
            for (object, asked) in flow.objects.iter().zip(asked) {
                let ratio = object.completion.unwrap().as_secs_f64() / one.as_secs_f64();
                let error = (ratio / asked - 1.0).abs();
                assert!(error < 0.06, "{name} {incremental}: {ratio}, asked {asked}");
            }
        }
    }
}

/// Check W2: 50 kB of urgency 0, requested during 10 MB of urgency 3 over GEO, end an RTT later,
/// plus what has left already. The window is one BDP, so that nothing waits at the link.
#[test]
fn an_urgent_object_waits_for_nothing_but_what_has_left() {
    let rtt = MS * 600;
    let settings = QuicSettings {
        connection_window: Bytes::new(3_750_000),
        send_buffer: Bytes::from_mb(5),
        ..QuicSettings::default()
    };
    let large = urgent(60_000_000, (3, false), Span::ZERO);
    let small = urgent(50_000, (0, false), Span::from_secs(8));
    let page = Visit { priorities: true, ..visit(vec![large, small], false) };
    let spec = spec(Stack::quic(settings), vec![page], 50, rtt);
    let flow = &run_complete(&spec).flows[0];
    let took = flow.objects[1].completion.unwrap() - flow.objects[1].start;
    assert!(flow.objects[0].completion.unwrap() > Span::from_secs(10));
    assert!((rtt..rtt + MS * 60).contains(&took), "{took}");
}
