//! The connections of a trace, from its events as they are read.

use super::event::RawEvent;
use super::head::{TraceHead, Vantage};
use crate::event::{CapturedConnection, Event, Metrics, Side, Transport};
use crate::json::Scalar;
use crate::logged::Logged;
use bentpipe_units::{Bytes, Span, Time};
use std::collections::BTreeMap;

/// Longest trace, in seconds. Events that are half of it away from the one in the middle have wrong
/// times.
const MAX_SECONDS: f64 = 1e6;
/// Most events of a file, about 400 MB of memory: a transfer of more than a gigabyte. Tests need
/// not write so many.
pub const MAX_EVENTS: usize = if cfg!(test) { 20_000 } else { 2_000_000 };
/// Most connections of a file.
const MAX_CONNECTIONS: usize = 1000;

/// Title of the logs of a stack that writes ACK delays as they are in the frame, without the
/// exponent of their sender (RFC 9000 §19.3): the usual one, and the largest.
const UNSCALED: &str = "picoquic";
const DELAY_EXPONENT: u64 = 3;
const MAX_DELAY_EXPONENT: u64 = 20;

/// The events of a connection.
#[derive(Debug, Default)]
struct Group {
    name: Option<String>,
    /// With their times as written.
    events: Vec<(f64, Event)>,
    /// Windows and bytes in flight of its paths.
    paths: BTreeMap<u64, Metrics>,
}

/// The events of a trace.
#[derive(Debug, Default)]
pub struct TraceEvents {
    groups: Vec<Group>,
    /// The groups by their names.
    by_name: BTreeMap<Option<String>, usize>,
    /// Time of the event before, as written.
    clock: f64,
    /// Number of records that are not events, or have no time.
    pub unreadable: usize,
    /// Number of events that matter.
    count: usize,
    is_full: bool,
}

impl TraceEvents {
    /// Returns true if no more events are read, so that memory stays bounded.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the number of events that matter.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Adds an event of the trace with this head. `before` is the number of events in other traces
    /// of the file.
    pub fn add(&mut self, head: &TraceHead, event: RawEvent, before: usize) {
        let Some(time) = event.time.float() else {
            self.unreadable += 1;
            return;
        };
        self.clock = if event.is_delta { self.clock + time } else { time };
        let (clock, path, name) = (self.clock, event.path(), event.group.name());
        let events = event.into_events(head.unit()).into_iter().flatten();
        let mut events = events.peekable();
        if events.peek().is_none() {
            return;
        }
        if before + self.count >= MAX_EVENTS {
            self.is_full = true;
            return;
        }
        let Some(group) = self.group(name) else {
            self.is_full = true;
            return;
        };
        let old = group.events.len();
        for event in events {
            let event = match event {
                Event::Metrics(metrics) => Event::Metrics(group.metrics(path, metrics)),
                event => event,
            };
            group.events.push((clock, event));
        }
        self.count += group.events.len() - old;
    }

    /// Returns the group of this name, unless there are too many.
    fn group(&mut self, name: Option<String>) -> Option<&mut Group> {
        let index = match self.by_name.get(&name) {
            Some(index) => *index,
            None if self.groups.len() < MAX_CONNECTIONS => {
                self.by_name.insert(name.clone(), self.groups.len());
                self.groups.push(Group { name, ..Group::default() });
                self.groups.len() - 1
            }
            None => return None,
        };
        self.groups.get_mut(index)
    }

    /// Returns the connections.
    pub fn connections(
        mut self,
        head: &TraceHead,
        file_title: &Scalar,
        trace: usize,
    ) -> Vec<Logged> {
        // What is of no connection belongs to the only one, or to the endpoint.
        if self.groups.len() == 2
            && let Some(index) = self.groups.iter().position(|group| group.name.is_none())
        {
            let general = self.groups.remove(index);
            self.groups[0].events.extend(general.events);
        }
        if self.groups.len() > 2 {
            self.groups.retain(|group| group.name.is_some());
        }
        let has_several = self.groups.len() > 1;
        let title = head.title(file_title);
        let unreadable = self.unreadable;
        let is_full = self.is_full;
        let groups = self.groups.into_iter();
        groups
            .map(|group| {
                let title = match (&group.name, has_several) {
                    (Some(name), true) if title.is_empty() => name.clone(),
                    (Some(name), true) => format!("{title}, {name}"),
                    _ => title.clone(),
                };
                let mut logged = group.connection(title, head);
                logged.trace = trace;
                let connection = &mut logged.connection;
                connection.unreadable += unreadable;
                if is_full {
                    connection.notes.push(format!(
                        "the file has more than {MAX_EVENTS} events or {MAX_CONNECTIONS} \
                         connections: the rest was not read"
                    ));
                }
                logged
            })
            .collect()
    }
}

impl Group {
    /// Returns the metrics of the whole connection after a change on a path.
    fn metrics(&mut self, path: u64, changed: Metrics) -> Metrics {
        let known = self.paths.entry(path).or_default();
        known.window = changed.window.or(known.window);
        known.in_flight = changed.in_flight.or(known.in_flight);
        if self.paths.len() == 1 {
            return changed;
        }
        let sum = |value: fn(&Metrics) -> Option<Bytes>| {
            let values = self.paths.values().filter_map(value);
            values.map(Bytes::get).reduce(u64::saturating_add).map(Bytes::new)
        };
        Metrics {
            window: changed.window.and_then(|_| sum(|metrics| metrics.window)),
            in_flight: changed.in_flight.and_then(|_| sum(|metrics| metrics.in_flight)),
            ..changed
        }
    }

    fn connection(mut self, title: String, head: &TraceHead) -> Logged {
        let unit = head.unit();
        if title.starts_with(UNSCALED) {
            scale_delays(&mut self.events);
        }
        self.events.sort_by(|a, b| a.0.total_cmp(&b.0));
        let middle = self.events.get(self.events.len() / 2).map_or(0.0, |(at, _)| *at);
        let all = self.events.len();
        self.events.retain(|(at, _)| (at - middle).abs() * unit <= MAX_SECONDS / 2.0);
        let left_out = all - self.events.len();
        let start = self.events.first().map_or(0.0, |(at, _)| *at);
        let at = |time: f64| Time::ZERO + Span::from_secs_f64((time - start) * unit);
        let mut notes = Vec::new();
        if self.paths.len() > 1 {
            notes.push(format!(
                "the connection has {} paths: the windows of all count as one",
                self.paths.len()
            ));
        }
        if left_out > 0 {
            notes.push(format!(
                "{left_out} events have times days away from the others and were left out"
            ));
        }
        let connection = CapturedConnection {
            transport: Transport::Quic,
            title,
            ids: [self.name, head.group()].into_iter().flatten().collect(),
            side: side(head.vantage(), &self.events),
            is_encrypted: false,
            events: self.events.into_iter().map(|(time, event)| (at(time), event)).collect(),
            unreadable: left_out,
            notes,
        };
        Logged { start: start * unit, trace: 0, connection }
    }
}

/// Gives ACK delays that arrived the unit that their sender announced.
fn scale_delays(events: &mut [(f64, Event)]) {
    let announced = events.iter().find_map(|(_, event)| match event {
        Event::Parameters(parameters) if !parameters.is_local => parameters.ack_delay_exponent,
        _ => None,
    });
    let unit = 1 << announced.unwrap_or(DELAY_EXPONENT).min(MAX_DELAY_EXPONENT);
    for (_, event) in events {
        if let Event::Received(packet) = event
            && let Some(delay) = packet.details.ack_delay
        {
            packet.details.ack_delay = Some(delay * unit);
        }
    }
}

/// Returns the end that recorded the events. If the trace does not say, the end that sent the
/// first packet is the client.
fn side(vantage: Vantage, events: &[(f64, Event)]) -> Side {
    let first = || {
        events.iter().find_map(|(_, event)| match event {
            Event::Sent(_) => Some(Side::Client),
            Event::Received(_) => Some(Side::Server),
            _ => None,
        })
    };
    match vantage {
        Vantage::Client => Side::Client,
        Vantage::Server => Side::Server,
        Vantage::Unknown => first().unwrap_or(Side::Client),
    }
}
