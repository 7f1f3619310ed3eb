//! The rate of losses that do not go away when the window falls.

use super::Parameters;
use crate::chance::most_by_chance;
use crate::controller::SentPacket;

/// Packets after which older ones count half.
const MEMORY: f64 = 100_000.0;

/// Packets lost one after the other that count as one loss: bursts of Wi-Fi have 1.5 on average. A
/// queue that overflows loses longer runs, or every second packet.
const BURST: u64 = 2;

/// Packets of a round trip, and losses among them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    packets: f64,
    losses: f64,
}

impl Count {
    /// Returns the losses: bursts count as one.
    pub(super) fn losses(self) -> f64 {
        self.losses
    }

    fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.losses += other.losses;
    }
}

/// Counts lost packets as losses: those of a burst as one.
#[derive(Debug, Clone, Default)]
pub(super) struct Bursts {
    newest: Option<u64>,
    length: u64,
}

impl Bursts {
    pub(super) fn count<'a>(&mut self, lost: impl Iterator<Item = &'a SentPacket>) -> Count {
        let mut count = Count::default();
        for packet in lost {
            let follows = self.newest.is_some_and(|newest| newest + 1 == packet.number);
            self.length = if follows && self.length < BURST { self.length + 1 } else { 1 };
            self.newest = Some(packet.number);
            count.packets += 1.0;
            count.losses += if self.length == 1 { 1.0 } else { 0.0 };
        }
        count
    }
}

/// Losses of packets that were sent below the reduced window.
#[derive(Debug, Clone, Default)]
pub(super) struct ChanceRate {
    /// All but those of the present round trip.
    all: Count,
    round: Count,
    rounds: f64,
    /// Round trips with losses.
    lossy_rounds: f64,
    /// Sums over round trips: of losses², of losses times packets, of packets².
    squares: [f64; 3],
}

impl ChanceRate {
    pub(super) fn acked(&mut self, packets: f64) {
        self.round.packets += packets;
    }

    pub(super) fn lost(&mut self, count: Count) {
        self.round.add(count);
    }

    /// Ends a round trip.
    pub(super) fn end_round(&mut self) {
        let round = std::mem::take(&mut self.round);
        let Count { packets, losses } = round;
        if packets == 0.0 {
            return;
        }
        self.all.add(round);
        self.rounds += 1.0;
        if losses > 0.0 {
            self.lossy_rounds += 1.0;
        }
        self.squares[0] += losses * losses;
        self.squares[1] += losses * packets;
        self.squares[2] += packets * packets;
        if self.all.packets > MEMORY {
            self.all.packets /= 2.0;
            self.all.losses /= 2.0;
            self.rounds /= 2.0;
            self.lossy_rounds /= 2.0;
            self.squares = self.squares.map(|sum| sum / 2.0);
        }
    }

    /// Returns losses by chance over packets, if they have taught their rate.
    pub(super) fn get(&self, p: &Parameters) -> Option<f64> {
        let mut total = self.all;
        total.add(self.round);
        let lossy = self.lossy_rounds + if self.round.losses > 0.0 { 1.0 } else { 0.0 };
        let known = total.losses >= p.least_losses && lossy >= p.least_rounds;
        let rate = (total.losses + 1.0) / total.packets.max(1.0);
        (known && !self.are_clumped(p)).then_some(rate.min(p.cap))
    }

    /// Returns true if losses come in clumps, as those of a queue or policer that others overflow:
    /// their variance over round trips exceeds that of independent ones by more than chance.
    fn are_clumped(&self, p: &Parameters) -> bool {
        let Count { packets, losses } = self.all;
        if losses == 0.0 || self.rounds < 2.0 {
            return false;
        }
        let rate = losses / packets;
        let [losses2, both, packets2] = self.squares;
        let dispersion = (losses2 - 2.0 * rate * both + rate * rate * packets2) / losses;
        // Standard deviation of the ratio for a Poisson process.
        let deviation = libm::sqrt((2.0 + self.rounds / losses) / self.rounds);
        dispersion > p.dispersion + 2.0 * deviation
    }
}

/// Losses of the last two round trips.
#[derive(Debug, Clone, Default)]
pub(super) struct LastRounds([Count; 2]);

impl LastRounds {
    pub(super) fn acked(&mut self, packets: f64) {
        self.0[0].packets += packets;
    }

    pub(super) fn lost(&mut self, count: Count) {
        self.0[0].add(count);
    }

    pub(super) fn end_round(&mut self) {
        self.0 = [Count::default(), self.0[0]];
    }

    pub(super) fn losses(&self) -> f64 {
        self.0[0].losses + self.0[1].losses
    }

    /// Returns true if a rate of losses by chance explains what was lost.
    pub(super) fn are_explained_by(&self, rate: f64) -> bool {
        let packets = self.0[0].packets + self.0[1].packets;
        self.losses() <= most_by_chance(rate * packets)
    }
}
