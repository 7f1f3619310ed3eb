//! Datagrams without congestion control, calls among them, until the faults end.

use super::constellation::places;
use super::draft::{Flow, bps, millis, table};
use super::{Draft, Random, Stack};
use toml::{Table, Value};

/// Most packets of a flow: more cost time and meet nothing new.
const MOST_PACKETS: f64 = 4000.0;
/// Bits of a full packet.
const PACKET_BITS: f64 = 12_000.0;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    for number in 0..random.whole(1, 2) {
        let mut flow = Flow::new(format!("datagrams-{number}"));
        flow.stack = Stack::Datagrams;
        if draft.orbit.is_some() {
            flow.placement.extend(places(random));
        }
        let duration = draft.faults_end_s * random.between(0.2, 0.9);
        let workload = if random.chance(0.6) {
            let upload = random.chance(0.4);
            let slowest = match upload {
                true => draft.slowest(|hop| &hop.reverse),
                false => draft.slowest(|hop| &hop.forward),
            };
            let rate = slowest * random.log(0.05, 1.5);
            let mut keys = Table::from_iter([
                ("rate".to_owned(), bps(rate.min(MOST_PACKETS * PACKET_BITS / duration).max(1e3))),
                ("duration".to_owned(), Value::from(format!("{duration:.3} s"))),
            ]);
            if upload {
                keys.insert("direction".to_owned(), Value::from("upload"));
            }
            if random.chance(0.4) {
                keys.insert("on".to_owned(), millis(random.log(10.0, 2000.0)));
                keys.insert("off".to_owned(), millis(random.log(10.0, 2000.0)));
            }
            ("cbr", Value::Table(keys))
        } else if random.chance(0.5) {
            ("call", call(random, duration, draft.slowest(|hop| &hop.forward)))
        } else {
            let interval = random.log(5.0, 1000.0).max(duration * 1e3 / MOST_PACKETS);
            let duration = Value::from(format!("{duration:.3} s"));
            ("ping", table([("interval", millis(interval)), ("duration", duration)]))
        };
        flow.visits = vec![Table::from_iter([(workload.0.to_owned(), workload.1)])];
        draft.flows.push(flow);
    }
}

/// Draws a call of `duration` seconds over links of at least `slowest` bits per second.
pub(super) fn call(random: &mut Random, duration: f64, slowest: f64) -> Value {
    let mut call = Table::from_iter([
        ("duration".to_owned(), Value::from(format!("{duration:.3} s"))),
        ("direction".to_owned(), Value::from(random.pick(&["both", "download", "upload"]))),
    ]);
    if random.chance(0.6) {
        call.insert("audio".to_owned(), bps(random.log(6e3, 64e3)));
    }
    if random.chance(0.6) {
        let most = MOST_PACKETS * PACKET_BITS / duration;
        let video = table([
            ("rate", bps((slowest * random.log(0.05, 1.0)).min(most).clamp(2e3, 5e6))),
            ("fps", Value::from(random.whole(5, 60) as i64)),
            ("keyframe_request", Value::from(random.chance(0.5))),
        ]);
        call.insert("video".to_owned(), video);
    }
    if random.chance(0.5) {
        call.insert("playout".to_owned(), Value::from("adaptive"));
    }
    Value::Table(call)
}
