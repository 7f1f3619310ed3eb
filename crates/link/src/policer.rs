//! A token bucket that lets packets pass or not, and never delays one.

use crate::PolicerConfig;
use bentpipe_units::{Rate, Time};

/// Tokens of one byte: so many bits times nanoseconds per second, the unit in which a rate times a time is exact.
const BYTE: u128 = 8_000_000_000;

/// The bucket (RFC 2697's committed bucket, color-blind, with red dropped and nothing yellow).
#[derive(Debug, Clone)]
pub(crate) struct Policer {
    rate: Rate,
    /// What the bucket holds when full, in parts of [`BYTE`].
    size: u128,
    /// What it held at `filled`.
    tokens: u128,
    filled: Time,
}

impl Policer {
    /// A full bucket, where there is to be one.
    pub fn new(config: &PolicerConfig) -> Option<Self> {
        match config {
            PolicerConfig::None => None,
            PolicerConfig::TokenBucket { rate, burst } => {
                let size = u128::from(burst.get()) * BYTE;
                Some(Self { rate: *rate, size, tokens: size, filled: Time::ZERO })
            }
        }
    }

    /// Takes the tokens for a packet of `bytes` at `now`, or none where there are too few: then it must not pass. Time
    /// never runs backwards.
    pub fn admits(&mut self, now: Time, bytes: u32) -> bool {
        let come = u128::from(self.rate.as_bps()) * u128::from(now.since(self.filled).as_nanos());
        self.tokens = self.tokens.saturating_add(come).min(self.size);
        self.filled = now;
        match self.tokens.checked_sub(u128::from(bytes) * BYTE) {
            Some(left) => {
                self.tokens = left;
                true
            }
            None => false,
        }
    }
}
