//! Time series, qlog and captures, which the determinism of a run includes.

use super::{Draft, Random, Stack};
use toml::Value;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    let mut set = |key: &str, value: Value| drop(draft.output.insert(key.to_owned(), value));
    set("time_series", Value::from(random.pick(&["first", "all"])));
    set("full_time_series", Value::from(random.chance(0.3)));
    set("qlog", Value::from(random.chance(0.6)));
    // Packets of QUIC are encrypted there, with keys of the operating system.
    let quic = draft.flows.iter().any(|flow| flow.stack == Stack::Quic);
    if draft.orbit.is_none() && random.chance(0.4) && !quic {
        let hop = if draft.others.is_empty() { "access" } else { "satellite" };
        draft.output.insert("capture".to_owned(), Value::from(hop));
    }
}
