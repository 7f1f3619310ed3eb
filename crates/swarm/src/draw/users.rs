//! A population of users that start together or one after the other.

use super::draft::{Flow, bytes, table};
use super::{Draft, Random, Stack};
use toml::Value;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    if draft.orbit.is_some() {
        return;
    }
    let mut flow = Flow::new("users");
    let most = (draft.slowest(|hop| &hop.forward) / 8.0 * 3.0).clamp(2000.0, 200e3);
    let list = [0.1, 0.4, 1.0].map(|share| bytes(most * share)).to_vec();
    flow.visits[0].insert("download".to_owned(), table([("list", Value::Array(list))]));
    flow.stack = random.pick(&[Stack::Quic, Stack::Tcp]);
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
