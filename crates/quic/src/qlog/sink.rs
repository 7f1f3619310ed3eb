//! The stack's trace of one connection, in memory.

use super::format::{FILE_SCHEMA, RECORD_SEPARATOR, SERIALIZATION_FORMAT};
use super::repair::{Repair, TIMER_UPDATED};
use crate::clock::Clock;
use bentpipe_units::{Epoch, Span, Time};
use noq_proto::{ConnectionId, QlogConfig, QlogFactory, Side};
use serde::Serialize;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Schema of the stack's events, by its documentation; drafts append their number to the URI.
const EVENT_SCHEMA: &str = "urn:ietf:params:qlog:events:quic-12";
/// Schema of the last event of a truncated trace, in the main schema.
const LOGLEVEL_SCHEMA: &str = "urn:ietf:params:qlog:events:loglevel-13";
/// Initial capacity of the record buffer, in bytes: a record of usual length.
const RECORD: usize = 512;

/// Receives the trace of one connection, the first that is configured with it. Clones share the
/// trace.
///
/// Timer events are left out: they are more than half of the stack's output, and `pto_count` in the
/// metrics shows those that matter.
#[derive(Clone)]
pub struct QlogSink {
    trace: Arc<Mutex<Trace>>,
    title: String,
    clock: Clock,
    begin: Time,
    /// Time of day at `begin`.
    wall: Option<Epoch>,
}

#[derive(Default)]
struct Trace {
    bytes: Vec<u8>,
    /// True once a connection writes here.
    taken: bool,
    /// Most bytes that may wait to be taken, if bounded.
    max: Option<usize>,
    /// True if the trace is truncated: further records are dropped.
    cut: bool,
}

impl Trace {
    /// Adds a whole record. Truncates the trace if it is too long.
    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if !self.cut {
            write(&mut self.bytes);
            self.cut = self.max.is_some_and(|max| self.bytes.len() > max);
        }
    }
}

impl QlogSink {
    /// A sink for the trace called `title`, with times from the start of the run.
    pub fn new(title: &str, clock: Clock) -> Self {
        Self {
            trace: Arc::default(),
            title: title.to_owned(),
            clock,
            begin: Time::ZERO,
            wall: None,
        }
    }

    /// A sink for a connection of a long-running program: times count from `begin`, at the time of
    /// day `wall`. At most about `max` bytes wait to be taken; a trace that exceeds it is
    /// truncated.
    pub fn bounded(title: &str, clock: Clock, begin: Time, wall: Epoch, max: usize) -> Self {
        let trace = Trace { max: Some(max), ..Trace::default() };
        Self {
            trace: Arc::new(Mutex::new(trace)),
            title: title.to_owned(),
            clock,
            begin,
            wall: Some(wall),
        }
    }

    /// Takes the records so far, of a JSON text sequence (RFC 7464) that begins with the head.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut lock(&self.trace).bytes)
    }

    /// Returns true if no clone is left: the connection is gone, and its trace is complete once it
    /// is taken.
    pub fn is_over(&self) -> bool {
        Arc::strong_count(&self.trace) == 1
    }

    /// Returns true if the trace was truncated.
    pub fn is_cut(&self) -> bool {
        lock(&self.trace).cut
    }

    /// Truncates the trace. Returns its last record, a warning with the text `why`.
    pub fn cut(&self, now: Time, why: &str) -> Vec<u8> {
        lock(&self.trace).cut = true;
        let event = Warning {
            time: self.millis(now),
            name: "loglevel:warning",
            data: Message { message: why },
        };
        let mut record = vec![RECORD_SEPARATOR];
        // Numbers and text always serialize.
        if serde_json::to_writer(&mut record, &event).is_err() {
            return Vec::new();
        }
        record.push(b'\n');
        record
    }

    /// Converts a time to that of events, in milliseconds.
    pub(super) fn millis(&self, at: Time) -> f64 {
        let since: Span = at.since(self.begin);
        since.as_secs_f64() * 1e3
    }

    /// Adds a whole record, if the head is written.
    pub(super) fn append(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut trace = lock(&self.trace);
        if trace.taken {
            trace.add(write);
        }
    }
}

impl QlogFactory for QlogSink {
    fn for_connection(
        &self,
        side: Side,
        _remote: SocketAddr,
        initial_dst_cid: ConnectionId,
        _now: Instant,
    ) -> Option<QlogConfig> {
        let mut trace = lock(&self.trace);
        if std::mem::replace(&mut trace.taken, true) {
            return None;
        }
        trace.bytes.push(RECORD_SEPARATOR);
        let head = Head::new(&self.title, side, initial_dst_cid, self.wall);
        serde_json::to_writer(&mut trace.bytes, &head).ok()?;
        trace.bytes.push(b'\n');
        let mut config = QlogConfig::new(Box::new(Writer::new(self.trace.clone(), side)));
        config.start_time(self.clock.instant(self.begin));
        Some(config)
    }
}

fn lock(trace: &Mutex<Trace>) -> MutexGuard<'_, Trace> {
    trace.lock().unwrap_or_else(PoisonError::into_inner)
}

/// First record of a sequential file (QlogFileSeq in the main schema). Schema and format are in its
/// first 256 bytes, where readers look for them.
#[derive(Serialize)]
struct Head<'a> {
    file_schema: &'a str,
    serialization_format: &'a str,
    title: &'a str,
    trace: TraceHead<'a>,
}

#[derive(Serialize)]
struct TraceHead<'a> {
    title: &'a str,
    vantage_point: VantagePoint,
    event_schemas: Vec<&'a str>,
    common_fields: CommonFields,
}

#[derive(Serialize)]
struct VantagePoint {
    #[serde(rename = "type")]
    side: &'static str,
}

#[derive(Serialize)]
struct CommonFields {
    group_id: String,
    time_format: &'static str,
    reference_time: ReferenceTime,
}

#[derive(Serialize)]
struct ReferenceTime {
    clock_type: &'static str,
    epoch: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_clock_time: Option<String>,
}

#[derive(Serialize)]
struct Warning<'a> {
    time: f64,
    name: &'static str,
    data: Message<'a>,
}

#[derive(Serialize)]
struct Message<'a> {
    message: &'a str,
}

impl<'a> Head<'a> {
    fn new(title: &'a str, side: Side, initial_dst_cid: ConnectionId, wall: Option<Epoch>) -> Self {
        // A trace that may be truncated lists the schema of the warning.
        let event_schemas =
            if wall.is_some() { vec![EVENT_SCHEMA, LOGLEVEL_SCHEMA] } else { vec![EVENT_SCHEMA] };
        Self {
            file_schema: FILE_SCHEMA,
            serialization_format: SERIALIZATION_FORMAT,
            title,
            trace: TraceHead {
                title,
                vantage_point: VantagePoint {
                    side: if side == Side::Client { "client" } else { "server" },
                },
                event_schemas,
                common_fields: CommonFields {
                    group_id: initial_dst_cid.to_string(),
                    time_format: "relative_to_epoch",
                    // Monotonic clocks have no known epoch (ReferenceTime in the main schema).
                    reference_time: ReferenceTime {
                        clock_type: "monotonic",
                        epoch: "unknown",
                        wall_clock_time: wall.map(to_the_millisecond),
                    },
                },
            },
        }
    }
}

/// Formats a time of day by RFC 3339, with milliseconds.
fn to_the_millisecond(wall: Epoch) -> String {
    let seconds = wall.to_string();
    format!("{}.{:03}Z", seconds.trim_end_matches('Z'), wall.as_unix_millis() % 1000)
}

/// Collects the stack's many small writes into records, and repairs those.
struct Writer {
    trace: Arc<Mutex<Trace>>,
    /// The current record.
    record: Vec<u8>,
    /// True after the stack's own head, which is replaced by ours.
    begun: bool,
    /// True if the rest of the current record is dropped.
    skipping: bool,
    repair: Repair,
}

impl Writer {
    fn new(trace: Arc<Mutex<Trace>>, side: Side) -> Self {
        Self {
            trace,
            record: Vec::with_capacity(RECORD),
            begun: false,
            skipping: false,
            repair: Repair::new(side),
        }
    }

    /// Not inlined, like [`Self::word`], so that the most frequent path saves no registers.
    #[inline(never)]
    fn end_record(&mut self) -> io::Result<()> {
        if self.begun && !self.skipping {
            self.record.push(b'\n');
            lock(&self.trace).add(|bytes| self.repair.record(&self.record, bytes));
        }
        self.begun = true;
        self.skipping = false;
        self.record.clear();
        Ok(())
    }

    #[inline(never)]
    fn word(&mut self, data: &[u8]) -> io::Result<()> {
        self.record.extend_from_slice(data);
        // `Repair` would drop it; this saves the copy.
        self.skipping = data == TIMER_UPDATED;
        Ok(())
    }
}

impl Write for Writer {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.write_all(data)?;
        Ok(data.len())
    }

    /// Called about seventy times per record, mostly with a single byte.
    fn write_all(&mut self, data: &[u8]) -> io::Result<()> {
        match data {
            // A record is one line: a line feed ends it.
            [b'\n'] => self.end_record(),
            _ if self.skipping => Ok(()),
            &[byte] if self.record.len() < self.record.capacity() => {
                self.record.push(byte);
                Ok(())
            }
            _ => self.word(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_serves_one_connection() {
        let clock = Clock::new();
        let sink = QlogSink::new("a \"title\"", clock);
        let cid = ConnectionId::new(&[0xab, 1]);
        let remote = SocketAddr::from(([198, 18, 0, 0], 443));
        let now = clock.instant(Time::ZERO);
        assert!(sink.for_connection(Side::Server, remote, cid, now).is_some());
        assert!(sink.for_connection(Side::Server, remote, cid, now).is_none());
        let bytes = sink.take();
        assert_eq!((bytes[0], bytes[bytes.len() - 1]), (RECORD_SEPARATOR, b'\n'));
        let head: serde_json::Value = serde_json::from_slice(&bytes[1..]).unwrap();
        assert_eq!(head["title"], "a \"title\"");
        assert_eq!(head["trace"]["vantage_point"]["type"], "server");
        assert_eq!(head["trace"]["common_fields"]["group_id"], "ab01");
    }

    #[test]
    fn a_bounded_trace_ends_with_a_whole_record_and_a_reason() {
        let clock = Clock::new();
        let begin = Time::from_secs(60);
        let sink =
            QlogSink::bounded("t", clock, begin, Epoch::from_unix_millis(1_767_225_600_042), 400);
        let now = clock.instant(begin);
        let config = sink.for_connection(
            Side::Server,
            ([192, 0, 2, 1], 443).into(),
            ConnectionId::new(&[1]),
            now,
        );
        let head: serde_json::Value = serde_json::from_slice(&sink.take()[1..]).unwrap();
        assert_eq!(
            head["trace"]["common_fields"]["reference_time"]["wall_clock_time"],
            "2026-01-01T00:00:00.042Z"
        );
        let mut writer = Writer::new(sink.trace.clone(), Side::Server);
        let mut write = |count| {
            for _ in 0..count {
                let pieces = ["\x1e", "{\"time\":1.0,\"name\":\"a:b\",\"data\":{}}", "\n"];
                pieces.iter().for_each(|piece| writer.write_all(piece.as_bytes()).unwrap());
            }
        };
        // The stack's own head, and 37 bytes each.
        write(1 + 10);
        assert!(!sink.is_cut());
        write(10);
        assert!(sink.is_cut() && !sink.is_over());
        assert_eq!(sink.take().len(), 11 * 37);
        write(1);
        assert_eq!(sink.take(), b"", "a truncated trace stays so");
        let last = sink.cut(begin + Span::from_millis(1500), "full");
        let event = r#"{"time":1500.0,"name":"loglevel:warning","data":{"message":"full"}}"#;
        assert_eq!(last, format!("\x1e{event}\n").into_bytes());
        drop((writer, config));
        assert!(sink.is_over());
    }

    #[test]
    fn records_are_whole_however_they_are_written() {
        let trace = Arc::<Mutex<Trace>>::default();
        let mut writer = Writer::new(trace.clone(), Side::Client);
        let mut write = |pieces: &[&str]| {
            pieces.iter().for_each(|piece| writer.write_all(piece.as_bytes()).unwrap());
            lock(&trace).bytes.clone()
        };
        // The head, a timer, and a record.
        assert_eq!(write(&["\x1e", "{\"file_schema\":\"x\"}", "\n"]), b"");
        assert_eq!(
            write(&[
                "\x1e",
                "{\"time\":1,\"name\":\"",
                "quic:timer_updated",
                "\",\"data\":{}",
                "}",
                "\n"
            ]),
            b""
        );
        assert_eq!(
            write(&["\x1e", "{\"time\":1", ".0,\"name\":\"a:b\",\"data\":{", "}", "}"]),
            b""
        );
        assert_eq!(write(&["\n"]), b"\x1e{\"time\":1.0,\"name\":\"a:b\",\"data\":{}}\n");
    }
}
