//! The rates of both directions.

use super::{Draft, Random};

/// Slowest and fastest forward rate, in bits per second: a faster one costs packets and meets no
/// other code.
const FORWARD: (f64, f64) = (0.3e6, 60e6);
/// Smallest return rate, in bits per second, and its smallest share of the forward rate: 1 to 50 is
/// the most asymmetric of the profiles.
const RETURN: (f64, f64) = (0.15e6, 0.02);

pub fn draw(draft: &mut Draft, random: &mut Random) {
    let forward = random.log(FORWARD.0, FORWARD.1).round();
    let reverse = (forward * random.log(RETURN.1, 1.0)).max(RETURN.0).round();
    draft.satellite.set_rates(forward, reverse);
}
