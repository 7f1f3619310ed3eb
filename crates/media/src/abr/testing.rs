//! The video of the tests.

use super::ladder::{AdaptiveVideo, Algorithm};
use bentpipe_units::{Rate, Ratio, Span};

/// Bitrates of Pensieve's video in kbps.
pub const PENSIEVE: [u64; 6] = [300, 750, 1_200, 1_850, 2_850, 4_300];

/// Returns a video of 49 segments of 4 s at these bitrates in kbps, all of the same size.
pub fn video(kbps: [u64; 6], algorithm: Algorithm) -> AdaptiveVideo {
    let ladder: Vec<Rate> = kbps.iter().map(|kbps| Rate::from_bps(kbps * 1_000)).collect();
    let segment = Span::from_secs(4);
    let sizes = AdaptiveVideo::draw_sizes(&ladder, segment, 49, Ratio::ZERO, 1);
    AdaptiveVideo {
        ladder,
        segment,
        sizes,
        algorithm,
        start_buffer: segment,
        max_buffer: Span::from_secs(60),
    }
}
