//! Detection of a full pipe.

use bentpipe_units::Rate;

/// Detects a full pipe: three rounds in which the rate grew by less than a quarter (draft
/// §5.3.1.2).
#[derive(Debug, Clone, Default)]
pub struct FullPipe {
    /// True once Startup has filled the pipe (full_bw_reached).
    pub reached: bool,
    /// True if the current search has found the pipe full (full_bw_now).
    pub now: bool,
    baseline: Rate,
    rounds: u32,
    /// Largest sample of the round. The draft uses the sample that starts a round. If the return
    /// link bunches ACKs, single samples scatter, and a round with growth could count as one
    /// without.
    best: Rate,
}

impl FullPipe {
    /// Returns the rate that the search compares with (full_bw).
    pub fn baseline(&self) -> Rate {
        self.baseline
    }

    /// Returns the number of rounds without growth (full_bw_count).
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Starts a new search that compares with the rate `baseline` (ResetFullBW).
    pub fn restart_search(&mut self, baseline: Rate) {
        *self = Self { reached: self.reached, baseline, ..Self::default() };
    }

    /// Processes a delivery-rate sample (CheckFullBWReached).
    pub fn update(&mut self, round_start: bool, rate: Rate, app_limited: bool) {
        if self.now || app_limited {
            return;
        }
        self.best = self.best.max(rate);
        if !round_start || self.best.is_zero() {
            return;
        }
        let best = std::mem::take(&mut self.best);
        if best.as_bps() as f64 >= self.baseline.as_bps() as f64 * 1.25 {
            self.restart_search(best);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= 3;
        self.reached |= self.now;
    }
}
