//! Other rates, RTTs and outages at each change of the satellite. They do not end with the faults.

use super::draft::{millis, table};
use super::{Draft, Random};
use toml::Value;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    let satellite = &draft.satellite;
    let changes = |key: &str| {
        satellite.forward.keys.contains_key(key) || satellite.reverse.keys.contains_key(key)
    };
    // It changes constant rates and delays of a path of one hop.
    let varies = ["rate", "delay", "allocation"].into_iter().any(changes);
    if draft.orbit.is_some() || !draft.others.is_empty() || varies {
        return;
    }
    let period_ms = random.log(5e3, 20e3);
    let (low, high) = (random.between(0.3, 1.0), random.between(1.0, 2.0));
    let shortest = satellite.forward.delay_ms.min(satellite.reverse.delay_ms);
    let step_ms = random.between(0.0, shortest);
    let longest_ms = random.log(10.0, 500.0);
    let change = table([
        ("period", millis(period_ms)),
        ("length", millis(period_ms * random.between(1.0, 20.0))),
        ("rate_factor", Value::Array(vec![Value::from(low), Value::from(high)])),
        ("rtt_step", millis(step_ms)),
        ("outage", Value::Array(vec![millis(5.0), millis(longest_ms)])),
        ("outage_probability", Value::from(random.between(0.0, 1.0))),
        ("outage_loss", Value::from(random.between(0.0, 1.0))),
    ]);
    draft.path.insert("reconfiguration".to_owned(), change);
    for direction in draft.satellite.directions() {
        direction.assured *= low;
        direction.longest_ms += step_ms;
        direction.access_s += longest_ms / 1e3;
    }
}
