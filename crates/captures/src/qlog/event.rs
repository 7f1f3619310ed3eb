//! Events in the forms of all drafts: objects with names, and arrays whose columns the trace names.

use super::data::{Data, is_relevant};
use super::head::{Column, TraceHead, is_delta};
use super::measure::MAX_PATHS;
use crate::event::Event;
use crate::json::{Key, Object, Scalar, skip_scalars};
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// An event as written.
#[derive(Debug, Default)]
pub struct RawEvent {
    pub time: Scalar,
    /// True if the time is that since the event before.
    pub is_delta: bool,
    /// With or without the category, as in `transport:packet_sent`.
    name: Key,
    data: Data,
    pub group: Scalar,
    path: Scalar,
    /// True if it is the head of another trace.
    pub is_head: bool,
}

impl RawEvent {
    /// Returns the name without the category.
    pub fn name(&self) -> &str {
        without_category(&self.name)
    }

    /// Returns the number of the path that it belongs to: one that counts its own packets.
    pub fn path(&self) -> u64 {
        let outer = || match self.path.text() {
            // Noq's names of paths.
            Some(text) => text.strip_prefix('p').unwrap_or(text).parse().ok(),
            None => self.path.integer(),
        };
        let path = self.data.path().or_else(outer);
        path.filter(|path| *path < MAX_PATHS).unwrap_or_default()
    }

    /// Returns the events that it is, of those that matter. Times are in units of so many seconds.
    pub fn into_events(self, unit: f64) -> [Option<Event>; 2] {
        let path = self.path();
        let Self { name, data, .. } = self;
        data.into_events(without_category(&name), path, unit)
    }
}

fn without_category(name: &Key) -> &str {
    name.as_str().rsplit(':').next().unwrap_or_default()
}

/// Reads an event of the trace with this head.
pub struct Row<'a>(pub &'a TraceHead);

impl Row<'_> {
    fn event(&self) -> RawEvent {
        RawEvent {
            is_delta: self.0.is_delta(),
            name: Key::new(self.0.common_name().unwrap_or_default()),
            ..RawEvent::default()
        }
    }
}

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = RawEvent;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<RawEvent, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = RawEvent;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event as object or array")
    }
    skip_scalars!(RawEvent::default());
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RawEvent, A::Error> {
        let mut event = self.event();
        for column in &self.0.columns.0 {
            // A row may lack its last columns.
            let is_there = match column {
                Column::Time | Column::Delta => {
                    event.is_delta |= *column == Column::Delta;
                    seq.next_element()?.map(|value| event.time = value).is_some()
                }
                Column::Name => seq.next_element()?.map(|value| event.name = value).is_some(),
                Column::Group => seq.next_element()?.map(|value| event.group = value).is_some(),
                Column::Path => seq.next_element()?.map(|value| event.path = value).is_some(),
                Column::Trigger => {
                    seq.next_element()?.map(|value| event.data.trigger = value).is_some()
                }
                Column::TimeFormat => {
                    let format: Option<Scalar> = seq.next_element()?;
                    format.map(|format| event.is_delta = is_delta(&format)).is_some()
                }
                Column::Data if !is_relevant(event.name()) => {
                    seq.next_element::<IgnoredAny>()?.is_some()
                }
                Column::Data => {
                    let trigger = std::mem::take(&mut event.data.trigger);
                    let data: Option<Object<Data>> = seq.next_element()?;
                    let is_there = data.map(|data| event.data = data.0).is_some();
                    if !event.data.trigger.is_some() {
                        event.data.trigger = trigger;
                    }
                    is_there
                }
                Column::Other => seq.next_element::<IgnoredAny>()?.is_some(),
            };
            if !is_there {
                return Ok(event);
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(event)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawEvent, A::Error> {
        let mut event = self.event();
        while let Some(key) = map.next_key::<Key>()? {
            match Column::of(key.as_str()) {
                Column::Time => event.time = map.next_value()?,
                Column::Delta => {
                    event.time = map.next_value()?;
                    event.is_delta = true;
                }
                Column::TimeFormat => event.is_delta = is_delta(&map.next_value()?),
                Column::Name => event.name = map.next_value()?,
                Column::Data if !is_relevant(event.name()) => {
                    map.next_value::<IgnoredAny>()?;
                }
                Column::Data => event.data = map.next_value::<Object<Data>>()?.0,
                Column::Group => event.group = map.next_value()?,
                Column::Path => event.path = map.next_value()?,
                Column::Trigger | Column::Other => {
                    event.is_head |= is_head_key(key.as_str());
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(event)
    }
}

/// Returns true for fields of a file's head.
fn is_head_key(key: &str) -> bool {
    ["qlog_version", "qlog_format", "serialization_format", "file_schema", "trace"].contains(&key)
}
