//! Code points by which queues of strict priority know flows.

use super::{Draft, Random};
use toml::Value;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    for flow in &mut draft.flows {
        if random.chance(0.5) {
            let dscp = random.pick(&["EF", "VA", "AF41", "CS1"]);
            flow.keys.insert("dscp".to_owned(), Value::from(dscp));
        }
    }
}
