//! Which of the satellites that it sees a station talks to.

use crate::topology::Sight;
use bentpipe_units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a station chooses its satellite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Selection {
    /// It talks to all that it sees at once: routes decide. Gateways do.
    #[default]
    All,
    /// The one that stands highest.
    Highest,
    /// The nearest.
    Nearest,
    /// It keeps its satellite until that one is lost, then takes the one that will be seen longest.
    Longest,
    /// A new choice at fixed times for everyone: at seconds 12, 27, 42, 57 of each minute (Starlink), the highest then; it keeps that one until the next
    /// slot, or until it is lost.
    Slots,
}

/// The slots of [`Selection::Slots`]: one each 15 s, the first 12 s after a minute begins.
pub(crate) const SLOT: Span = Span::from_secs(15);
/// When in a minute the first slot begins.
pub(crate) const SLOT_OFFSET: Span = Span::from_secs(12);

/// The satellite among `sights` (index into it) to attach to at `at`, where `current` is the one attached so far. `lives` tells until when a satellite will
/// be seen; it is costly and asked for only where it matters. `new_slot`: a slot has begun since the last choice.
pub(crate) fn choose(
    selection: Selection,
    sights: &[Sight],
    current: Option<u32>,
    new_slot: bool,
    lives: &mut dyn FnMut(u32) -> Time,
) -> Option<usize> {
    let kept = || current.and_then(|satellite| sights.iter().position(|sight| sight.satellite == satellite));
    // Sights stand highest first, so that among equals the first is the highest.
    let highest = if sights.is_empty() { None } else { Some(0) };
    match selection {
        Selection::All | Selection::Highest => highest,
        Selection::Nearest => (0..sights.len()).min_by(|&a, &b| sights[a].distance_m.total_cmp(&sights[b].distance_m)),
        Selection::Longest => kept().or_else(|| {
            let mut best: Option<(Time, usize)> = None;
            for (index, sight) in sights.iter().enumerate() {
                let end = lives(sight.satellite);
                if best.is_none_or(|(longest, _)| end > longest) {
                    best = Some((end, index));
                }
            }
            best.map(|(_, index)| index)
        }),
        Selection::Slots if new_slot => highest,
        Selection::Slots => kept().or(highest),
    }
}
