//! Recordings of rate, delay and loss, whose last values hold once the faults have ended.

use super::draft::table;
use super::{Direction, Draft, Random};
use std::fmt::Write;
use toml::Value;

/// Most rows of a recording.
const MOST_ROWS: f64 = 400.0;
/// Bits of a full packet, with some room: each step of a recording has to carry one, or none.
const PACKET_BITS: f64 = 13_000.0;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    if draft.orbit.is_some() {
        return;
    }
    let end_s = draft.faults_end_s;
    let both = random.chance(0.5);
    let mut files = Vec::new();
    for (index, direction) in draft.satellite.directions().into_iter().enumerate() {
        let varies = ["rate", "delay", "loss"].iter().any(|key| direction.keys.contains_key(*key));
        if varies || index == 1 && !both {
            continue;
        }
        let name = ["forward.csv", "return.csv"][index];
        files.push((name.into(), recorded(direction, random, end_s)));
        let file = || Value::from(name);
        direction.keys.insert("rate".to_owned(), table([("recording", file())]));
        direction.keys.insert("delay".to_owned(), table([("recording", file())]));
        let loss = table([("model", Value::from("recording")), ("file", file())]);
        direction.keys.insert("loss".to_owned(), Value::Array(vec![loss]));
        direction.longest_ms *= 1.5;
    }
    if !files.is_empty() {
        let section = table([("loop", Value::from("hold")), ("fill", Value::from("hold"))]);
        draft.path.insert("recording".to_owned(), section);
        draft.files.extend(files);
    }
}

/// Draws a recording that ends as the direction is without faults.
fn recorded(direction: &Direction, random: &mut Random, end_s: f64) -> String {
    let step_s = random.log(0.05, 1.0).max(end_s / MOST_ROWS).max(PACKET_BITS / direction.rate);
    let least = PACKET_BITS / step_s;
    let rows = ((end_s / step_s) as u64).max(1);
    let mut text = "time_s,rate_bps,delay_ms,loss\n".to_owned();
    let mut row = |number: u64, rate: f64, delay_ms: f64, loss: f64| {
        let at_s = number as f64 * step_s;
        let _ = writeln!(text, "{at_s:.6},{rate:.0},{delay_ms:.3},{loss:.4}");
    };
    for number in 0..rows {
        let rate = direction.rate * random.log(0.1, 2.0);
        let rate = if random.chance(0.1) { 0.0 } else { rate.max(least) };
        let loss = if random.chance(0.2) { random.between(0.0, 1.0) } else { 0.0 };
        row(number, rate, direction.delay_ms * random.between(0.5, 1.5), loss);
    }
    row(rows, direction.rate.max(least), direction.delay_ms, 0.0);
    text
}
