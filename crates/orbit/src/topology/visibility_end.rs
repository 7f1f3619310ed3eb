//! The time at which a satellite sets.

use super::visibility::sees;
use crate::Network;
use bentpipe_units::{Span, Time};

/// Step of the search. Satellites in low orbits stay visible for minutes; a dip below the minimum
/// elevation for less than this is missed.
const LOOK: Span = Span::from_secs(10);
/// Limit of the search, beyond which satellites count as equal. It is longer than any pass in a low
/// orbit (ten minutes at 550 km, twenty at 1,200 km).
const HORIZON: Span = Span::from_secs(7_200);
/// Precision of the result.
const EXACT: Span = Span::from_millis(100);

/// Returns when `satellite`, visible at `at`, sets for station `index`: to a tenth of a second, at
/// most two hours ahead. A satellite whose orbit decays first counts as set then.
pub(super) fn visible_until(network: &Network, index: usize, satellite: u32, at: Time) -> Time {
    let seen = |at: Time| {
        let position = network.constellation().position(satellite as usize, network.begins(), at);
        position.is_ok_and(|position| sees(network, index, satellite, position))
    };
    let mut sure = at;
    let end = at + HORIZON;
    while sure < end {
        let mut lost = sure + LOOK;
        if seen(lost) {
            sure = lost;
            continue;
        }
        while lost.since(sure) > EXACT {
            let middle = sure + lost.since(sure) / 2;
            if seen(middle) { sure = middle } else { lost = middle }
        }
        return sure;
    }
    end
}
