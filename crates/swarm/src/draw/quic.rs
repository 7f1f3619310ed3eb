//! Keys of QUIC.

use super::draft::{Flow, millis};
use super::{Draft, Random, Stack};
use toml::{Table, Value};

pub fn draw(draft: &mut Draft, random: &mut Random) {
    if random.chance(0.3) {
        draft.head.insert("crypto".to_owned(), Value::from("real"));
    }
    for flow in draft.flows.iter_mut().filter(|flow| flow.stack == Stack::Quic) {
        let rtt = millis(random.log(10.0, 1000.0));
        let keys = keys(flow);
        if random.chance(0.3) {
            keys.insert("pacing".to_owned(), Value::from(false));
        }
        if random.chance(0.3) {
            keys.insert("initial_rtt".to_owned(), rtt);
        }
        if random.chance(0.3) {
            keys.insert("mtu_discovery".to_owned(), Value::from(true));
        } else if random.chance(0.3) {
            let mtu = format!("{} B", random.whole(1200, 1472));
            keys.insert("initial_mtu".to_owned(), Value::from(mtu));
        }
        if random.chance(0.2) {
            let ecn = random.pick(&["off", "ect1"]);
            keys.insert("ecn".to_owned(), Value::from(ecn));
        }
    }
}

/// Returns the keys of QUIC of a flow.
pub fn keys(flow: &mut Flow) -> &mut Table {
    nested(&mut flow.keys, "quic")
}

/// Returns the table `name` in `keys`, which is empty if there was none.
pub fn nested<'a>(keys: &'a mut Table, name: &str) -> &'a mut Table {
    let entry = keys.entry(name.to_owned()).or_insert_with(|| Value::Table(Table::new()));
    match entry {
        Value::Table(table) => table,
        _ => unreachable!("the dimensions write tables there"),
    }
}
