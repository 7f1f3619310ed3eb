//! A page from an HTTP Archive in place of a flow's workload: several servers, objects that wait
//! for others, servers that take their time. Names are known, because a page whose names get no
//! answer fails.

use super::draft::table;
use super::{Draft, Random, Stack};
use std::fmt::Write;
use toml::{Table, Value};

/// Name of the file.
const FILE: &str = "page.har";
/// Most bytes of an object, and seconds that all of them take at the slowest rate.
const LARGEST: f64 = 200e3;
const SECONDS: f64 = 10.0;
/// Chromium's names of priorities.
const PRIORITIES: [&str; 5] = ["VeryHigh", "High", "Medium", "Low", "VeryLow"];
const KINDS: [&str; 6] = ["stylesheet", "script", "font", "image", "media", "fetch"];

pub fn draw(draft: &mut Draft, random: &mut Random) {
    let slowest = draft.slowest(|hop| &hop.forward).min(draft.slowest(|hop| &hop.reverse));
    let objects = random.whole(2, 12);
    let most = (slowest / 8.0 * SECONDS / objects as f64).clamp(200.0, LARGEST);
    let index = random.whole(0, draft.flows.len() as u64 - 1) as usize;
    let flow = &mut draft.flows[index];
    if flow.stack == Stack::Datagrams || flow.http == Some("raw") {
        return;
    }
    let origins = random.pick(&["separate", "one"]);
    let keys = [("har", FILE), ("origins", origins), ("dns", "none")];
    let page = table(keys.map(|(key, value)| (key, Value::from(value))));
    flow.visits = vec![Table::from_iter([("web_page".to_owned(), page)])];
    if flow.stack == Stack::Quic && random.chance(0.6) {
        flow.keys.insert("http_priorities".to_owned(), Value::from("rfc9218"));
    }
    draft.files.insert(FILE.into(), archive(objects, most, random));
}

/// Draws the archive of a page: each object starts after an earlier one has ended.
fn archive(objects: u64, most: f64, random: &mut Random) -> String {
    let hosts = random.whole(1, 4);
    let mut entries = String::new();
    let mut ends: Vec<(String, f64)> = Vec::new();
    for number in 0..objects {
        let host = if number == 0 { 0 } else { random.whole(0, hosts - 1) };
        let url = format!("https://host-{host}.example/{number}");
        let parent = random.whole(0, number.max(1) - 1) as usize;
        let (by, start_ms) = match ends.get(parent) {
            Some((parent, end_ms)) => {
                let start_ms = end_ms + random.between(0.0, 300.0);
                (format!("\"_initiator\":{{\"url\":\"{parent}\"}},"), start_ms)
            }
            None => (String::new(), 0.0),
        };
        let wait_ms = random.log(1.0, 300.0);
        let time_ms = wait_ms + random.between(1.0, 100.0);
        let kind = if number == 0 { "document" } else { random.pick(&KINDS) };
        let (priority, bytes) = (random.pick(&PRIORITIES), random.log(1.0, most) as u64 + 1);
        let _ = write!(
            entries,
            "{}{{\"startedDateTime\":\"{}\",\"time\":{time_ms:.3},\"_priority\":\"{priority}\",\
             \"_resourceType\":\"{kind}\",{by}\"serverIPAddress\":\"192.0.2.{host}\",\
             \"request\":{{\"url\":\"{url}\"}},\
             \"response\":{{\"status\":200,\"_transferSize\":{bytes}}},\
             \"timings\":{{\"connect\":-1,\"ssl\":-1,\"wait\":{wait_ms:.3}}}}}",
            if number == 0 { "" } else { "," },
            time(start_ms),
        );
        ends.push((url, start_ms + time_ms));
    }
    let last_ms = ends.iter().map(|(_, end_ms)| *end_ms).fold(0.0, f64::max);
    let on_load_ms = last_ms * random.between(0.3, 1.1) + 1.0;
    let start = time(0.0);
    format!(
        "{{\"log\":{{\"pages\":[{{\"id\":\"p\",\"startedDateTime\":\"{start}\",\
         \"pageTimings\":{{\"onLoad\":{on_load_ms:.3}}}}}],\"entries\":[{entries}]}}}}"
    )
}

/// Returns a time of day, `ms` after the start of the page.
fn time(ms: f64) -> String {
    format!("2026-11-28T19:{:02}:{:09.6}Z", (ms / 60e3) as u64, ms % 60e3 / 1e3)
}
