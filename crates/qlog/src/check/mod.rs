//! A checker of traces, for tests: names of events, required fields, types, enumerations, and the
//! order of time.
//!
//! It is stricter than the schema, which lets anyone add fields: a field that it does not know is a
//! defect, since it is more often a misspelt one than an extension.

mod fields;
mod frames;
mod schema;

use crate::head::{FILE_SCHEMA, RECORD_SEPARATOR, SERIALIZATION_FORMAT};
use fields::{Field, Kind, check_object};
use serde_json::Value;
use thiserror::Error;

/// A trace without defects.
#[derive(Debug, Clone)]
pub struct CheckedTrace {
    /// First record.
    pub head: Value,
    /// All other records, with `time`, `name` and `data`.
    pub events: Vec<Value>,
}

impl CheckedTrace {
    /// Returns the data of the events called `name`, in order.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["name"] == name).map(|event| &event["data"])
    }
}

/// The first defect of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("record {record}: {what}: {text}")]
pub struct Defect {
    /// The record, counted from 1.
    pub record: usize,
    /// What is wrong, with the place in the record.
    pub what: String,
    /// Start of the record.
    pub text: String,
}

/// Checks a sequential trace in the current schema.
///
/// # Errors
/// The first defect.
pub fn check(bytes: &[u8]) -> Result<CheckedTrace, Defect> {
    let (head, events) = records(bytes, |head, start| {
        check_object(head, &schema::HEAD).and_then(|()| {
            expect(&head["file_schema"], FILE_SCHEMA)?;
            expect(&head["serialization_format"], SERIALIZATION_FORMAT)?;
            let near = start.iter().take(256).copied().collect::<Vec<u8>>();
            let near = String::from_utf8_lossy(&near).into_owned();
            if near.contains(SERIALIZATION_FORMAT) {
                Ok(())
            } else {
                Err("file_schema and serialization_format are not in the first 256 bytes".into())
            }
        })
    })?;
    let schemas: Vec<String> = head["trace"]["event_schemas"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|schema| schema.as_str().map(str::to_owned))
        .collect();
    each_event(&events, |name, data| {
        let Some(fields) = schema::event(name) else {
            return Err(format!("unknown event `{name}`"));
        };
        let namespace = name.split(':').next().unwrap_or_default();
        if !schemas.iter().any(|schema| schema.contains(namespace)) {
            return Err(format!("no schema of `{namespace}` among {schemas:?}"));
        }
        check_object(data, fields)
    })?;
    Ok(CheckedTrace { head, events })
}

/// Checks a trace in the form that qvis reads: version and format where it looks for them, names
/// that it may know, the fields of the congestion graph, and the order of time.
///
/// # Errors
/// The first defect.
pub fn check_qvis(bytes: &[u8]) -> Result<CheckedTrace, Defect> {
    let (head, events) = records(bytes, |head, start| {
        expect(&head["qlog_version"], "0.3")?;
        expect(&head["qlog_format"], "JSON-SEQ")?;
        let near = String::from_utf8_lossy(&start[..start.len().min(1024)]).into_owned();
        if !near.contains("qlog_format") {
            return Err("qlog_version and qlog_format are not in the first 1024 bytes".into());
        }
        expect(&head["trace"]["common_fields"]["time_format"], "relative")
    })?;
    each_event(&events, |name, data| {
        let (category, event) = name.split_once(':').unwrap_or_default();
        if !["connectivity", "transport", "recovery", "http", "loglevel"].contains(&category) {
            return Err(format!("unknown category `{category}`"));
        }
        match event {
            "parameters_set" if category == "recovery" => Ok(()),
            "packet_sent" | "packet_received" => {
                check_object(&data["header"], &schema::PACKET_HEADER)?;
                if !data["raw"]["length"].is_u64() {
                    return Err("no raw.length: the viewer skips the packet".into());
                }
                for frame in data["frames"].as_array().into_iter().flatten() {
                    if frame["frame_type"] == "stream" && !frame["length"].is_u64() {
                        return Err("a stream frame without length".into());
                    }
                }
                Ok(())
            }
            "parameters_set" if !["local", "remote"].map(Value::from).contains(&data["owner"]) => {
                Err("parameters without an owner".into())
            }
            _ => Ok(()),
        }
    })?;
    Ok(CheckedTrace { head, events })
}

fn expect(value: &Value, expected: &str) -> Result<(), String> {
    if value == expected { Ok(()) } else { Err(format!("{value} where `{expected}` is due")) }
}

/// Splits a JSON text sequence (RFC 7464) into its head, which `check_head` checks together with
/// its text, and its events.
fn records(
    bytes: &[u8],
    check_head: impl FnOnce(&Value, &[u8]) -> Result<(), String>,
) -> Result<(Value, Vec<Value>), Defect> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let record = records.len() + 1;
        let defect = |what: &str| Defect { record, what: what.to_owned(), text: start(rest) };
        let Some(text) = rest.strip_prefix(&[RECORD_SEPARATOR]) else {
            return Err(defect("no record separator (RFC 7464)"));
        };
        let end = text.iter().position(|&byte| byte == b'\n');
        let end = end.ok_or_else(|| defect("the record has no end"))?;
        let value = serde_json::from_slice(&text[..end]);
        records.push(value.map_err(|error| defect(&format!("no JSON: {error}")))?);
        rest = &text[end + 1..];
    }
    if records.is_empty() {
        return Err(Defect { record: 1, what: "the trace is empty".into(), text: String::new() });
    }
    let head: Value = records.remove(0);
    check_head(&head, bytes).map_err(|what| Defect { record: 1, what, text: start(bytes) })?;
    Ok((head, records))
}

fn start(bytes: &[u8]) -> String {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(&line[..line.len().min(400)]).into_owned()
}

/// Checks the frame of each event and the order of time; `check` checks the data.
fn each_event(
    events: &[Value],
    check: impl Fn(&str, &Value) -> Result<(), String>,
) -> Result<(), Defect> {
    const EVENT: [Field; 3] = [
        Field::required("time", Kind::Number),
        Field::required("name", Kind::Text),
        Field::required("data", Kind::Any),
    ];
    let mut last = 0.0;
    for (index, event) in events.iter().enumerate() {
        let text = || event.to_string().chars().take(400).collect();
        let defect = |what| Defect { record: index + 2, what, text: text() };
        check_object(event, &EVENT).map_err(defect)?;
        let time = event["time"].as_f64().unwrap_or_default();
        if time < last {
            return Err(defect(format!("time {time} after {last}: it runs backwards")));
        }
        last = time;
        check(event["name"].as_str().unwrap_or_default(), &event["data"]).map_err(defect)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","serialization_format":"application/qlog+json-seq","title":"t","trace":{"vantage_point":{"type":"server"},"event_schemas":["urn:ietf:params:qlog:events:quic-13","urn:ietf:params:qlog:events:http3-13"],"common_fields":{"group_id":"ab","time_format":"relative_to_epoch","reference_time":{"clock_type":"monotonic","epoch":"unknown"}}}}"#;
    const EVENTS: [&str; 6] = [
        r#"{"time":0.5,"name":"quic:parameters_set","data":{"initiator":"remote","initial_max_data":15000000}}"#,
        r#"{"time":1,"name":"quic:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":0},"raw":{"length":1472},"frames":[{"frame_type":"stream","stream_id":0,"offset":0,"raw":{"payload_length":1439}},{"frame_type":"ping"}]}}"#,
        r#"{"time":2,"name":"quic:packet_received","data":{"header":{"packet_type":"1RTT","packet_number":0},"raw":{"length":39},"frames":[{"frame_type":"ack","ack_delay":0.5,"acked_ranges":[[0]]},{"frame_type":"max_data","maximum":7}]}}"#,
        r#"{"time":2,"name":"quic:recovery_metrics_updated","data":{"congestion_window":14720}}"#,
        r#"{"time":3,"name":"http3:frame_parsed","data":{"stream_id":0,"frame":{"frame_type":"headers","headers":[],"raw":{"length":9}}}}"#,
        r#"{"time":3.25,"name":"quic:packet_lost","data":{"header":{"packet_type":"1RTT","packet_number":0},"trigger":"time_threshold"}}"#,
    ];

    fn trace(head: &str, events: &[&str]) -> Vec<u8> {
        let record = |record: &&str| format!("\x1e{record}\n");
        (record(&head) + &events.iter().map(record).collect::<String>()).into_bytes()
    }

    #[test]
    fn a_correct_trace_has_no_defect() {
        let checked = check(&trace(HEAD, &EVENTS)).unwrap();
        assert_eq!(checked.events.len(), EVENTS.len());
        assert_eq!(checked.named("quic:packet_lost").count(), 1);
    }

    #[test]
    fn each_planted_defect_is_found() {
        for (event, from, to, expected) in [
            (1, "quic:packet_sent", "quic:packet_send", "unknown event"),
            (1, "quic:packet_sent", "transport:packet_sent", "unknown event"),
            (1, r#""packet_type":"1RTT","#, "", "`header.packet_type` is missing"),
            (1, r#""1RTT""#, r#""1-RTT""#, "`header.packet_type`"),
            (1, r#""packet_number":0"#, r#""packet_number":"0""#, "`header.packet_number`"),
            (1, r#""packet_number":0"#, r#""packet_number":-1"#, "`header.packet_number`"),
            (1, r#""stream_id":0,"#, "", "`frames.stream_id` is missing"),
            (1, r#""offset":0"#, r#""ofset":0"#, "`frames.ofset` is unknown"),
            (1, r#""ping""#, r#""pong""#, "`frames.frame_type`"),
            (2, "[[0]]", "[[0,1,2]]", "`frames.acked_ranges`"),
            (2, "[[0]]", "[[3,1]]", "`frames.acked_ranges`"),
            (2, "[[0]]", "[]", "`frames.acked_ranges`"),
            (2, r#""maximum":7"#, r#""maximum":7.5"#, "`frames.maximum`"),
            (2, r#""time":2"#, r#""time":0.9"#, "runs backwards"),
            (2, r#""time":2,"#, "", "`time` is missing"),
            (3, r#"{"congestion_window":14720}"#, "7", "no object"),
            (3, "congestion_window", "cwnd", "`cwnd` is unknown"),
            (4, r#""headers":[],"#, "", "`frame.headers` is missing"),
            (5, "time_threshold", "time_treshold", "`trigger`"),
        ] {
            let mut events = EVENTS.map(str::to_owned);
            assert!(events[event].contains(from), "{from}");
            events[event] = events[event].replacen(from, to, 1);
            let events: Vec<&str> = events.iter().map(String::as_str).collect();
            let defect = check(&trace(HEAD, &events)).unwrap_err();
            assert!(defect.what.contains(expected), "{to}: {defect}");
            assert_eq!(defect.record, event + 2, "{defect}");
        }
    }

    #[test]
    fn defects_of_the_head_are_found() {
        for (from, to) in [
            ("file:sequential", "file:contained"),
            ("\"server\"", "\"servant\""),
            (",\"urn:ietf:params:qlog:events:http3-13\"", ""),
            ("\"event_schemas\"", "\"schemas\""),
            ("application/qlog+json-seq", "application/qlog+json"),
        ] {
            let bytes = trace(&HEAD.replace(from, to), &EVENTS);
            assert!(check(&bytes).is_err(), "{to}");
        }
        let bytes = trace(HEAD, &EVENTS);
        assert!(check(&bytes[..bytes.len() - 7]).is_err(), "truncated");
        assert!(check(b"").is_err());
    }
}
