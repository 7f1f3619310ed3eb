//! More flows beside the first one.

use super::constellation::places;
use super::draft::Flow;
use super::{Draft, Random};
use toml::Value;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    let terminals = draft.path.get("terminals").and_then(Value::as_integer).unwrap_or(1);
    let same_server = random.chance(0.5);
    for number in 0..random.whole(1, 3) {
        let mut flow = Flow::new(format!("other-{number}"));
        if draft.orbit.is_some() {
            flow.placement.extend(places(random));
        }
        let at = random.between(0.0, draft.faults_end_s);
        flow.placement.insert("start_time".to_owned(), Value::from(format!("{at:.3} s")));
        if terminals > 1 {
            let terminal = random.whole(0, terminals as u64 - 1) as i64;
            flow.placement.insert("terminal".to_owned(), Value::from(terminal));
        }
        if !same_server {
            let server = format!("server-{number}");
            flow.placement.insert("server".to_owned(), Value::from(server));
        }
        draft.flows.push(flow);
    }
}
