//! How far the satellite is: geostationary, medium or low orbit, or a path on the ground.

use super::{Draft, Random};

/// One-way delays in milliseconds: over a geostationary satellite from below it to the edge of its
/// view with processing; over O3b's orbit; over a low orbit; and between hosts on the ground.
const CLASSES: [(f64, f64); 4] = [(240.0, 330.0), (60.0, 80.0), (8.0, 30.0), (0.5, 40.0)];

pub fn draw(draft: &mut Draft, random: &mut Random) {
    let (low, high) = random.pick(&CLASSES);
    let delay_ms = random.between(low, high);
    for direction in draft.satellite.directions() {
        (direction.delay_ms, direction.longest_ms) = (delay_ms, delay_ms);
    }
}
