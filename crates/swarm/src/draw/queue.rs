//! Queues before the transmitters, their disciplines and ECN.

use super::{Draft, Queue, Random};
use toml::Value;

/// Longest wait in a queue, in milliseconds.
const LONGEST_MS: f64 = 1500.0;
/// Bits of a full packet.
const PACKET_BITS: f64 = 12_000.0;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    let orbit = draft.orbit.is_some();
    for direction in draft.satellite.directions() {
        let longest = (LONGEST_MS / 1e3 * direction.rate / PACKET_BITS).max(10.0);
        direction.queue = match random.whole(0, 2) {
            0 if !orbit => Queue::Bdp(random.log(0.1, 2.0)),
            0 | 1 => Queue::Packets(random.log(8.0, longest.max(9.0)) as u64),
            _ => Queue::Millis(random.log(200.0, LONGEST_MS)),
        };
        if random.chance(0.15) {
            direction.queue_keys.insert("aqm".to_owned(), Value::from("head-drop"));
        } else if random.chance(0.2) {
            for (key, value) in [
                ("aqm", random.pick(&["fq", "fq-codel"])),
                ("hash", random.pick(&["stochastic", "exact"])),
                ("overflow", random.pick(&["fattest", "oldest", "arriving"])),
            ] {
                direction.queue_keys.insert(key.to_owned(), Value::from(value));
            }
        } else if random.chance(0.4) {
            let target = random.log(1.0, 50.0);
            let interval = target * random.log(3.0, 20.0);
            for (key, value) in [
                ("aqm", Value::from("codel")),
                ("target", Value::from(format!("{target:.3} ms"))),
                ("interval", Value::from(format!("{interval:.3} ms"))),
                ("ecn", Value::from(random.chance(0.5))),
            ] {
                direction.queue_keys.insert(key.to_owned(), value);
            }
        }
    }
}
