//! Draws from the streams of one dimension.

use bentpipe_link::random::{Stream, stream};

/// The random stream of one dimension of one seed.
#[derive(Debug)]
pub struct Random(Stream);

impl Random {
    /// Returns the stream of `seed` for `purpose`.
    pub fn new(seed: u64, purpose: &str) -> Self {
        Self(stream(seed, 0, &format!("swarm/{purpose}")))
    }

    /// Returns true with `probability`, from a stream that is used for nothing else.
    pub fn draws_once(mut self, probability: f64) -> bool {
        self.chance(probability)
    }

    /// Returns true with `probability`.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.0.chance(probability)
    }

    /// Returns a uniform draw between `low` and `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.unit()
    }

    /// Returns a log-uniform draw between `low` and `high`, both above zero.
    pub fn log(&mut self, low: f64, high: f64) -> f64 {
        low * libm::exp(self.0.unit() * libm::log(high / low))
    }

    /// Returns a uniform integer from `low` to `high`, both included.
    pub fn whole(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    /// Returns one of `values`, which are not empty.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.0.below(values.len() as u64) as usize]
    }

    /// Returns `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.0.below(256) as u8).collect()
    }
}
