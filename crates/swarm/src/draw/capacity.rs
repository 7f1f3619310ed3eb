//! A return link whose capacity terminals request.

use super::draft::{bps, millis};
use super::{Draft, Random};
use toml::{Table, Value};

/// Most users that the dimension `users` adds, each with a terminal.
const MOST_USERS: i64 = 8;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    if draft.orbit.is_some() {
        return;
    }
    let terminals = draft.path.get("terminals").and_then(Value::as_integer).unwrap_or(1);
    let direction = &mut draft.satellite.reverse;
    let carrier = direction.rate.max(0.5e6);
    // What each terminal has for certain bounds the time that its packets take.
    let cra = carrier / (terminals + MOST_USERS) as f64 * random.log(0.1, 0.9);
    let mut keys = Table::from_iter([("cra".to_owned(), bps(cra))]);
    if random.chance(0.7) {
        keys.insert("rbdc".to_owned(), bps(carrier * random.log(0.1, 1.0)));
    }
    if random.chance(0.4) {
        let volume = format!("{:.0} kB", random.log(5.0, 200.0));
        keys.insert("vbdc".to_owned(), Value::from(volume));
    }
    if random.chance(0.4) {
        keys.insert("fca".to_owned(), Value::from(true));
    }
    let frame_ms = random.log(2.0, 60.0);
    keys.insert("frame".to_owned(), millis(frame_ms));
    keys.insert("request_interval".to_owned(), millis(random.log(frame_ms, 2000.0)));
    (direction.rate, direction.assured) = (carrier, cra);
    // A full packet may need several frames.
    direction.access_s = 2.0 * frame_ms / 1e3;
    direction.keys.remove("frame");
    direction.keys.insert("rate".to_owned(), bps(carrier));
    direction.keys.insert("capacity_allocation".to_owned(), Value::Table(keys));
}
