//! `video`: segments of a stream, each requested at its time.

use super::clocks::Clocks;
use super::kind::Kind;
use super::transfer::{PlannedObject, Transfer};
use crate::error::Problem;
use bentpipe_results::Direction;
use bentpipe_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// Segments of a video, requested at regular times whether or not earlier ones have arrived. A
/// segment that is complete after its successor was requested would have stalled a player that
/// buffers one segment.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Size of a segment.
    #[schemars(with = "Bytes")]
    pub segment: Spanned<Bytes>,
    /// Time between two requests; usual streams have 2 to 10 s.
    #[schemars(with = "Span")]
    pub interval: Spanned<Span>,
    /// Number of segments.
    #[schemars(with = "u64", range(min = 1, max = 1000))]
    pub segments: Spanned<u64>,
}

impl Video {
    /// The clocks that can run it.
    pub(super) const CLOCKS: Clocks = Clocks::RealTcp;

    pub(super) fn check(&self, limit: Span) -> Result<(), Problem> {
        super::transfer::above_zero(&self.segment)?;
        crate::limits::between("segments", &self.segments, 1, 1000)?;
        crate::limits::above_zero("interval", &self.interval)?;
        let last = *self.interval.get_ref() * (*self.segments.get_ref() - 1);
        if last <= limit {
            return Ok(());
        }
        let message = format!(
            "the last segment is requested after {last}, beyond the `time_limit`; allowed: up to \
             {limit}"
        );
        Err(Problem::new(self.interval.span(), message))
    }
}

impl Kind for Video {
    fn key(&self) -> &'static str {
        "video"
    }

    fn clocks(&self) -> Clocks {
        Self::CLOCKS
    }

    fn transfer(&self, _seed: u64) -> Transfer {
        let segment = |index: u64| PlannedObject {
            delay: *self.interval.get_ref() * index,
            ..PlannedObject::new(&format!("segment-{}", index + 1), *self.segment.get_ref())
        };
        let objects = (0..*self.segments.get_ref()).map(segment).collect();
        Transfer { direction: Direction::Download, objects, duration: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn video(text: &str) -> Video {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn each_segment_is_requested_one_interval_after_the_one_before() {
        let video = video("segment = \"1 MB\"\ninterval = \"4 s\"\nsegments = 3\n");
        assert!(video.check(Span::from_secs(8)).is_ok());
        let delays = video.transfer(1).objects.into_iter().map(|object| object.delay);
        assert_eq!(delays.collect::<Vec<_>>(), [0, 4, 8].map(Span::from_secs));
    }

    #[test]
    fn a_stream_longer_than_the_time_limit_is_refused() {
        let video = video("segment = \"1 MB\"\ninterval = \"4 s\"\nsegments = 3\n");
        let problem = video.check(Span::from_secs(7)).unwrap_err();
        assert!(problem.message.contains("after 8 s"), "{}", problem.message);
    }
}
