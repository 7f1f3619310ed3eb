//! Known exchanges, byte by byte.

use super::*;

const RECORD: u64 = 22;
const FRAME: u64 = 9;

#[test]
fn a_download_over_http2_has_the_bytes_of_its_records() {
    let played = play(settings(Version::H2), Opening::Full, false, vec![object(100_000)]);
    // ClientHello, Finished, preface with SETTINGS and WINDOW_UPDATE, SETTINGS acknowledgement,
    // request.
    let client = 517
        + 64
        + (RECORD + 24 + FRAME + 24 + FRAME + 4)
        + (RECORD + FRAME)
        + (RECORD + FRAME + 5 + 280);
    // The server flight, tickets, SETTINGS and WINDOW_UPDATE, SETTINGS acknowledgement, response,
    // seven DATA frames.
    let server = 2474
        + 478
        + (RECORD + FRAME + 18 + FRAME + 4)
        + (RECORD + FRAME)
        + (RECORD + FRAME + 170)
        + (100_000 + 7 * (RECORD + FRAME));
    assert_eq!(played.written, [client, server]);
}

#[test]
fn a_second_request_over_http2_is_smaller() {
    let one = play(settings(Version::H2), Opening::Full, false, vec![object(1)]);
    let two = play(settings(Version::H2), Opening::Full, false, vec![object(1), object(1)]);
    let more = [RECORD + FRAME + 5 + 60, RECORD + FRAME + 70 + RECORD + FRAME + 1];
    assert_eq!([two.written[0] - one.written[0], two.written[1] - one.written[1]], more);
}

#[test]
fn window_updates_are_frames_and_skip_ended_streams() {
    let rfc = *"rfc".parse::<FlowControlPresetName>().unwrap().preset();
    let settings = HttpSettings {
        stream_window: rfc.stream_window,
        connection_window: rfc.connection_window,
        ..settings(Version::H2)
    };
    let written = |bytes| play(settings, Opening::Full, false, vec![object(bytes)]).written[0];
    // Frames of 16,375 bytes: the third uses more than half of 65,535. In the first case the stream
    // ends with it.
    let update = RECORD + FRAME + 4;
    // A window that stays at its initial value needs no update.
    assert_eq!(
        written(1),
        517 + 64 + (RECORD + 24 + FRAME + 24) + (RECORD + FRAME) + (RECORD + FRAME + 5 + 280)
    );
    assert_eq!(
        [written(40_000) - written(1), written(3 * 16_375 + 1) - written(1)],
        [update, 2 * update]
    );
}

#[test]
fn a_download_over_http1_has_the_bytes_of_its_records() {
    let played = play(settings(Version::H1), Opening::Resumed, false, vec![object(100_000)]);
    let client = 543 + 64 + RECORD + 470;
    // EncryptedExtensions names the longer protocol.
    let server = 238 + 6 + 478 + (RECORD + 316) + 100_000 + 7 * RECORD;
    assert_eq!(played.written, [client, server]);
}

#[test]
fn an_upload_over_http1_has_the_bytes_of_its_records() {
    let played = play(settings(Version::H1), Opening::Full, true, vec![object(100_000)]);
    let client = 517 + 64 + (RECORD + 470) + 100_000 + 7 * RECORD;
    assert_eq!(played.written, [client, 2474 + 6 + 478 + RECORD + 316]);
}

#[test]
fn bare_exchanges_are_a_request_and_content() {
    assert_eq!(
        play(settings(Version::Raw), Opening::Full, false, vec![object(100_000)]).written,
        [17, 100_000]
    );
    assert_eq!(
        play(settings(Version::Raw), Opening::Full, true, vec![object(100_000)]).written,
        [100_017, 1]
    );
    assert_eq!(
        play(settings(Version::Raw), Opening::Full, false, vec![object(0)]).written,
        [17, 1]
    );
}

#[test]
fn bare_content_is_available_as_it_arrives() {
    let mut exchange =
        Exchange::new(&settings(Version::Raw), Opening::Full, false, vec![object(10_000)]);
    assert_eq!(exchange.poll_open(Time::ZERO), Some(0));
    exchange.on_open(Time::ZERO, 0, Role::Client);
    exchange.on_open(Time::ZERO, 0, Role::Server);
    assert_eq!(exchange.to_write(Time::ZERO, 0, Role::Client, 1000), 17);
    exchange.on_received(Time::ZERO, 0, Role::Server, 17);
    assert_eq!(exchange.to_write(Time::ZERO, 0, Role::Server, 5000), 5000);
    exchange.on_received(Time::ZERO, 0, Role::Client, 1448);
    let events: Vec<ExchangeEvent> = std::iter::from_fn(|| exchange.poll_event()).collect();
    assert_eq!(
        events,
        [ExchangeEvent::Ready, ExchangeEvent::Started(0), ExchangeEvent::Received(0, 1448)]
    );
}

#[test]
fn content_in_a_record_is_available_with_its_last_byte() {
    let mut exchange =
        Exchange::new(&settings(Version::H1), Opening::EarlyData, false, vec![object(1000)]);
    exchange.poll_open(Time::ZERO);
    exchange.on_open(Time::ZERO, 0, Role::Client);
    exchange.on_open(Time::ZERO, 0, Role::Server);
    let request = exchange.to_write(Time::ZERO, 0, Role::Client, u64::MAX);
    exchange.on_received(Time::ZERO, 0, Role::Server, request);
    let all = exchange.to_write(Time::ZERO, 0, Role::Server, u64::MAX);
    exchange.on_received(Time::ZERO, 0, Role::Client, all - 1);
    let received = |exchange: &mut Exchange| {
        std::iter::from_fn(|| exchange.poll_event())
            .any(|event| event == ExchangeEvent::Received(0, 1000))
    };
    assert!(!received(&mut exchange));
    exchange.on_received(Time::ZERO, 0, Role::Client, all);
    assert!(received(&mut exchange));
}

#[test]
fn keystrokes_do_not_wait_for_earlier_echoes() {
    let key = |delay_ms| Object { delay: Span::from_millis(delay_ms), ..object(100) };
    let keys = vec![key(0), key(900), key(1_000)];
    let played = play(settings(Version::Echo), Opening::Full, false, keys);
    // Open at 600 ms; an echo takes two delays of 300 ms.
    for (object, typed) in [(0, 600), (1, 900), (2, 1_000)] {
        assert_eq!(played.when(ExchangeEvent::Started(object)), Time::from_millis(typed));
        assert_eq!(played.when(ExchangeEvent::Ended(object)), Time::from_millis(typed + 600));
    }
    assert_eq!((played.written, played.opened), ([300, 300], 1));
}
