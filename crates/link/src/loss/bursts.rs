//! Bursts of losses with geometric lengths, in one regime or two.
//!
//! Several models describe this process: Gilbert's two states, long bursts, and the presets.

use super::model::Process;
use crate::ConfigError;
use crate::random::Stream;
use bentpipe_units::{Ratio, Time};

/// The rare long bursts of a process with two regimes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongBursts {
    /// Fraction of all bursts that are long.
    pub share: f64,
    /// Mean length of the long bursts, in packets.
    pub mean: f64,
}

/// A process that loses every packet within bursts and none between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstProcess {
    /// Probability that a burst starts after a received packet.
    p: f64,
    /// Probability that a short burst ends, per packet.
    end_short: f64,
    /// Fraction of bursts that are long.
    long_share: f64,
    /// Probability that a long burst ends, per packet.
    end_long: f64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    Short,
    Long,
}

impl BurstProcess {
    /// Creates bursts that start with probability `p` after a received packet and have `mean`
    /// packets on average over both regimes.
    pub fn new(p: f64, mean: f64, long: Option<LongBursts>) -> Self {
        let Some(long) = long else {
            return Self {
                p,
                end_short: 1.0 / mean,
                long_share: 0.0,
                end_long: 1.0,
                state: State::Good,
            };
        };
        let short = (mean - long.share * long.mean) / (1.0 - long.share);
        Self {
            p,
            end_short: 1.0 / short,
            long_share: long.share,
            end_long: 1.0 / long.mean,
            state: State::Good,
        }
    }

    /// Creates bursts of `mean` packets on average that make up a fraction `loss` of all packets.
    pub fn with_loss(loss: Ratio, mean: f64, long: Option<LongBursts>) -> Self {
        Self::new(onset(loss, mean), mean, long)
    }

    fn next(&self, draw: f64) -> State {
        match self.state {
            State::Good if draw < self.p * self.long_share => State::Long,
            State::Good if draw < self.p => State::Short,
            State::Short if draw >= self.end_short => State::Short,
            State::Long if draw >= self.end_long => State::Long,
            State::Good | State::Short | State::Long => State::Good,
        }
    }
}

impl Process for BurstProcess {
    fn start(&mut self, random: &mut Stream) {
        // Long-run number of lost packets per received one.
        let short = self.p * (1.0 - self.long_share) / self.end_short;
        let long = self.p * self.long_share / self.end_long;
        let draw = random.unit() * (1.0 + short + long);
        self.state = if draw < long {
            State::Long
        } else if draw < long + short {
            State::Short
        } else {
            State::Good
        };
    }

    #[inline]
    fn loses(&mut self, _: Time, random: &mut Stream) -> bool {
        self.state = self.next(random.unit());
        self.state != State::Good
    }
}

/// Returns the probability that a burst starts after a received packet, such that bursts of `mean`
/// packets make up a fraction `loss` of all packets.
fn onset(loss: Ratio, mean: f64) -> f64 {
    loss.get() / (mean * (1.0 - loss.get()))
}

/// Checks that bursts of `mean` packets can reach the given loss.
///
/// # Errors
///
/// Returns the invalid value, and the allowed ones.
pub fn check(loss: Ratio, mean: f64) -> Result<(), ConfigError> {
    if !(mean >= 1.0 && mean.is_finite()) {
        let value = format!("mean_burst = {mean}");
        return Err(ConfigError::refused(
            value,
            "is not a valid mean burst length",
            "1 packet or more",
        ));
    }
    // At least one packet is received between two bursts.
    let p = onset(loss, mean);
    if p.is_nan() || p > 1.0 {
        let problem = format!("cannot be reached with bursts of {mean} packets on average");
        let allowed = format!("0 to {}", mean / (1.0 + mean));
        return Err(ConfigError::refused(format!("loss = {loss}"), problem, allowed));
    }
    Ok(())
}
