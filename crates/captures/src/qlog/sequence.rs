//! Sequences: a head and events, each a record. Records that are not JSON are counted: a stack that
//! ended suddenly has not written its last one to the end.

use super::connections::TraceEvents;
use super::document;
use super::event::{RawEvent, Row};
use super::head::{FileHead, TraceHead};
use crate::logged::Logged;
use serde::de::DeserializeSeed;

/// First byte of each record of a JSON text sequence (RFC 7464 §2.2).
pub const RECORD_SEPARATOR: u8 = 0x1e;

/// Reads the connections of a JSON text sequence, or of a sequence of lines.
pub fn connections(text: &[u8], is_json_seq: bool) -> Vec<Logged> {
    let mut reader = Reader::default();
    if is_json_seq {
        for record in text.split(|&byte| byte == RECORD_SEPARATOR) {
            // Separators may be missing where files were joined or rewritten.
            if !reader.read(record) {
                record.split(|&byte| byte == b'\n').for_each(|line| reader.read_or_count(line));
            }
        }
    } else {
        text.split(|&byte| byte == b'\n').for_each(|line| reader.read_or_count(line));
    }
    reader.finish()
}

/// A trace that is being read. Each head begins one, as in files that were joined.
#[derive(Default)]
struct Reader {
    file: FileHead,
    has_head: bool,
    events: TraceEvents,
    /// Number of events of the traces before.
    before: usize,
    /// Number of traces before.
    traces: usize,
    connections: Vec<Logged>,
}

impl Reader {
    fn read_or_count(&mut self, line: &[u8]) {
        if !self.read(line) {
            self.events.unreadable += 1;
        }
    }

    /// Reads a record; returns false if it is not one.
    fn read(&mut self, record: &[u8]) -> bool {
        let record = record.trim_ascii();
        // Empty lines, and comments of tools that copied the file.
        if record.is_empty() || record.starts_with(b"#") || record.starts_with(b"//") {
            return true;
        }
        if self.events.is_full() {
            return true;
        }
        let Some(event) = row(record, &self.file.trace) else { return false };
        if event.is_head {
            let (head, _) = document::head(record);
            self.end_trace();
            self.file = head;
            self.has_head = true;
        } else {
            self.events.add(&self.file.trace, event, self.before);
        }
        true
    }

    fn end_trace(&mut self) {
        let events = std::mem::take(&mut self.events);
        self.before += events.count();
        let mut connections = events.connections(&self.file.trace, &self.file.title, self.traces);
        self.traces += 1;
        if !self.has_head {
            for Logged { connection, .. } in &mut connections {
                connection.notes.push(
                    "the file has no head: times count as milliseconds, and which end recorded it \
                     follows from its first packet"
                        .to_owned(),
                );
            }
        }
        self.connections.extend(connections);
    }

    fn finish(mut self) -> Vec<Logged> {
        self.end_trace();
        self.connections
    }
}

fn row(record: &[u8], head: &TraceHead) -> Option<RawEvent> {
    let mut json = serde_json::Deserializer::from_slice(record);
    let event = Row(head).deserialize(&mut json).ok()?;
    json.end().ok()?;
    Some(event)
}
