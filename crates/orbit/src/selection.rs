//! Which of the satellites that it sees a station talks to.

use crate::topology::VisibleSatellite;
use bentpipe_units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a station chooses its satellite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SatelliteSelection {
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

/// The slots of [`SatelliteSelection::Slots`]: one each 15 s, the first 12 s after a minute begins.
pub(crate) const SLOT: Span = Span::from_secs(15);
/// When in a minute the first slot begins.
pub(crate) const SLOT_OFFSET: Span = Span::from_secs(12);

/// The satellite among `visible` (index into it) to attach to at `at`, where `current` is the one attached so far. `visible_until` tells until when a satellite will
/// be seen; it is costly and asked for only where it matters. `new_slot`: a slot has begun since the last choice.
pub(crate) fn choose(
    selection: SatelliteSelection,
    visible: &[VisibleSatellite],
    current: Option<u32>,
    new_slot: bool,
    visible_until: &mut dyn FnMut(u32) -> Time,
) -> Option<usize> {
    let kept = || current.and_then(|satellite| visible.iter().position(|sight| sight.satellite == satellite));
    // Sights stand highest first, so that among equals the first is the highest.
    let highest = if visible.is_empty() { None } else { Some(0) };
    match selection {
        SatelliteSelection::All | SatelliteSelection::Highest => highest,
        SatelliteSelection::Nearest => {
            (0..visible.len()).min_by(|&a, &b| visible[a].distance_m.total_cmp(&visible[b].distance_m))
        }
        SatelliteSelection::Longest => kept().or_else(|| {
            let mut best: Option<(Time, usize)> = None;
            for (index, sight) in visible.iter().enumerate() {
                let end = visible_until(sight.satellite);
                if best.is_none_or(|(longest, _)| end > longest) {
                    best = Some((end, index));
                }
            }
            best.map(|(_, index)| index)
        }),
        SatelliteSelection::Slots if new_slot => highest,
        SatelliteSelection::Slots => kept().or(highest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three satellites, highest first; the second is the nearest.
    fn visible() -> Vec<VisibleSatellite> {
        let sight = |satellite, elevation_deg, distance_m| VisibleSatellite { satellite, elevation_deg, distance_m };
        vec![sight(7, 80.0, 1_300e3), sight(3, 70.0, 600e3), sight(5, 40.0, 900e3)]
    }

    fn chosen(selection: SatelliteSelection, current: Option<u32>, new_slot: bool) -> Option<u32> {
        let visible = visible();
        // The lower it stands, the longer it stays.
        let mut visible_until = |satellite| Time::from_secs(if satellite == 5 { 300 } else { 100 });
        choose(selection, &visible, current, new_slot, &mut visible_until).map(|index| visible[index].satellite)
    }

    #[test]
    fn the_highest_is_taken_whichever_came_before() {
        assert_eq!(chosen(SatelliteSelection::Highest, Some(3), false), Some(7));
    }

    #[test]
    fn the_nearest_is_not_the_highest_across_shells() {
        assert_eq!(chosen(SatelliteSelection::Nearest, Some(7), false), Some(3));
    }

    #[test]
    fn the_longest_lived_is_taken_once_and_kept_until_it_is_lost() {
        assert_eq!(chosen(SatelliteSelection::Longest, None, false), Some(5));
        assert_eq!(chosen(SatelliteSelection::Longest, Some(7), true), Some(7));
        assert_eq!(chosen(SatelliteSelection::Longest, Some(99), false), Some(5));
    }

    #[test]
    fn a_slot_brings_the_highest_and_until_the_next_only_a_loss_does() {
        assert_eq!(chosen(SatelliteSelection::Slots, Some(5), false), Some(5));
        assert_eq!(chosen(SatelliteSelection::Slots, Some(5), true), Some(7));
        assert_eq!(chosen(SatelliteSelection::Slots, Some(99), false), Some(7));
    }

    #[test]
    fn who_sees_nothing_talks_to_nothing() {
        for selection in [
            SatelliteSelection::Highest,
            SatelliteSelection::Nearest,
            SatelliteSelection::Longest,
            SatelliteSelection::Slots,
        ] {
            assert_eq!(choose(selection, &[], Some(3), true, &mut |_| Time::ZERO), None);
        }
    }
}
