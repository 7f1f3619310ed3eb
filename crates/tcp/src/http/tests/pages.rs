//! Many objects, over one connection or several.

use super::*;

fn objects(count: usize) -> Vec<Object> {
    page(count, 7).into_iter().map(|entry| entry.object).collect()
}

/// Checks that each object completed with all its bytes, and was requested after its dependencies
/// and its delay.
fn check(played: &Loopback, objects: &[Object]) {
    played.when(ExchangeEvent::Ready);
    for (index, object) in objects.iter().enumerate() {
        let started = played.when(ExchangeEvent::Started(index));
        assert!(played.when(ExchangeEvent::Ended(index)) > started, "{index}");
        assert_eq!(played.received(index), object.bytes.get(), "{index}");
        for other in &object.after {
            assert!(
                started >= played.when(ExchangeEvent::Ended(*other)) + object.delay,
                "{index} after {other}"
            );
        }
    }
}

#[test]
fn a_page_over_http1_uses_six_connections_one_exchange_each() {
    let objects = objects(60);
    let played = play(settings(Version::H1), Opening::Full, false, objects.clone());
    check(&played, &objects);
    assert_eq!(played.opened, 6);
    let mut open = 0_i32;
    for (_, event) in &played.noted {
        match event {
            ExchangeEvent::Started(_) => open += 1,
            ExchangeEvent::Ended(_) => open -= 1,
            ExchangeEvent::Ready | ExchangeEvent::Received(..) => {}
        }
        assert!(open <= 6);
    }
}

#[test]
fn a_page_over_http2_uses_one_connection_and_is_faster() {
    let objects = objects(60);
    let played = play(settings(Version::H2), Opening::Full, false, objects.clone());
    check(&played, &objects);
    assert_eq!(played.opened, 1);
    let http1 = play(settings(Version::H1), Opening::Full, false, objects);
    assert!(played.now < http1.now, "{} {}", played.now, http1.now);
}

#[test]
fn early_data_saves_a_page_an_rtt() {
    let objects = objects(60);
    let [full, early] = [Opening::Full, Opening::EarlyData]
        .map(|opening| play(settings(Version::H2), opening, false, objects.clone()));
    check(&early, &objects);
    assert_eq!(full.now.since(early.now), DELAY * 2);
}

#[test]
fn connections_are_opened_as_needed_by_requests() {
    let after_root = || Object { after: vec![0], ..object(1000) };
    let list = vec![object(1000), after_root(), after_root(), after_root()];
    let played = play(settings(Version::H1), Opening::Full, false, list);
    // The first following request uses the existing connection; the other two open one each.
    assert_eq!(played.opened, 3);
    assert_eq!(played.when(ExchangeEvent::Started(1)), played.when(ExchangeEvent::Ended(0)));
    // It is free again before the others are open, and takes the next request.
    assert_eq!(played.when(ExchangeEvent::Started(2)), played.when(ExchangeEvent::Ended(1)));
    assert_eq!(
        played.when(ExchangeEvent::Started(3)).since(played.when(ExchangeEvent::Ended(0))),
        DELAY * 4
    );
}

#[test]
fn later_connections_resume_with_the_ticket_of_the_first() {
    let after_root = || Object { after: vec![0], ..object(1000) };
    let played = play(
        settings(Version::H1),
        Opening::Full,
        false,
        vec![object(1000), after_root(), after_root()],
    );
    let hellos: Vec<u64> = played
        .bursts
        .iter()
        .map(|(_, _, bytes)| *bytes)
        .filter(|bytes| [517, 543].contains(bytes))
        .collect();
    assert_eq!(hellos, [517, 543]);
}

#[test]
fn requests_leave_after_their_delay() {
    for version in VERSIONS {
        let delay = Span::from_millis(1234);
        let list = vec![object(1000), Object { after: vec![0], delay, ..object(1000) }];
        let played = play(settings(version), Opening::Full, false, list);
        assert_eq!(
            played.when(ExchangeEvent::Started(1)),
            played.when(ExchangeEvent::Ended(0)) + delay,
            "{version:?}"
        );
    }
}

#[test]
fn due_requests_wait_for_the_client_rather_than_the_server() {
    let delay = Span::from_millis(10);
    let list = vec![Object { delay, ..object(1000) }, object(1000)];
    let mut exchange = Exchange::new(&settings(Version::H2), Opening::EarlyData, false, list);
    assert_eq!(exchange.poll_open(Time::ZERO), Some(0));
    exchange.on_open(Time::ZERO, 0, Role::Client);
    let request = exchange.to_write(Time::ZERO, 0, Role::Client, u64::MAX);
    let due = Time::ZERO + delay;
    exchange.on_open(due, 0, Role::Server);
    exchange.on_received(due, 0, Role::Server, request);
    assert_eq!(exchange.poll_open(due), None);
    assert!(exchange.to_write(due, 0, Role::Server, u64::MAX) > 1000);
    assert_eq!(exchange.next_timeout(), Some(due));
    assert_eq!(exchange.to_write(due, 0, Role::Client, u64::MAX), 0);
    exchange.handle_timeout(due);
    assert!(exchange.to_write(due, 0, Role::Client, u64::MAX) > 0);
}

/// Returns an object of `origin` that is requested after the root.
fn of(origin: usize) -> Object {
    let source = Source { origin, ..Source::default() };
    Object { after: vec![0], source, ..object(1000) }
}

#[test]
fn each_origin_has_connections_of_its_own() {
    for (version, connections) in [(Version::H2, 3), (Version::H1, 1 + 2 + 6)] {
        let mut list = vec![object(1000), of(0), of(0)];
        list.extend((0..8).map(|_| of(1)));
        list.push(of(2));
        let played = play(settings(version), Opening::Full, false, list.clone());
        check(&played, &list);
        // HTTP/1.1: the root's takes one of its origin's, and a second one opens.
        assert_eq!(played.opened, connections, "{version:?}");
        // Three RTTs: TCP, TLS, request.
        let root = played.when(ExchangeEvent::Ended(0));
        let first = played.when(ExchangeEvent::Ended(11)).since(root);
        assert_eq!(first, DELAY * 6, "{version:?}");
    }
}

#[test]
fn an_origin_that_is_held_back_waits_and_a_ticket_is_its_own() {
    let list = vec![object(1000), of(1)];
    let mut exchange = Exchange::new(&settings(Version::H2), Opening::EarlyData, false, list);
    exchange.set_opening(1, Opening::Full);
    exchange.hold_origin(1);
    let played = Loopback::new(exchange, 1 << 40).run();
    assert_eq!(played.opened, 1);
    let mut exchange = played.exchange;
    exchange.release_origin(played.now, 1);
    assert_eq!(exchange.poll_open(played.now), Some(1));
    assert_eq!((exchange.origin(0), exchange.origin(1)), (0, 1));
    assert!(exchange.is_ready(0) && !exchange.is_ready(1));
}

#[test]
fn a_server_answers_after_its_time() {
    for version in VERSIONS {
        let time = Span::from_millis(321);
        let working = |server_time| {
            let source = Source { server_time, ..Source::default() };
            vec![object(1000), Object { after: vec![0], source, ..object(1000) }, of(0)]
        };
        let played = |time| play(settings(version), Opening::Full, false, working(time));
        let (at_once, later) = (played(Span::ZERO), played(time));
        let ended = |played: &Loopback, index| played.when(ExchangeEvent::Ended(index));
        assert_eq!(ended(&later, 1), ended(&at_once, 1) + time, "{version:?}");
        if version == Version::H2 {
            // Another object does not wait for it.
            assert_eq!(ended(&later, 2), ended(&at_once, 2));
        }
    }
}

#[test]
fn priorities_decide_what_is_sent_first() {
    let with = |urgency, incremental| {
        let priority = Priority { urgency, incremental };
        Object { source: Source { priority, ..Source::default() }, ..object(200_000) }
    };
    let list = vec![with(3, false), with(3, true), with(3, true), with(0, false), with(3, false)];
    let ends = |priorities| {
        let settings = HttpSettings { priorities, ..settings(Version::H2) };
        let exchange = Exchange::new(&settings, Opening::EarlyData, false, list.clone());
        let played = Loopback::new(exchange, 16_384).run();
        let mut received = [0; 5];
        let mut order = Vec::new();
        for (_, event) in &played.noted {
            if let ExchangeEvent::Received(object, bytes) = *event {
                received[object] += bytes;
                if received[object] == 200_000 {
                    order.push(object);
                }
            }
        }
        order
    };
    assert_eq!(ends(true), [3, 1, 2, 0, 4]);
    assert_eq!(ends(false), [0, 1, 2, 3, 4]);
}
