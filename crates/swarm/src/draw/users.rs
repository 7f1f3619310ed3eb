//! A population of users that start together or one after the other, and transfer something, talk
//! or watch.

use super::cross_traffic::call;
use super::draft::{Flow, bytes, millis, table};
use super::workload::adaptive;
use super::{Draft, Random, Stack};
use toml::{Table, Value};

pub fn draw(draft: &mut Draft, random: &mut Random) {
    if draft.orbit.is_some() {
        return;
    }
    let mut flow = Flow::new("users");
    let most = (draft.slowest(|hop| &hop.forward) / 8.0 * 3.0).clamp(2000.0, 200e3);
    flow.stack = random.pick(&[Stack::Quic, Stack::Tcp]);
    let (key, value) = match random.whole(0, 3) {
        0 => {
            flow.stack = Stack::Datagrams;
            ("call", call(random, 2.0, draft.slowest(|hop| &hop.forward) / 8.0))
        }
        1 => ("abr", adaptive(random, most)),
        _ => {
            let list = [0.1, 0.4, 1.0].map(|share| bytes(most * share)).to_vec();
            ("download", table([("list", Value::Array(list))]))
        }
    };
    flow.visits[0] = Table::from_iter([(key.to_owned(), value)]);
    if key == "download" && random.chance(0.3) {
        // They come back for another one.
        let mut again = flow.visits[0].clone();
        again.insert("think_time".to_owned(), millis(random.log(10.0, 2000.0)));
        flow.visits.push(again);
    }
    flow.placement.insert("count".to_owned(), Value::from(random.whole(2, 8) as i64));
    if random.chance(0.6) {
        let arrivals = table([("rate", Value::from(random.log(0.5, 20.0)))]);
        flow.placement.insert("arrivals".to_owned(), arrivals);
    }
    if random.chance(0.3) {
        flow.placement.insert("own_servers".to_owned(), Value::from(true));
    }
    draft.flows.push(flow);
}
