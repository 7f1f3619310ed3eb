//! Connections of qlog files: what stacks write, from draft 00 on.

mod raw;

use crate::error::CaptureError;
use crate::event::{CapturedConnection, Side, Transport};
use bentpipe_units::{Span, Time};
use raw::{Events, RawEvent, RawFile, RawTrace, Scalar};

/// Longest trace, in seconds.
const MAX_SECONDS: f64 = 1e6;
/// First byte of each record of a JSON text sequence (RFC 7464 §2.2).
const RECORD_SEPARATOR: u8 = 0x1e;

/// Reads the content of a qlog file, of which the first trace counts.
///
/// # Errors
/// It is none.
pub(crate) fn trace_of(bytes: &[u8]) -> Result<CapturedConnection, CaptureError> {
    if bytes.first() == Some(&RECORD_SEPARATOR) {
        return sequence(bytes.split(|&byte| byte == RECORD_SEPARATOR));
    }
    match serde_json::from_slice::<RawFile>(bytes) {
        Ok(file) => document(file),
        // A sequence without separators: its first line is a document of its own.
        Err(error) => {
            let mut lines = bytes.split(|&byte| byte == b'\n');
            let head = lines.clone().next().unwrap_or_default();
            if serde_json::from_slice::<RawFile>(head).is_ok_and(|head| is_qlog(&head)) {
                return sequence(&mut lines);
            }
            Err(CaptureError::NotQlog(error.to_string()))
        }
    }
}

fn is_qlog(file: &RawFile) -> bool {
    [&file.qlog_version, &file.qlog_format, &file.file_schema]
        .into_iter()
        .any(|field| field.text().is_some())
}

fn document(mut file: RawFile) -> Result<CapturedConnection, CaptureError> {
    if !is_qlog(&file) {
        return Err(CaptureError::NotQlog("it has no `qlog_version` or `file_schema`".to_owned()));
    }
    if file.traces.is_empty() {
        return Err(CaptureError::NotQlog("it has no `traces`".to_owned()));
    }
    let head = file.traces.swap_remove(0);
    Ok(trace(&file.title, head))
}

/// Reads a head and events. Records that are not JSON are counted: a stack that ended suddenly has
/// not written its last one to the end.
fn sequence<'a>(
    records: impl Iterator<Item = &'a [u8]>,
) -> Result<CapturedConnection, CaptureError> {
    let mut records = records.filter(|record| !record.trim_ascii().is_empty());
    let head = records.next().unwrap_or_default();
    let file: RawFile =
        serde_json::from_slice(head).map_err(|error| CaptureError::NotQlog(error.to_string()))?;
    if !is_qlog(&file) {
        return Err(CaptureError::NotQlog(
            "its first record has no `qlog_version` or `file_schema`".to_owned(),
        ));
    }
    let mut head = file.trace.unwrap_or_default();
    let mut events = Events::default();
    for record in records {
        match serde_json::from_slice::<RawEvent>(record) {
            Ok(event) => events.add(event),
            Err(_) => events.unreadable += 1,
        }
    }
    head.events = events;
    Ok(trace(&file.title, head))
}

fn trace(title: &Scalar, raw: RawTrace) -> CapturedConnection {
    let Events { known, unreadable } = raw.events;
    let text = |value: &Scalar| value.text().unwrap_or_default().to_owned();
    let title = [text(&raw.title), text(title), text(&raw.description)];
    let vantage = [&raw.vantage_point.0.kind, &raw.vantage_point.0.flow];
    let is_server = vantage.into_iter().any(|kind| kind.text() == Some("server"));
    let unit = match raw.configuration.0.time_units.text() {
        Some("us") => 1e-6,
        Some("ns") => 1e-9,
        // Milliseconds since draft 02.
        _ => 1e-3,
    };
    let format = text(&raw.common_fields.0.time_format);
    let is_delta = matches!(format.as_str(), "delta" | "relative_to_previous_event");
    let mut seconds = 0.0;
    let mut events: Vec<_> = known
        .into_iter()
        .map(|(time, event)| {
            seconds = if is_delta { seconds + time * unit } else { time * unit };
            (seconds, event)
        })
        .collect();
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let start = events.first().map_or(0.0, |(at, _)| *at);
    let at =
        |seconds: f64| Time::ZERO + Span::from_secs_f64((seconds - start).clamp(0.0, MAX_SECONDS));
    CapturedConnection {
        transport: Transport::Quic,
        title: title.into_iter().find(|title| !title.is_empty()).unwrap_or_default(),
        side: if is_server { Side::Server } else { Side::Client },
        events: events.into_iter().map(|(seconds, event)| (at(seconds), event)).collect(),
        unreadable,
        notes: Vec::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::event::{Event, Packet, StreamPart};
    use proptest::prelude::*;

    /// The same two events, as stacks write them.
    const FORMS: [&str; 4] = [
        // picoquic: a document of draft 00 with arrays, in microseconds.
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
        // quic-go, quiche, ngtcp2: a text sequence, in milliseconds.
        "\u{1e}{\"qlog_format\":\"JSON-SEQ\",\"qlog_version\":\"0.3\",\"title\":\"pico\",\"trace\":\
         {\"vantage_point\":{\"type\":\"server\"}}}\n\
         \u{1e}{\"time\":1.0,\"name\":\"transport:packet_sent\",\"data\":{\"header\":\
         {\"packet_type\":\"1RTT\",\"packet_number\":7},\"raw\":{\"length\":1200},\"frames\":\
         [{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":10,\"length\":900}]}}\n\
         \u{1e}{\"time\":3.5,\"name\":\"transport:packet_received\",\"data\":{\"header\":\
         {\"packet_type\":\"1RTT\",\"packet_number\":3},\"raw\":{\"length\":40},\"frames\":\
         [{\"frame_type\":\"ack\",\"acked_ranges\":[[5,7]]}]}}\n",
        // Without separators, numbers as text, times since the event before.
        "{\"qlog_version\":\"0.4\",\"title\":\"pico\",\"trace\":{\"vantage_point\":{\"type\":\
         \"server\"},\"common_fields\":{\"time_format\":\"delta\"}}}\n\
         {\"time\":\"1\",\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":\
         \"1rtt\",\"packet_number\":\"7\"},\"raw\":{\"length\":\"1200\"},\"frames\":\
         [{\"frame_type\":\"stream\",\"stream_id\":\"0\",\"offset\":\"10\",\"raw\":\
         {\"payload_length\":\"900\"}}]}}\n\
         {\"time\":2.5,\"name\":\"quic:packet_received\",\"data\":{\"header\":{\"packet_type\":\
         \"1RTT\",\"packet_number\":3},\"raw\":{\"length\":40},\"frames\":[{\"frame_type\":\"ack\",\
         \"acked_ranges\":[[5,7]]}]}}\n{\"time\":4,\"na",
        // aioquic: a document with objects.
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
    ];

    #[test]
    fn all_forms_have_the_same_events() {
        for (index, form) in FORMS.iter().enumerate() {
            let trace = CapturedConnection::parse(form.as_bytes(), &[]).unwrap();
            assert_eq!((trace.title.as_str(), trace.side), ("pico", Side::Server), "{index}");
            let sent = Packet {
                is_application: true,
                number: 7,
                bytes: 1200,
                data: vec![StreamPart { stream: 0, offset: 10, length: 900 }],
                ..Packet::default()
            };
            let received = Packet {
                is_application: true,
                number: 3,
                bytes: 40,
                acknowledged: vec![(5, 7)],
                ..Packet::default()
            };
            let later = Time::ZERO + Span::from_micros(2500);
            let [(first, one), (second, other)] = trace.events.as_slice() else {
                panic!("{index}: {:?}", trace.events)
            };
            assert_eq!((*first, one), (Time::ZERO, &Event::Sent(sent)), "{index}");
            assert!(
                second.since(later).max(later.since(*second)) < Span::from_micros(2),
                "{index}"
            );
            assert_eq!(other, &Event::Received(received), "{index}");
            assert_eq!(trace.unreadable, usize::from(index == 2), "a record that was cut off");
        }
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        for (text, reason) in [
            ("", "EOF"),
            ("root:x:0:0", "expected value"),
            ("{}", "`qlog_version`"),
            ("{\"qlog_version\":\"0.3\"}", "`traces`"),
            ("\u{1e}{\"a\":1}", "first record"),
        ] {
            let error = CapturedConnection::parse(text.as_bytes(), &[]).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains("allowed: qlog"), "{text}: {error}");
        }
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
            let mut bytes = FORMS[form].as_bytes().to_vec();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Ok(trace) = CapturedConnection::parse(&bytes, &[]) {
                let _ = crate::account(&trace, None);
            }
        }
    }
}
