//! How long packets waited on their way, beyond the shortest: from the timestamps of TCP, which say
//! when a packet was sent.

use crate::event::{CapturedConnection, Event};
use bentpipe_units::{Span, Time};

/// Units of the clocks of timestamps in milliseconds (RFC 7323 §5.4 allows 1 ms to 1 s): those that
/// systems use.
const UNITS_MS: [u64; 4] = [1, 4, 10, 100];
/// Ratio to one of those within which a clock is taken for it: queues that grow change it.
const ALIKE: f64 = 1.5;
/// Shortest time over which the unit can be told.
const LEAST: Span = Span::from_millis(200);

/// Shortest wait that is told from jitter, as a time and as a share of the round trip.
const SHORTEST: Span = Span::from_millis(10);
const SHORTEST_SHARE: f64 = 0.15;

/// Returns the shortest wait on a path that is told from jitter.
pub fn least(rtt: Span) -> Span {
    SHORTEST.max(rtt.mul_f64(SHORTEST_SHARE))
}

/// The waits of the packets that arrived, in the order of their arrival.
#[derive(Debug)]
pub struct Waits {
    all: Vec<(Time, Span)>,
}

impl Waits {
    /// Returns the waits; `None` without timestamps, or if their unit cannot be told.
    pub fn find(trace: &CapturedConnection) -> Option<Self> {
        let stamped: Vec<(Time, u32)> = trace
            .events
            .iter()
            .filter_map(|(at, event)| match event {
                Event::Received(packet) => Some((*at, packet.timestamps?.0)),
                _ => None,
            })
            .collect();
        let (&(begin, first), &(end, last)) = (stamped.first()?, stamped.last()?);
        let took = end.since(begin);
        let ticks = last.wrapping_sub(first);
        if took < LEAST || ticks == 0 || ticks > u32::MAX / 2 {
            return None;
        }
        let seen = took.as_millis_f64() / f64::from(ticks);
        let off = |unit: u64| (seen / unit as f64).ln().abs();
        let unit = UNITS_MS.into_iter().min_by(|a, b| off(*a).total_cmp(&off(*b)))?;
        if off(unit) > ALIKE.ln() {
            return None;
        }
        // Nanoseconds, which may be before the first packet's.
        let unit = i64::try_from(unit * 1_000_000).ok()?;
        let nanos = |at: Time| i64::try_from(at.since(begin).as_nanos()).unwrap_or(i64::MAX);
        let delays: Vec<(Time, i64)> = stamped
            .iter()
            .map(|(at, stamp)| {
                let ticks = i64::from(stamp.wrapping_sub(first) as i32);
                (*at, nanos(*at).saturating_sub(ticks * unit))
            })
            .collect();
        let shortest = delays.iter().map(|(_, delay)| *delay).min()?;
        let wait = |delay: i64| {
            // A timestamp is up to a unit old.
            let beyond = delay.saturating_sub(shortest).saturating_sub(unit).max(0);
            Span::from_nanos(beyond.unsigned_abs())
        };
        Some(Self { all: delays.into_iter().map(|(at, delay)| (at, wait(delay))).collect() })
    }

    /// Returns the wait of the first packet that arrived at `at` or later.
    pub fn at(&self, at: Time) -> Span {
        let index = self.all.partition_point(|(time, _)| *time < at);
        self.all.get(index).map_or(Span::ZERO, |(_, wait)| *wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Packet, Side, Transport};

    /// Packets sent at the first times and received at the second ones, in milliseconds.
    fn trace(packets: &[(u64, u64)], unit: u64) -> CapturedConnection {
        let event = |&(sent, received): &(u64, u64)| {
            let stamp = u32::MAX.wrapping_add((sent / unit) as u32);
            let packet = Packet { timestamps: Some((stamp, 0)), ..Packet::default() };
            (Time::from_millis(received), Event::Received(packet))
        };
        CapturedConnection {
            events: packets.iter().map(event).collect(),
            ..CapturedConnection::empty(Transport::Tcp, Side::Client)
        }
    }

    #[test]
    fn a_packet_that_was_held_up_has_waited_and_one_that_was_sent_late_has_not() {
        for unit in [1, 10] {
            let all = [(0, 300), (100, 400), (200, 4500), (4200, 4500), (9000, 9300)];
            let waits = Waits::find(&trace(&all, unit)).expect("timestamps");
            let near = |at, expected: u64| {
                let wait = waits.at(Time::from_millis(at)).as_millis_f64();
                assert!((wait - expected as f64).abs() <= unit as f64, "{at}: {wait}");
            };
            near(300, 0);
            near(4500, 4000);
            near(9300, 0);
        }
        assert!(Waits::find(&trace(&[(0, 1), (1, 2)], 1)).is_none(), "too short");
    }
}
