//! The delay of the queue as SCReAM V2 sees it, and how much of it is too much.

use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Smallest target of the delay of the queue, in s (`QDELAY_TARGET_LO`).
const TARGET_LOW: f64 = 0.06;
/// Largest target, beside flows that fill the queue, in s (`QDELAY_TARGET_HI`).
const TARGET_HIGH: f64 = 0.4;
/// Weight of a larger delay in the average (`QDELAY_AVG_G`).
const AVERAGE_WEIGHT: f64 = 0.25;
/// Weight of the smallest delay of a round in its average (`QDELAY_MIN_AVG_ALPHA`).
const SMALLEST_WEIGHT: f64 = 1.0 / 256.0;
/// Share of rounds with losses above which other flows are taken to fill the queue.
const LOSSES_OF_OTHERS: f64 = 0.002;
/// Number of delays whose mean, and whose variance, set the target.
const MEAN_OF: usize = 50;
const VARIANCE_OF: usize = 200;
/// Time between two of these. The draft leaves it open; that of its implementation.
const ADJUST_INTERVAL: Span = Span::from_millis(50);
/// Minutes of which the smallest delays are kept (`BASE_HISTORY` of RFC 6817).
const BASE_MINUTES: usize = 10;

/// Delay of the queue: how much longer packets take than the fastest of the last minutes.
#[derive(Debug)]
pub struct QueueDelay {
    /// Smallest one-way delay of each of the last minutes.
    base: VecDeque<(u64, Span)>,
    /// The last delay of the queue, in s.
    pub current: f64,
    /// Its average, which follows a smaller delay at once.
    pub average: f64,
    averaged_at: Option<Time>,
    /// The delay that is aimed at, in s.
    pub target: f64,
    /// Delays in smallest targets.
    history: VecDeque<f64>,
    adjusted_at: Option<Time>,
    smallest_of_round: f64,
    smallest_average: f64,
}

impl QueueDelay {
    pub fn new() -> Self {
        Self {
            base: VecDeque::new(),
            current: 0.0,
            average: 0.0,
            averaged_at: None,
            target: TARGET_LOW,
            history: VecDeque::new(),
            adjusted_at: None,
            smallest_of_round: f64::INFINITY,
            smallest_average: 0.0,
        }
    }

    /// Handles the one-way delay of a packet. `interval` is the time between two updates of the
    /// average.
    pub fn on_sample(&mut self, now: Time, one_way: Span, interval: Span) {
        let minute = now.as_nanos() / 60_000_000_000;
        match self.base.back_mut().filter(|(of, _)| *of == minute) {
            Some((_, smallest)) => *smallest = one_way.min(*smallest),
            None => self.base.push_back((minute, one_way)),
        }
        if self.base.len() > BASE_MINUTES {
            self.base.pop_front();
        }
        let base = self.base.iter().map(|&(_, delay)| delay).min().unwrap_or(one_way);
        self.current = one_way.saturating_sub(base).as_secs_f64();
        self.smallest_of_round = self.smallest_of_round.min(self.current);
        if self.averaged_at.is_none_or(|at| now >= at + interval) {
            self.averaged_at = Some(now);
            let rise = (self.current - self.average).max(0.0) * AVERAGE_WEIGHT;
            self.average = self.current.min(self.average + rise);
        }
    }

    /// Returns the share of marks that the average stands for: from 0 at half the target to 1.
    pub fn virtual_marks(&self) -> f64 {
        ((self.average - self.target / 2.0) / (self.target / 2.0)).clamp(0.0, 1.0)
    }

    /// Adjusts the target to flows that fill the queue, with the share of rounds that had losses.
    pub fn adjust_target(&mut self, now: Time, loss_rate: f64) {
        if self.adjusted_at.is_some_and(|at| now < at + ADJUST_INTERVAL) {
            return;
        }
        self.adjusted_at = Some(now);
        self.history.push_back(self.current / TARGET_LOW);
        if self.history.len() > VARIANCE_OF {
            self.history.pop_front();
        }
        let mean = |last: usize| {
            let last = last.min(self.history.len());
            self.history.iter().rev().take(last).sum::<f64>() / last as f64
        };
        let of_all = mean(VARIANCE_OF);
        let squares = self.history.iter().map(|delay| (delay - of_all) * (delay - of_all));
        let variance = squares.sum::<f64>() / self.history.len() as f64;
        let limit = (mean(MEAN_OF) + libm::sqrt(variance)) * TARGET_LOW;
        self.target = if loss_rate > LOSSES_OF_OTHERS {
            1.5 * limit
        } else if variance < 0.2 {
            limit
        } else if limit < TARGET_LOW {
            limit.max(self.target / 2.0)
        } else {
            self.target * 0.9
        };
        self.target = self.target.clamp(TARGET_LOW, TARGET_HIGH);
    }

    /// Ends a round. Returns true if even the smallest delays have been large for long: clocks
    /// drift or the path has become longer, and the delays so far are forgotten.
    pub fn end_round(&mut self) -> bool {
        if self.smallest_of_round.is_finite() {
            let difference = self.smallest_of_round - self.smallest_average;
            self.smallest_average += difference * SMALLEST_WEIGHT;
        }
        self.smallest_of_round = f64::INFINITY;
        let drifts = self.smallest_average > self.target / 4.0;
        if drifts {
            self.smallest_average = 0.0;
            self.base.clear();
        }
        drifts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a delay each 50 ms, and returns the time after the last one.
    fn feed(delay: &mut QueueDelay, from: u64, samples: u64, ms: u64, losses: f64) -> u64 {
        for sample in 0..samples {
            let now = Time::from_millis(from + 50 * sample);
            delay.on_sample(now, Span::from_millis(ms), Span::from_millis(25));
            delay.adjust_target(now, losses);
        }
        from + 50 * samples
    }

    #[test]
    fn delay_is_that_above_the_smallest_and_a_smaller_one_counts_at_once() {
        let mut delay = QueueDelay::new();
        let next = feed(&mut delay, 0, 1, 300, 0.0);
        assert_eq!((delay.current, delay.average, delay.virtual_marks()), (0.0, 0.0, 0.0));
        let next = feed(&mut delay, next, 1, 400, 0.0);
        assert!((delay.current - 0.1).abs() < 1e-9 && (delay.average - 0.025).abs() < 1e-9);
        let next = feed(&mut delay, next, 20, 400, 0.0);
        assert!(delay.average > 0.099);
        feed(&mut delay, next, 1, 310, 0.0);
        assert!((delay.average - 0.01).abs() < 1e-9);
    }

    #[test]
    fn the_target_follows_a_queue_that_others_keep_full_and_falls_back() {
        let mut delay = QueueDelay::new();
        let next = feed(&mut delay, 0, 10, 300, 0.0);
        assert!((delay.target - TARGET_LOW).abs() < 1e-9);
        let next = feed(&mut delay, next, 400, 500, 0.01);
        // 1.5 times 200 ms, without variance.
        assert!((delay.target - 0.3).abs() < 1e-9, "{}", delay.target);
        let next = feed(&mut delay, next, 400, 2_000, 0.01);
        assert!((delay.target - TARGET_HIGH).abs() < 1e-9);
        feed(&mut delay, next, 400, 300, 0.0);
        assert!((delay.target - TARGET_LOW).abs() < 1e-9);
    }

    #[test]
    fn a_path_that_has_become_longer_is_learned() {
        let mut delay = QueueDelay::new();
        let next = feed(&mut delay, 0, 1, 20, 0.0);
        feed(&mut delay, next, 1, 60, 0.0);
        // 40 ms · (1 - (1 - 1/256)^k) exceeds 15 ms with k = 121; one round had none.
        delay.end_round();
        let rounds = (0..500).take_while(|_| {
            delay.smallest_of_round = 0.04;
            !delay.end_round()
        });
        assert_eq!(rounds.count(), 120);
        assert!(delay.base.is_empty());
    }
}
