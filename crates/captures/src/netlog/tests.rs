use crate::event::{
    CapturedConnection, Details, EcnCounts, Event, HttpMessage, Packet, PacketDetails, Side,
    StreamEnd, StreamPart, TransportParameters,
};
use bentpipe_units::{Span, Time};
use proptest::prelude::*;

/// Names of events with the numbers that this log gives them.
const NAMES: [&str; 13] = [
    "QUIC_SESSION",
    "QUIC_SESSION_PACKET_SENT",
    "QUIC_SESSION_PACKET_RECEIVED",
    "QUIC_SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED",
    "QUIC_SESSION_STREAM_FRAME_SENT",
    "QUIC_SESSION_STREAM_FRAME_RECEIVED",
    "QUIC_SESSION_ACK_FRAME_RECEIVED",
    "QUIC_SESSION_ACK_FRAME_SENT",
    "QUIC_SESSION_PACKET_LOST",
    "QUIC_SESSION_WINDOW_UPDATE_FRAME_SENT",
    "QUIC_SESSION_TRANSPORT_PARAMETERS_RECEIVED",
    "HTTP3_HEADERS_SENT",
    "URL_REQUEST_START_JOB",
];

/// Returns an event at `time` ms of the session `id`.
fn event(time: u64, id: u64, name: &str, params: &str) -> String {
    let number = NAMES.iter().position(|one| *one == name).unwrap() + 100;
    format!(
        r#"{{"params":{{{params}}},"phase":0,"source":{{"id":{id},"start_time":"1","type":10}},
            "time":"{time}","type":{number}}}"#
    )
}

fn constants() -> String {
    let types = NAMES.iter().zip(100..).map(|(name, number)| format!("\"{name}\":{number}"));
    let types: Vec<_> = types.collect();
    format!(
        r#""constants":{{"logEventPhase":{{"PHASE_BEGIN":1}},"logEventTypes":{{{}}},
            "timeTickOffset":1}}"#,
        types.join(",")
    )
}

/// Returns the start of a session and a packet of each direction.
fn session(id: u64, host: &str) -> Vec<String> {
    let header = r#""packet_number":5,"header_format":"IETF_QUIC_SHORT_HEADER_PACKET""#;
    vec![
        event(1000, id, "QUIC_SESSION", &format!(r#""host":"{host}","port":443"#)),
        event(
            1000,
            id,
            "QUIC_SESSION_STREAM_FRAME_SENT",
            r#""fin":true,"length":90,"offset":0,"stream_id":0"#,
        ),
        // A packet that shares its datagram.
        event(
            1000,
            id,
            "QUIC_SESSION_STREAM_FRAME_SENT",
            r#""fin":true,"length":90,"offset":0,"stream_id":0"#,
        ),
        event(
            1003,
            id,
            "QUIC_SESSION_PACKET_SENT",
            r#""encryption_level":"ENCRYPTION_FORWARD_SECURE","packet_number":1,"size":120,
                "sent_time_us":1001900,"transmission_type":"PTO_RETRANSMISSION""#,
        ),
        event(1050, id, "QUIC_SESSION_PACKET_RECEIVED", r#""size":1350"#),
        event(1050, id, "QUIC_SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED", header),
        event(
            1050,
            id,
            "QUIC_SESSION_ACK_FRAME_RECEIVED",
            r#""delta_time_largest_observed_us":250,"largest_observed":9,"missing_packets":[4,5,8],
                "smallest_observed":1,"CE":2,"ECT0":9,"ECT1":0"#,
        ),
        event(
            1050,
            id,
            "QUIC_SESSION_STREAM_FRAME_RECEIVED",
            r#""fin":false,"length":1300,"offset":20,"stream_id":0"#,
        ),
    ]
}

fn log(events: &[String]) -> String {
    format!("{{{},\n\"events\":[\n{}]}}", constants(), events.join(",\n"))
}

fn connections(text: &str) -> Vec<CapturedConnection> {
    assert!(super::is_netlog(text.as_bytes()));
    let found = super::connections(text.as_bytes()).unwrap();
    found.into_iter().map(|(_, connection)| connection).collect()
}

fn kinds(connection: &CapturedConnection) -> Vec<&Event> {
    connection.events.iter().map(|(_, event)| event).collect()
}

/// Returns the packets of `session`.
fn packets() -> [Event; 2] {
    let sent = Packet {
        is_application: true,
        number: 1,
        bytes: 120,
        data: vec![StreamPart { stream: 0, offset: 0, length: 90 }].into(),
        details: Details::from(PacketDetails {
            stream_ends: vec![(0, StreamEnd::Fin)],
            is_probe: true,
            ..PacketDetails::default()
        }),
        ..Packet::default()
    };
    let received = Packet {
        is_application: true,
        number: 5,
        bytes: 1350,
        data: vec![StreamPart { stream: 0, offset: 20, length: 1300 }].into(),
        acknowledged: vec![(1, 3), (6, 7), (9, 9)].into(),
        details: Details::from(PacketDetails {
            ack_delay: Some(Span::from_micros(250)),
            ecn: Some(EcnCounts { ect0: 9, ect1: 0, ce: 2 }),
            ..PacketDetails::default()
        }),
        ..Packet::default()
    };
    [Event::Sent(sent), Event::Received(received)]
}

#[test]
fn acknowledgements_that_the_browser_sends_are_in_its_next_packet() {
    let mut events = session(7, "example.org");
    events.push(event(
        1060,
        7,
        "QUIC_SESSION_ACK_FRAME_SENT",
        r#""delta_time_largest_observed_us":9000,"largest_observed":5,"missing_packets":[3],
            "smallest_observed":2"#,
    ));
    events.push(event(
        1060,
        7,
        "QUIC_SESSION_PACKET_SENT",
        r#""encryption_level":"ENCRYPTION_FORWARD_SECURE","packet_number":2,"size":34"#,
    ));
    let found = connections(&log(&events));
    let last = found.first().and_then(|one| one.events.last());
    let Some((_, Event::Sent(packet))) = last else { panic!("{last:?}") };
    assert_eq!(packet.acknowledged[..], [(2, 2), (4, 5)]);
    assert_eq!(packet.details.ack_delay, Some(Span::from_millis(9)));
}

#[test]
fn each_session_is_a_connection_with_its_packets() {
    let other = event(1, 3, "URL_REQUEST_START_JOB", r#""url":"https://a/""#);
    let events = [vec![other], session(10, "a.example"), session(11, "b.example")].concat();
    let found = connections(&log(&events));
    let titles: Vec<_> = found.iter().map(|one| (one.title.as_str(), one.side)).collect();
    assert_eq!(titles, [("a.example:443", Side::Client), ("b.example:443", Side::Client)]);
    for one in &found {
        assert_eq!(kinds(one), packets().iter().collect::<Vec<_>>());
        // Sent at 1001.9 ms, received at 1050: whole milliseconds.
        assert_eq!(one.events[1].0, Time::ZERO + Span::from_millis(49));
    }
}

#[test]
fn sessions_have_their_starts() {
    let late = session(11, "b.example").iter().map(|one| one.replace("\"10", "\"9910")).collect();
    let events = [session(10, "a.example"), late].concat();
    let found = super::connections(log(&events).as_bytes()).unwrap();
    let starts: Vec<_> = found.iter().map(|(start, _)| *start).collect();
    // The first sends at 1001 ms; of the second, the time of sending is not that of the log.
    assert_eq!(starts, [Time::ZERO, Time::ZERO + Span::from_millis(990_002)]);
}

#[test]
fn constants_may_stand_behind_the_events_and_the_end_may_be_missing() {
    let events = session(10, "a.example").join(",\n");
    let behind = format!("{{\"timeTickOffset\":1,\"events\":[{events}],{}}}", constants());
    assert_eq!(kinds(&connections(&behind)[0]), packets().iter().collect::<Vec<_>>());
    let more = event(2000, 10, "QUIC_SESSION_PACKET_LOST", r#""packet_number":1"#);
    let cut = log(&[session(10, "a.example"), vec![more]].concat());
    let cut = &connections(&cut[..cut.len() - 40])[0];
    assert_eq!(kinds(cut), packets().iter().collect::<Vec<_>>());
    assert!(cut.notes.iter().any(|note| note.contains("cut off")), "{:?}", cut.notes);
}

#[test]
fn a_packet_that_waited_for_its_keys_arrived_when_it_came() {
    let header = r#""packet_number":5,"header_format":"IETF_QUIC_SHORT_HEADER_PACKET""#;
    let frame = r#""fin":false,"length":100,"offset":0,"stream_id":0"#;
    let events = [
        event(10, 1, "QUIC_SESSION_PACKET_RECEIVED", r#""size":150"#),
        event(10, 1, "QUIC_SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED", header),
        event(90, 1, "QUIC_SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED", header),
        event(90, 1, "QUIC_SESSION_STREAM_FRAME_RECEIVED", frame),
    ];
    let found = connections(&log(&events));
    let [(at, Event::Received(packet))] = &found[0].events[..] else { panic!("{found:?}") };
    assert_eq!((*at, packet.bytes, packet.stream_bytes()), (Time::ZERO, 150, 100));
}

#[test]
fn limits_parameters_and_requests_are_kept() {
    let parameters = r#""quic_transport_parameters":"[Server max_idle_timeout 30000
        initial_max_data 100 initial_max_stream_data_bidi_remote 7 max_ack_delay 25]""#;
    let parameters = parameters.replace("\n        ", " ");
    let events = [
        event(1, 1, "QUIC_SESSION_TRANSPORT_PARAMETERS_RECEIVED", &parameters),
        event(
            2,
            1,
            "HTTP3_HEADERS_SENT",
            r#""headers":[":method: GET",":path: /a: b","x: y"],"stream_id":4"#,
        ),
        event(3, 1, "QUIC_SESSION_WINDOW_UPDATE_FRAME_SENT", r#""byte_offset":9,"stream_id":-1"#),
        event(3, 1, "QUIC_SESSION_WINDOW_UPDATE_FRAME_SENT", r#""byte_offset":8,"stream_id":0"#),
        event(3, 1, "QUIC_SESSION_PACKET_SENT", r#""packet_number":1,"size":50"#),
    ];
    let found = connections(&log(&events));
    let expected_parameters = TransportParameters {
        max_idle_timeout: Some(Span::from_millis(30_000)),
        initial_max_data: Some(100),
        initial_max_stream_data_bidi_remote: Some(7),
        max_ack_delay: Some(Span::from_millis(25)),
        ..TransportParameters::default()
    };
    let request = HttpMessage {
        stream: 4,
        is_sent: true,
        method: Some("GET".to_owned()),
        path: Some("/a: b".to_owned()),
        ..HttpMessage::default()
    };
    let packet = Packet {
        is_application: true,
        number: 1,
        bytes: 50,
        max_data: Some(9),
        details: Details::from(PacketDetails {
            max_stream_data: vec![(0, 8)],
            ..PacketDetails::default()
        }),
        ..Packet::default()
    };
    let expected = [
        Event::PeerLimits { connection: 100, stream: 7 },
        Event::Parameters(Box::new(expected_parameters)),
        Event::Http(Box::new(request)),
        Event::Sent(packet),
    ];
    assert_eq!(kinds(&found[0]), expected.iter().collect::<Vec<_>>());
}

#[test]
fn google_quic_counts_its_handshake_stream_apart() {
    let header = r#""packet_number":2,"header_format":"GOOGLE_QUIC_PACKET""#;
    let frame = |stream: u64| {
        event(
            5,
            1,
            "QUIC_SESSION_STREAM_FRAME_RECEIVED",
            &format!(r#""fin":false,"length":10,"offset":0,"stream_id":{stream}"#),
        )
    };
    let ack = r#""largest_observed":7,"missing_packets":[3]"#;
    const ADDRESSES: &str =
        r#""size":50,"self_address":"[::]:443","peer_address":"192.0.2.1:5000""#;
    let events = [
        event(5, 1, "QUIC_SESSION_PACKET_RECEIVED", ADDRESSES),
        event(5, 1, "QUIC_SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED", header),
        frame(1),
        frame(5),
        event(5, 1, "QUIC_SESSION_ACK_FRAME_RECEIVED", ack),
    ];
    let found = connections(&log(&events));
    assert_eq!((found[0].title.as_str(), found[0].side), ("192.0.2.1:5000", Side::Server));
    let [(_, Event::Received(packet))] = &found[0].events[..] else { panic!("{found:?}") };
    assert_eq!(packet.data, [StreamPart { stream: 5, offset: 0, length: 10 }]);
    assert_eq!(packet.acknowledged, [(1, 2), (4, 7)]);
}

#[test]
fn a_log_without_quic_says_so() {
    let text = log(&[event(1, 3, "URL_REQUEST_START_JOB", "")]);
    let error = CapturedConnection::parse(text.as_bytes(), &[]).unwrap_err().to_string();
    assert!(error.contains("NetLog of Chromium without a QUIC session"), "{error}");
    let text = r#"{"timeTickOffset":1,"events":[{"type":3}]}"#;
    let error = CapturedConnection::parse(text.as_bytes(), &[]).unwrap_err().to_string();
    assert!(error.contains("without the constants"), "{error}");
}

#[test]
fn the_number_of_events_is_bounded() {
    let lost = event(1, 1, "QUIC_SESSION_PACKET_LOST", r#""packet_number":1"#);
    let mut events = session(1, "a.example");
    events.extend(std::iter::repeat_n(lost, super::MAX_EVENTS));
    let found = connections(&log(&events));
    assert!(found[0].events.len() <= super::MAX_EVENTS);
    assert!(found[0].notes.iter().any(|note| note.contains("was not read")));
}

proptest! {
    #[test]
    fn hostile_logs_are_read_or_refused(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = log(&session(1, "a.example")).into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(trace) = CapturedConnection::parse(&bytes, &[]) {
            prop_assert!(trace.events.is_sorted_by_key(|(at, _)| *at));
            let _ = crate::account(&trace, None);
        }
    }
}
