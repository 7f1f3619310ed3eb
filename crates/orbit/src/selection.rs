//! Satellite selection of stations.

use bentpipe_units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A satellite above a station's minimum elevation and within range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisibleSatellite {
    /// Index of the satellite.
    pub satellite: u32,
    /// Elevation in degrees.
    pub elevation_deg: f64,
    /// Distance in metres.
    pub distance_m: f64,
}

/// How a station selects its satellite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SatelliteSelection {
    /// Uses all visible satellites; routing decides. For gateways.
    #[default]
    All,
    /// The satellite with the highest elevation.
    Highest,
    /// The nearest satellite.
    Nearest,
    /// Keeps its satellite until it sets, then takes the one with the longest remaining visibility.
    Longest,
    /// Reselects at fixed times, common to all stations: seconds 12, 27, 42 and 57 of each minute
    /// (Starlink). Takes the satellite with the highest elevation and keeps it until the next slot,
    /// or until it sets.
    Slots,
}

/// Length of the slots of [`SatelliteSelection::Slots`]. The first begins 12 s into a minute.
pub(crate) const SLOT: Span = Span::from_secs(15);
/// Start of the first slot within a minute.
pub(crate) const SLOT_OFFSET: Span = Span::from_secs(12);

/// Selects a satellite: returns an index into `visible`, given the `current` satellite.
///
/// `visible_until` returns when a satellite sets; it is costly and only called if needed.
/// `new_slot` is true if a slot has started since the last selection.
pub(crate) fn choose(
    selection: SatelliteSelection,
    visible: &[VisibleSatellite],
    current: Option<u32>,
    new_slot: bool,
    visible_until: &mut dyn FnMut(u32) -> Time,
) -> Option<usize> {
    let kept = || {
        current.and_then(|satellite| visible.iter().position(|sight| sight.satellite == satellite))
    };
    // Sorted by elevation: among equals, the first counts as the highest.
    let highest = if visible.is_empty() { None } else { Some(0) };
    match selection {
        SatelliteSelection::All | SatelliteSelection::Highest => highest,
        SatelliteSelection::Nearest => (0..visible.len())
            .min_by(|&a, &b| visible[a].distance_m.total_cmp(&visible[b].distance_m)),
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

    /// Returns three satellites, highest first; the second is the nearest.
    fn visible() -> Vec<VisibleSatellite> {
        let sight = |satellite, elevation_deg, distance_m| VisibleSatellite {
            satellite,
            elevation_deg,
            distance_m,
        };
        vec![sight(7, 80.0, 1_300e3), sight(3, 70.0, 600e3), sight(5, 40.0, 900e3)]
    }

    fn chosen(selection: SatelliteSelection, current: Option<u32>, new_slot: bool) -> Option<u32> {
        let visible = visible();
        // The lower a satellite is, the longer it stays.
        let mut visible_until = |satellite| Time::from_secs(if satellite == 5 { 300 } else { 100 });
        choose(selection, &visible, current, new_slot, &mut visible_until)
            .map(|index| visible[index].satellite)
    }

    #[test]
    fn the_highest_is_selected_regardless_of_the_current_one() {
        assert_eq!(chosen(SatelliteSelection::Highest, Some(3), false), Some(7));
    }

    #[test]
    fn the_nearest_need_not_be_the_highest_across_shells() {
        assert_eq!(chosen(SatelliteSelection::Nearest, Some(7), false), Some(3));
    }

    #[test]
    fn the_longest_visible_is_selected_and_kept_until_it_sets() {
        assert_eq!(chosen(SatelliteSelection::Longest, None, false), Some(5));
        assert_eq!(chosen(SatelliteSelection::Longest, Some(7), true), Some(7));
        assert_eq!(chosen(SatelliteSelection::Longest, Some(99), false), Some(5));
    }

    #[test]
    fn a_slot_selects_the_highest_and_keeps_it_until_the_next_slot_or_its_loss() {
        assert_eq!(chosen(SatelliteSelection::Slots, Some(5), false), Some(5));
        assert_eq!(chosen(SatelliteSelection::Slots, Some(5), true), Some(7));
        assert_eq!(chosen(SatelliteSelection::Slots, Some(99), false), Some(7));
    }

    #[test]
    fn without_visible_satellites_none_is_selected() {
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
