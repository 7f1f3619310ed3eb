//! `abr`: adaptive video, whose player chooses the bitrate of each segment.

use super::clocks::Clocks;
use super::kind::Kind;
use super::transfer::{PlannedObject, Transfer};
use crate::error::Problem;
use crate::limits::{self, Check};
use bentpipe_results::Direction;
use bentpipe_units::{Rate, Ratio, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// Most levels of a ladder. `robust-mpc` tries the fifth power of their number for each segment.
const MOST_LEVELS: usize = 10;
/// Most segments. Each is an object of the results.
const MOST_SEGMENTS: u64 = 2_000;
/// Shortest segment.
const SHORTEST: Span = Span::from_millis(100);
/// Ladder by default, in kbps: that of Pensieve's video.
const LADDER: [u64; 6] = [300, 750, 1_200, 1_850, 2_850, 4_300];

/// Adaptive video: a player requests one segment after the other, each at a bitrate that it
/// chooses.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Abr {
    /// Media time of the video, rounded up to whole segments.
    #[schemars(with = "Span")]
    pub duration: Spanned<Span>,
    /// Bitrates that the video has, ascending; 300, 750, 1200, 1850, 2850 and 4300 kbps by default.
    #[schemars(with = "Option<Vec<Rate>>", length(min = 1, max = 10))]
    pub ladder: Option<Spanned<Vec<Rate>>>,
    /// Media time of a segment; 4 s by default.
    #[schemars(with = "Option<Span>")]
    pub segment: Option<Spanned<Span>>,
    /// Coefficient of variation of the sizes of segments, drawn once with the seed; 0 by default.
    #[schemars(with = "Option<Ratio>")]
    pub size_variation: Option<Spanned<Ratio>>,
    /// How the player chooses bitrates.
    #[serde(default)]
    pub algorithm: AbrAlgorithm,
    /// Media time in the buffer from which on it plays; one segment by default.
    #[schemars(with = "Option<Span>")]
    pub start_buffer: Option<Spanned<Span>>,
    /// Media time in the buffer above which it requests nothing; 60 s by default.
    #[schemars(with = "Option<Span>")]
    pub max_buffer: Option<Spanned<Span>>,
}

/// How a player chooses bitrates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AbrAlgorithm {
    /// The largest within 0.9 of the estimated throughput (dash.js).
    Throughput,
    /// By the buffer alone, linear from 5 to 15 s (Pensieve's baseline).
    Buffer,
    /// BOLA (Spiteri et al. 2016; dash.js).
    Bola,
    /// `throughput`, and `bola` with a full buffer (dash.js).
    #[default]
    Dynamic,
    /// Model-predictive control over five segments (Yin et al. 2015, Pensieve's baseline).
    RobustMpc,
}

impl Abr {
    /// The clocks that can run it.
    pub(super) const CLOCKS: Clocks = Clocks::RealTcp;

    pub(super) fn check(&self, limit: Span) -> Check {
        super::transfer::duration(&self.duration, limit)?;
        self.check_ladder()?;
        if let Some(segment) = self.segment.as_ref().filter(|one| *one.get_ref() < SHORTEST) {
            let message =
                format!("`segment` of {segment} is too short; allowed: {SHORTEST} or longer");
            return Err(Problem::new(segment.span(), message));
        }
        if self.segments() > MOST_SEGMENTS {
            let message = format!(
                "{} segments are too many; allowed: up to {MOST_SEGMENTS}",
                self.segments()
            );
            return Err(Problem::new(self.duration.span(), message));
        }
        let (segment, start) = (self.segment(), self.start_buffer.as_ref());
        start.map_or(Ok(()), |start| limits::above_zero("start_buffer", start))?;
        // The buffer must be able to reach what playing needs.
        let least = self.start_buffer().max(segment);
        match self.max_buffer.as_ref().filter(|most| *most.get_ref() < least) {
            Some(most) => {
                let message = format!(
                    "`max_buffer` of {most} is less than a segment or `start_buffer`; allowed: \
                     {least} or more"
                );
                Err(Problem::new(most.span(), message))
            }
            None => Ok(()),
        }
    }

    fn check_ladder(&self) -> Check {
        let Some(ladder) = &self.ladder else { return Ok(()) };
        let rates = ladder.get_ref();
        let problem = |message: String| Err(Problem::new(ladder.span(), message));
        if rates.is_empty() || rates.len() > MOST_LEVELS {
            return problem(format!(
                "a `ladder` of {} bitrates; allowed: 1 to {MOST_LEVELS}",
                rates.len()
            ));
        }
        let bounds = Rate::from_bps(1_000)..=Rate::from_mbps(1_000);
        if let Some(rate) = rates.iter().find(|rate| !bounds.contains(rate)) {
            return problem(format!(
                "a bitrate of {rate} is out of range; allowed: {} to {}",
                bounds.start(),
                bounds.end()
            ));
        }
        match rates.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => problem(format!(
                "the `ladder` has {} before {}; allowed: ascending bitrates",
                pair[0], pair[1]
            )),
            None => Ok(()),
        }
    }

    /// Returns the bitrates.
    pub fn ladder(&self) -> Vec<Rate> {
        let default = || LADDER.iter().map(|kbps| Rate::from_bps(kbps * 1_000)).collect();
        self.ladder.as_ref().map_or_else(default, |ladder| ladder.get_ref().clone())
    }

    /// Returns the media time of a segment.
    pub fn segment(&self) -> Span {
        self.segment.as_ref().map_or(Span::from_secs(4), |segment| *segment.get_ref())
    }

    /// Returns the number of segments.
    pub fn segments(&self) -> u64 {
        self.duration.get_ref().as_nanos().div_ceil(self.segment().as_nanos().max(1))
    }

    /// Returns the coefficient of variation of sizes.
    pub fn size_variation(&self) -> Ratio {
        self.size_variation.as_ref().map_or(Ratio::ZERO, |variation| *variation.get_ref())
    }

    /// Returns the media time from which on the player plays.
    pub fn start_buffer(&self) -> Span {
        self.start_buffer.as_ref().map_or(self.segment(), |buffer| *buffer.get_ref())
    }

    /// Returns the media time above which the player requests nothing.
    pub fn max_buffer(&self) -> Span {
        let default = Span::from_secs(60).max(self.start_buffer()).max(self.segment());
        self.max_buffer.as_ref().map_or(default, |buffer| *buffer.get_ref())
    }
}

impl Kind for Abr {
    fn key(&self) -> &'static str {
        "abr"
    }

    fn clocks(&self) -> Clocks {
        Self::CLOCKS
    }

    /// The sizes are those of the lowest bitrate, until the player decides.
    fn transfer(&self, _seed: u64) -> Transfer {
        let lowest = self.ladder().first().map(|rate| rate.bytes_in(self.segment()));
        let segment = |index: u64| PlannedObject {
            after: index.checked_sub(1).map(|before| before as usize).into_iter().collect(),
            ..PlannedObject::new(&format!("segment-{}", index + 1), lowest.unwrap_or_default())
        };
        let objects = (0..self.segments()).map(segment).collect();
        Transfer { direction: Direction::Download, objects, duration: None }
    }

    fn suits_users(&self) -> bool {
        true
    }

    fn has_size(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Abr, String> {
        let abr: Abr = toml::from_str(text).map_err(|error| error.to_string())?;
        abr.check(Span::from_secs(600)).map_err(|problem| problem.message)?;
        Ok(abr)
    }

    #[test]
    fn a_video_has_whole_segments() {
        let abr = check("duration = \"194 s\"").unwrap();
        assert_eq!((abr.segments(), abr.transfer(1).objects.len()), (49, 49));
        assert_eq!(abr.transfer(1).objects[2].after, [1]);
        assert_eq!((abr.start_buffer(), abr.max_buffer()), (abr.segment(), Span::from_secs(60)));
    }

    #[test]
    fn values_out_of_range_name_what_is_allowed() {
        let cases = [
            ("ladder = []", "1 to 10"),
            ("ladder = [\"2 Mbps\", \"1 Mbps\"]", "ascending"),
            ("ladder = [\"10 bps\"]", "1 kbps to 1 Gbps"),
            ("segment = \"10 ms\"", "100 ms or longer"),
            ("segment = \"200 ms\"", "up to 2000"),
            ("max_buffer = \"3 s\"", "4 s or more"),
            ("algorithm = \"best\"", "robust-mpc"),
        ];
        for (keys, allowed) in cases {
            let error = check(&format!("duration = \"500 s\"\n{keys}")).unwrap_err();
            assert!(error.contains(allowed), "{keys}: {error}");
        }
    }
}
