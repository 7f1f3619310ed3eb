//! Documents: a list of traces, each with its list of events. They are read twice, because what the
//! events mean may stand behind them. What was read before the text ends or is damaged counts.

use super::connections::TraceEvents;
use super::event::Row;
use super::head::{FileHead, TraceHead};
use crate::json::{FieldValue, Fields, FromList, FromObject, ListInto};
use crate::logged::Logged;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

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
pub fn connections(text: &[u8], head: &FileHead) -> Vec<Logged> {
    let mut document = Document { heads: &head.traces, traces: Vec::new() };
    let mut json = serde_json::Deserializer::from_slice(text);
    let result = Fields(&mut document).deserialize(&mut json).and_then(|()| json.end());
    let traces = document.traces.into_iter().zip(&head.traces).enumerate();
    let mut connections: Vec<_> = traces
        .flat_map(|(index, (events, trace))| events.connections(trace, &head.title, index))
        .collect();
    if let Err(error) = result
        && let Some(last) = connections.last_mut()
    {
        last.connection.notes.push(damage(&error));
    }
    connections
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
