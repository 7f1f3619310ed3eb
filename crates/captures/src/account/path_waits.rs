//! What a sender that waited for an acknowledgement waited for: how much longer than usual data and
//! acknowledgement took, and why.

use super::far_end::FarEnd;
use super::sent::DataPacket;
use super::spending::Spending;
use super::waits::{Waits, least};
use crate::event::CapturedConnection;
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};

/// Returns how long what arrived at `at` had waited on its way; zero if that is unknown or jitter.
pub fn on_its_way(waits: Option<&Waits>, at: Time, rtt: Span) -> Span {
    let wait = waits.map_or(Span::ZERO, |waits| waits.at(at));
    if wait >= least(rtt) { wait } else { Span::ZERO }
}

/// The round trips of a sender.
#[derive(Debug)]
pub struct PathWaits<'a> {
    rtt: Span,
    /// Arrival of acknowledgements, and the place of the packet that each acknowledges.
    acknowledged: Vec<(Time, usize)>,
    /// How long each packet waited behind the sender's own.
    own: Vec<Span>,
    waits: Option<Waits>,
    /// Whether a packet that was sent after each was acknowledged before it.
    overtaken: Vec<bool>,
    /// What the other end recorded.
    far: Option<&'a FarEnd>,
    /// True if packets came upon a full queue.
    fills_queue: bool,
    /// True if the packets are not opened.
    is_covered: bool,
}

impl<'a> PathWaits<'a> {
    pub fn new(
        trace: &CapturedConnection,
        packets: &[DataPacket],
        rtt: Span,
        far: Option<&'a FarEnd>,
        fills_queue: bool,
    ) -> Self {
        let of = |(index, packet): (usize, &DataPacket)| {
            packet.rtt().and(packet.acknowledged).map(|at| (at, index))
        };
        let mut acknowledged: Vec<(Time, usize)> =
            packets.iter().enumerate().filter_map(of).collect();
        acknowledged.sort_unstable();
        let own = vec![Span::ZERO; packets.len()];
        let waits = Waits::find(trace);
        let overtaken = overtaken(packets);
        let is_covered = trace.is_encrypted;
        Self { rtt, acknowledged, own, waits, overtaken, far, fills_queue, is_covered }
    }

    /// Returns true if the other end recorded what arrived.
    pub fn is_known(&self) -> bool {
        self.far.is_some()
    }

    /// Notes how long the packet at `index` waits behind the sender's own.
    pub fn waits_for_own(&mut self, index: usize, wait: Span) {
        if let Some(own) = self.own.get_mut(index) {
            *own = wait;
        }
    }

    /// Returns how long what arrived at `at` had waited on its way; zero if that is unknown.
    pub fn of_arrival(&self, at: Time) -> Span {
        match self.far {
            Some(far) => far.of_arrival(at),
            None => on_its_way(self.waits.as_ref(), at, self.rtt),
        }
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
            let forward = match self.far.map(|far| far.of_packet(index)) {
                Some(Some(wait)) => wait.saturating_sub(own).min(took.saturating_sub(back)),
                _ => took.saturating_sub(back),
            };
            // Without timestamps: a queue of the data fills, one of acknowledgements does not.
            let is_known = self.waits.is_some() || self.far.is_some();
            let is_forward = is_known || self.fills_queue;
            if back >= least {
                take(TimePart::ReturnLink, back);
            }
            // What others overtook came out of order: no queue does that.
            let is_reordered = self.overtaken.get(index).copied().unwrap_or_default();
            // Without keys, what acknowledges which packet is an estimate: what is late may as well
            // be that of another packet.
            let is_told = is_known || !self.is_covered;
            if forward >= least && !is_reordered && is_told {
                take(if is_forward { TimePart::OtherFlows } else { TimePart::ReturnLink }, forward);
            }
        }
        if held >= least {
            take(TimePart::HeldAcks, held);
        }
        left
    }
}

/// Returns the share of the packets that later ones overtook.
pub fn share_overtaken(packets: &[DataPacket]) -> f64 {
    let is_known = |packet: &DataPacket| packet.acknowledged.is_some() && !packet.is_ambiguous;
    let all = packets.iter().zip(overtaken(packets));
    let overtaken = all.filter(|(packet, overtaken)| *overtaken && is_known(packet)).count();
    overtaken as f64 / packets.len().max(1) as f64
}

/// Returns for each packet whether one that was sent after it was acknowledged before it.
fn overtaken(packets: &[DataPacket]) -> Vec<bool> {
    let mut earliest: Option<Time> = None;
    let mut overtaken: Vec<bool> = packets
        .iter()
        .rev()
        .map(|packet| {
            let own = packet.acknowledged;
            let is_overtaken = own.zip(earliest).is_some_and(|(own, earliest)| earliest < own);
            earliest = [earliest, own].into_iter().flatten().min();
            is_overtaken
        })
        .collect();
    overtaken.reverse();
    overtaken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_others_overtake_did_not_wait_in_a_queue() {
        let packet = |ms: u64, acknowledged: u64| DataPacket {
            at: Time::from_millis(ms),
            wire: 1500,
            data: 1448,
            stream: 0,
            begins: false,
            repeats: false,
            is_ambiguous: false,
            acknowledged: Some(Time::from_millis(acknowledged)),
            ack_delay: Span::ZERO,
            held_back: Span::ZERO,
            declared_lost: false,
        };
        let packets = [packet(0, 100), packet(1, 400), packet(2, 102), packet(3, 403)];
        assert_eq!(overtaken(&packets), [false, true, false, false]);
    }
}
