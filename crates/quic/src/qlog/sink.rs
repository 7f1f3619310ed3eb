//! The stack's trace of one connection, kept in memory.

use super::repair::{Repair, TIMER_UPDATED};
use super::{FILE_SCHEMA, RECORD_SEPARATOR, SERIALIZATION_FORMAT};
use crate::clock::Clock;
use bentpipe_units::Time;
use noq_proto::{ConnectionId, QlogConfig, QlogFactory, Side};
use serde::Serialize;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The draft whose events the stack writes (its documentation says so); drafts append their number to the URI.
const EVENT_SCHEMA: &str = "urn:ietf:params:qlog:events:quic-12";
/// A record of usual length, so that its buffer need not grow.
const RECORD: usize = 512;

/// Receives the trace of one connection: the first that is configured with it. Clones share what was received.
///
/// Timers are left out: they are more than half of what the stack writes, and `pto_count` in the metrics tells of
/// those that matter.
#[derive(Clone)]
pub struct QlogSink {
    trace: Arc<Mutex<Trace>>,
    title: String,
    start: Instant,
}

#[derive(Default)]
struct Trace {
    bytes: Vec<u8>,
    /// A connection writes here already.
    taken: bool,
}

impl QlogSink {
    /// A sink for the trace called `title`, whose times count from the run's beginning.
    pub fn new(title: &str, clock: Clock) -> Self {
        Self { trace: Arc::default(), title: title.to_owned(), start: clock.instant(Time::ZERO) }
    }

    /// Takes what was written so far: whole records of a JSON text sequence (RFC 7464), the head first.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut lock(&self.trace).bytes)
    }

    /// Adds a whole record. Only once the head is there.
    pub(super) fn append(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut trace = lock(&self.trace);
        if trace.taken {
            write(&mut trace.bytes);
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
        let head = Head::new(&self.title, side, initial_dst_cid);
        serde_json::to_writer(&mut trace.bytes, &head).ok()?;
        trace.bytes.push(b'\n');
        let mut config = QlogConfig::new(Box::new(Writer::new(self.trace.clone(), side)));
        config.start_time(self.start);
        Some(config)
    }
}

fn lock(trace: &Mutex<Trace>) -> MutexGuard<'_, Trace> {
    trace.lock().unwrap_or_else(PoisonError::into_inner)
}

/// First record of a sequential file (QlogFileSeq in the main schema). The schema and the format stand in its first
/// 256 bytes, where readers look for them.
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
    event_schemas: [&'a str; 1],
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
}

impl<'a> Head<'a> {
    fn new(title: &'a str, side: Side, initial_dst_cid: ConnectionId) -> Self {
        Self {
            file_schema: FILE_SCHEMA,
            serialization_format: SERIALIZATION_FORMAT,
            title,
            trace: TraceHead {
                title,
                vantage_point: VantagePoint { side: if side == Side::Client { "client" } else { "server" } },
                event_schemas: [EVENT_SCHEMA],
                common_fields: CommonFields {
                    group_id: initial_dst_cid.to_string(),
                    time_format: "relative_to_epoch",
                    // Monotonic clocks have no epoch that could be told (ReferenceTime in the main schema).
                    reference_time: ReferenceTime { clock_type: "monotonic", epoch: "unknown" },
                },
            },
        }
    }
}

/// Gathers the stack's many small writes into records and hands those on, repaired.
struct Writer {
    trace: Arc<Mutex<Trace>>,
    /// The record under way.
    record: Vec<u8>,
    /// The stack's own head has gone by: it is left out for ours.
    begun: bool,
    /// The rest of the record under way is not wanted.
    skipping: bool,
    repair: Repair,
}

impl Writer {
    fn new(trace: Arc<Mutex<Trace>>, side: Side) -> Self {
        Self { trace, record: Vec::with_capacity(RECORD), begun: false, skipping: false, repair: Repair::new(side) }
    }

    /// Apart, as [`Self::word`] is, from the path taken most often, which then need save no registers.
    #[inline(never)]
    fn end_record(&mut self) -> io::Result<()> {
        if self.begun && !self.skipping {
            self.record.push(b'\n');
            self.repair.record(&self.record, &mut lock(&self.trace).bytes);
        }
        self.begun = true;
        self.skipping = false;
        self.record.clear();
        Ok(())
    }

    #[inline(never)]
    fn word(&mut self, data: &[u8]) -> io::Result<()> {
        self.record.extend_from_slice(data);
        // `Repair` would leave it out: this saves the copying.
        self.skipping = data == TIMER_UPDATED;
        Ok(())
    }
}

impl Write for Writer {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.write_all(data)?;
        Ok(data.len())
    }

    /// Called some seventy times for a record, mostly with a single byte.
    fn write_all(&mut self, data: &[u8]) -> io::Result<()> {
        match data {
            // Text on one line holds no line feed: this one ends the record.
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
    fn records_are_whole_however_they_are_written() {
        let trace = Arc::<Mutex<Trace>>::default();
        let mut writer = Writer::new(trace.clone(), Side::Client);
        let mut write = |pieces: &[&str]| {
            pieces.iter().for_each(|piece| writer.write_all(piece.as_bytes()).unwrap());
            lock(&trace).bytes.clone()
        };
        // The head, a timer, and a record.
        assert_eq!(write(&["\x1e", "{\"file_schema\":\"x\"}", "\n"]), b"");
        assert_eq!(write(&["\x1e", "{\"time\":1,\"name\":\"", "quic:timer_updated", "\",\"data\":{}", "}", "\n"]), b"");
        assert_eq!(write(&["\x1e", "{\"time\":1", ".0,\"name\":\"a:b\",\"data\":{", "}", "}"]), b"");
        assert_eq!(write(&["\n"]), b"\x1e{\"time\":1.0,\"name\":\"a:b\",\"data\":{}}\n");
    }
}
