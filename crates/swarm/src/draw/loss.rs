//! Packets lost on links, by every model, until the faults end.

use super::draft::{millis, table};
use super::{Draft, Random};
use toml::{Table, Value};

pub fn draw(draft: &mut Draft, random: &mut Random) {
    let end_ms = draft.faults_end_s * 1e3;
    let hops = std::iter::once(&mut draft.satellite).chain(&mut draft.others);
    for direction in hops.flat_map(|hop| hop.directions()) {
        if random.chance(0.6) {
            let models = (0..random.whole(1, 2)).map(|_| model(random, end_ms)).collect();
            direction.keys.insert("loss".to_owned(), Value::Array(models));
        }
    }
}

/// Draws a model, active in a part of the time of faults.
fn model(random: &mut Random, end_ms: f64) -> Value {
    let (model, keys): (_, Vec<(&str, Value)>) = match random.whole(0, 7) {
        0 => ("bernoulli", vec![("ratio", Value::from(random.log(1e-4, 0.3)))]),
        // All packets of a while.
        1 => ("bernoulli", vec![("ratio", Value::from(1.0))]),
        2 => (
            "gilbert-elliott",
            vec![("p", ratio(random, 1e-4, 0.1)), ("r", ratio(random, 0.05, 0.9))],
        ),
        3 => ("long-burst", long_burst(random)),
        4 => (
            "blockage",
            vec![
                ("mean_clear", millis(random.log(100.0, 5000.0))),
                ("mean_blocked", millis(random.log(10.0, 1000.0))),
                ("loss_clear", ratio(random, 1e-4, 0.01)),
            ],
        ),
        5 => ("periodic", vec![("every", Value::from(random.whole(2, 300) as i64))]),
        _ => (random.pick(&["wired", "wifi", "wired-long", "wifi-long"]), Vec::new()),
    };
    let (from, to) = window(random, end_ms);
    let mut value: Table = keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    value.insert("model".to_owned(), Value::from(model));
    let active = table([("from", millis(from)), ("to", millis(to))]);
    value.insert("active".to_owned(), Value::Array(vec![active]));
    Value::Table(value)
}

/// Draws the keys of `long-burst`. Long bursts leave at least a packet for each of the others.
fn long_burst(random: &mut Random) -> Vec<(&'static str, Value)> {
    let (mean_burst, long_burst) = (random.between(1.1, 4.0), random.between(5.0, 60.0));
    let most = (mean_burst - 1.0) / (long_burst - 1.0);
    vec![
        ("loss", ratio(random, 1e-3, 0.05)),
        ("mean_burst", Value::from(mean_burst)),
        ("long_share", ratio(random, 0.01 * most, 0.9 * most)),
        ("long_burst", Value::from(long_burst)),
    ]
}

fn ratio(random: &mut Random, low: f64, high: f64) -> Value {
    Value::from(random.log(low, high))
}

/// Draws a part of the time of faults, in milliseconds.
fn window(random: &mut Random, end_ms: f64) -> (f64, f64) {
    let from = if random.chance(0.5) { 0.0 } else { random.between(0.0, 0.8) * end_ms };
    (from, (from + random.log(0.02, 1.0) * (end_ms - from)).max(from + 1.0))
}
