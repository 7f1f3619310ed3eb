//! Reproducible and independent random streams.
//!
//! Every random draw of a run comes from a stream keyed by seed, run and purpose. Streams are
//! independent, so that adding a flow or a link does not change the draws of others.
//!
//! The key is derived by two published mixers, which are implemented here so that no dependency can
//! change them: FNV-1a (64 bits) over the bytes of the purpose, then SplitMix64 (Steele, Lea,
//! Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014) over purpose, seed and run
//! in this order. The generator is PCG XSL-RR 128/64 (MCG) (O'Neill, HMC-CS-2014-0905).

use rand_core::{Rng, TryRng};
use rand_pcg::Pcg64Mcg;
use std::convert::Infallible;

/// The random stream of one purpose in one run. It implements [`rand_core::Rng`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream(Pcg64Mcg);

/// Returns the stream for `purpose` in run number `run` of the scenario with `seed`.
///
/// A purpose is a path of names such as `"forward/loss/0"`. Use a separate purpose for each kind of
/// draw.
pub fn stream(seed: u64, run: u64, purpose: &str) -> Stream {
    let mut key = fnv1a(purpose.as_bytes());
    key = splitmix64(&mut key) ^ seed;
    key = splitmix64(&mut key) ^ run;
    let high = splitmix64(&mut key);
    let low = splitmix64(&mut key);
    Stream(Pcg64Mcg::new((u128::from(high) << 64) | u128::from(low)))
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream {
    /// Returns a uniform draw from 0 (included) to 1 (excluded), a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns true with `probability`: never at 0, always at 1.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns a uniform integer below `bound`; 0 if `bound` is 0.
    ///
    /// Bounds here are far below 2⁶⁴ (nanoseconds, packets), so the bias of the multiplication is
    /// below 2⁻²⁰.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a draw from the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        // The logarithm needs 1 - u > 0.
        -libm::log(1.0 - self.unit())
    }

    /// Returns a draw from the normal distribution with mean 0 and standard deviation 1 (Box and
    /// Muller 1958).
    pub fn normal(&mut self) -> f64 {
        // The logarithm needs 1 - u > 0.
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }
}

impl TryRng for Stream {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_never_changes() {
        // These numbers must not change: the results of every published scenario depend on them.
        let mut stream = stream(1, 0, "forward/loss/0");
        let first: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(
            first,
            [3_965_170_876_365_091_908, 7_243_848_504_087_394_164, 16_480_656_366_089_800_329]
        );
    }

    #[test]
    fn seed_run_and_purpose_select_the_stream() {
        let draws: Vec<u64> = [(1, 0, "a"), (2, 0, "a"), (1, 1, "a"), (1, 0, "b"), (0, 1, "a")]
            .iter()
            .map(|&(seed, run, purpose)| stream(seed, run, purpose).next_u64())
            .collect();
        for (index, draw) in draws.iter().enumerate() {
            assert!(!draws[..index].contains(draw), "{draws:?}");
        }
    }

    #[test]
    fn draws_have_the_moments_of_their_distribution() {
        let mut stream = stream(7, 0, "moments");
        let n = 100_000;
        let (mut unit, mut below, mut sum, mut squares) = (0.0, 0, 0.0, 0.0);
        for _ in 0..n {
            unit += stream.unit();
            below += stream.below(11);
            let normal = stream.normal();
            sum += normal;
            squares += normal * normal;
        }
        let n = f64::from(n);
        // Five standard errors each.
        assert!((unit / n - 0.5).abs() < 5.0 * 0.289 / n.sqrt(), "{unit}");
        assert!((below as f64 / n - 5.0).abs() < 5.0 * 3.17 / n.sqrt(), "{below}");
        assert!((sum / n).abs() < 5.0 / n.sqrt(), "{sum}");
        assert!((squares / n - 1.0).abs() < 5.0 * 1.42 / n.sqrt(), "{squares}");
    }
}
