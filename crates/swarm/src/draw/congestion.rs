//! Controllers, slow-start algorithms and windows of the senders.

use super::{Draft, Random};
use bentpipe_quic::congestion::catalogue::{CONTROLLERS, SLOW_STARTS};
use toml::{Table, Value};

pub fn draw(draft: &mut Draft, random: &mut Random) {
    for flow in draft.controlled() {
        if random.chance(0.3) {
            let preset = random.pick(&["bentpipe", "rfc", "draft"]);
            flow.keys.insert("preset".to_owned(), Value::from(preset));
        }
        flow.keys.extend(keys(random));
        if random.chance(0.3) {
            let window = random.log(1.0, 200.0) as i64;
            flow.keys.insert("initial_window".to_owned(), Value::from(window));
        }
        if random.chance(0.15) {
            let window = format!("{:.0} kB", random.log(20.0, 2000.0));
            flow.keys.insert("max_window".to_owned(), Value::from(window));
        }
    }
}

/// Draws a controller and a slow-start algorithm, each of all that there are.
pub fn keys(random: &mut Random) -> Table {
    let controllers: Vec<&str> = CONTROLLERS.iter().map(|registered| registered.name).collect();
    let mut starts: Vec<&str> = SLOW_STARTS.iter().map(|registered| registered.name).collect();
    starts.extend(["auto", "standard"]);
    Table::from_iter([
        ("congestion".to_owned(), Value::from(random.pick(&controllers))),
        ("slow_start".to_owned(), Value::from(random.pick(&starts))),
    ])
}
