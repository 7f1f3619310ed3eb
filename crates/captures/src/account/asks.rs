//! Requests: data of the end that receives the main data.

use crate::event::{CapturedConnection, Event, Packet};
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;

/// Share of a round trip by which an answer may come early: round trips are not all alike.
pub const EARLY: f64 = 0.02;

/// Longest time for which a receiver holds acknowledgements back (RFC 9293 §3.8.6.3 allows less
/// than 0.5 s; usual are 25 to 100 ms).
pub const HELD: Span = Span::from_millis(150);
/// Most requests without an acknowledgement that are looked through for one.
const MAX_WAITING: usize = 256;

/// New data of the end that receives the main data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// Time at which it was sent or, at the end that sends the main data, arrived.
    pub at: Time,
    /// Its stream.
    pub stream: u64,
    /// Number of its packet, and when this end learned that it had arrived, if it sent it.
    number: u64,
    acknowledged: Option<Time>,
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
        let mut waiting = 0;
        for (at, event) in &trace.events {
            let packet = match event {
                Event::Received(packet) if is_sender => packet,
                Event::Sent(packet) if !is_sender => packet,
                Event::Received(packet) => {
                    acknowledge(&mut all, &mut waiting, packet, *at);
                    continue;
                }
                _ => continue,
            };
            for stream in new_data(packet, &mut ends) {
                if packet.is_application {
                    let number = packet.number;
                    all.push(Ask { at: *at, stream, number, acknowledged: None });
                }
            }
        }
        Self { all, next: 0 }
    }

    /// Returns the first and the last request after `from` that came at least `rtt` before `to`:
    /// what arrives then may be their answer. `from` must not go back.
    pub fn between(&mut self, from: Time, to: Time, rtt: Span) -> Option<(Ask, Ask)> {
        while self.all.get(self.next).is_some_and(|ask| ask.at <= from) {
            self.next += 1;
        }
        let least = rtt.mul_f64(1.0 - EARLY);
        let after = self.all.get(self.next..).unwrap_or_default().iter();
        let mut answered = after.take_while(|ask| ask.at + least <= to);
        let first = *answered.next()?;
        Some((first, answered.last().copied().unwrap_or(first)))
    }

    /// Returns the first request on a stream.
    pub fn on(&self, stream: u64) -> Option<Ask> {
        self.all.iter().find(|ask| ask.stream == stream).copied()
    }

    /// Returns all.
    pub fn all(&self) -> &[Ask] {
        &self.all
    }
}

impl Ask {
    /// Returns for how much longer than `rtt` the way to the other end and back took: the answer
    /// waited for that, and not for the other end. Up to [`HELD`] it may have held the
    /// acknowledgement back.
    pub fn on_its_way(&self, rtt: Span) -> Span {
        let took = self.acknowledged.map_or(Span::ZERO, |at| at.since(self.at));
        if took > rtt + HELD { took.saturating_sub(rtt) } else { Span::ZERO }
    }
}

/// Notes which requests, from the one at `waiting` on, `packet` acknowledges.
fn acknowledge(all: &mut [Ask], waiting: &mut usize, packet: &Packet, now: Time) {
    for ask in all.get_mut(*waiting..).unwrap_or_default().iter_mut().take(MAX_WAITING) {
        let covers = |range: &(u64, u64)| range.0 <= ask.number && ask.number <= range.1;
        if packet.is_application && packet.acknowledged.iter().any(covers) {
            ask.acknowledged = ask.acknowledged.or(Some(now));
        }
    }
    while all.get(*waiting).is_some_and(|ask| ask.acknowledged.is_some()) {
        *waiting += 1;
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
