//! What a sender that waited for an acknowledgement waited for: how much longer than usual data and
//! acknowledgement took, and why.

use super::sent::DataPacket;
use super::spending::Spending;
use super::waits::Waits;
use crate::event::CapturedConnection;
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};

/// Shortest wait that is told from jitter, as a time and as a share of the round trip.
const LEAST: Span = Span::from_millis(10);
const LEAST_SHARE: f64 = 0.15;

/// Returns the shortest wait on a path that is told from jitter.
pub fn least(rtt: Span) -> Span {
    LEAST.max(rtt.mul_f64(LEAST_SHARE))
}

/// Returns how long what arrived at `at` had waited on its way; zero if that is unknown or jitter.
pub fn on_its_way(waits: Option<&Waits>, at: Time, rtt: Span) -> Span {
    let wait = waits.map_or(Span::ZERO, |waits| waits.at(at));
    if wait >= least(rtt) { wait } else { Span::ZERO }
}

/// The round trips of a sender.
#[derive(Debug)]
pub struct PathWaits {
    rtt: Span,
    /// Arrival of acknowledgements, and the place of the packet that each acknowledges.
    acknowledged: Vec<(Time, usize)>,
    /// How long each packet waited behind the sender's own.
    own: Vec<Span>,
    waits: Option<Waits>,
    /// True if packets came upon a full queue.
    fills_queue: bool,
}

impl PathWaits {
    pub fn new(
        trace: &CapturedConnection,
        packets: &[DataPacket],
        rtt: Span,
        fills_queue: bool,
    ) -> Self {
        let of = |(index, packet): (usize, &DataPacket)| {
            packet.rtt().and(packet.acknowledged).map(|at| (at, index))
        };
        let mut acknowledged: Vec<(Time, usize)> =
            packets.iter().enumerate().filter_map(of).collect();
        acknowledged.sort_unstable();
        let own = vec![Span::ZERO; packets.len()];
        Self { rtt, acknowledged, own, waits: Waits::find(trace), fills_queue }
    }

    /// Notes how long the packet at `index` waits behind the sender's own.
    pub fn waits_for_own(&mut self, index: usize, wait: Span) {
        if let Some(own) = self.own.get_mut(index) {
            *own = wait;
        }
    }

    /// Returns how long what arrived at `at` had waited on its way; zero if that is unknown.
    pub fn of_arrival(&self, at: Time) -> Span {
        on_its_way(self.waits.as_ref(), at, self.rtt)
    }

    /// Spends the end of the time from `from` to `to`, after which the sender went on because of an
    /// acknowledgement that arrived at `arrival`: what this and its packet took longer than the
    /// round trip. Returns until when the time is left.
    pub fn spend(
        &self,
        packets: &[DataPacket],
        arrival: Time,
        from: Time,
        to: Time,
        spending: &mut Spending,
    ) -> Time {
        let after = self.acknowledged.partition_point(|(at, _)| *at <= arrival);
        let last = after.checked_sub(1).and_then(|index| self.acknowledged.get(index));
        let Some(&(at, index)) = last.filter(|(at, _)| *at == arrival) else { return to };
        let Some(packet) = packets.get(index) else { return to };
        let own = self.own.get(index).copied().unwrap_or_default();
        let held = packet.held_back.min(at.since(packet.at).saturating_sub(self.rtt));
        let took = at.since(packet.at).saturating_sub(self.rtt + own + held);
        let least = least(self.rtt);
        let mut left = to;
        let mut take = |part, span| left = spending.add_at_end(part, span, from, left);
        if took >= least {
            let back = self.of_arrival(arrival).min(took);
            let forward = took.saturating_sub(back);
            // Without timestamps: a queue of the data fills, one of acknowledgements does not.
            let is_forward = self.waits.is_some() || self.fills_queue;
            if back >= least {
                take(TimePart::ReturnLink, back);
            }
            if forward >= least {
                take(if is_forward { TimePart::OtherFlows } else { TimePart::ReturnLink }, forward);
            }
        }
        if held >= least {
            take(TimePart::HeldAcks, held);
        }
        left
    }
}
