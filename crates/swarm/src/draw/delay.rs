//! Delays that vary: jitter, with reordering or not, or steps until the faults end.

use super::draft::{millis, table};
use super::{Draft, Random};
use toml::Value;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    if draft.orbit.is_some() {
        return;
    }
    let end_ms = draft.faults_end_s * 1e3;
    for direction in draft.satellite.directions() {
        let base = direction.delay_ms;
        let keep_order = Value::from(random.chance(0.6));
        let delay = if random.chance(0.6) {
            let jitter = base * random.log(0.001, 0.5);
            // Five standard deviations of the normal distribution.
            direction.longest_ms = base + 5.0 * jitter;
            table([
                ("base", millis(base)),
                ("jitter", millis(jitter)),
                ("distribution", Value::from(random.pick(&["uniform", "normal"]))),
                ("keep_order", keep_order),
            ])
        } else {
            let mut steps = vec![table([("at", Value::from("0 s")), ("delay", millis(base))])];
            let mut at = 0.0;
            for _ in 0..random.whole(1, 4) {
                at += random.between(0.02, 0.24) * end_ms;
                let delay = base * random.log(0.3, 3.0);
                direction.longest_ms = direction.longest_ms.max(delay);
                steps.push(table([("at", millis(at)), ("delay", millis(delay))]));
            }
            table([
                ("schedule", Value::Array(steps)),
                ("interpolate", Value::from(random.chance(0.3))),
                ("keep_order", keep_order),
            ])
        };
        direction.keys.insert("delay".to_owned(), delay);
    }
}
