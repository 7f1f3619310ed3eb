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
