//! Acknowledgements that the other end held back, as it says.

use super::sent::DataPacket;
use crate::event::{CapturedConnection, Event};
use bentpipe_units::{Span, Time};

/// Shortest time for which holding an acknowledgement back counts: QUIC does so by default for
/// 25 ms.
pub const HELD_BACK: Span = Span::from_millis(45);
/// Share of the time for which an acknowledgement was held back within which a sender goes on after
/// it that had waited for it.
const AFTER: f64 = 0.5;

/// The time for which the acknowledgement of a packet was held back.
#[derive(Debug, Clone, Copy)]
pub struct Hold {
    /// When it could have come.
    since: Time,
    /// When it came.
    until: Time,
}

impl Hold {
    /// Returns that of a packet; `None` if it was not acknowledged.
    pub fn find(packet: &DataPacket, rtt: Span) -> Option<Self> {
        Some(Self { since: packet.at + rtt, until: packet.acknowledged? })
    }

    /// Returns the part of the time from `from` to `to` in which a sender waited for the
    /// acknowledgement, and for little else after it. A machine that is busy, or a sender that
    /// paces, goes on some time after it, and one whose probe timeout expires before it.
    pub fn within(self, from: Time, to: Time) -> Option<(Time, Time)> {
        let since = self.since.clamp(from, to);
        let until = self.until.clamp(since, to);
        let (held, after) = (until.since(since), to.since(until));
        (held >= HELD_BACK && after <= held.mul_f64(AFTER)).then_some((since, until))
    }
}

/// Returns for how long the other end holds acknowledgements back at most, as it announced.
pub fn longest_hold(trace: &CapturedConnection) -> Span {
    let announced = trace.events.iter().filter_map(|(_, event)| match event {
        Event::Parameters(parameters) if !parameters.is_local => parameters.max_ack_delay,
        _ => None,
    });
    announced.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::account;
    use crate::event::{Packet, PacketDetails, Side, StreamPart, Transport};
    use bentpipe_timeseries::TimePart;

    /// A server 50 ms away sends flights of ten packets, each `later` than the acknowledgement of
    /// the one before by so many milliseconds; that says that it was held back for 400 ms.
    fn flights(later: u64) -> CapturedConnection {
        let packet = Packet::numbered;
        let part = |offset| StreamPart { stream: 0, offset, length: 1000 };
        let asked = Packet { data: vec![part(0)].into(), ..packet(0) };
        let mut events = vec![
            (0, Event::Received(Packet::default())),
            (0, Event::Sent(Packet::default())),
            (50, Event::Received(Packet { acknowledged: vec![(0, 0)].into(), ..packet(0) })),
            (51, Event::Received(asked)),
        ];
        let mut now = 52;
        for flight in 0..6 {
            let first = flight * 10;
            for number in first..first + 10 {
                let data = vec![part(number * 1000)].into();
                events.push((now, Event::Sent(Packet { data, ..packet(number) })));
            }
            now += 450;
            let ack_delay = Some(Span::from_millis(400));
            let details = PacketDetails { ack_delay, ..PacketDetails::default() }.into();
            let acknowledged = vec![(first, first + 9)].into();
            let ack = Packet { acknowledged, details, ..packet(flight + 2) };
            events.push((now, Event::Received(ack)));
            now += later;
        }
        CapturedConnection {
            events: events.into_iter().map(|(at, one)| (Time::from_millis(at), one)).collect(),
            ..CapturedConnection::empty(Transport::Quic, Side::Server)
        }
    }

    #[test]
    fn a_sender_that_goes_on_some_time_after_a_held_acknowledgement_waited_for_it() {
        let budget = account(&flights(110), None).expect("a transfer").budget;
        let (held, paused) = (budget.get(TimePart::HeldAcks), budget.get(TimePart::Application));
        assert!(held > 1.9 && paused < 0.6, "held back {held}, application {paused}");
        // Much later, it has something else to wait for.
        let budget = account(&flights(1500), None).expect("a transfer").budget;
        let paused = budget.get(TimePart::Application);
        assert!(paused > 7.0, "application {paused}");
    }

    #[test]
    fn the_wait_for_an_acknowledgement_may_end_before_or_after_it() {
        let at = Time::from_millis;
        let hold = Hold { since: at(100), until: at(500) };
        assert_eq!(hold.within(at(0), at(500)), Some((at(100), at(500))));
        assert_eq!(hold.within(at(0), at(400)), Some((at(100), at(400))), "a probe");
        assert_eq!(hold.within(at(200), at(600)), Some((at(200), at(500))), "a busy machine");
        assert_eq!(hold.within(at(0), at(900)), None, "a pause");
        assert_eq!(hold.within(at(0), at(120)), None, "hardly held back");
    }
}
