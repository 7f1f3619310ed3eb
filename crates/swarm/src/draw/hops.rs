//! Hops before and behind the satellite.

use super::draft::Hop;
use super::{Draft, Random};

pub fn draw(draft: &mut Draft, random: &mut Random) {
    if draft.orbit.is_some() {
        return;
    }
    let mut hop = |name, low: f64, high: f64, far_ms: f64| {
        let rates = (random.log(low, high).round(), random.log(low, high).round());
        Hop::new(name, rates, random.log(0.2, far_ms))
    };
    draft.others = vec![hop("lan", 5e6, 300e6, 5.0), hop("internet", 2e6, 300e6, 60.0)];
    if random.chance(0.4) {
        draft.others.truncate(1);
    }
}
