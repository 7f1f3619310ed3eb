use super::connections;
use crate::event::{CapturedConnection, Event};
use crate::event::{Packet, Side, StreamPart};
use bentpipe_units::{Span, Time};
use proptest::prelude::*;

/// The same two events, as stacks write them.
const FORMS: [(&str, &str); 13] = [
    (
        "a document of draft 00 with arrays, in microseconds: picoquic",
        r#"{ "qlog_version": "draft-00", "title": "pico", "traces": [
        { "vantage_point": { "type": "server" }, "event_fields": ["relative_time", "category"],
          "configuration": { "time_units": "us" },
          "events": [
            [1000, "transport", "packet_sent", { "packet_type": "1RTT",
              "header": { "packet_size": 1200, "packet_number": 7 },
              "frames": [{ "frame_type": "stream", "id": 0, "offset": 10, "length": 900 }] }],
            [3500, "transport", "packet_received", { "packet_type": "1RTT",
              "header": { "packet_size": 40, "packet_number": 3 },
              "frames": [{ "frame_type": "ack", "acked_ranges": [[5, 7]] }] }]
          ] } ] }"#,
    ),
    (
        "a text sequence, in milliseconds: quic-go, quiche, ngtcp2",
        "\u{1e}{\"qlog_format\":\"JSON-SEQ\",\"qlog_version\":\"0.3\",\"title\":\"pico\",\"trace\":\
     {\"vantage_point\":{\"type\":\"server\"}}}\n\
     \u{1e}{\"time\":1.0,\"name\":\"transport:packet_sent\",\"data\":{\"header\":\
     {\"packet_type\":\"1RTT\",\"packet_number\":7},\"raw\":{\"length\":1200},\"frames\":\
     [{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":10,\"length\":900}]}}\n\
     \u{1e}{\"time\":3.5,\"name\":\"transport:packet_received\",\"data\":{\"header\":\
     {\"packet_type\":\"1RTT\",\"packet_number\":3},\"raw\":{\"length\":40},\"frames\":\
     [{\"frame_type\":\"ack\",\"acked_ranges\":[[5,7]]}]}}\n",
    ),
    (
        "lines, numbers as text, times since the event before, cut off",
        "{\"qlog_version\":\"0.4\",\"title\":\"pico\",\"trace\":{\"vantage_point\":{\"type\":\
     \"server\"},\"common_fields\":{\"time_format\":\"delta\"}}}\n\
     {\"time\":\"1\",\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":\
     \"1rtt\",\"packet_number\":\"7\"},\"raw\":{\"length\":\"1200\"},\"frames\":\
     [{\"frame_type\":\"stream\",\"stream_id\":\"0\",\"offset\":\"10\",\"raw\":\
     {\"payload_length\":\"900\"}}]}}\n\
     {\"time\":2.5,\"name\":\"quic:packet_received\",\"data\":{\"header\":{\"packet_type\":\
     \"1RTT\",\"packet_number\":3},\"raw\":{\"length\":40},\"frames\":[{\"frame_type\":\"ack\",\
     \"acked_ranges\":[[5,7]]}]}}\n{\"time\":4,\"na",
    ),
    (
        "a document with objects: aioquic",
        r#"{ "qlog_format": "JSON", "qlog_version": "0.3", "traces": [ { "title": "pico",
        "vantage_point": { "type": "server" }, "common_fields": { "time_format": "absolute" },
        "events": [
          { "name": "transport:packet_received", "time": 1700000000003.5, "data": { "header":
            { "packet_type": "1RTT", "packet_number": 3 }, "raw": { "length": 40 },
            "frames": [{ "frame_type": "ack", "acked_ranges": [[5, 7]] }] } },
          { "name": "transport:packet_sent", "time": 1700000000001.0, "data": { "header":
            { "packet_type": "1RTT", "packet_number": 7 }, "raw": { "length": 1200 },
            "frames": [{ "frame_type": "stream", "stream_id": 0, "offset": 10,
              "length": 900 }] } }
        ] } ] }"#,
    ),
    (
        "a head with names of both drafts: quic-go 0.65",
        "{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"serialization_format\":\
         \"application/qlog+json-seq\",\"title\":\"pico\",\"trace\":{\"vantage_point\":{\"type\":\
         \"server\"}},\"qlog_format\":\"JSON-SEQ\",\"qlog_version\":\"0.3\"}\n\
         {\"time\":1.0,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":\
         \"1RTT\",\"packet_number\":7},\"raw\":{\"length\":1200},\"frames\":\
         [{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":10,\"length\":900}]}}\n\
         {\"time\":3.5,\"name\":\"quic:packet_received\",\"data\":{\"header\":{\"packet_type\":\
         \"1RTT\",\"packet_number\":3},\"raw\":{\"length\":40},\"frames\":[{\"frame_type\":\"ack\",\
         \"acked_ranges\":[[5,7]]}]}}\n",
    ),
    (
        "draft 01 with triggers, numbers as text: pcap2qlog",
        r#"{ "qlog_version": "draft-01", "traces": [ { "title": "pico",
            "vantage_point": { "name": "TODO", "type": "network", "flow": "server" },
            "configuration": { "time_offset": "0", "time_units": "ms" },
            "common_fields": { "group_id": "7e37", "reference_time": "1564658098.991056" },
            "event_fields": ["relative_time", "category", "event", "trigger", "data"],
            "events": [
              ["1", "transport", "packet_sent", "line", { "packet_type": "1RTT",
                "header": { "packet_number": "7", "packet_size": 1200 }, "frames": [{
                "frame_type": "stream", "id": "0", "offset": "10", "length": "900" }] }],
              ["3.5", "transport", "packet_received", "line", { "packet_type": "1RTT",
                "header": { "packet_number": "3", "packet_size": 40 }, "frames": [{
                "frame_type": "ack", "acked_ranges": [["5", "7"]] }] }]
            ] } ] }"#,
    ),
    (
        "draft 00 in capitals, of a converter that does not know the type of a packet: quic-trace",
        r#"{ "qlog_version": "draft-00", "title": "pico", "traces": [ {
            "vantage_point": { "type": "SERVER" }, "configuration": { "time_units": "us" },
            "event_fields": ["relative_time", "CATEGORY", "EVENT_TYPE", "TRIGGER", "DATA"],
            "events": [
              ["1000", "TRANSPORT", "PACKET_SENT", "DEFAULT", { "packet_type": "1RTT",
                "header": { "packet_number": "7", "packet_size": 1200 }, "frames": [{
                "frame_type": "STREAM", "id": "0", "fin": false, "length": 900, "offset": 10 }] }],
              ["3500", "TRANSPORT", "PACKET_RECEIVED", "DEFAULT", { "packet_type": "UNKNOWN",
                "header": { "packet_number": "3", "packet_size": 40 }, "frames": [{
                "frame_type": "ACK", "acked_ranges": [[5, 7]] }] }]
            ] } ] }"#,
    ),
    (
        "columns in another order and named behind the events, one field shared by all of them",
        r#"{ "traces": [ { "events": [
              [{ "packet_type": "1RTT", "header": { "packet_number": 7, "packet_size": 1200 },
                "frames": [{ "frame_type": "stream", "id": 0, "offset": 10, "length": 900 }] },
                1, "packet_sent"],
              [{ "packet_type": "1RTT", "header": { "packet_number": 3, "packet_size": 40 },
                "frames": [{ "frame_type": "ack", "acked_ranges": [[5, 7]] }] },
                2.5, "packet_received"]
            ],
            "event_fields": ["data", "delta_time", "event_type"], "title": "pico",
            "common_fields": { "category": "transport" }, "vantage_point": { "type": "server" }
          } ], "qlog_version": "draft-01" }"#,
    ),
    (
        "a byte order mark, a comment and lines that end as on Windows",
        "\u{feff}# from the server\r\n{\"qlog_version\":\"0.3\",\"qlog_format\":\"NDJSON\",\
         \"trace\":{\"title\":\"pico\",\"vantage_point\":{\"type\":\"server\"}}}\r\n\r\n\
         {\"time\":1.0,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\
         \"1RTT\",\"packet_number\":7},\"raw\":{\"length\":1200},\"frames\":\
         [{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":10,\"length\":900}]}}\r\n\
         {\"time\":3.5,\"name\":\"transport:packet_received\",\"data\":{\"header\":\
         {\"packet_type\":\"1RTT\",\"packet_number\":3},\"raw\":{\"length\":40},\"frames\":\
         [{\"frame_type\":\"ack\",\
         \"acked_ranges\":[[5,7]]}]}}\r\n",
    ),
    (
        "a document of which the end is missing: a server of picoquic that was killed",
        r#"{ "qlog_version": "draft-00", "title": "pico", "traces": [
            { "vantage_point": { "type": "server" },
              "event_fields": ["relative_time", "category", "event", "data"],
              "configuration": { "time_units": "us" },
              "events": [
                [1000, "transport", "packet_sent", { "packet_type": "1RTT",
                  "header": { "packet_size": 1200, "packet_number": 7 },
                  "frames": [{ "frame_type": "stream", "id": 0, "offset": 10, "length": 900 }] }],
                [3500, "transport", "packet_received", { "packet_type": "1RTT",
                  "header": { "packet_size": 40, "packet_number": 3 },
                  "frames": [{ "frame_type": "ack", "acked_ranges": [[5, 7]] }] }],
                [3600, "transport", "packet_sent", { "packet_type": "1RTT", "header": { "pa"#,
    ),
    (
        "an assignment to a variable, as qvis has its examples",
        r#"var example = { "qlog_version": "draft-01", "traces": [ { "title": "pico",
            "vantage_point": { "type": "server" },
            "event_fields": ["relative_time", "category", "event", "data"],
            "events": [
              [1, "transport", "packet_sent", { "packet_type": "1RTT",
                "header": { "packet_number": 7, "packet_size": 1200 },
                "frames": [{ "frame_type": "stream", "id": 0, "offset": 10, "length": 900 }] }],
              [3.5, "transport", "packet_received", { "packet_type": "1RTT",
                "header": { "packet_number": 3, "packet_size": 40 },
                "frames": [{ "frame_type": "ack", "acked_ranges": [[5, 7]] }] }]
            ] } ] };"#,
    ),
    (
        "fields twice, and of types that nobody expects",
        r#"{ "qlog_version": 0.4, "qlog_version": "0.4", "traces": [ { "title": "pico",
            "vantage_point": { "type": "server" }, "configuration": [1], "events": [
              { "name": "quic:packet_sent", "time": 1, "time": 1.0, "data": { "header": null,
                "header": { "packet_type": "1RTT", "packet_number": 7 }, "raw": { "length": 1200 },
                "frames": [7, { "frame_type": "ack", "acked_ranges": 3 },
                  { "frame_type": "stream", "stream_id": 0, "id": 0, "offset": 10,
                    "raw": { "payload_length": 900 }, "length": { } }] } },
              { "name": "quic:packet_received", "time": 3.5, "data": { "header":
                { "packet_type": "1RTT", "packet_number": 3 }, "raw": { "length": 40 },
                "frames": [{ "frame_type": 2, "acked_ranges": [[5, 7]] }] } }
            ] } ] }"#,
    ),
    (
        "two traces, of which the second has the data",
        r#"{ "qlog_version": "0.3", "traces": [
            { "vantage_point": { "type": "client" }, "events": [
              { "name": "transport:packet_sent", "time": 9, "data": { "header":
                { "packet_type": "1RTT", "packet_number": 1 }, "raw": { "length": 30 } } } ] },
            { "title": "pico", "vantage_point": { "type": "server" }, "events": [
              { "name": "transport:packet_sent", "time": 1, "data": { "header":
                { "packet_type": "1RTT", "packet_number": 7 }, "raw": { "length": 1200 },
                "frames": [{ "frame_type": "stream", "stream_id": 0, "offset": 10,
                  "length": 900 }] } },
              { "name": "transport:packet_received", "time": 3.5, "data": { "header":
                { "packet_type": "1RTT", "packet_number": 3 }, "raw": { "length": 40 },
                "frames": [{ "frame_type": "ack", "acked_ranges": [[5, 7]] }] } } ] } ] }"#,
    ),
];

#[test]
fn a_title_is_one_line() {
    let text = FORMS[0].1.replace("\"pico\"", "\"pico\\r\\n  a line of its own\"");
    let trace = CapturedConnection::parse(text.as_bytes(), &[]).expect("a trace");
    assert_eq!(trace.title, "pico a line of its own");
}

#[test]
fn all_forms_have_the_same_events() {
    for (index, (form, text)) in FORMS.into_iter().enumerate() {
        let trace = CapturedConnection::parse(text.as_bytes(), &[]).expect(form);
        assert_eq!((trace.title.as_str(), trace.side), ("pico", Side::Server), "{form}");
        let sent = Packet {
            is_application: true,
            number: 7,
            bytes: 1200,
            data: vec![StreamPart { stream: 0, offset: 10, length: 900 }].into(),
            is_eliciting: true,
            ..Packet::default()
        };
        let received = Packet {
            is_application: true,
            number: 3,
            bytes: 40,
            acknowledged: vec![(5, 7)].into(),
            ..Packet::default()
        };
        let later = Time::ZERO + Span::from_micros(2500);
        let [(first, one), (second, other)] = trace.events.as_slice() else {
            panic!("{form}: {:?}", trace.events)
        };
        assert_eq!((*first, one), (Time::ZERO, &Event::Sent(sent)), "{form}");
        assert!(second.since(later).max(later.since(*second)) < Span::from_micros(2), "{form}");
        assert_eq!(other, &Event::Received(received), "{form}");
        assert_eq!(trace.unreadable, usize::from(index == 2), "a record that was cut off");
    }
}

#[test]
fn other_files_are_refused_with_the_reason() {
    for (text, reason) in [
        ("", "it is empty"),
        ("root:x:0:0", "text, but not JSON"),
        ("{}", "`qlog_version`"),
        ("{\"qlog_version\":\"0.3\"}", "`traces`"),
        ("\u{1e}{\"a\":1}", "first record"),
        ("{\"qlog_version\":\"0.1\",\"connections\":[]}", "before draft 00"),
        ("var a = {\"qlog_version\":\"0.1\",\"connections\":[]};", "before draft 00"),
        ("{\"traceEvents\":[]}", "performance trace of Chromium"),
        ("[{\"ph\":\"X\",\"ts\":1}]", "performance trace of Chromium"),
        ("[{\"_index\":\"p\",\"_source\":{}}]", "export of Wireshark"),
        ("{\"log\":{\"version\":\"1.2\",\"entries\":[]}}", "HTTP Archive"),
        ("{\"start\":{},\"intervals\":[],\"end\":{}}", "iperf3"),
        ("[1]", "a list"),
    ] {
        let error = CapturedConnection::parse(text.as_bytes(), &[]).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("allowed: qlog"), "{text}: {error}");
    }
}

/// Returns the connections of a file, without their starts.
fn traces(bytes: &[u8]) -> Result<Vec<CapturedConnection>, crate::CaptureError> {
    let found = super::traces(bytes)?;
    Ok(found.into_iter().map(|(_, connection)| connection).collect())
}

fn trace_of(bytes: &[u8]) -> Result<CapturedConnection, crate::CaptureError> {
    CapturedConnection::parse(bytes, &[])
}

/// Returns a row of draft 00 with a packet of `bytes` bytes of data, and perhaps other columns.
fn row(time: &str, columns: &str, name: &str, number: u64, bytes: u64) -> String {
    format!(
        r#"[{time}, {columns} "transport", "{name}", {{ "packet_type": "1RTT", "header":
            {{ "packet_number": {number}, "packet_size": 1200 }}, "frames":
            [{{ "frame_type": "stream", "id": 0, "offset": 0, "length": {bytes} }}] }}]"#
    )
}

fn document(fields: &str, events: &[String]) -> String {
    let events = events.join(",");
    format!(
        r#"{{ "qlog_version": "draft-00", "traces": [{{ "title": "t",
            "vantage_point": {{ "type": "server" }}, "event_fields": ["relative_time", {fields}
            "category", "event", "data"], "events": [{events}] }}] }}"#
    )
}

fn numbers(trace: &CapturedConnection) -> Vec<u64> {
    let numbers = trace.events.iter().filter_map(|(_, event)| match event {
        Event::Sent(packet) | Event::Received(packet) => Some(packet.number),
        _ => None,
    });
    numbers.collect()
}

#[test]
fn each_trace_and_each_group_is_a_connection() {
    let one = row("0", r#""a","#, "packet_sent", 1, 10);
    let other = row("1", r#""b","#, "packet_received", 2, 20);
    let text = document(r#""group_id","#, &[one, other]);
    let connections = traces(text.as_bytes()).unwrap();
    let found: Vec<_> = connections.iter().map(|one| (one.title.as_str(), numbers(one))).collect();
    assert_eq!(found, [("t, a", vec![1]), ("t, b", vec![2])]);
    // They share the clock of their trace; traces without a date do not.
    let starts_ms = |text: &str| -> Vec<f64> {
        let found = super::traces(text.as_bytes()).unwrap().into_iter();
        found.map(|(start, _)| start.since_start().as_millis_f64().round()).collect()
    };
    assert_eq!(starts_ms(&text), [0.0, 1.0]);
    assert_eq!(starts_ms(FORMS[FORMS.len() - 1].1), [0.0, 0.0]);
    let dated = FORMS[3].1.trim();
    let trace = &dated[dated.find("[ {").unwrap() + 1..dated.len() - 3];
    let both =
        dated.replacen("[ {", &format!("[{},{{", trace.replace("17000000000", "17000000009")), 1);
    assert_eq!(starts_ms(&both), [900.0, 0.0], "{both}");

    let (_, two) = FORMS[FORMS.len() - 1];
    let connections = traces(two.as_bytes()).unwrap();
    let sides: Vec<_> = connections.iter().map(|one| one.side).collect();
    assert_eq!(sides, [Side::Client, Side::Server]);
}

#[test]
fn joined_sequences_are_several_connections() {
    let (_, one) = FORMS[4];
    let connections = traces(format!("{one}{one}").as_bytes()).unwrap();
    assert_eq!(connections.len(), 2);
    assert!(connections.iter().all(|one| one.events.len() == 2 && one.unreadable == 0));
}

#[test]
fn a_sequence_without_its_head_is_read() {
    let (_, text) = FORMS[4];
    let events = text.split_once('\n').unwrap().1;
    let connections = traces(events.as_bytes()).unwrap();
    assert_eq!(connections[0].events.len(), 2);
    assert_eq!(connections[0].side, Side::Client, "it sends first");
    assert!(connections[0].notes[0].contains("no head"), "{:?}", connections[0].notes);
}

#[test]
fn packets_of_several_paths_have_numbers_of_their_own() {
    let ack = r#"[2, 0, "transport", "packet_received", { "packet_type": "1RTT", "header":
        { "packet_number": 0 }, "frames": [{ "frame_type": "ack", "acked_ranges": [[5, 5]] },
        { "frame_type": "path_ack", "path_id": 1, "acked_ranges": [[5, 5]] }] }]"#;
    let window = |time: u64, path: u64, window: u64| {
        format!(r#"[{time}, {path}, "recovery", "metrics_updated", {{ "cwnd": {window} }}]"#)
    };
    let events = [
        row("0", "0,", "packet_sent", 5, 10),
        row("1", "1,", "packet_sent", 5, 10),
        ack.to_owned(),
        window(3, 0, 15_000),
        window(4, 1, 20_000),
    ];
    let trace = trace_of(document(r#""path_id","#, &events).as_bytes()).unwrap();
    let [first, second, _] = numbers(&trace)[..] else { panic!("{trace:?}") };
    assert_ne!(first, second);
    let Event::Received(packet) = &trace.events[2].1 else { panic!("{trace:?}") };
    assert_eq!(packet.acknowledged, [(first, first), (second, second)]);
    let Event::Metrics(metrics) = &trace.events[4].1 else { panic!("{trace:?}") };
    assert_eq!(metrics.window.map(|window| window.get()), Some(35_000));
    assert!(trace.notes[0].contains("2 paths"), "{:?}", trace.notes);
}

#[test]
fn a_document_that_ends_early_or_is_damaged_says_where() {
    let events = [1, 2, 3].map(|number| row(&number.to_string(), "", "packet_sent", number, 10));
    let text = document("", &events);
    let end = text.rfind("\"1RTT\"").unwrap();
    let cut = trace_of(&text.as_bytes()[..end]).unwrap();
    assert_eq!(numbers(&cut), [1, 2]);
    assert!(cut.notes[0].contains("cut off"), "{:?}", cut.notes);
    let damaged = format!("{}\0\0{}", &text[..end], &text[end..]);
    let damaged = trace_of(damaged.as_bytes()).unwrap();
    assert_eq!(numbers(&damaged), [1, 2]);
    assert!(damaged.notes[0].contains("damaged at line"), "{:?}", damaged.notes);
    let whole = trace_of(text.as_bytes()).unwrap();
    assert!(whole.notes.is_empty(), "{:?}", whole.notes);
}

#[test]
fn times_far_from_the_others_are_left_out() {
    let events = [("-1e300", 1), ("17e11", 2), ("17e11", 3), ("1700000000005", 4), ("0", 5)];
    let events = events.map(|(time, number)| row(time, "", "packet_sent", number, 10));
    let trace = trace_of(document("", &events).as_bytes()).unwrap();
    assert_eq!((numbers(&trace), trace.unreadable), (vec![2, 3, 4], 2));
    assert_eq!(trace.events[2].0, Time::ZERO + Span::from_millis(5));
    assert!(trace.notes[0].contains("2 events"), "{:?}", trace.notes);
}

#[test]
fn the_number_of_events_is_bounded() {
    let mut text = String::from("{\"qlog_version\":\"0.3\",\"trace\":{}}\n");
    let event = "{\"time\":1,\"name\":\"packet_sent\",\"data\":{\"packet_number\":1}}\n";
    text.extend(std::iter::repeat_n(event, connections::MAX_EVENTS + 2));
    let trace = trace_of(text.as_bytes()).unwrap();
    assert_eq!(trace.events.len(), connections::MAX_EVENTS);
    assert!(trace.notes[0].contains("was not read"), "{:?}", trace.notes);
}

/// Returns the bytes of a transfer of 40 packets of 1200 bytes and one other frame of data.
fn recorded_bytes(offset: u64, length: u64) -> u64 {
    let packet = |kind: &str, number: u64, time: u64, frames: &str| {
        format!(
            "{{\"name\":\"packet_{kind}\",\"time\":{time},\"data\":{{\"header\":\
             {{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"frames\":[{frames}]}}}}"
        )
    };
    let data = |offset: u64, length: u64| {
        format!(
            "{{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":{offset},\
             \"length\":{length}}}"
        )
    };
    let ack = "{\"frame_type\":\"ack\",\"acked_ranges\":[[0]]}";
    let mut events = vec![packet("sent", 0, 0, ""), packet("received", 0, 600, ack)];
    let parts = (0..40).map(|index| (index * 1200, 1200)).chain([(offset, length)]);
    for (number, (offset, length)) in (1..).zip(parts) {
        events.push(packet("received", number, 600 + number, &data(offset, length)));
    }
    let events = events.join(",");
    let file = format!("{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{events}]}}]}}");
    let trace = CapturedConnection::parse(file.as_bytes(), &[]).unwrap();
    crate::account(&trace, None).unwrap().bytes.get()
}

#[test]
fn a_file_cannot_name_more_data_than_it_records() {
    assert_eq!(recorded_bytes(48_000, 1000), 49_000);
    assert_eq!(recorded_bytes(48_000, u64::MAX), 48_000, "no frame has this length");
    assert_eq!(recorded_bytes(1 << 60, 1000), 49_000, "its offset leaves a gap");
}

proptest! {
    #[test]
    fn hostile_files_are_read_or_refused(
        form in 0..FORMS.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = FORMS[form].1.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(trace) = CapturedConnection::parse(&bytes, &[]) {
            let _ = crate::account(&trace, None);
        }
    }
}

#[test]
fn an_event_that_is_no_json_is_left_out_if_it_has_lines_of_its_own() {
    let packet = |number: u64| {
        format!(
            "[{number}, \"transport\", \"packet_sent\", {{ \"packet_type\": \"1RTT\", \
             \"header\": {{ \"packet_size\": 100, \"packet_number\": {number} }}, \
             \"frames\": [{{ \n    \"frame_type\": \"stream\", \"id\": 0, \"offset\": 0, \
             \"length\": 9 }}]}}]"
        )
    };
    // As picoquic writes it.
    let broken = "[2, \"transport\", \"parameters_set\", {\n    \"owner\": \"remote\",\n    \
        \"version_negotiation\": \"chosen\": \"00000001\", \"others\": []}}]";
    let document = format!(
        "{{ \"qlog_version\": \"draft-00\", \"traces\": [\n{{ \"vantage_point\": {{ \"type\": \
         \"server\" }}, \"event_fields\": [\"relative_time\", \"category\", \"event\", \"data\"],\n\
         \"events\": [\n{},\n{broken},\n{broken},\n{}]}}]}}",
        packet(1),
        packet(3)
    );
    let trace = trace_of(document.as_bytes()).unwrap();
    assert_eq!((numbers(&trace), trace.unreadable), (vec![1, 3], 2));
}
