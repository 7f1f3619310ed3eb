//! Starts that jitter delays.

use super::draft::millis;
use super::{Draft, Random};

pub fn draw(draft: &mut Draft, random: &mut Random) {
    for flow in draft.controlled() {
        flow.placement.insert("start_jitter".to_owned(), millis(random.log(1.0, 5000.0)));
    }
}
