//! Proxies around the satellite hop, which split TCP connections, filter acknowledgements or fail.

use super::draft::millis;
use super::quic::nested;
use super::{Draft, Random, Stack};
use toml::{Table, Value};

pub fn draw(draft: &mut Draft, random: &mut Random) {
    if draft.orbit.is_some() || draft.others.len() < 2 {
        return;
    }
    let mut any = false;
    for flow in draft.flows.iter_mut().filter(|flow| flow.stack == Stack::Tcp) {
        let pep = random.pick(&["gateway", "both", "filter"]);
        nested(&mut flow.keys, "tcp").insert("pep".to_owned(), Value::from(pep));
        any = true;
    }
    if !any {
        return;
    }
    let mut keys = Table::from_iter([("hop".to_owned(), Value::from("satellite"))]);
    keys.insert("ack_filter".to_owned(), millis(random.log(1.0, 100.0)));
    if random.chance(0.3) {
        let buffer = format!("{:.0} kB", random.log(50.0, 2000.0));
        keys.insert("buffer".to_owned(), Value::from(buffer));
    }
    if random.chance(0.2) {
        let at = random.between(0.0, draft.faults_end_s);
        keys.insert("fails_at".to_owned(), Value::from(format!("{at:.3} s")));
        let failure = random.pick(&["reset", "blackhole"]);
        keys.insert("failure".to_owned(), Value::from(failure));
        draft.may_fail = true;
    }
    draft.path.insert("pep".to_owned(), Value::Table(keys));
}
