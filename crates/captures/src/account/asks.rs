//! Requests: data of the end that receives the main data.

use super::waits::least;
use crate::event::{CapturedConnection, Event, Packet};
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;

/// Share of a round trip by which an answer may come early: round trips are not all alike.
pub const EARLY: f64 = 0.02;

/// Longest time for which a receiver holds acknowledgements back (RFC 9293 §3.8.6.3 allows less
/// than 0.5 s; usual are 25 to 100 ms).
pub const HELD: Span = Span::from_millis(150);

/// Wait that is told from jitter if an end says for how long it held an acknowledgement back: some
/// leave out the usual 25 ms.
pub const SAID: Span = Span::from_millis(40);

/// Longest time for which an end of QUIC holds acknowledgements back unless it says otherwise
/// (RFC 9000 §18.2).
pub const ACK_DELAY: Span = Span::from_millis(25);

/// New data of the end that receives the main data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// Time at which it was sent or, at the end that sends the main data, arrived.
    pub at: Time,
    /// Its stream.
    pub stream: u64,
    /// When this end learned that it had arrived, if it sent it, and for how long the other end
    /// held that back, if it says so.
    acknowledged: Option<(Time, Option<Span>)>,
}

/// The requests of a transfer in the order of their times.
#[derive(Debug, Default)]
pub struct Asks {
    all: Vec<Ask>,
    /// The place of the first one on each stream.
    first: BTreeMap<u64, usize>,
    /// Those before this one are in the past.
    next: usize,
    /// True if the end that recorded them sends the main data, and got them.
    are_received: bool,
}

impl Asks {
    /// Finds the data that `is_sender`, which sends the main data, received, or that the other end
    /// sent. Data that repeats data before it is no request.
    pub fn find(trace: &CapturedConnection, is_sender: bool) -> Self {
        let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
        let mut found = Self { are_received: is_sender, ..Self::default() };
        // Places of those that are not acknowledged, by the number of their packet.
        let mut waiting: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, event) in &trace.events {
            let packet = match event {
                Event::Received(packet) if is_sender => packet,
                Event::Sent(packet) if !is_sender => packet,
                Event::Received(packet) => {
                    found.acknowledge(&mut waiting, packet, *at);
                    continue;
                }
                _ => continue,
            };
            for stream in new_data(packet, &mut ends) {
                if packet.is_application {
                    let place = found.all.len();
                    found.first.entry(stream).or_insert(place);
                    waiting.entry(packet.number).or_default().push(place);
                    found.all.push(Ask { at: *at, stream, acknowledged: None });
                }
            }
        }
        found
    }

    /// Notes which of those that wait `packet` acknowledges.
    fn acknowledge(&mut self, waiting: &mut BTreeMap<u64, Vec<usize>>, packet: &Packet, now: Time) {
        // The delay is that of the largest number.
        let largest = packet.largest_acknowledged();
        for (from, to) in packet.acknowledged.iter().filter(|_| packet.is_application) {
            for (number, places) in waiting.extract_if(from..=to, |_, _| true) {
                for place in places {
                    if let Some(ask) = self.all.get_mut(place) {
                        let held = packet.details.ack_delay.filter(|_| largest == Some(number));
                        ask.acknowledged = Some((now, held));
                    }
                }
            }
        }
    }

    /// Takes what arrives first once a round trip has passed after a request for its
    /// acknowledgement, where packets are not opened: the transport of the other end sends that
    /// within its delay, whatever its application does meanwhile.
    pub fn answered_by_transport(&mut self, trace: &CapturedConnection, rtt: Span) {
        let arrivals = trace.events.iter().filter_map(|(at, event)| match event {
            Event::Received(packet) if packet.is_application => Some(*at),
            _ => None,
        });
        let arrivals: Vec<Time> = arrivals.collect();
        let least = rtt.mul_f64(1.0 - EARLY);
        for ask in &mut self.all {
            let first = arrivals.partition_point(|at| *at < ask.at + least);
            let first = arrivals.get(first).copied();
            ask.acknowledged = first.map(|at| (at, Some(ACK_DELAY)));
        }
    }

    /// Returns the first and the last request after `from` that came at least `rtt` before `to`:
    /// what arrives then may be their answer. `from` must not go back.
    pub fn between(&mut self, from: Time, to: Time, rtt: Span) -> Option<(Ask, Ask)> {
        while self.all.get(self.next).is_some_and(|ask| self.is_past(ask, from)) {
            self.next += 1;
        }
        let least = rtt.mul_f64(1.0 - EARLY);
        let after = self.all.get(self.next..).unwrap_or_default().iter();
        let mut answered = after.take_while(|ask| ask.at + least <= to);
        let first = *answered.next()?;
        Some((first, answered.last().copied().unwrap_or(first)))
    }

    /// Returns true if what passed at `time` came after `ask` had been answered, or begun to be.
    /// Clocks are coarse: a request may have the time of the data before it, or of its answer.
    fn is_past(&self, ask: &Ask, time: Time) -> bool {
        ask.at < time || self.are_received && ask.at == time
    }

    /// Returns the request that was made at a time.
    pub fn at(&self, time: Time) -> Option<Ask> {
        let index = self.all.partition_point(|ask| ask.at < time);
        self.all.get(index).filter(|ask| ask.at == time).copied()
    }

    /// Returns the first request on a stream.
    pub fn on(&self, stream: u64) -> Option<Ask> {
        self.first.get(&stream).and_then(|place| self.all.get(*place)).copied()
    }

    /// Returns the time of the first request after `after`, or of the first, that came by `now`.
    pub fn after(&self, after: Option<Time>, now: Time) -> Option<Time> {
        let begin =
            after.map_or(0, |after| self.all.partition_point(|ask| self.is_past(ask, after)));
        self.all.get(begin).map(|ask| ask.at).filter(|at| *at <= now)
    }
}

impl Ask {
    /// Returns for how much longer than `rtt` the way to the other end and back took: the answer
    /// waited for that, and not for the other end. Unless it says how long, that may have held the
    /// acknowledgement back for up to [`HELD`].
    pub fn on_its_way(&self, rtt: Span) -> Span {
        let Some((at, held)) = self.acknowledged else { return Span::ZERO };
        let took = at.since(self.at).saturating_sub(held.unwrap_or_default());
        let tolerance = if held.is_some() { SAID.max(least(rtt)) } else { HELD };
        if took > rtt + tolerance { took.saturating_sub(rtt) } else { Span::ZERO }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Side, StreamPart, Transport};

    #[test]
    fn what_is_asked_at_the_time_of_the_data_before_is_a_request() {
        let packet = |offset, length| Packet {
            is_application: true,
            data: vec![StreamPart { stream: 0, offset, length }].into(),
            ..Packet::default()
        };
        let at = Time::from_millis;
        let trace = CapturedConnection {
            events: vec![
                (at(0), Event::Sent(packet(0, 100))),
                (at(300), Event::Received(packet(0, 1000))),
                (at(300), Event::Sent(packet(100, 100))),
                (at(600), Event::Received(packet(1000, 1000))),
            ],
            ..CapturedConnection::empty(Transport::Tcp, Side::Client)
        };
        let mut asks = Asks::find(&trace, false);
        let rtt = Span::from_millis(300);
        let (first, last) = asks.between(at(300), at(600), rtt).expect("a request");
        assert_eq!((first.at, last.at), (at(300), at(300)));
        assert_eq!(asks.after(Some(at(300)), at(600)), Some(at(300)));
        // At the end that answers, what leaves with the arrival of a request is its answer.
        let asks = Asks { are_received: true, ..asks };
        assert_eq!(asks.after(Some(at(300)), at(600)), None);
    }

    #[test]
    fn a_request_that_was_acknowledged_late_waited_on_its_way() {
        let rtt = Span::from_millis(300);
        let way = |took: u64, held: Option<u64>| {
            let at = Time::from_millis(1000);
            let held = held.map(Span::from_millis);
            let acknowledged = Some((at + Span::from_millis(took), held));
            Ask { at, stream: 0, acknowledged }.on_its_way(rtt)
        };
        assert_eq!(way(440, Some(5)), Span::from_millis(135));
        assert_eq!(way(440, Some(130)), Span::ZERO, "held back");
        assert_eq!(way(440, None), Span::ZERO, "it may have been");
        assert_eq!(way(900, None), Span::from_millis(600));
    }

    #[test]
    fn a_transport_answers_a_request_at_once_even_if_its_application_does_not() {
        let rtt = Span::from_millis(300);
        let at = Time::from_millis;
        let packet = |length| Packet {
            is_application: true,
            data: vec![StreamPart { stream: 0, offset: 0, length }].into(),
            ..Packet::default()
        };
        // An acknowledgement after the first time, and the answer after 900 ms.
        let way = |first: u64| {
            let trace = CapturedConnection {
                events: vec![
                    (at(0), Event::Sent(packet(100))),
                    (at(200), Event::Received(packet(0))),
                    (at(first), Event::Received(packet(0))),
                    (at(900), Event::Received(packet(1000))),
                ],
                is_encrypted: true,
                ..CapturedConnection::empty(Transport::Quic, Side::Client)
            };
            let mut asks = Asks::find(&trace, false);
            asks.answered_by_transport(&trace, rtt);
            asks.at(at(0)).expect("a request").on_its_way(rtt)
        };
        assert_eq!(way(320), Span::ZERO, "the application took the rest");
        assert_eq!(way(890), Span::from_millis(565), "the path");
    }
}
