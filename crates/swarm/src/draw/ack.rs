//! When receivers acknowledge.

use super::draft::millis;
use super::{Draft, Random, Stack};
use toml::Value;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    for flow in draft.controlled() {
        let every = format!("1:{}", random.log(1.0, 40.0) as u64);
        let rule = match (flow.stack, random.whole(0, 3)) {
            (_, 0) => "stack".to_owned(),
            (_, 1) | (Stack::Tcp, _) => every,
            (_, 2) => random.pick(&["rtt/4", "auto"]).to_owned(),
            _ => format!("{every} for {}, then 1:{}", random.whole(1, 200), random.whole(2, 40)),
        };
        flow.keys.insert("ack".to_owned(), Value::from(rule));
        if random.chance(0.3) {
            flow.keys.insert("max_ack_delay".to_owned(), millis(random.log(1.0, 200.0)));
        }
    }
}
