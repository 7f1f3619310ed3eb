//! Frames of a carrier.

use super::draft::millis;
use super::{Draft, Random};

pub fn draw(draft: &mut Draft, random: &mut Random) {
    if draft.orbit.is_some() {
        return;
    }
    for direction in draft.satellite.directions() {
        let frame_ms = random.log(1.0, 60.0);
        direction.access_s = frame_ms / 1e3;
        direction.keys.insert("frame".to_owned(), millis(frame_ms));
    }
}
