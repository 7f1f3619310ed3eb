//! Moving satellites instead of a hop.

use super::draft::table;
use super::{Draft, Random};
use toml::{Table, Value};

/// Cities within sight of every shell below, at any time.
const CITIES: [&str; 5] = ["Paris", "New York", "Tokyo", "Buenos Aires", "Sydney"];

pub fn draw(draft: &mut Draft, random: &mut Random) {
    let mut orbit = Table::new();
    if random.chance(0.5) {
        orbit.insert("constellation".to_owned(), Value::from("starlink-550"));
    } else {
        // Iridium's geometry, which covers the Earth with few satellites.
        let shell = table([
            ("name", Value::from("polar")),
            ("planes", Value::from(6)),
            ("per_plane", Value::from(11)),
            ("inclination_deg", Value::from(86.4)),
            ("altitude", Value::from("780 km")),
            ("raan_spread_deg", Value::from(180.0)),
            ("min_elevation_deg", Value::from(8.2)),
        ]);
        orbit.insert("shell".to_owned(), Value::Array(vec![shell]));
    }
    let at = format!("{:.1} s", random.between(0.0, 6000.0));
    orbit.insert("at".to_owned(), Value::from(at));
    if random.chance(0.3) {
        orbit.insert("static".to_owned(), Value::from(true));
    }
    if random.chance(0.3) {
        orbit.insert("route_updates".to_owned(), Value::from("event-driven"));
    }
    if random.chance(0.6) {
        let selection = random.pick(&["highest", "nearest", "longest"]);
        orbit.insert("satellite_selection".to_owned(), Value::from(selection));
        if random.chance(0.7) {
            let outage = format!("{:.0} ms", random.between(10.0, 300.0));
            orbit.insert("handover_outage".to_owned(), Value::from(outage));
        }
        let lost = random.pick(&["none", "queued", "in-flight"]);
        orbit.insert("handover_loss".to_owned(), Value::from(lost));
    }
    if random.chance(0.2) {
        orbit.insert("shared_ground_link".to_owned(), Value::from(true));
    }
    if random.chance(0.3) && !orbit.contains_key("static") {
        orbit.insert("path_change_notice".to_owned(), Value::from("500 ms"));
    }
    draft.orbit = Some(orbit);
    // Links of both directions are alike, up to ten of them, each half around the Earth at most.
    let rate = draft.satellite.forward.rate;
    draft.satellite.set_rates(rate, rate);
    for direction in draft.satellite.directions() {
        (direction.delay_ms, direction.longest_ms) = (150.0, 150.0);
    }
    draft.flows[0].placement.extend(places(random));
}

/// Returns the keys of a flow between two cities.
pub fn places(random: &mut Random) -> [(String, Value); 2] {
    let from = random.whole(0, CITIES.len() as u64 - 1) as usize;
    let to = (from + 1 + random.whole(0, CITIES.len() as u64 - 2) as usize) % CITIES.len();
    [("from".to_owned(), Value::from(CITIES[from])), ("to".to_owned(), Value::from(CITIES[to]))]
}
