//! Requests: data of the end that receives the main data.

use crate::event::{CapturedConnection, Event, Packet};
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;

/// Share of a round trip by which an answer may come early: round trips are not all alike.
pub const EARLY: f64 = 0.02;

/// New data of the end that receives the main data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// Time at which it was sent or, at the end that sends the main data, arrived.
    pub at: Time,
    /// Its stream.
    pub stream: u64,
}

/// The requests of a transfer in the order of their times.
#[derive(Debug, Default)]
pub struct Asks {
    all: Vec<Ask>,
    /// Those before this one are in the past.
    next: usize,
}

impl Asks {
    /// Finds the data that `is_sender`, which sends the main data, received, or that the other end
    /// sent. Data that repeats data before it is no request.
    pub fn find(trace: &CapturedConnection, is_sender: bool) -> Self {
        let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
        let mut all: Vec<Ask> = Vec::new();
        for (at, event) in &trace.events {
            let packet = match event {
                Event::Received(packet) if is_sender => packet,
                Event::Sent(packet) if !is_sender => packet,
                _ => continue,
            };
            for stream in new_data(packet, &mut ends) {
                let ask = Ask { at: *at, stream };
                if packet.is_application && all.last() != Some(&ask) {
                    all.push(ask);
                }
            }
        }
        Self { all, next: 0 }
    }

    /// Returns the times of the first and the last request after `from` that came at least `rtt`
    /// before `to`: what arrives then may be their answer. `from` must not go back.
    pub fn between(&mut self, from: Time, to: Time, rtt: Span) -> Option<(Time, Time)> {
        while self.all.get(self.next).is_some_and(|ask| ask.at <= from) {
            self.next += 1;
        }
        let least = rtt.mul_f64(1.0 - EARLY);
        let after = self.all.get(self.next..).unwrap_or_default().iter();
        let mut answered = after.take_while(|ask| ask.at + least <= to);
        let first = answered.next()?.at;
        Some((first, answered.last().map_or(first, |ask| ask.at)))
    }

    /// Returns the time of the first request on a stream.
    pub fn on(&self, stream: u64) -> Option<Time> {
        self.all.iter().find(|ask| ask.stream == stream).map(|ask| ask.at)
    }

    /// Returns all.
    pub fn all(&self) -> &[Ask] {
        &self.all
    }
}

/// Returns the streams of which `packet` has data that is beyond `ends`, and moves these.
fn new_data(packet: &Packet, ends: &mut BTreeMap<u64, u64>) -> Vec<u64> {
    let mut streams = Vec::new();
    for part in packet.data.iter().filter(|part| part.length > 0) {
        let end = part.offset.saturating_add(part.length);
        let known = ends.entry(part.stream).or_default();
        if end > *known {
            *known = end;
            streams.push(part.stream);
        }
    }
    streams
}
