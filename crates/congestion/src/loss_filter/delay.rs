//! What RTTs at losses say about queues.

use super::Parameters;
use crate::windowed::{FRAMES, WindowedRtt};
use bentpipe_units::{Span, Time};

/// RTTs without losses that are kept.
const SAMPLES: usize = 256;

/// RTTs without losses that are needed before they say anything.
const LEAST_SAMPLES: usize = 16;

/// RTTs of which the smallest shows a queue for sure.
const LAST: usize = 8;

/// Mean rank of RTTs at losses that is never chance, however few they are.
const MOST_RANK: f64 = 0.75;

/// Losses over which the mean rank is taken.
const RANKED: f64 = 64.0;

/// RTTs of a path, and how those at losses compare with those without.
#[derive(Debug, Clone)]
pub(super) struct Delay {
    /// Minimum RTT.
    base: Span,
    /// Minimum RTT of the last frames.
    recent: WindowedRtt,
    /// Maximum RTT of the same time.
    recent_most: WindowedRtt,
    /// Mean difference between successive RTTs.
    jitter: Span,
    /// The last RTTs, a ring.
    last: [Span; LAST],
    noted: usize,
    /// Largest of the minima over the last RTTs: a queue that the path has room for.
    most: Span,
    /// The last RTTs without losses, a ring.
    calm: Vec<Span>,
    next: usize,
    /// Mean rank among these of RTTs at losses, and how many it is of.
    rank: f64,
    ranked: f64,
}

impl Delay {
    pub(super) fn new() -> Self {
        Self {
            base: Span::MAX,
            recent: WindowedRtt::smallest(),
            recent_most: WindowedRtt::largest(),
            jitter: Span::ZERO,
            last: [Span::ZERO; LAST],
            noted: 0,
            most: Span::ZERO,
            calm: Vec::new(),
            next: 0,
            rank: 0.5,
            ranked: 0.0,
        }
    }

    /// Returns the minimum RTT.
    pub(super) fn base(&self) -> Span {
        self.base
    }

    /// Notes the RTT of an acknowledgement.
    pub(super) fn note(&mut self, now: Time, rtt: Span) {
        self.base = self.base.min(rtt);
        if self.noted > 0 {
            let last = self.last[(self.noted - 1) % LAST];
            let difference = last.max(rtt) - last.min(rtt);
            self.jitter = self.jitter.mul_f64(15.0 / 16.0) + difference.mul_f64(1.0 / 16.0);
        }
        self.last[self.noted % LAST] = rtt;
        self.noted += 1;
        let window = FRAMES.min(self.base / 8);
        self.recent.update(now, window, rtt);
        self.recent_most.update(now, window, rtt);
        self.most = self.most.max(self.lasting());
    }

    /// Notes the present RTT as one without losses.
    pub(super) fn note_calm(&mut self) {
        let recent = self.now();
        match self.calm.get_mut(self.next) {
            Some(oldest) => *oldest = recent,
            None => self.calm.push(recent),
        }
        self.next = (self.next + 1) % SAMPLES;
    }

    /// Notes the present RTT as one at a loss.
    pub(super) fn note_loss(&mut self, p: &Parameters) {
        if self.calm.len() < LEAST_SAMPLES {
            return;
        }
        let recent = self.now();
        let alike = self.base.mul_f64(p.alike);
        let below = self.calm.iter().filter(|other| **other + alike < recent).count();
        let above = self.calm.iter().filter(|other| recent + alike < **other).count();
        let equal = self.calm.len() - below - above;
        let rank = (below as f64 + equal as f64 / 2.0) / self.calm.len() as f64;
        self.ranked = (self.ranked + 1.0).min(RANKED);
        self.rank += (rank - self.rank) / self.ranked;
    }

    /// Returns true if RTTs at losses rank higher among those without than chance explains.
    pub(super) fn is_higher_at_losses(&self, p: &Parameters) -> bool {
        // Two standard deviations of the mean of uniform ranks.
        let chance = 2.0 / libm::sqrt(12.0 * self.ranked.max(1.0));
        self.ranked > 0.0 && self.rank > (p.rank + chance).min(MOST_RANK)
    }

    fn now(&self) -> Span {
        self.recent.get().unwrap_or(self.base)
    }

    /// Returns the smallest of the last RTTs: a single delayed acknowledgement is no queue. Zero
    /// before there are enough.
    fn lasting(&self) -> Span {
        self.last.iter().fold(self.now(), |least, rtt| least.min(*rtt))
    }

    /// Returns the smallest increase of the RTT that is a queue.
    fn least(&self, p: &Parameters) -> Span {
        Span::from_secs_f64(p.queue / 1e3).max(self.base.mul_f64(p.queue_share))
    }

    /// Returns true if a queue stands now: RTTs are above what they are without losses.
    pub(super) fn is_queueing(&self, p: &Parameters) -> bool {
        self.shows_queue(self.now(), p)
    }

    /// Returns true if a queue stands now and is in all of the last RTTs.
    pub(super) fn keeps_queueing(&self, p: &Parameters) -> bool {
        self.shows_queue(self.lasting(), p)
    }

    fn shows_queue(&self, rtt: Span, p: &Parameters) -> bool {
        let least = self.least(p);
        let jitter = self.jitter.mul_f64(p.jitter);
        let most = self.base.mul_f64(p.queue_most) + jitter;
        let noise = self.noise(p.noise).unwrap_or(self.base + jitter);
        rtt >= (noise + least).min(self.base + most.max(least))
    }

    /// Returns true if the path's queue has held much more than it holds now.
    pub(super) fn has_room(&self, p: &Parameters) -> bool {
        let known = self.most.saturating_sub(self.base);
        let most = self.recent_most.get().unwrap_or(self.base);
        let used = most.saturating_sub(self.base);
        known >= self.least(p) * 4 && used <= known.mul_f64(p.room)
    }

    fn noise(&self, quantile: f64) -> Option<Span> {
        if self.calm.len() < LEAST_SAMPLES {
            return None;
        }
        let mut sorted = [Span::ZERO; SAMPLES];
        let sorted = &mut sorted[..self.calm.len()];
        sorted.copy_from_slice(&self.calm);
        let at = ((sorted.len() - 1) as f64 * quantile) as usize;
        Some(*sorted.select_nth_unstable(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether RTTs at losses are higher: those without are 650 ms, those at losses so much more.
    fn is_higher(more: Span, alike: f64) -> bool {
        let p = Parameters { alike, ..Parameters::default() };
        let mut delay = Delay::new();
        let rtt = Span::from_millis(650);
        for round in 0..40 {
            delay.note(Time::from_millis(1000 * round), rtt);
            delay.note_calm();
        }
        for round in 40..44 {
            delay.note(Time::from_millis(1000 * round), rtt + more);
            delay.note_loss(&p);
        }
        delay.is_higher_at_losses(&p)
    }

    #[test]
    fn rtts_that_differ_by_less_than_a_part_of_the_smallest_rank_alike() {
        // A packet at 50 Mbps waits for 0.24 ms.
        let packet = Span::from_micros(240);
        assert!(is_higher(packet, 0.0) && !is_higher(packet, 0.005));
        assert!(is_higher(Span::from_millis(4), 0.005) && !is_higher(Span::ZERO, 0.0));
    }
}
