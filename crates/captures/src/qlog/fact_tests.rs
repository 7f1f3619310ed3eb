//! What events say beside packets and their data.

use crate::event::{
    CapturedConnection, EcnCounts, Event, HttpMessage, Metrics, Packet, StreamEnd,
    TransportParameters,
};
use bentpipe_units::{Bytes, Span};

/// Returns the connection of a sequence with these events.
fn trace(configuration: &str, events: &[&str]) -> CapturedConnection {
    let mut text = format!(r#"{{"qlog_version":"0.3","trace":{{{configuration}}}}}"#);
    for event in events {
        text.push('\n');
        // A record of a sequence of lines has no line ends.
        text.extend(event.split('\n').map(str::trim));
    }
    CapturedConnection::parse(text.as_bytes(), &[]).unwrap()
}

fn packet(trace: &CapturedConnection, index: usize) -> &Packet {
    match &trace.events[index].1 {
        Event::Sent(packet) | Event::Received(packet) => packet,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ends_of_streams_delays_marks_and_probes_are_kept() {
    let trace = trace(
        "",
        &[
            r#"{"time":0,"name":"transport:packet_sent","data":{"trigger":"pto_probe","header":
            {"packet_type":"1RTT","packet_number":1},"frames":[{"frame_type":"stream",
            "stream_id":4,"offset":0,"length":9,"fin":true},
            {"frame_type":"reset_stream","stream_id":8,"final_size":1},
            {"frame_type":"stop_sending","stream_id":12,"error_code":1}]}}"#,
            r#"{"time":1,"name":"transport:packet_received","data":{"header":
            {"packet_type":"1RTT","packet_number":1},"frames":[{"frame_type":"ack",
            "ack_delay":12.5,"acked_ranges":[[1,1]],"ect1":3,"ect0":2,"ce":"1"}]}}"#,
            r#"{"time":2,"name":"transport:packet_sent","data":{"is_mtu_probe_packet":true,"header":
            {"packet_type":"1RTT","packet_number":2},"raw":{"length":1400}}}"#,
        ],
    );
    let sent = packet(&trace, 0);
    let ends = [(4, StreamEnd::Fin), (8, StreamEnd::Reset), (12, StreamEnd::Stopped)];
    assert_eq!(
        (sent.details.is_probe, sent.details.is_mtu_probe, &sent.details.stream_ends[..]),
        (true, false, &ends[..])
    );
    let received = packet(&trace, 1);
    assert_eq!(received.details.ack_delay, Some(Span::from_micros(12_500)));
    assert_eq!(received.details.ecn, Some(EcnCounts { ect0: 2, ect1: 3, ce: 1 }));
    assert!(packet(&trace, 2).details.is_mtu_probe);
}

#[test]
fn requests_and_responses_are_kept() {
    let trace = trace(
        "",
        &[
            r#"{"time":0,"name":"http:frame_created","data":{"stream_id":"4","frame":{"frame_type":
            "headers","headers":[{"name":":method","value":"GET"},{"name":":path","value":"/a"},
            {"name":":authority","value":"h:1"},{"name":"cookie","value":"x"}]}}}"#,
            r#"{"time":1,"name":"h3:frame_parsed","data":{"stream_id":4,"frame":{"frame_type":
            "headers","headers":[{"name":":status","value":"404"},
            {"name":"content-length","value":"12"}]}}}"#,
            r#"{"time":2,"name":"http3:frame_parsed","data":{"stream_id":4,"frame":{"frame_type":
            "data"}}}"#,
        ],
    );
    let text = |text: &str| Some(text.to_owned());
    let request = HttpMessage {
        stream: 4,
        is_sent: true,
        method: text("GET"),
        authority: text("h:1"),
        path: text("/a"),
        ..HttpMessage::default()
    };
    let response = HttpMessage {
        stream: 4,
        status: Some(404),
        content_length: Some(12),
        ..HttpMessage::default()
    };
    let found: Vec<_> = trace.events.into_iter().map(|(_, event)| event).collect();
    assert_eq!(found, [request, response].map(|one| Event::Http(Box::new(one))));
}

#[test]
fn ack_delays_without_their_exponent_are_given_it() {
    let ack = r#"{"time":9,"name":"transport:packet_received","data":{"header":{
        "packet_type":"1RTT","packet_number":2},"frames":[{"frame_type":"ack",
        "ack_delay":27678,"acked_ranges":[[0,5]]}]}}"#;
    let sent = r#"{"time":1,"name":"transport:packet_sent","data":{"header":{
        "packet_type":"1RTT","packet_number":5},"frames":[]}}"#;
    let exponent = r#"{"time":0,"name":"transport:parameters_set","data":{"owner":"remote",
        "ack_delay_exponent":4}}"#;
    let head = |title| format!(r#""title":"{title}","configuration":{{"time_units":"us"}}"#);
    let delay = |title, events: &[&str]| {
        let trace = trace(&head(title), events);
        packet(&trace, events.len() - 1).details.ack_delay.map(Span::as_nanos)
    };
    assert_eq!(delay("quic-go", &[sent, ack]), Some(27_678_000));
    assert_eq!(delay("picoquic", &[sent, ack]), Some(8 * 27_678_000));
    assert_eq!(delay("picoquic", &[exponent, sent, ack]), Some(16 * 27_678_000));
}

#[test]
fn parameters_of_both_ends_sizes_and_metrics_are_kept() {
    let trace = trace(
        r#""configuration":{"time_units":"us"}"#,
        &[
            r#"{"time":0,"name":"transport:parameters_set","data":{"owner":"REMOTE",
            "max_idle_timeout":30000,"initial_max_data":100,"initial_max_stream_data_uni":5,
            "initial_max_stream_data_bidi_remote":7,"max_ack_delay":25}}"#,
            r#"{"time":1,"name":"transport:parameters_set","data":{"initiator":"local",
            "initial_max_streams_bidi":3,"max_udp_payload_size":1452}}"#,
            r#"{"time":2,"name":"recovery:mtu_updated","data":{"old":1200,"new":1452}}"#,
            r#"{"time":3,"name":"recovery:metrics_updated","data":{"latest_rtt":30000,
            "smoothed_rtt":31000.5,"min_rtt":"29000"}}"#,
            r#"{"time":4,"name":"recovery:spurious_loss","data":{"packet_number_space":
            "application_data","packet_number":9}}"#,
            r#"{"time":5,"name":"recovery:spurious_loss","data":{"packet_number_space":
            "handshake","packet_number":9}}"#,
            r#"{"time":6,"name":"loss:packets_lost","data":{"lost_packets":1,
            "largest_lost_packet_num":8}}"#,
            r#"{"time":7,"name":"loss:packets_lost","data":{"lost_packets":2,
            "largest_lost_packet_num":8}}"#,
        ],
    );
    let remote = TransportParameters {
        max_idle_timeout: Some(Span::from_millis(30_000)),
        initial_max_data: Some(100),
        initial_max_stream_data_uni: Some(5),
        initial_max_stream_data_bidi_remote: Some(7),
        max_ack_delay: Some(Span::from_millis(25)),
        ..TransportParameters::default()
    };
    let local = TransportParameters {
        is_local: true,
        initial_max_streams_bidi: Some(3),
        max_udp_payload_size: Some(1452),
        ..TransportParameters::default()
    };
    let metrics = Metrics {
        latest_rtt: Some(Span::from_millis(30)),
        smoothed_rtt: Some(Span::from_nanos(31_000_500)),
        min_rtt: Some(Span::from_millis(29)),
        ..Metrics::default()
    };
    let found: Vec<_> = trace.events.into_iter().map(|(_, event)| event).collect();
    let expected = [
        Event::PeerLimits { connection: 100, stream: 7 },
        Event::Parameters(Box::new(remote)),
        Event::Parameters(Box::new(local)),
        Event::Mtu(Bytes::new(1452)),
        Event::Metrics(metrics),
        Event::SpuriousLoss(9),
        Event::Lost(8),
    ];
    assert_eq!(found, expected);
}
