//! What data waited for that arrives after a silence, as its receiver knows it: on its way, for an
//! acknowledgement on its way, or for one that this end held back.

use super::path_waits::on_its_way;
use super::spending::Spending;
use super::waits::{Waits, least};
use crate::event::{CapturedConnection, Event, Transport};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};
use std::collections::HashMap;

/// Shortest time for which holding an acknowledgement back counts: TCP and QUIC do so by default
/// for 25 to 40 ms.
const HELD: Span = Span::from_millis(45);
/// Silence, as a share of the round trip and as a time, from which on data that was held up on its
/// way shows an outage.
const OUTAGE_SHARE: f64 = 0.5;
const OUTAGE: Span = Span::from_millis(100);

/// What a receiver knows of the waits of its transfer.
#[derive(Debug)]
pub struct OwnWaits {
    rtt: Span,
    waits: Option<Waits>,
    /// Times at which this end sent an acknowledgement.
    acknowledgements: Vec<Time>,
    /// When this end first sent each timestamp.
    stamped: HashMap<u32, Time>,
    /// The timestamps that came back, by their arrival.
    echoes: HashMap<Time, u32>,
    /// Arrivals of data.
    data: Vec<Time>,
    /// Round trips of this end's own packets, by the arrival of their acknowledgements.
    round_trips: Vec<(Time, Span)>,
}

impl OwnWaits {
    pub fn new(trace: &CapturedConnection, rtt: Span) -> Self {
        let mut own = Self {
            rtt,
            waits: Waits::find(trace),
            acknowledgements: Vec::new(),
            stamped: HashMap::new(),
            echoes: HashMap::new(),
            data: Vec::new(),
            round_trips: Vec::new(),
        };
        let mut sent: HashMap<u64, Time> = HashMap::new();
        for (at, event) in &trace.events {
            match event {
                Event::Sent(packet) if packet.is_application => {
                    let is_tcp = packet.timestamps.is_some() || packet.max_data.is_some();
                    if is_tcp || !packet.acknowledged.is_empty() {
                        own.acknowledgements.push(*at);
                    }
                    if let Some((stamp, _)) = packet.timestamps {
                        own.stamped.entry(stamp).or_insert(*at);
                    }
                    if trace.transport == Transport::Quic {
                        sent.insert(packet.number, *at);
                    }
                }
                Event::Received(packet) if packet.is_application => {
                    let largest = packet.acknowledged.iter().map(|range| range.1).max();
                    if let Some(sent) = largest.and_then(|largest| sent.remove(&largest)) {
                        let delay = packet.ack_delay.unwrap_or_default();
                        own.round_trips.push((*at, at.since(sent).saturating_sub(delay)));
                    }
                    if packet.data.is_empty() {
                        continue;
                    }
                    own.data.push(*at);
                    if let Some((_, echo)) = packet.timestamps {
                        own.echoes.entry(*at).or_insert(echo);
                    }
                }
                _ => {}
            }
        }
        own
    }

    /// Returns how long data that arrives at `at` waited on its way; zero if that is unknown.
    pub fn of_data(&self, at: Time) -> Span {
        on_its_way(self.waits.as_ref(), at, self.rtt)
    }

    /// Spends the end of the silence from `from` to `to` before data that arrives at `at`. Returns
    /// until when the time is left.
    pub fn spend(&self, at: Time, from: Time, to: Time, spending: &mut Spending) -> Time {
        let silence = to.since(from);
        let mut left = to;
        let mut take = |part, span| left = spending.add_at_end(part, span, from, left);
        let forward = self.of_data(at);
        if !forward.is_zero() {
            let is_long = forward.min(silence) >= OUTAGE.max(self.rtt.mul_f64(OUTAGE_SHARE));
            take(if is_long { TimePart::Outage } else { TimePart::OtherFlows }, forward);
        }
        let back = self.of_acknowledgement(at, forward).max(self.of_round_trip(at));
        if back >= least(self.rtt) {
            take(TimePart::ReturnLink, back);
        }
        let held = self.held_back(from);
        if held >= HELD {
            take(TimePart::HeldAcks, held);
        }
        left
    }

    /// Returns how long the acknowledgement waited on its way that data follows on. The data
    /// arrives at `at`, and waited for `forward` itself. That is known if this end had sent later
    /// ones that could have arrived by then, and the sender did not know of them.
    fn of_acknowledgement(&self, at: Time, forward: Span) -> Span {
        let echo = self.echoes.get(&at).and_then(|echo| self.stamped.get(echo));
        let Some(echo) = echo else { return Span::ZERO };
        let reached = at.saturating_sub(self.rtt + forward);
        let later = self.acknowledgements.partition_point(|own| *own <= *echo + least(self.rtt));
        let has_later = self.acknowledgements.get(later).is_some_and(|own| *own < reached);
        if has_later { reached.since(*echo) } else { Span::ZERO }
    }

    /// Returns by how much the round trips of this end's packets at about `at` were longer than
    /// the shortest: QUIC has no timestamps, and where data has the link for itself, what waits are
    /// acknowledgements.
    fn of_round_trip(&self, at: Time) -> Span {
        let index = self.round_trips.partition_point(|(arrived, _)| *arrived <= at);
        let last = index.checked_sub(1).and_then(|index| self.round_trips.get(index));
        let recent = last.filter(|(arrived, took)| at.since(*arrived) <= *took);
        recent.map_or(Span::ZERO, |(_, took)| took.saturating_sub(self.rtt))
    }

    /// Returns for how long this end held back the acknowledgement of the data before `from`.
    fn held_back(&self, from: Time) -> Span {
        let index = self.data.partition_point(|at| *at <= from);
        let Some(data) = index.checked_sub(1).and_then(|index| self.data.get(index)) else {
            return Span::ZERO;
        };
        let next = self.acknowledgements.partition_point(|own| *own < *data);
        self.acknowledgements.get(next).map_or(Span::ZERO, |own| own.since(*data))
    }
}
