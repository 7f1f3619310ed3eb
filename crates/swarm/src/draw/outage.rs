//! Times without a rate, and with another one, until the faults end.

use super::draft::{bps, millis, table};
use super::{Draft, Random};
use toml::Value;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    if draft.orbit.is_some() {
        return;
    }
    let end_ms = draft.faults_end_s * 1e3;
    let both = random.chance(0.5);
    let (first, last) = (random.between(0.0, 0.5), random.between(0.5, 1.0));
    for (index, direction) in draft.satellite.directions().into_iter().enumerate() {
        if index == 1 && !both {
            break;
        }
        let mut steps = vec![table([("at", Value::from("0 s")), ("rate", bps(direction.rate))])];
        let times = random.whole(1, 3);
        for number in 0..times {
            let at = (first + (last - first) * number as f64 / times as f64) * end_ms + 1.0;
            let length = (last - first) * end_ms / times as f64 * random.between(0.05, 0.95);
            let rate =
                if random.chance(0.6) { 0.0 } else { direction.rate * random.log(0.05, 3.0) };
            steps.push(table([("at", millis(at)), ("rate", bps(rate))]));
            steps.push(table([("at", millis(at + length + 0.1)), ("rate", bps(direction.rate))]));
        }
        direction.keys.insert("rate".to_owned(), table([("schedule", Value::Array(steps))]));
    }
}
