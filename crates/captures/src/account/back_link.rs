//! A link towards the sender of the data that is so slow that packets wait for it. Without keys,
//! nothing says what an acknowledgement is for, but each packet takes its time on such a link, so
//! that large ones are as much further apart than small ones as they are larger.

use super::spending::Spending;
use super::waits::least;
use crate::event::{CapturedConnection, Event, Packet};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Share by which the rates of packets may differ that had the link one after the other.
const ALIKE: f64 = 0.1;
/// Fewest packets that had it so: of all that arrive, or of those of the handshake whose answers
/// are known.
const LEAST: usize = 8;
const LEAST_ANSWERS: usize = 2;
/// Share of all arrivals of which that has to be true, and the share that may be too close for it.
const BEHIND: f64 = 0.4;
const CLOSER: f64 = 0.05;
/// How many times the smallest of them the largest has to be.
const SIZES: u64 = 2;
/// Shortest time of a packet of full size on a link that counts as slow.
const SLOW: Span = Span::from_millis(50);
/// Size from which on a packet shows the rate: its time is longer than what else moves arrivals.
const LARGE: u64 = 300;
/// How much sooner than it should what follows on an acknowledgement may come.
const NEAR: Span = Span::from_millis(3);

/// A slow link towards the sender of the data.
#[derive(Debug, PartialEq)]
pub struct BackLink {
    rate: Rate,
    /// At the sender, when the link was busy. At the receiver, when each packet that it sent was
    /// sent, and when it had left the link.
    busy: Vec<(Time, Time)>,
    /// Round trip of a packet that takes no time on the link, at the receiver.
    round_trip: Span,
}

impl BackLink {
    /// Finds the link in the file of its far end, the sender of the data, by how far apart packets
    /// arrive.
    pub fn at_sender(trace: &CapturedConnection) -> Option<Self> {
        let mut arrivals: Vec<(Time, u64)> = Vec::new();
        for (at, event) in &trace.events {
            let Event::Received(packet) = event else { continue };
            match arrivals.last_mut() {
                // Packets of one datagram.
                Some(last) if last.0 == *at => last.1 += packet.bytes,
                _ => arrivals.push((*at, packet.wire_bytes())),
            }
        }
        let apart: Vec<(Span, u64)> =
            arrivals.windows(2).map(|two| (two[1].0.since(two[0].0), two[1].1)).collect();
        let large = apart.iter().filter(|(gap, size)| *size >= LARGE && is_slow(*gap, *size));
        let rates = large.map(|(gap, size)| Rate::over(Bytes::new(*size), *gap));
        let found = rates.map(|rate| (behind(&apart, rate), rate)).max_by_key(|(found, _)| *found);
        let (count, rate) = found?;
        let closer = apart.iter().filter(|(gap, size)| share(*gap, *size, rate) < 1.0 - ALIKE);
        let all = apart.len() as f64;
        if count < LEAST || (count as f64) < BEHIND * all || closer.count() as f64 > CLOSER * all {
            return None;
        }
        let mut busy: Vec<(Time, Time)> = Vec::new();
        for (at, size) in arrivals {
            let from = at.saturating_sub(rate.time_for(Bytes::new(size)));
            match busy.last_mut() {
                Some(last) if from <= last.1 + NEAR => last.1 = at,
                _ => busy.push((from, at)),
            }
        }
        Some(Self { rate, busy, round_trip: Span::ZERO })
    }

    /// Finds the link in the file of its near end, the receiver of the data: packets of the
    /// handshake that left before the one before was answered are answered one after the other.
    pub fn at_receiver(trace: &CapturedConnection) -> Option<Self> {
        let answered = answered(trace);
        let mut rates: Vec<Rate> = answered
            .windows(2)
            .filter(|two| two[1].sent < two[0].at)
            .map(|two| (two[1].at.since(two[0].at), two[1].bytes))
            .filter(|(gap, size)| is_slow(*gap, *size))
            .map(|(gap, size)| Rate::over(Bytes::new(size), gap))
            .collect();
        rates.sort_unstable();
        let rate = *rates.get(rates.len() / 2)?;
        let near = |one: &&Rate| (one.as_bps() as f64 / rate.as_bps() as f64 - 1.0).abs() <= ALIKE;
        let alike = rates.iter().filter(near).count();
        if alike < LEAST_ANSWERS || alike * 2 < answered.len() {
            return None;
        }
        let mut free = Time::ZERO;
        let busy: Vec<(Time, Time)> = trace
            .events
            .iter()
            .filter_map(|(at, event)| match event {
                Event::Sent(packet) => {
                    free = free.max(*at) + rate.time_for(Bytes::new(packet.wire_bytes()));
                    Some((*at, free))
                }
                _ => None,
            })
            .collect();
        let left = |sent: Time| {
            let index = busy.partition_point(|(at, _)| *at < sent);
            busy.get(index).map_or(sent, |(_, left)| *left)
        };
        let round_trip = answered.iter().map(|one| one.at.since(left(one.sent))).min()?;
        // The first of them took its time on the link, too.
        (!round_trip.is_zero()).then_some(Self { rate, busy, round_trip })
    }

    /// Returns the round trip of a packet that takes no time on the link.
    pub fn round_trip(&self) -> Span {
        self.round_trip
    }

    /// Spends the time from `from` to `to` in which a sender waited as long as the link was busy
    /// with what arrived. Returns until when the time is left.
    pub fn spend(&self, rtt: Span, from: Time, to: Time, spending: &mut Spending) -> Time {
        let first = self.busy.partition_point(|(_, until)| *until <= from);
        let within = self.busy.get(first..).unwrap_or_default().iter();
        let within = within.take_while(|(since, _)| *since < to);
        let spans = within.map(|(since, until)| (*until).min(to).since((*since).max(from)));
        let busy = spans.fold(Span::ZERO, |sum, span| sum + span);
        if busy < least(rtt).min(to.since(from)) {
            return to;
        }
        spending.add_at_end(TimePart::ReturnLink, busy, from, to)
    }

    /// Returns how long the last packet of the receiver that data which arrives at `at` may follow
    /// on took from being sent until it had left the link.
    pub fn of_data(&self, at: Time) -> Span {
        let after = self.busy.partition_point(|(_, left)| *left + self.round_trip <= at + NEAR);
        let last = after.checked_sub(1).and_then(|index| self.busy.get(index));
        last.map_or(Span::ZERO, |(sent, left)| left.since(*sent))
    }
}

/// Returns true if packets that are so far apart are so because of their time on a slow link.
fn is_slow(gap: Span, size: u64) -> bool {
    !gap.is_zero() && gap >= SLOW.mul_f64(size as f64 / 1500.0)
}

/// Returns the time between two arrivals as a share of that which the second takes at a rate.
fn share(gap: Span, size: u64, rate: Rate) -> f64 {
    gap.as_secs_f64() / rate.time_for(Bytes::new(size)).as_secs_f64().max(1e-9)
}

/// Returns how many packets arrived as long after the one before as they take at this rate; zero
/// if these are not of different sizes.
fn behind(apart: &[(Span, u64)], rate: Rate) -> usize {
    let behind = apart.iter().filter(|(gap, size)| (share(*gap, *size, rate) - 1.0).abs() <= ALIKE);
    let sizes: Vec<u64> = behind.map(|(_, size)| *size).collect();
    let (least, most) = (sizes.iter().min().copied(), sizes.iter().max().copied());
    let differ = least.zip(most).is_some_and(|(least, most)| most >= SIZES * least);
    if differ { sizes.len() } else { 0 }
}

/// Packets of the handshake that one answer was for: when the last of them was sent, their bytes,
/// and when the answer came.
#[derive(Debug)]
struct Answered {
    sent: Time,
    bytes: u64,
    at: Time,
}

/// Returns the packets of the handshake whose answers are known, in the order of these.
fn answered(trace: &CapturedConnection) -> Vec<Answered> {
    let mut waiting: Vec<(u64, Time, u64)> = Vec::new();
    let mut found: Vec<Answered> = Vec::new();
    for (at, event) in &trace.events {
        match event {
            // What others acknowledge is estimated.
            Event::Sent(packet) | Event::Received(packet) if packet.is_application => {}
            Event::Sent(packet) => waiting.push((packet.number, *at, packet.wire_bytes())),
            Event::Received(packet) => {
                let is_answered = |number: u64| acknowledges(packet, number);
                let now: Vec<_> =
                    waiting.extract_if(.., |(number, ..)| is_answered(*number)).collect();
                if let Some((_, sent, _)) = now.last() {
                    let bytes = now.iter().map(|(.., bytes)| bytes).sum();
                    found.push(Answered { sent: *sent, bytes, at: *at });
                }
            }
            _ => {}
        }
    }
    found
}

fn acknowledges(packet: &Packet, number: u64) -> bool {
    packet.acknowledged.iter().any(|(first, last)| (*first..=*last).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Side, Transport};

    const RATE: Rate = Rate::from_bps(30_000);

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn trace(side: Side, events: Vec<(Time, Event)>) -> CapturedConnection {
        CapturedConnection {
            events,
            is_encrypted: true,
            ..CapturedConnection::empty(Transport::Quic, side)
        }
    }

    fn packet(number: u64, bytes: u64, acknowledged: Vec<(u64, u64)>) -> Packet {
        Packet { number, bytes, acknowledged: acknowledged.into(), ..Packet::default() }
    }

    /// Packets that a server gets: two of full size, and acknowledgements.
    fn arrivals(apart: impl Fn(u64) -> Span) -> CapturedConnection {
        let mut now = at(300);
        let events = [1200, 1200].into_iter().chain([38; 20]).enumerate().map(|(index, bytes)| {
            let received = Event::Received(packet(index as u64, bytes, Vec::new()));
            now += apart(bytes + 28);
            (now, received)
        });
        trace(Side::Server, events.collect())
    }

    #[test]
    fn packets_that_are_apart_as_they_are_large_have_a_slow_link() {
        let time = |bytes| RATE.time_for(Bytes::new(bytes));
        let link = BackLink::at_sender(&arrivals(time)).expect("a slow link");
        assert!((link.rate.as_bps() as f64 / 30_000.0 - 1.0).abs() < 0.01, "{link:?}");
        let mut spending = Spending::default();
        let rtt = Span::from_millis(60);
        let (from, to) = (at(1100), at(1120));
        let left = link.spend(rtt, from, to, &mut spending);
        assert_eq!(left, from, "busy all the time");
        assert_eq!(link.spend(rtt, at(100), at(200), &mut spending), at(200), "before it was");
        // Paced by the sender, and a handshake of several round trips.
        let paced = |bytes| if bytes > 1000 { time(bytes) } else { Span::from_millis(40) };
        assert_eq!(BackLink::at_sender(&arrivals(paced)), None);
    }

    #[test]
    fn answers_of_packets_that_left_together_show_the_time_that_each_takes() {
        let size = Bytes::new(1228);
        let each = RATE.time_for(size);
        let handshake = |answers: [Span; 3]| {
            let sent = |number| (at(number), Event::Sent(packet(number, 1200, Vec::new())));
            let mut events: Vec<_> = (0..3).map(sent).collect();
            for (number, after) in (0..).zip(answers) {
                let answer = packet(number, 40, vec![(0, number)]);
                events.push((at(0) + after, Event::Received(answer)));
            }
            let late = Packet { is_application: true, ..packet(3, 32, Vec::new()) };
            events.push((at(5000), Event::Sent(late)));
            trace(Side::Client, events)
        };
        let way = Span::from_millis(60);
        let link = BackLink::at_receiver(&handshake([way + each, way + each * 2, way + each * 3]));
        let link = link.expect("a slow link");
        assert!(link.round_trip() <= way && link.round_trip() > way.mul_f64(0.9), "{link:?}");
        let took = link.of_data(at(5200)).as_millis_f64();
        assert!((took - 16.0).abs() < 0.1, "60 bytes: {took}");
        let path = Span::from_millis(400);
        let other = [path, path + Span::from_millis(1), path + Span::from_millis(2)];
        assert_eq!(BackLink::at_receiver(&handshake(other)), None, "a long path");
    }
}
