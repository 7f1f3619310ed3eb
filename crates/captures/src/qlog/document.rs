//! Documents: a list of traces, each with its list of events. They are read twice, because what the
//! events mean may stand behind them. What was read before the text ends or is damaged counts.

use super::connections::TraceEvents;
use super::event::Row;
use super::head::{FileHead, TraceHead};
use crate::json::{FieldValue, Fields, FromObject, skip_scalars};
use crate::logged::Logged;
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

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
        if key == "traces" { value.with(Traces(self)) } else { Ok(()) }
    }
}

/// The list of traces.
struct Traces<'a, 'b>(&'a mut Document<'b>);

impl<'de> DeserializeSeed<'de> for Traces<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Traces<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of traces")
    }
    skip_scalars!(());
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Document { heads, traces } = self.0;
        let mut count = 0;
        for head in *heads {
            traces.push(TraceEvents::default());
            let Some(events) = traces.last_mut() else { break };
            let mut trace = Trace { head, events, before: count };
            if seq.next_element_seed(Fields(&mut trace))?.is_none() {
                return Ok(());
            }
            count += traces.last().map_or(0, TraceEvents::count);
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
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
        if key == "events" { value.with(EventList(self)) } else { Ok(()) }
    }
}

/// The list of events, converted one by one: their JSON would take many times the memory.
struct EventList<'a, 'b>(&'a mut Trace<'b>);

impl<'de> DeserializeSeed<'de> for EventList<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EventList<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }
    skip_scalars!(());
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Trace { head, events, before } = self.0;
        while !events.is_full() {
            match seq.next_element_seed(Row(head))? {
                Some(event) => events.add(head, event, *before),
                None => return Ok(()),
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
