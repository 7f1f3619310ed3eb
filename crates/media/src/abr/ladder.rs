//! A video at several bitrates, cut into segments.

use bentpipe_link::random::stream;
use bentpipe_units::{Bytes, Rate, Ratio, Span};

/// What a second of stall costs in the linear quality of experience, in Mbps: Pensieve.
pub const STALL_PENALTY: f64 = 4.3;

/// A video at several bitrates, and how its player treats its buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdaptiveVideo {
    /// Bitrates of the levels, ascending, at least one.
    pub ladder: Vec<Rate>,
    /// Media time of a segment.
    pub segment: Span,
    /// Bytes of each segment at each level: `sizes[segment][level]`.
    pub sizes: Vec<Vec<u64>>,
    /// How the player chooses levels.
    pub algorithm: Algorithm,
    /// Media time in the buffer from which on the player plays.
    pub start_buffer: Span,
    /// Media time in the buffer above which the player requests nothing.
    pub max_buffer: Span,
}

/// How a player chooses the level of the next segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// By throughput alone, as dash.js.
    Throughput,
    /// By the buffer alone, linearly (Huang et al., SIGCOMM 2014, with the numbers of Pensieve).
    Buffer,
    /// BOLA (Spiteri et al., INFOCOM 2016), as dash.js.
    Bola,
    /// Throughput, and BOLA with a full buffer: the default of dash.js.
    #[default]
    Dynamic,
    /// Model-predictive control (Yin et al., SIGCOMM 2015), robust variant.
    RobustMpc,
}

impl AdaptiveVideo {
    /// Returns the sizes of `segments` segments at each level. Those of a segment have a common
    /// factor, its complexity, drawn with `seed` from the lognormal distribution with mean 1 and
    /// this coefficient of variation.
    pub fn draw_sizes(
        ladder: &[Rate],
        segment: Span,
        segments: usize,
        variation: Ratio,
        seed: u64,
    ) -> Vec<Vec<u64>> {
        let sigma = libm::sqrt(libm::log(1.0 + variation.get() * variation.get()));
        let mut draws = stream(seed, 0, "abr/sizes");
        let mut sizes = Vec::with_capacity(segments);
        for _ in 0..segments {
            let factor = match sigma > 0.0 {
                true => libm::exp(sigma * draws.normal() - sigma * sigma / 2.0),
                false => 1.0,
            };
            let bytes = |rate: &Rate| rate.bytes_in(segment).mul_f64(factor).get().max(1);
            sizes.push(ladder.iter().map(bytes).collect());
        }
        sizes
    }

    /// Returns the number of segments.
    pub fn segments(&self) -> usize {
        self.sizes.len()
    }

    /// Returns the size of a segment at a level; zero if there is no such segment.
    pub fn size(&self, segment: usize, level: usize) -> Bytes {
        let size = self.sizes.get(segment).and_then(|levels| levels.get(level));
        Bytes::new(size.copied().unwrap_or(0))
    }

    /// Returns the number of the highest level.
    pub fn top(&self) -> usize {
        self.ladder.len().saturating_sub(1)
    }

    /// Returns the bitrate of a level in Mbps.
    pub fn mbps(&self, level: usize) -> f64 {
        self.ladder.get(level).map_or(0.0, |rate| rate.as_mbps_f64())
    }

    /// Returns what a segment at a level adds to the linear quality of experience, stalls aside:
    /// its bitrate less the change from the level before, in Mbps.
    pub fn quality(&self, level: usize, last: usize) -> f64 {
        self.mbps(level) - (self.mbps(level) - self.mbps(last)).abs()
    }

    /// Returns the highest level of at most this rate in Mbps; the lowest one if there is none.
    pub fn highest_within(&self, mbps: f64) -> usize {
        self.ladder.iter().rposition(|rate| rate.as_mbps_f64() <= mbps).unwrap_or(0)
    }
}
