//! Keys of TCP.

use super::draft::millis;
use super::quic::nested;
use super::{Draft, Random, Stack};
use toml::Value;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    for flow in draft.flows.iter_mut().filter(|flow| flow.stack == Stack::Tcp) {
        let http1 = flow.http == Some("h1");
        let keys = nested(&mut flow.keys, "tcp");
        keys.insert("ecn".to_owned(), Value::from(random.chance(0.5)));
        if http1 && random.chance(0.5) {
            keys.insert("connections".to_owned(), Value::from(random.whole(1, 8) as i64));
        }
        if random.chance(0.4) {
            let buffer = format!("{:.0} kB", random.log(64.0, 6000.0));
            keys.insert("receive_buffer".to_owned(), Value::from(buffer));
        }
        if random.chance(0.3) {
            keys.insert("receive_autotune".to_owned(), Value::from(false));
        }
        if random.chance(0.3) {
            keys.insert("buffers".to_owned(), Value::from("linux"));
        }
        if random.chance(0.3) {
            keys.insert("coalesce".to_owned(), millis(random.log(0.01, 5.0)));
        }
        if random.chance(0.3) {
            keys.insert("idle_restart".to_owned(), Value::from(false));
        }
    }
}
