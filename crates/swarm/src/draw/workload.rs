//! What each flow transfers: every workload of the virtual clock but `cbr`, `ping` and `call`,
//! which `cross-traffic` draws.

use super::draft::{bps, bytes, millis, table};
use super::{Draft, Random};
use toml::{Table, Value};

/// Bytes that a flow transfers: more cost time and meet little else.
const SIZES: (f64, f64) = (300.0, 2e6);
/// Most seconds that the transfer takes at the rate of the slowest link.
const SECONDS: f64 = 20.0;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    let slowest = draft.slowest(|hop| &hop.forward).min(draft.slowest(|hop| &hop.reverse));
    let most = (slowest / 8.0 * SECONDS).clamp(1000.0, SIZES.1);
    for flow in &mut draft.flows {
        flow.visits = vec![workload(random, most, slowest)];
    }
}

/// Draws a workload of at most `most` bytes over links of at least `slowest` bits per second.
fn workload(random: &mut Random, most: f64, slowest: f64) -> Table {
    let size = |random: &mut Random, share: f64| bytes(random.log(SIZES.0, most * share).max(1.0));
    let direction = random.pick(&["download", "upload"]);
    let (key, value) = match random.whole(0, 11) {
        0..=2 => ("download", size(random, 1.0)),
        3 => ("upload", size(random, 1.0)),
        4 => ("download", sizes(random, most)),
        5 | 6 => {
            let count = random.whole(2, 12);
            let objects = (0..count).map(|number| object(random, number, most / 12.0)).collect();
            ("objects", Value::Array(objects))
        }
        7 => ("web_page", Value::from(random.whole(1, 12) as i64)),
        8 => {
            let segments = random.whole(2, 6);
            let segment = size(random, 0.15);
            let video = [
                ("segment", segment),
                ("interval", millis(random.log(100.0, 3000.0))),
                ("segments", Value::from(segments as i64)),
            ];
            ("video", table(video))
        }
        9 => {
            let interval = random.log(20.0, 2000.0);
            let duration = millis(interval * random.between(1.0, 40.0));
            ("probe", table([("interval", millis(interval)), ("duration", duration)]))
        }
        10 => ("abr", adaptive(random, most)),
        _ => {
            // As many packets as the largest transfer, or a second.
            let longest = (most * 8.0 / slowest).clamp(1.0, 8.0);
            let duration = millis(1e3 * random.between(0.5, longest));
            let keys = [("duration", duration), ("direction", Value::from(direction))];
            ("bulk", table(keys))
        }
    };
    let mut workload = Table::from_iter([(key.to_owned(), value)]);
    if key == "objects" {
        workload.insert("direction".to_owned(), Value::from(direction));
    }
    workload
}

/// Draws an adaptive video of a few seconds, of at most `most` bytes.
pub(super) fn adaptive(random: &mut Random, most: f64) -> Value {
    let seconds = random.between(1.0, 8.0);
    let top = (most * 8.0 / seconds).max(20e3);
    let ladder = [0.1, 0.3, 1.0].map(|share| bps(top * share * random.between(0.9, 1.0)));
    let algorithms = ["throughput", "buffer", "bola", "dynamic", "robust-mpc"];
    table([
        ("duration", millis(seconds * 1e3)),
        ("segment", millis(random.log(200.0, 4000.0))),
        ("ladder", Value::Array(ladder.to_vec())),
        ("size_variation", Value::from(random.between(0.0, 0.5))),
        ("algorithm", Value::from(random.pick(&algorithms))),
    ])
}

fn object(random: &mut Random, number: u64, most: f64) -> Value {
    let mut object = Table::new();
    object.insert("name".to_owned(), Value::from(format!("object-{number}")));
    object.insert("size".to_owned(), bytes(random.log(1.0, most.max(2.0)).max(1.0)));
    if number > 0 && random.chance(0.5) {
        let after = format!("object-{}", random.whole(0, number - 1));
        object.insert("after".to_owned(), Value::Array(vec![Value::from(after)]));
        object.insert("delay".to_owned(), millis(random.between(0.0, 300.0)));
    }
    Value::Table(object)
}

/// Draws a distribution of sizes.
fn sizes(random: &mut Random, most: f64) -> Value {
    let max = bytes(most);
    match random.whole(0, 2) {
        0 => {
            let median = bytes(random.log(SIZES.0, most * 0.5));
            let sigma = Value::from(random.between(0.1, 3.0));
            table([("lognormal", table([("median", median), ("sigma", sigma), ("max", max)]))])
        }
        1 => {
            let (shape, min) = (Value::from(random.between(0.3, 3.0)), bytes(SIZES.0));
            table([("pareto", table([("shape", shape), ("min", min), ("max", max)]))])
        }
        _ => table([("list", Value::Array(vec![bytes(SIZES.0), bytes(most * 0.3), max]))]),
    }
}
