//! How users of a population have fared whose workload is no transfer: a call, or adaptive video.

use crate::metrics::PopulationMetrics;
use crate::user_values::UserValues;

/// What one user has met in one visit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Experience {
    /// A call.
    Call {
        /// Mean opinion score of its worse direction; `None` without audio.
        mos: Option<f64>,
        /// Mean delay of its frames, of the slowest stream, in ms; `None` if none arrived.
        frame_delay_ms: Option<f64>,
        /// Frames that were late or lost, of the worst stream, in percent.
        frames_missed_percent: Option<f64>,
    },
    /// Adaptive video.
    Video {
        /// Time until it began to play, in seconds; `None` if it never did.
        startup_s: Option<f64>,
        /// Number of stalls.
        stalls: Option<u64>,
        /// Time of stalls in percent of that from the start of the video to its end.
        stall_percent: Option<f64>,
        /// Mean bitrate of what was played, in kbps.
        bitrate_kbps: Option<f64>,
    },
}

impl Experience {
    /// Returns the mean opinion score.
    pub(crate) fn mos(&self) -> Option<f64> {
        match self {
            Self::Call { mos, .. } => *mos,
            Self::Video { .. } => None,
        }
    }

    /// Returns the mean delay of frames, in ms.
    pub(crate) fn frame_delay_ms(&self) -> Option<f64> {
        match self {
            Self::Call { frame_delay_ms, .. } => *frame_delay_ms,
            Self::Video { .. } => None,
        }
    }

    /// Returns the time of stalls in percent.
    pub(crate) fn stall_percent(&self) -> Option<f64> {
        match self {
            Self::Video { stall_percent, .. } => *stall_percent,
            Self::Call { .. } => None,
        }
    }

    /// Returns the mean bitrate in kbps.
    pub(crate) fn bitrate_kbps(&self) -> Option<f64> {
        match self {
            Self::Video { bitrate_kbps, .. } => *bitrate_kbps,
            Self::Call { .. } => None,
        }
    }
}

/// Returns `metrics` with those of the calls and videos among the users' `experiences`.
pub(crate) fn with_experiences(
    metrics: PopulationMetrics,
    experiences: &[Experience],
) -> PopulationMetrics {
    // A call in which nothing arrived, and a video that never began, are the worst of their kind.
    let calls = |read: fn(&Experience) -> Option<f64>| {
        let calls = experiences.iter().filter(|one| matches!(one, Experience::Call { .. }));
        UserValues::new(calls.map(read))
    };
    let videos = |read: fn(&Experience) -> Option<f64>| {
        let videos = experiences.iter().filter(|one| matches!(one, Experience::Video { .. }));
        UserValues::new(videos.map(read))
    };
    let known = |read: fn(&Experience) -> Option<f64>| {
        UserValues::new(experiences.iter().filter_map(read).map(Some))
    };
    let (scores, bitrates) = (known(Experience::mos), known(Experience::bitrate_kbps));
    let delays = calls(Experience::frame_delay_ms);
    let stalls = videos(Experience::stall_percent);
    let startups = videos(|one| match one {
        Experience::Video { startup_s, .. } => *startup_s,
        Experience::Call { .. } => None,
    });
    let missed = known(|one| match one {
        Experience::Call { frames_missed_percent, .. } => *frames_missed_percent,
        Experience::Video { .. } => None,
    });
    let stalled = known(|one| match one {
        Experience::Video { stalls, startup_s, .. } => {
            let smooth = *stalls == Some(0) && startup_s.is_some();
            Some(if smooth { 0.0 } else { 100.0 })
        }
        Experience::Call { .. } => None,
    });
    PopulationMetrics {
        median_mos: scores.quantile(0.5),
        p5_mos: scores.quantile(0.05),
        median_frame_delay_ms: delays.quantile(0.5),
        p95_frame_delay_ms: delays.quantile(0.95),
        mean_frames_missed_percent: missed.mean(),
        stalled_users_percent: stalled.mean(),
        mean_stall_percent: stalls.mean(),
        p95_stall_percent: stalls.quantile(0.95),
        median_startup_s: startups.quantile(0.5),
        p95_startup_s: startups.quantile(0.95),
        median_bitrate_kbps: bitrates.quantile(0.5),
        p5_bitrate_kbps: bitrates.quantile(0.05),
        ..metrics
    }
}
