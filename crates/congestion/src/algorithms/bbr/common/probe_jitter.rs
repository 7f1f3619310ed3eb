//! Random jitter for probe times.

use crate::controller::ControllerConfig;
use bentpipe_units::Time;

/// Pseudo-random numbers for probe times: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), seeded by
/// the configuration. The time of each draw is mixed in, so that flows that start together do not
/// probe together.
#[derive(Debug, Clone)]
pub struct ProbeJitter(u64);

impl ProbeJitter {
    /// Creates the generator of a connection.
    pub fn new(config: &ControllerConfig) -> Self {
        let (mtu, window) = (config.mtu.get(), config.initial_window.get());
        Self(config.now.as_nanos() ^ mtu.rotate_left(48) ^ window.rotate_left(24))
    }

    /// Returns the next number.
    pub fn next(&mut self, now: Time) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ now.as_nanos();
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
