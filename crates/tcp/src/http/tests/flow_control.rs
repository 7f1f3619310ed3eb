//! Limits by HTTP/2 windows.

use super::*;

fn narrow(stream: u64, connection: u64) -> HttpSettings {
    HttpSettings {
        stream_window: Bytes::new(stream),
        connection_window: Bytes::new(connection),
        ..settings(Version::H2)
    }
}

/// Returns the RTTs from the first content sent to the last received. TLS is open after two RTTs,
/// and content starts with the third.
fn trips(settings: HttpSettings, upload: bool, bytes: u64) -> u64 {
    let played = play(settings, Opening::Full, upload, vec![object(bytes)]);
    assert_eq!(played.received(0), bytes);
    let after_ready = played.when(ExchangeEvent::Ended(0)).since(halves(4));
    after_ready.as_nanos() / (DELAY * 2).as_nanos()
}

#[test]
fn a_window_of_content_takes_an_rtt() {
    // Four DATA frames of 16,375 bytes and 35 bytes fit the window of 65,535. It is returned once
    // more than half is used: after the third frame, 49,125 bytes. So these are sent in the second
    // RTT, and with the rest of the first window, more in each later one.
    assert_eq!(trips(narrow(65_535, 65_535), false, 65_535), 1);
    assert_eq!(trips(narrow(65_535, 65_535), false, 65_536), 2);
    assert_eq!(trips(narrow(65_535, 65_535), false, 65_535 + 49_125), 2);
    assert_eq!(trips(narrow(65_535, 65_535), false, 65_535 + 49_126), 3);
}

#[test]
fn the_long_run_rate_is_between_half_a_window_and_a_window_per_rtt() {
    for (stream, connection) in
        [(65_535, 65_535), (200_000, 65_535), (65_535, 200_000), (1 << 20, 3 << 20)]
    {
        let window = stream.min(connection);
        let bytes = 40 * window;
        let trips = trips(narrow(stream, connection), false, bytes);
        assert!((40..=80).contains(&trips), "{stream} {connection}: {trips}");
    }
}

#[test]
fn content_in_flight_stays_within_the_window() {
    for (stream, connection, streams) in
        [(65_535, 65_535, 1), (100_000, 1 << 20, 3), (1 << 20, 100_000, 5)]
    {
        let objects = vec![object(3 << 20); streams];
        let played = play(narrow(stream, connection), Opening::Full, false, objects);
        let window = connection.min(stream * streams as u64);
        // Frames and records add less than one part in 250 to large frames; small ones come with
        // each new window, a few at a time.
        let slack = window / 100 + 40 * 31 * streams as u64;
        for (time, side, burst) in &played.bursts {
            assert!(*side == Role::Client || *burst <= window + slack + 4000, "{time} {burst}");
        }
    }
}

#[test]
fn only_a_blocked_sender_reports_it() {
    assert!(
        !play(narrow(65_535, 65_535), Opening::Full, false, vec![object(100_000)])
            .blocked
            .is_empty()
    );
    assert!(
        !play(narrow(65_535, 1 << 20), Opening::Full, false, vec![object(100_000)])
            .blocked
            .is_empty()
    );
    assert!(
        !play(narrow(1 << 20, 65_535), Opening::Full, false, vec![object(100_000)])
            .blocked
            .is_empty()
    );
    assert!(
        play(narrow(1 << 20, 1 << 20), Opening::Full, false, vec![object(100_000)])
            .blocked
            .is_empty()
    );
    assert!(
        play(settings(Version::H1), Opening::Full, false, vec![object(100_000)]).blocked.is_empty()
    );
}

#[test]
fn while_a_record_waits_for_tcp_windows_do_not_block() {
    let mut exchange =
        Exchange::new(&narrow(1000, 65_535), Opening::EarlyData, false, vec![object(5000)]);
    exchange.on_open(Time::ZERO, 0, Role::Client);
    exchange.on_open(Time::ZERO, 0, Role::Server);
    let request = exchange.to_write(Time::ZERO, 0, Role::Client, u64::MAX);
    exchange.on_received(Time::ZERO, 0, Role::Server, request);
    let mut turns = 0;
    while exchange.to_write(Time::ZERO, 0, Role::Server, 100) == 100 {
        assert!(!exchange.is_blocked(0, Role::Server));
        turns += 1;
    }
    assert!(
        turns > 10 && exchange.is_blocked(0, Role::Server) && !exchange.is_blocked(0, Role::Client)
    );
}

#[test]
fn an_upload_starts_with_the_default_window_and_continues_with_the_servers() {
    // The server's settings arrive an RTT after the first content.
    assert_eq!(trips(narrow(1 << 20, 1 << 20), true, 65_535), 1);
    assert_eq!(trips(narrow(1 << 20, 1 << 20), true, 65_536), 2);
    assert_eq!(trips(narrow(1 << 20, 1 << 20), true, 1 << 20), 2);
    // A window smaller than the bytes already sent blocks everything until enough is returned. Then
    // 501 to 1000 bytes are sent per RTT.
    let small = trips(narrow(1000, 1 << 20), true, 100_000);
    assert!((35..=70).contains(&small), "{small}");
    assert!(
        !play(narrow(1 << 20, 1 << 20), Opening::Full, true, vec![object(100_000)])
            .blocked
            .is_empty()
    );
}

#[test]
fn streams_share_the_connection_frame_by_frame() {
    let played = play(
        settings(Version::H2),
        Opening::Full,
        false,
        vec![object(50_000), object(10), object(50_000)],
    );
    let content: Vec<usize> = played
        .noted
        .iter()
        .filter_map(|(_, event)| match event {
            ExchangeEvent::Received(object, _) => Some(*object),
            _ => None,
        })
        .collect();
    assert_eq!(content, [0, 1, 2, 0, 2, 0, 2, 0, 2]);
}

#[test]
fn a_window_of_zero_counts_as_one_byte() {
    let played = play(narrow(0, 0), Opening::Full, false, vec![object(20)]);
    assert_eq!(played.received(0), 20);
}

#[test]
fn at_most_a_hundred_streams_are_open() {
    let played = play(settings(Version::H2), Opening::Full, false, vec![object(10); 250]);
    let started = |time| {
        played
            .noted
            .iter()
            .filter(|(when, event)| *when == time && matches!(event, ExchangeEvent::Started(_)))
            .count()
    };
    assert_eq!([4, 6, 8].map(|half| started(halves(half))), [100, 100, 50]);
}
