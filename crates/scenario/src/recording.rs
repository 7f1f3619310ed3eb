//! `[path.recording]`: which part of its recordings a path replays.

use super::orbit_text::Begin;
use crate::error::Problem;
use crate::limits::Check;
use bentpipe_link::{AtEnd, DirectionPatch, FadeConfig, LossModel, RateConfig};
use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// The clock of the recordings and rate traces of a path: one for all hops and both directions.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordingSection {
    /// Time in the recordings at which a run begins; 0 s by default. `random` draws one for each
    /// run.
    #[schemars(with = "Option<Begin>")]
    pub start: Option<Spanned<Begin>>,
    /// What follows the end of the recordings: `cut` (the default) cuts all to the length of the
    /// shortest and begins again, `hold` keeps the last values, `end` refuses longer runs.
    #[serde(rename = "loop")]
    #[schemars(with = "Option<AtEnd>")]
    pub at_end: Option<Spanned<AtEnd>>,
    /// Cuts the recordings to a multiple of this, and draws `start` in multiples of it.
    #[schemars(with = "Option<Span>")]
    pub period: Option<Spanned<Span>>,
    /// Time in the recordings of a change of the path, such as a reconfiguration; one follows each
    /// `period`. Only notices use it (`path.path_change_notice`).
    #[schemars(with = "Option<Span>")]
    pub change: Option<Spanned<Span>>,
    /// `hold` keeps the last value where nothing was measured, however long; by default, five steps
    /// of the recording are the most.
    pub fill: Option<Fill>,
}

/// What to do where nothing was measured for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// Keep the last value.
    Hold,
}

/// Checks that a link of an orbit replays no recording.
pub(crate) fn not_recorded(patch: &Spanned<DirectionPatch>) -> Check {
    let DirectionPatch { recording, rate, loss, .. } = patch.get_ref();
    let mut losses = loss.iter().flat_map(|loss| &loss.processes);
    let is_recorded = |rate: &RateConfig| match rate {
        RateConfig::Recording { .. } => true,
        RateConfig::Acm(acm) => matches!(acm.fade, FadeConfig::Recording(_)),
        _ => false,
    };
    if recording.is_none()
        && !rate.as_ref().is_some_and(is_recorded)
        && !losses.any(|loss| matches!(loss.model, LossModel::Recording(_)))
    {
        return Ok(());
    }
    let message = "links of an orbit replay no recordings; allowed: hops";
    Err(Problem::new(patch.span(), message))
}
