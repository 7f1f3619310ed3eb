//! Conversion of a trace for the qvis viewer: to qlog 0.3 (draft-ietf-quic-qlog-main-schema-02,
//! draft-ietf-quic-qlog-quic-events-01).

use super::format::{FILE_SCHEMA, RECORD_SEPARATOR, SERIALIZATION_FORMAT};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use thiserror::Error;

/// Reference time of the converted trace, in milliseconds after 1970. Any value but zero, which the
/// viewer ignores.
const REFERENCE_TIME: f64 = 1.0;

/// Why a trace cannot be converted.
#[derive(Debug, Error)]
pub enum QlogError {
    /// The bytes are not a JSON text sequence (RFC 7464), or end within a record.
    #[error("record {record} is truncated, or not a record of a JSON text sequence (RFC 7464)")]
    Framing {
        /// The record, counted from 1.
        record: usize,
    },
    /// A record is not the expected JSON.
    #[error("record {record}: {source}")]
    Json {
        /// The record, counted from 1.
        record: usize,
        /// The JSON error.
        source: serde_json::Error,
    },
    /// The trace is empty.
    #[error("the trace is empty")]
    Empty,
    /// The trace has another format.
    #[error("`{field}` of the trace is `{found}`; allowed: `{expected}`")]
    Form {
        /// Field of the head.
        field: &'static str,
        /// Its value.
        found: String,
        /// The expected value.
        expected: &'static str,
    },
}

/// Converts a sequential trace of the current format, as from [`super::QlogSink`], for qvis.
///
/// Packets, parameters and metrics, which the viewer draws, keep their order. Timers and network
/// paths, which it does not know, are dropped. The conversion works record by record, and its
/// result is at most a few times as long as `current`.
///
/// # Errors
/// The trace has another format, is damaged or truncated.
pub fn to_qvis(current: &[u8]) -> Result<Vec<u8>, QlogError> {
    let mut out = Vec::with_capacity(current.len() + current.len() / 8 + 512);
    let mut rest = current;
    let mut record = 0;
    while !rest.is_empty() {
        record += 1;
        let framing = QlogError::Framing { record };
        let Some(text) = rest.strip_prefix(&[RECORD_SEPARATOR]) else { return Err(framing) };
        // JSON text on one line contains neither separator nor line feed.
        let Some(end) = text.iter().position(|&byte| byte == b'\n') else { return Err(framing) };
        let (text, after) = (&text[..end], &text[end + 1..]);
        let json = |source| QlogError::Json { record, source };
        if record == 1 {
            let head: Head<'_> = serde_json::from_slice(text).map_err(json)?;
            write(&OldHead::new(&head)?, &mut out).map_err(json)?;
        } else {
            event(text, &mut out).map_err(json)?;
        }
        rest = after;
    }
    if record == 0 { Err(QlogError::Empty) } else { Ok(out) }
}

fn write(record: &impl Serialize, out: &mut Vec<u8>) -> serde_json::Result<()> {
    out.push(RECORD_SEPARATOR);
    serde_json::to_writer(&mut *out, record)?;
    out.push(b'\n');
    Ok(())
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    file_schema: Cow<'a, str>,
    #[serde(borrow)]
    serialization_format: Cow<'a, str>,
    #[serde(borrow, default)]
    title: Option<Cow<'a, str>>,
    #[serde(borrow)]
    trace: TraceHead<'a>,
}

#[derive(Deserialize)]
struct TraceHead<'a> {
    #[serde(borrow, default)]
    title: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    vantage_point: Option<&'a RawValue>,
    #[serde(borrow, default)]
    common_fields: CommonFields<'a>,
}

#[derive(Deserialize, Default)]
struct CommonFields<'a> {
    #[serde(borrow, default)]
    group_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    time_format: Option<Cow<'a, str>>,
}

/// Version and format come first: the viewer looks for them in the first 1024 bytes.
#[derive(Serialize)]
struct OldHead<'a> {
    qlog_version: &'static str,
    qlog_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    trace: OldTraceHead<'a>,
}

#[derive(Serialize)]
struct OldTraceHead<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    vantage_point: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    common_fields: OldCommonFields<'a>,
}

#[derive(Serialize)]
struct OldCommonFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<&'a str>,
    protocol_type: [&'static str; 1],
    reference_time: f64,
    time_format: &'static str,
}

impl<'a> OldHead<'a> {
    fn new(head: &'a Head<'_>) -> Result<Self, QlogError> {
        let time_format =
            head.trace.common_fields.time_format.as_deref().unwrap_or("relative_to_epoch");
        for (field, found, expected) in [
            ("file_schema", &*head.file_schema, FILE_SCHEMA),
            ("serialization_format", &*head.serialization_format, SERIALIZATION_FORMAT),
            ("time_format", time_format, "relative_to_epoch"),
        ] {
            if found != expected {
                return Err(QlogError::Form { field, found: found.to_owned(), expected });
            }
        }
        Ok(Self {
            qlog_version: "0.3",
            qlog_format: "JSON-SEQ",
            title: head.title.as_deref(),
            trace: OldTraceHead {
                vantage_point: head.trace.vantage_point,
                title: head.trace.title.as_deref(),
                common_fields: OldCommonFields {
                    group_id: head.trace.common_fields.group_id.as_deref(),
                    protocol_type: ["QUIC"],
                    reference_time: REFERENCE_TIME,
                    time_format: "relative",
                },
            },
        })
    }
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    time: &'a RawValue,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
struct Packet<'a> {
    #[serde(borrow)]
    header: &'a RawValue,
    #[serde(borrow, default)]
    raw: Option<&'a RawValue>,
    #[serde(borrow, default)]
    is_mtu_probe_packet: Option<&'a RawValue>,
    #[serde(borrow, default)]
    trigger: Option<&'a RawValue>,
    #[serde(borrow, default)]
    frames: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    length: Option<u64>,
    #[serde(default)]
    raw: Option<Raw>,
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default)]
    length: Option<u64>,
}

/// Converts one event.
fn event(text: &[u8], out: &mut Vec<u8>) -> serde_json::Result<()> {
    let event: Event<'_> = serde_json::from_slice(text)?;
    let time = event.time.get();
    if !time.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return Err(serde::de::Error::custom("the time of an event is a number"));
    }
    let Some(name) = old_name(&event.name) else { return Ok(()) };
    out.extend_from_slice(b"\x1e{\"time\":");
    out.extend_from_slice(time.as_bytes());
    out.extend_from_slice(b",\"name\":");
    serde_json::to_writer(&mut *out, &name)?;
    out.extend_from_slice(b",\"data\":");
    match &*name {
        "transport:packet_sent" | "transport:packet_received" => packet(event.data.get(), out)?,
        "transport:parameters_set" => {
            let mut data: BTreeMap<String, &RawValue> = serde_json::from_str(event.data.get())?;
            if let Some(initiator) = data.remove("initiator") {
                data.insert("owner".to_owned(), initiator);
            }
            serde_json::to_writer(&mut *out, &data)?;
        }
        _ => out.extend_from_slice(event.data.get().as_bytes()),
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// Converts the data of a packet: in qlog 0.3, frames have the length of their content themselves.
fn packet(text: &str, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let packet: Packet<'_> = serde_json::from_str(text)?;
    out.extend_from_slice(b"{\"header\":");
    out.extend_from_slice(packet.header.get().as_bytes());
    let rest = [
        ("raw", packet.raw),
        ("is_mtu_probe_packet", packet.is_mtu_probe_packet),
        ("trigger", packet.trigger),
    ];
    for (name, value) in rest {
        if let Some(value) = value {
            out.extend_from_slice(b",\"");
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
            out.extend_from_slice(value.get().as_bytes());
        }
    }
    if let Some(frames) = packet.frames {
        out.extend_from_slice(b",\"frames\":[");
        for (index, frame) in frames.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let text = frame.get();
            let Frame { length, raw } = serde_json::from_str(text)?;
            match (raw.and_then(|raw| raw.length), length, text.strip_suffix('}')) {
                (Some(length), None, Some(open)) => {
                    out.extend_from_slice(open.as_bytes());
                    out.extend_from_slice(b",\"length\":");
                    serde_json::to_writer(&mut *out, &length)?;
                    out.push(b'}');
                }
                _ => out.extend_from_slice(text.as_bytes()),
            }
        }
        out.push(b']');
    }
    out.push(b'}');
    Ok(())
}

/// Returns the old name of an event. `None` if the viewer does not know it.
fn old_name(name: &str) -> Option<Cow<'_, str>> {
    let Some(event) = name.strip_prefix("quic:") else {
        return Some(match name.strip_prefix("http3:") {
            Some(event) => format!("http:{event}").into(),
            None => name.into(),
        });
    };
    Some(Cow::Borrowed(match event {
        "packet_sent" => "transport:packet_sent",
        "packet_received" => "transport:packet_received",
        "recovery_metrics_updated" => "recovery:metrics_updated",
        "packet_lost" => "recovery:packet_lost",
        "parameters_set" => "transport:parameters_set",
        "timer_updated" | "tuple_assigned" => return None,
        "recovery_parameters_set" => "recovery:parameters_set",
        "udp_datagrams_sent" => "transport:datagrams_sent",
        "udp_datagrams_received" => "transport:datagrams_received",
        "udp_datagram_dropped" => "transport:datagram_dropped",
        "stream_data_moved" => "transport:data_moved",
        "congestion_state_updated"
        | "ecn_state_updated"
        | "marked_for_retransmit"
        | "careful_resume_phase_updated" => {
            return Some(format!("recovery:{event}").into());
        }
        "server_listening"
        | "connection_started"
        | "connection_closed"
        | "connection_id_updated"
        | "spin_bit_updated"
        | "connection_state_updated"
        | "mtu_updated" => {
            return Some(format!("connectivity:{event}").into());
        }
        "key_updated" | "key_discarded" => return Some(format!("security:{event}").into()),
        _ => return Some(format!("transport:{event}").into()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    const HEAD: &str = r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","serialization_format":"application/qlog+json-seq","title":"t","trace":{"title":"t","vantage_point":{"type":"server"},"event_schemas":["urn:ietf:params:qlog:events:quic-12"],"common_fields":{"group_id":"ab","time_format":"relative_to_epoch","reference_time":{"clock_type":"monotonic","epoch":"unknown"}}}}"#;
    const EVENTS: [&str; 7] = [
        r#"{"time":0.5,"name":"quic:parameters_set","data":{"initiator":"remote","initial_max_data":15000000}}"#,
        r#"{"time":1.0,"name":"quic:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":0},"raw":{"length":1472},"frames":[{"frame_type":"stream","stream_id":0,"raw":{"length":1439}},{"frame_type":"ping"}]},"tuple":"p0"}"#,
        r#"{"time":2,"name":"quic:packet_received","data":{"header":{"packet_type":"1RTT"},"raw":{"length":39},"frames":[{"frame_type":"ack","ack_delay":0,"acked_ranges":[[0]]},{"frame_type":"max_data","maximum":7}]}}"#,
        r#"{"time":2e0,"name":"quic:recovery_metrics_updated","data":{"congestion_window":14720}}"#,
        r#"{"time":3,"name":"quic:timer_updated","data":{}}"#,
        r#"{"time":3,"name":"quic:packet_lost","data":{"header":{"packet_type":"1RTT","packet_number":0},"trigger":"time_threshold"}}"#,
        r#"{"time":4,"name":"loglevel:info","data":{"message":"a \"quote\""}}"#,
    ];

    fn sequence(records: &[&str]) -> Vec<u8> {
        records.iter().map(|record| format!("\x1e{record}\n")).collect::<String>().into_bytes()
    }

    fn trace() -> Vec<u8> {
        sequence(&[&[HEAD], &EVENTS[..]].concat())
    }

    fn records(bytes: &[u8]) -> Vec<Value> {
        let text = std::str::from_utf8(bytes).unwrap();
        text.split_terminator('\n')
            .map(|line| serde_json::from_str(line.strip_prefix('\x1e').unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn the_viewer_finds_its_fields() {
        let out = to_qvis(&trace()).unwrap();
        assert!(out.starts_with(b"\x1e{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\","));
        let records = records(&out);
        let common = &records[0]["trace"]["common_fields"];
        assert_eq!(
            (&common["time_format"], &common["group_id"]),
            (&Value::from("relative"), &Value::from("ab"))
        );
        assert_eq!(records[0]["trace"]["vantage_point"]["type"], "server");
        let names: Vec<_> =
            records[1..].iter().map(|record| record["name"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            [
                "transport:parameters_set",
                "transport:packet_sent",
                "transport:packet_received",
                "recovery:metrics_updated",
                "recovery:packet_lost",
                "loglevel:info"
            ]
        );
        assert_eq!(
            records[1]["data"],
            serde_json::json!({"owner": "remote", "initial_max_data": 15_000_000})
        );
        assert_eq!(records[2]["data"]["raw"]["length"], 1472);
        assert_eq!(records[2]["data"]["frames"][0]["length"], 1439);
        assert_eq!(records[2]["data"]["frames"][1], serde_json::json!({"frame_type": "ping"}));
        assert_eq!(records[3]["data"]["frames"][0]["acked_ranges"], serde_json::json!([[0]]));
        assert_eq!(records[6]["data"]["message"], "a \"quote\"");
    }

    #[test]
    fn other_formats_are_refused() {
        assert!(matches!(to_qvis(b""), Err(QlogError::Empty)));
        for (from, to) in [
            ("file:sequential", "file:contained"),
            ("+json-seq", "+json"),
            ("relative_to_epoch", "relative_to_previous_event"),
        ] {
            let error = to_qvis(&sequence(&[&HEAD.replace(from, to)])).unwrap_err();
            assert!(matches!(error, QlogError::Form { .. }), "{error}");
        }
        let old = to_qvis(&trace()).unwrap();
        assert!(matches!(to_qvis(&old), Err(QlogError::Json { record: 1, .. })));
    }

    #[test]
    fn damage_is_reported_with_its_record() {
        let error = |records: &[&str]| to_qvis(&sequence(records)).unwrap_err().to_string();
        assert!(error(&[HEAD, "{}"]).starts_with("record 2: missing field"));
        assert!(error(&[HEAD, r#"{"time":"now","name":"a:b","data":{}}"#]).contains("is a number"));
        assert!(error(&[HEAD, r#"{"time":0,"name":"a:b","data":{}} {}"#]).contains("trailing"));
        assert!(
            error(&[
                HEAD,
                r#"{"time":0,"name":"quic:packet_sent","data":{"header":{},"frames":[7]}}"#
            ])
            .starts_with("record 2")
        );
        assert_eq!(
            to_qvis(b"{}\n").unwrap_err().to_string(),
            "record 1 is truncated, or not a record of a JSON text sequence (RFC 7464)"
        );
    }

    #[test]
    fn a_trace_cut_anywhere_but_between_records_is_an_error() {
        let trace = trace();
        for cut in 1..trace.len() {
            assert_eq!(to_qvis(&trace[..cut]).is_ok(), trace[cut - 1] == b'\n', "cut at {cut}");
        }
    }

    #[test]
    fn deep_nesting_ends() {
        let deep = format!(r#"{{"time":0,"name":"a:b","data":{}}}"#, "[".repeat(100_000));
        assert!(to_qvis(&sequence(&[HEAD, &deep])).is_err());
        let deep = format!(
            r#"{{"time":0,"name":"a:b","data":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let _ = to_qvis(&sequence(&[HEAD, &deep]));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = to_qvis(&bytes);
            let _ = to_qvis(&[sequence(&[HEAD]), bytes].concat());
        }

        #[test]
        fn a_converted_trace_can_be_parsed(
            changes in proptest::collection::vec(
                (any::<prop::sample::Index>(), any::<u8>(), any::<bool>()),
                1..4,
            )
        ) {
            let mut trace = trace();
            for (index, byte, replace) in changes {
                let at = index.index(trace.len());
                if replace { trace[at] = byte } else { trace.insert(at, byte) }
            }
            if let Ok(out) = to_qvis(&trace) {
                prop_assert!(out.len() <= 2 * trace.len() + 512);
                prop_assert!(!records(&out).is_empty());
            }
        }
    }
}
