//! Small requests on the connection of the first flow.

use super::constellation::places;
use super::draft::{Flow, millis, table};
use super::{Draft, Random, Stack};
use toml::{Table, Value};

pub fn draw(draft: &mut Draft, random: &mut Random) {
    let Some(first) = draft.flows.first() else { return };
    let uploads = |visit: &Table| {
        let bulk = visit.get("bulk").and_then(Value::as_table).and_then(direction);
        visit.contains_key("upload") || bulk.or(direction(visit)) == Some("upload")
    };
    let takes_requests = match (first.stack, first.http) {
        (Stack::Quic, _) => true,
        (Stack::Tcp, None | Some("h2")) => !first.visits.iter().any(uploads),
        _ => false,
    };
    if !takes_requests {
        return;
    }
    let interval = random.log(20.0, 2000.0);
    let keys = [
        ("interval", millis(interval)),
        // Below every time limit.
        ("duration", millis((interval * random.between(1.0, 200.0)).min(9e3))),
        ("on", Value::from(first.name.clone())),
    ];
    let mut flow = Flow::new("connection-probe");
    if draft.orbit.is_some() {
        flow.placement.extend(places(random));
    }
    flow.visits = vec![Table::from_iter([("probe".to_owned(), table(keys))])];
    draft.flows.push(flow);
}

fn direction(table: &Table) -> Option<&str> {
    table.get("direction").and_then(Value::as_str)
}
