//! What data waited for that arrives after a silence, as its receiver knows it: on its way, for an
//! acknowledgement on its way, or for one that this end held back.

use super::asks::ACK_DELAY;
use super::path_waits::on_its_way;
use super::spending::Spending;
use super::waits::{Waits, least};
use crate::event::{CapturedConnection, Event, Transport};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};
use std::collections::{BTreeMap, HashMap};

/// Shortest time for which holding an acknowledgement back counts: TCP and QUIC do so by default
/// for 25 to 40 ms.
const HELD: Span = Span::from_millis(45);
/// Silence, as a share of the round trip and as a time, from which on data that was held up on its
/// way shows an outage.
const OUTAGE_SHARE: f64 = 0.5;
const OUTAGE: Span = Span::from_millis(100);

/// Round trips after which a packet is unanswered, and a time besides, for acknowledgements that
/// are held back.
const UNANSWERED: f64 = 1.5;
const LATE: Span = Span::from_millis(150);

/// Returns the packets that called for an answer, with the time at which it came.
fn calls(trace: &CapturedConnection) -> Vec<(Time, Option<Time>)> {
    if trace.is_encrypted {
        return covered_calls(trace);
    }
    let mut calls: Vec<(Time, Option<Time>)> = Vec::new();
    let mut waiting: BTreeMap<u64, usize> = BTreeMap::new();
    for (at, event) in &trace.events {
        match event {
            Event::Sent(packet) if packet.is_application && packet.is_eliciting => {
                waiting.insert(packet.number, calls.len());
                calls.push((*at, None));
            }
            Event::Received(packet) if packet.is_application => {
                for (first, last) in &packet.acknowledged {
                    for (_, index) in waiting.extract_if(first..=last, |_, _| true) {
                        if let Some((_, answered)) = calls.get_mut(index) {
                            *answered = Some(*at);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    calls
}

/// Returns the packets that called for an answer if no frames are known: acknowledgements follow on
/// what arrives, so that what leaves long after that is something else. Whatever arrives next is
/// the answer.
fn covered_calls(trace: &CapturedConnection) -> Vec<(Time, Option<Time>)> {
    let mut calls: Vec<(Time, Option<Time>)> = Vec::new();
    let (mut last, mut answered) = (None, 0);
    for (at, event) in &trace.events {
        match event {
            Event::Sent(packet) if packet.is_application => {
                if last.is_some_and(|last: Time| at.since(last) > LATE) {
                    calls.push((*at, None));
                }
            }
            Event::Received(_) => {
                last = Some(*at);
                for (_, answer) in calls.iter_mut().skip(answered) {
                    *answer = Some(*at);
                }
                answered = calls.len();
            }
            _ => {}
        }
    }
    calls
}

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
    /// Packets that called for an answer: when they were sent, and when it came.
    calls: Vec<(Time, Option<Time>)>,
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
            calls: calls(trace),
        };
        let mut sent: HashMap<u64, Time> = HashMap::new();
        for (at, event) in &trace.events {
            match event {
                Event::Sent(packet) if packet.is_application => {
                    let is_tcp = packet.timestamps.is_some() || packet.max_data.is_some();
                    // What packets that are not opened acknowledge is not known.
                    let is_covered = trace.is_encrypted;
                    if is_tcp || is_covered || !packet.acknowledged.is_empty() {
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
                    // Of packets that are not opened, nothing says what they acknowledge.
                    let largest = packet.largest_acknowledged().filter(|_| !trace.is_encrypted);
                    if let Some(sent) = largest.and_then(|largest| sent.remove(&largest)) {
                        let delay = packet.details.ack_delay.unwrap_or_default();
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

    /// Returns true if the path carried nothing in the silence from `from` to `to`: a packet of
    /// this end called for an answer in it, and none came. A pause of the application does not keep
    /// an end from acknowledging.
    pub fn is_unanswered(&self, from: Time, to: Time) -> bool {
        let least = self.rtt.mul_f64(UNANSWERED) + LATE;
        let begin = self.calls.partition_point(|(sent, _)| *sent < from);
        let within = self.calls.get(begin..).unwrap_or_default().iter();
        let mut within = within.take_while(|(sent, _)| *sent + least <= to);
        within.any(|(_, answered)| answered.is_none_or(|answered| answered >= to))
    }

    /// Returns until when the last packet of this end that called for an answer in the silence from
    /// `from` to `to` had none for at least `least`; `None` if all had one sooner.
    pub fn unanswered_until(&self, from: Time, to: Time, least: Span) -> Option<Time> {
        let begin = self.calls.partition_point(|(sent, _)| *sent < from);
        let within = self.calls.get(begin..).unwrap_or_default().iter();
        let within = within.take_while(|(sent, _)| *sent < to);
        let ends = within.filter_map(|(sent, answered)| {
            let end = answered.unwrap_or(to).min(to);
            (end.since(*sent) >= least).then_some(end)
        });
        ends.max()
    }

    /// Spends the end of the silence from `from` to `to` before data that arrives at `at`, of which
    /// it is known besides that it followed on an acknowledgement that took `back` on its link.
    /// Returns until when the time is left.
    pub fn spend(
        &self,
        at: Time,
        back: Span,
        (from, to): (Time, Time),
        spending: &mut Spending,
    ) -> Time {
        let silence = to.since(from);
        let mut left = to;
        let mut take = |part, span| left = spending.add_at_end(part, span, from, left);
        let forward = self.of_data(at);
        if !forward.is_zero() {
            let is_long = forward.min(silence) >= OUTAGE.max(self.rtt.mul_f64(OUTAGE_SHARE));
            take(if is_long { TimePart::Outage } else { TimePart::OtherFlows }, forward);
        }
        let back = back.max(self.of_acknowledgement(at, forward)).max(self.of_round_trip(at));
        if back >= least(self.rtt) {
            take(TimePart::ReturnLink, back);
        }
        let held = self.held_back(from);
        if held >= HELD {
            take(TimePart::HeldAcks, held);
        }
        left
    }

    /// Returns how long the acknowledgement waited on its way that data at `at` follows on; zero if
    /// that is unknown, as in QUIC.
    pub fn of_acknowledgement_at(&self, at: Time) -> Span {
        self.of_acknowledgement(at, self.of_data(at))
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

    /// Spends the end of the silence from `from` to `to`, in which a sender that spreads its window
    /// lacked an acknowledgement that this end held back: what it knew then left a round trip
    /// before `to`. Returns until when the time is left.
    pub fn of_held_acknowledgement(&self, from: Time, to: Time, spending: &mut Spending) -> Time {
        let known = to.saturating_sub(self.rtt);
        let next = self.acknowledgements.partition_point(|own| *own <= known);
        let last = next.checked_sub(1).and_then(|index| self.acknowledgements.get(index));
        let Some((last, next)) = last.zip(self.acknowledgements.get(next)) else { return to };
        let first = self.data.get(self.data.partition_point(|at| at <= last)).copied();
        let Some(first) = first.filter(|first| next.since(*first) >= HELD) else { return to };
        let since = (first + self.rtt + ACK_DELAY).clamp(from, to);
        spending.add(TimePart::HeldAcks, since, to);
        since
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Packet, Side, StreamPart};

    #[test]
    fn a_ping_without_an_answer_shows_that_the_path_was_out() {
        let at = Time::from_millis;
        let packet = |number, is_eliciting, acknowledged: &[(u64, u64)]| Packet {
            is_application: true,
            number,
            is_eliciting,
            acknowledged: acknowledged.to_vec().into(),
            ..Packet::default()
        };
        let data = Packet {
            data: vec![StreamPart { stream: 0, offset: 0, length: 1000 }].into(),
            ..packet(7, true, &[(1, 1)])
        };
        // A ping after 900 ms of silence, and the answer with the data after 5 s.
        let out = |answered: u64| {
            let events = vec![
                (at(0), Event::Sent(packet(0, false, &[(3, 3)]))),
                (at(900), Event::Sent(packet(1, true, &[]))),
                (at(answered), Event::Received(packet(6, false, &[(1, 1)]))),
                (at(5000), Event::Received(data.clone())),
            ];
            let trace = CapturedConnection {
                events,
                ..CapturedConnection::empty(Transport::Quic, Side::Client)
            };
            let own = OwnWaits::new(&trace, Span::from_millis(50));
            let until = own.unanswered_until(at(0), at(5000), Span::from_millis(400));
            assert_eq!(until, (answered > 1300).then_some(at(answered)));
            own.is_unanswered(at(0), at(5000))
        };
        assert!(out(5000));
        // The path was out until the answer, and its data waited for a timer.
        assert!(!out(4200));
        // Acknowledged at once: the other end paused.
        assert!(!out(960));
        // Without keys, what leaves long after the last arrival is no acknowledgement.
        let covered = |sent: u64| {
            let packet = || Packet { is_application: true, ..Packet::default() };
            let events = [
                (at(0), Event::Received(packet())),
                (at(sent), Event::Sent(packet())),
                (at(5000), Event::Received(packet())),
            ];
            let trace = CapturedConnection {
                events: events.to_vec(),
                is_encrypted: true,
                ..CapturedConnection::empty(Transport::Quic, Side::Client)
            };
            OwnWaits::new(&trace, Span::from_millis(50)).is_unanswered(at(0), at(5000))
        };
        assert!(covered(900));
        assert!(!covered(20));
    }

    #[test]
    fn what_comes_while_an_acknowledgement_is_held_back_waited_for_that() {
        let at = Time::from_millis;
        let waited = |acknowledged: &[u64]| {
            let data = Packet {
                is_application: true,
                data: vec![StreamPart { stream: 0, offset: 0, length: 1000 }].into(),
                ..Packet::default()
            };
            let own = Packet { is_application: true, ..Packet::default() };
            let mut events: Vec<(Time, Event)> = [0, 20, 40, 60, 80, 120, 200, 240, 280, 400]
                .map(|ms| (at(ms), Event::Received(data.clone())))
                .to_vec();
            events.extend(acknowledged.iter().map(|ms| (at(*ms), Event::Sent(own.clone()))));
            events.sort_by_key(|(at, _)| *at);
            let trace = CapturedConnection {
                events,
                is_encrypted: true,
                ..CapturedConnection::empty(Transport::Quic, Side::Client)
            };
            let mut spending = Spending::default();
            let waits = OwnWaits::new(&trace, Span::from_millis(50));
            waits.of_held_acknowledgement(at(200), at(240), &mut spending);
            spending.budget.get(TimePart::HeldAcks)
        };
        assert!((waited(&[1, 401]) - 0.04).abs() < 1e-9);
        assert!(waited(&[1, 41, 81, 121, 201, 241]) < 1e-9, "at once");
        // The acknowledgement of what came at 20 ms left at 150 ms: data could follow from 200 on.
        assert!(waited(&[1, 150, 401]) < 1e-9, "no longer");
    }
}
