//! A policer before a queue.

use super::draft::{bps, bytes, table};
use super::{Draft, Random};

pub fn draw(draft: &mut Draft, random: &mut Random) {
    let upload = random.chance(0.3);
    let [forward, reverse] = draft.satellite.directions();
    let direction = if upload { reverse } else { forward };
    // A burst of ten packets lets the smallest window of each of a few flows pass.
    let (rate, burst) = (direction.rate * random.log(0.3, 1.5), random.log(15e3, 500e3));
    let policer = table([("rate", bps(rate)), ("burst", bytes(burst))]);
    direction.keys.insert("policer".to_owned(), policer);
    direction.assured = direction.assured.min(rate);
}
