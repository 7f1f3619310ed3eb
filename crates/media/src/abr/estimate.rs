//! Estimates of throughput from the segments of a player.

use bentpipe_units::{Bytes, Span};
use std::collections::VecDeque;

/// Half-lives of the two moving averages in seconds of download time: those of dash.js.
const HALF_LIVES: [f64; 2] = [3.0, 8.0];
/// Downloads that model-predictive control looks back on.
const PAST: usize = 5;

/// Moving averages of the throughput of downloads, weighted by their times.
#[derive(Debug, Default)]
pub struct MovingAverages {
    /// Sums of both averages, in Mbps; they start from zero.
    averages: [f64; 2],
    /// Download time so far in seconds.
    time: f64,
}

impl MovingAverages {
    /// Counts a download.
    pub fn record(&mut self, mbps: f64, seconds: f64) {
        for (average, half_life) in self.averages.iter_mut().zip(HALF_LIVES) {
            let past = libm::exp2(-seconds / half_life);
            *average = past * *average + (1.0 - past) * mbps;
        }
        self.time += seconds;
    }

    /// Returns the smaller average in Mbps, corrected for its start from zero; `None` before the
    /// first download.
    pub fn estimate(&self) -> Option<f64> {
        let all = self.averages.iter().zip(HALF_LIVES);
        let corrected =
            all.map(|(average, half_life)| average / (1.0 - libm::exp2(-self.time / half_life)));
        corrected.reduce(f64::min).filter(|_| self.time > 0.0)
    }
}

/// Harmonic mean of the last five throughputs, and how wrong it was.
#[derive(Debug, Default)]
pub struct HarmonicMean {
    past: VecDeque<f64>,
    errors: VecDeque<f64>,
    /// Mean before the latest download.
    predicted: Option<f64>,
}

impl HarmonicMean {
    /// Counts a download.
    pub fn record(&mut self, mbps: f64) {
        if let Some(predicted) = self.predicted {
            push(&mut self.errors, (predicted - mbps).abs() / mbps);
        }
        push(&mut self.past, mbps);
        let inverse: f64 = self.past.iter().map(|mbps| 1.0 / mbps).sum();
        self.predicted = Some(self.past.len() as f64 / inverse);
    }

    /// Returns the mean over one plus the largest of the last five errors, in Mbps; `None` before
    /// the first download.
    pub fn cautious(&self) -> Option<f64> {
        let error = self.errors.iter().copied().fold(0.0, f64::max);
        self.predicted.map(|mean| mean / (1.0 + error))
    }
}

fn push(past: &mut VecDeque<f64>, value: f64) {
    if past.len() == PAST {
        past.pop_front();
    }
    past.push_back(value);
}

/// Returns the throughput of a download in Mbps.
pub fn throughput(bytes: Bytes, time: Span) -> f64 {
    // A nanosecond, so that no download is infinitely fast.
    bytes.get() as f64 * 8.0 / time.as_secs_f64().max(1e-9) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_of_a_constant_rate_are_that_rate() {
        let mut averages = MovingAverages::default();
        assert_eq!(averages.estimate(), None);
        for _ in 0..3 {
            averages.record(5.0, 0.5);
            assert!((averages.estimate().unwrap() - 5.0).abs() < 1e-9);
        }
        // The faster average follows a fall, and is the smaller one.
        averages.record(1.0, 3.0);
        let expected = {
            let before = 5.0 * (1.0 - libm::exp2(-0.5));
            (before / 2.0 + 0.5) / (1.0 - libm::exp2(-1.5))
        };
        assert!((averages.estimate().unwrap() - expected).abs() < 1e-9);
    }

    #[test]
    fn the_harmonic_mean_is_divided_by_its_largest_error() {
        let mut mean = HarmonicMean::default();
        assert_eq!(mean.cautious(), None);
        mean.record(4.0);
        assert_eq!(mean.cautious(), Some(4.0));
        mean.record(2.0);
        // Predicted 4 of 2: an error of 1. The mean is 2 / (1/4 + 1/2).
        assert!((mean.cautious().unwrap() - 8.0 / 3.0 / 2.0).abs() < 1e-12);
        // Throughputs of five downloads ago are forgotten, and errors of five after that.
        (0..10).for_each(|_| mean.record(2.0));
        assert!((mean.cautious().unwrap() - 2.0).abs() < 1e-12);
    }
}
