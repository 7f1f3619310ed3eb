//! Queues before the transmitters, their disciplines and ECN.

use super::draft::millis;
use super::{Draft, Queue, Random};
use toml::{Table, Value};

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
        } else if random.chance(0.5) {
            direction.queue_keys.extend(by_class_or_arrival(random));
        }
    }
}

/// Draws a discipline with classes, or one that decides about packets as they arrive.
fn by_class_or_arrival(random: &mut Random) -> Table {
    let keys: Vec<(&str, Value)> = match random.whole(0, 4) {
        0 => vec![("aqm", Value::from("priority"))],
        1 => vec![
            ("aqm", Value::from("cake")),
            ("tins", Value::from(random.pick(&["besteffort", "diffserv4"]))),
        ],
        2 => vec![
            ("aqm", Value::from("dualpi2")),
            ("target", millis(random.log(1.0, 100.0))),
            ("max_rtt", millis(random.log(10.0, 1000.0))),
            ("step", millis(random.log(0.2, 20.0))),
            ("overload", Value::from(random.pick(&["drop", "overflow"]))),
        ],
        3 => vec![
            ("aqm", Value::from("pie")),
            ("target", millis(random.log(1.0, 100.0))),
            ("tupdate", millis(random.log(1.0, 50.0))),
            ("ecn", Value::from(random.chance(0.5))),
        ],
        _ => {
            let min = random.log(1.0, 20.0);
            vec![
                ("aqm", Value::from("red")),
                ("min_threshold", Value::from(min)),
                ("max_threshold", Value::from(min * random.log(1.5, 5.0))),
                ("max_probability", Value::from(random.log(0.01, 0.5))),
                ("gentle", Value::from(random.chance(0.7))),
                ("ecn", Value::from(random.chance(0.5))),
            ]
        }
    };
    keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
