//! Windows of receivers, and send buffers.

use super::{Draft, Random, Stack};
use toml::{Table, Value};

const PRESETS: [&str; 7] = ["bentpipe", "auto", "chrome", "firefox", "curl", "nginx", "rfc"];

pub fn draw(draft: &mut Draft, random: &mut Random) {
    for flow in draft.controlled() {
        let quic = flow.stack == Stack::Quic;
        let windows = quic || flow.http == Some("h2");
        let mut keys = Table::new();
        let size = |random: &mut Random| Value::from(format!("{:.0} kB", random.log(16.0, 4000.0)));
        if windows && random.chance(0.5) {
            keys.insert("preset".to_owned(), Value::from(random.pick(&PRESETS)));
        } else if windows {
            keys.insert("stream_window".to_owned(), size(random));
            keys.insert("connection_window".to_owned(), size(random));
        }
        if random.chance(0.4) {
            keys.insert("send_buffer".to_owned(), size(random));
        }
        if quic && random.chance(0.3) {
            keys.insert("window_update_fraction".to_owned(), Value::from(random.log(0.01, 0.9)));
        }
        if !keys.is_empty() {
            flow.keys.insert("flow_control".to_owned(), Value::Table(keys));
        }
    }
}
