//! Many objects, over one connection or several.

use super::*;

fn objects(count: usize) -> Vec<Object> {
    page(count, 7).into_iter().map(|entry| entry.object).collect()
}

/// That each object ended, had its bytes, and was asked for when what it depends on had ended and its delay was over.
fn check(played: &Loopback, objects: &[Object]) {
    for (index, object) in objects.iter().enumerate() {
        let started = played.when(Note::Started(index));
        assert!(played.when(Note::Ended(index)) > started, "{index}");
        assert_eq!(played.received(index), object.bytes.get(), "{index}");
        for other in &object.after {
            assert!(started >= played.when(Note::Ended(*other)) + object.delay, "{index} after {other}");
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
    for (_, note) in &played.notes {
        match note {
            Note::Started(_) => open += 1,
            Note::Ended(_) => open -= 1,
            Note::Ready | Note::Received(..) => {}
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
fn early_data_saves_a_page_a_round_trip() {
    let objects = objects(60);
    let [full, early] =
        [Opening::Full, Opening::EarlyData].map(|opening| play(settings(Version::H2), opening, false, objects.clone()));
    check(&early, &objects);
    assert_eq!(full.now.since(early.now), DELAY * 2);
}

#[test]
fn connections_are_opened_as_requests_wait_for_them() {
    let after_root = || Object { after: vec![0], ..object(1000) };
    let list = vec![object(1000), after_root(), after_root(), after_root()];
    let played = play(settings(Version::H1), Opening::Full, false, list);
    // The first request that follows takes the connection that there is; the other two open one each.
    assert_eq!(played.opened, 3);
    assert_eq!(played.when(Note::Started(1)), played.when(Note::Ended(0)));
    // It is free again before the others are open, and takes the next.
    assert_eq!(played.when(Note::Started(2)), played.when(Note::Ended(1)));
    assert_eq!(played.when(Note::Started(3)).since(played.when(Note::Ended(0))), DELAY * 4);
}

#[test]
fn later_connections_resume_with_the_ticket_of_the_first() {
    let after_root = || Object { after: vec![0], ..object(1000) };
    let played = play(settings(Version::H1), Opening::Full, false, vec![object(1000), after_root(), after_root()]);
    let hellos: Vec<u64> =
        played.bursts.iter().map(|(_, _, bytes)| *bytes).filter(|bytes| [517, 543].contains(bytes)).collect();
    assert_eq!(hellos, [517, 543]);
}

#[test]
fn requests_after_a_delay_leave_when_it_is_over() {
    for version in VERSIONS {
        let delay = Span::from_millis(1234);
        let list = vec![object(1000), Object { after: vec![0], delay, ..object(1000) }];
        let played = play(settings(version), Opening::Full, false, list);
        assert_eq!(played.when(Note::Started(1)), played.when(Note::Ended(0)) + delay, "{version:?}");
    }
}
