//! How long a satellite will be seen.

use super::visibility::sees;
use crate::Network;
use bentpipe_units::{Span, Time};

/// How finely the future is looked at. Satellites in low orbits stay for minutes; one that dips under the limit for less than this is not noticed.
const LOOK: Span = Span::from_secs(10);
/// How far ahead: beyond it satellites count as equals. Longer than any pass of a low orbit (ten minutes at 550 km, twenty at 1,200 km).
const HORIZON: Span = Span::from_secs(7_200);
/// How exactly the end is told.
const EXACT: Span = Span::from_millis(100);

/// Until when station `index` will see `satellite`, which it sees at `at`: to a tenth of a second, and two hours from now at most. A satellite whose orbit
/// ends before counts as lost then.
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
