//! Documents: a list of traces, each with its list of events. They are read twice, because what the
//! events mean may stand behind them. What was read before the text ends or is damaged counts.

use super::connections::TraceEvents;
use super::event::Row;
use super::head::{FileHead, TraceHead};
use crate::json::{FieldValue, Fields, FromList, FromObject, ListInto};
use crate::logged::Logged;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess};
use std::borrow::Cow;
use std::ops::Range;

/// Most events of a document that are left out because they are no JSON, and most bytes that are
/// read again for that.
const MAX_DAMAGED: usize = 16;
const MAX_READ_AGAIN: usize = 64 * 1024 * 1024;

/// Reads the head of a text, and whether it is JSON to its end.
pub fn head(text: &[u8]) -> (FileHead, Result<(), serde_json::Error>) {
    let mut head = FileHead::default();
    let mut json = serde_json::Deserializer::from_slice(text);
    let result = Fields(&mut head).deserialize(&mut json);
    for trace in head.traces.iter_mut().chain([&mut head.trace]) {
        trace.complete();
    }
    (head, result)
}

/// Reads the connections of a document with this head.
///
/// An event that is no JSON is left out, as picoquic writes one of the handshake, if events have
/// lines of their own.
pub fn connections(text: &[u8], head: &FileHead) -> Vec<Logged> {
    let mut repaired = Cow::Borrowed(text);
    let (mut left_out, mut read_again) = (0, 0);
    let (document, result) = loop {
        let mut document = Document { heads: &head.traces, traces: Vec::new() };
        let mut json = serde_json::Deserializer::from_slice(&repaired);
        let result = Fields(&mut document).deserialize(&mut json).and_then(|()| json.end());
        let Err(error) = &result else { break (document, result) };
        let at = offset(&repaired, error.line(), error.column());
        read_again += at;
        let is_worth = !error.is_eof() && left_out < MAX_DAMAGED && read_again <= MAX_READ_AGAIN;
        let Some(event) = damaged_event(&repaired, at).filter(|_| is_worth) else {
            break (document, result);
        };
        let blanked = repaired.to_mut().get_mut(event).unwrap_or_default();
        blanked.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        left_out += 1;
    };
    let traces = document.traces.into_iter().zip(&head.traces).enumerate();
    let mut connections: Vec<_> = traces
        .flat_map(|(index, (events, trace))| events.connections(trace, &head.title, index))
        .collect();
    if left_out > 0
        && let Some(last) = connections.last_mut()
    {
        last.connection.unreadable += left_out;
    }
    if let Err(error) = result
        && let Some(last) = connections.last_mut()
    {
        last.connection.notes.push(damage(&error));
    }
    connections
}

/// Returns the offset of a place that an error names.
fn offset(text: &[u8], line: usize, column: usize) -> usize {
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let begin = line.checked_sub(2).map_or(Some(0), |before| ends.clone().nth(before));
    begin.unwrap_or(text.len()).saturating_add(column).min(text.len())
}

/// Returns where the event is that has the byte at `at`, if it and the next one begin lines.
fn damaged_event(text: &[u8], at: usize) -> Option<Range<usize>> {
    let begins = |pair: &[u8]| matches!(pair, [b'\n', b'[' | b'{']);
    let (before, after) = text.split_at_checked(at)?;
    let begin = before.windows(2).rposition(begins)? + 1;
    let end = after.windows(2).position(begins)? + at + 1;
    Some(begin..end)
}

/// Says where the readable part of a document ends.
fn damage(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "the file is cut off: events after its end are missing".to_owned();
    }
    format!(
        "the file is damaged at line {}, column {}: what comes after was not read",
        error.line(),
        error.column()
    )
}

/// A document whose heads are known.
struct Document<'a> {
    heads: &'a [TraceHead],
    traces: Vec<TraceEvents>,
}

impl FromObject for Document<'_> {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        if key == "traces" { value.with(ListInto(self)) } else { Ok(()) }
    }
}

impl FromList for Document<'_> {
    fn elements<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<(), A::Error> {
        let Self { heads, traces } = self;
        let mut count = 0;
        for head in *heads {
            traces.push(TraceEvents::default());
            let Some(events) = traces.last_mut() else { break };
            let mut trace = Trace { head, events, before: count };
            if list.next_element_seed(Fields(&mut trace))?.is_none() {
                break;
            }
            count += traces.last().map_or(0, TraceEvents::count);
        }
        Ok(())
    }
}

/// A trace whose head is known.
struct Trace<'a> {
    head: &'a TraceHead,
    events: &'a mut TraceEvents,
    /// Number of events in the traces before.
    before: usize,
}

impl FromObject for Trace<'_> {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        if key == "events" { value.with(ListInto(self)) } else { Ok(()) }
    }
}

/// Events are converted one by one: their JSON would take many times the memory.
impl FromList for Trace<'_> {
    fn elements<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<(), A::Error> {
        let Self { head, events, before } = self;
        while !events.is_full() {
            match list.next_element_seed(Row(head))? {
                Some(event) => events.add(head, event, *before),
                None => break,
            }
        }
        Ok(())
    }
}
