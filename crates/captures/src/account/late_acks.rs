//! Acknowledgements most of which waited on their way: then they determine how fast data leaves its
//! sender, and the link does not.

use super::far_end::FarEnd;
use super::own_waits::OwnWaits;
use super::path::Passed;
use super::received::Arrival;
use super::sent::DataPacket;
use super::waits::{Waits, least};
use crate::event::{CapturedConnection, Transport};
use bentpipe_units::{Span, Time};

/// Share of the acknowledgements that waited from which on most of the data followed on late ones.
const MOST: f64 = 0.5;
/// Share of the bytes of QUIC's bursts that come at a rate that is the link's.
const COMMON: f64 = 0.25;
/// The same of TCP, which kernels receive and acknowledge at once: fewer bursts come faster.
const COMMON_TCP: f64 = 0.1;

/// Whether the acknowledgements of a transfer were late, and by how much. Only TCP tells the ways
/// apart, by its timestamps, and two files do.
#[derive(Debug)]
pub struct LateAcks {
    are_most: bool,
    waits: Option<Waits>,
    transport: Transport,
}

impl LateAcks {
    pub fn at_sender(
        trace: &CapturedConnection,
        packets: &[DataPacket],
        rtt: Span,
        far: Option<&FarEnd>,
    ) -> Self {
        let transport = trace.transport;
        let waits = Waits::find(trace).filter(|_| transport == Transport::Tcp);
        let wait = |at: Time| match (far, &waits) {
            (Some(far), _) => far.of_arrival(at),
            (None, Some(waits)) => waits.at(at),
            (None, None) => Span::ZERO,
        };
        let acknowledged = packets.iter().filter_map(|packet| packet.acknowledged);
        let are_most = are_most(acknowledged.map(wait), rtt);
        Self { are_most, waits, transport }
    }

    pub fn at_receiver(
        transport: Transport,
        arrivals: &[Arrival],
        rtt: Span,
        own: &OwnWaits,
    ) -> Self {
        let are_most = are_most(arrivals.iter().map(|one| own.of_acknowledgement_at(one.at)), rtt);
        Self { are_most, waits: None, transport }
    }

    /// Returns the share of the bytes of bursts that come as fast as the link allows: those that
    /// follow on late acknowledgements come as these let them, and only the fastest show the link.
    pub fn common_share(&self) -> f64 {
        match self.transport {
            _ if self.are_most => 0.0,
            Transport::Tcp => COMMON_TCP,
            Transport::Quic => COMMON,
        }
    }

    /// Returns the packets that passed in the order of their arrival, which without the file of the
    /// other end is that of their acknowledgements. If these have a slow link, they come as this
    /// lets them: then it is that of sending, a round trip of `sent_before`.
    pub fn passed(
        &self,
        packets: &[DataPacket],
        far: Option<&FarEnd>,
        sent_before: Option<Span>,
    ) -> Vec<Passed> {
        let passed = packets.iter().enumerate().filter_map(|(index, packet)| {
            let arrival = match far {
                Some(far) => far.forward.get(index).copied().flatten().map(|(at, _)| at),
                None => packet.acknowledged.map(|at| match sent_before {
                    Some(rtt) => packet.at + rtt,
                    None => self.without_wait(at),
                }),
            };
            Some((Some(packet.at), arrival?, packet.wire))
        });
        let mut passed: Vec<Passed> = passed.collect();
        passed.sort_by_key(|(_, arrival, _)| *arrival);
        passed
    }

    /// Returns when an acknowledgement that came at `at` would have come without its wait, if most
    /// had one.
    fn without_wait(&self, at: Time) -> Time {
        let waits = self.waits.as_ref().filter(|_| self.are_most);
        waits.map_or(at, |waits| at.saturating_sub(waits.at(at)))
    }
}

fn are_most(waits: impl Iterator<Item = Span>, rtt: Span) -> bool {
    let (mut late, mut all) = (0_usize, 0_usize);
    for wait in waits {
        late += usize::from(wait >= least(rtt));
        all += 1;
    }
    late as f64 > MOST * all as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::account;
    use crate::event::{Event, Packet, Side, StreamPart};
    use bentpipe_timeseries::TimePart;
    use std::collections::VecDeque;

    const HALF: Span = Span::from_millis(50);
    const WIRE: u64 = 1500;

    fn stamps(at: Time, echo: Time) -> Option<(u32, u32)> {
        let unit = |at: Time| (at.as_nanos() / 1_000_000) as u32;
        Some((unit(at), unit(echo)))
    }

    /// A sender of 600 packets over 20 Mbps and 100 ms. Each acknowledgement, of two packets, takes
    /// `each` on the return link, and lets two more go, or four until 100 are in flight.
    fn sender(each: Span) -> CapturedConnection {
        let at = Time::from_millis;
        let first = Packet { timestamps: stamps(at(0), at(0)), ..Packet::default() };
        let answer = Packet {
            acknowledged: vec![(0, 0)].into(),
            timestamps: stamps(at(50), at(0)),
            ..Packet::default()
        };
        let request = Packet {
            is_application: true,
            number: 1,
            data: vec![StreamPart { stream: 0, offset: 0, length: 100 }].into(),
            timestamps: stamps(at(50), at(0)),
            ..Packet::default()
        };
        let mut events = vec![
            (at(0), Event::Sent(first)),
            (at(100), Event::Received(answer)),
            (at(100), Event::Received(request)),
        ];
        let (mut link, mut back) = (Time::ZERO, Time::ZERO);
        let (mut sent, mut known) = (0_u64, 0_u64);
        let mut acks: VecDeque<Time> = VecDeque::new();
        let mut now = at(100);
        while known < 600 {
            let more = match sent {
                0 => 10,
                _ if sent - known < 100 => 4,
                _ => 2,
            };
            for pair in (0..more / 2).take_while(|pair| sent + pair * 2 < 600) {
                for number in [sent + pair * 2, sent + pair * 2 + 1] {
                    let data = vec![StreamPart { stream: 0, offset: number * 1448, length: 1448 }];
                    let packet = Packet {
                        is_application: true,
                        number: number + 1,
                        bytes: WIRE,
                        data: data.into(),
                        timestamps: stamps(now, now),
                        ..Packet::default()
                    };
                    events.push((now, Event::Sent(packet)));
                    link = link.max(now) + Span::from_micros(600);
                }
                let arrived = link + HALF;
                back = back.max(arrived) + each;
                acks.push_back(back + HALF);
                let ack = Packet {
                    is_application: true,
                    number: 2 + sent / 2 + pair,
                    acknowledged: vec![(sent + pair * 2 + 1, sent + pair * 2 + 2)].into(),
                    timestamps: stamps(arrived, now),
                    ..Packet::default()
                };
                events.push((back + HALF, Event::Received(ack)));
            }
            sent = (sent + more).min(600);
            now = acks.pop_front().unwrap_or(now);
            known += 2;
        }
        events.sort_by_key(|(at, _)| *at);
        CapturedConnection { events, ..CapturedConnection::empty(Transport::Tcp, Side::Server) }
    }

    #[test]
    fn data_that_follows_on_late_acknowledgements_is_not_as_slow_as_the_link() {
        let slow = account(&sender(Span::from_millis(10)), None).expect("a transfer");
        let (data, back) = [TimePart::Serialisation, TimePart::ReturnLink]
            .map(|part| slow.budget.get(part))
            .into();
        // 0.35 s on the link, of three seconds.
        assert!(data < 0.7 && back > 2.0, "{data} {back}");
        let quick = account(&sender(Span::from_micros(50)), None).expect("a transfer");
        assert!(quick.budget.get(TimePart::ReturnLink) < 0.05);
    }
}
