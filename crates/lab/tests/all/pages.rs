//! Pages from HTTP Archives, from the file to the results.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_lab::{Changes, Plan};
use bentpipe_sim::FlowOutcome;
use bentpipe_units::Span;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Short, so that the page is loaded before what it requests later, as in the file.
const RTT: Span = Span::from_millis(12);
/// Names of Chromium's priorities by urgency.
const PRIORITIES: [&str; 5] = ["VeryHigh", "High", "Medium", "Low", "VeryLow"];

fn scenario(keys: &str) -> String {
    format!(
        "name = \"t\"\n[path]\nforward = {{ rate = \"100 Mbps\", delay = \"6 ms\" }}\n\
         return = {{ rate = \"100 Mbps\", delay = \"6 ms\" }}\n\
         [workload]\nweb_page = {{ har = \"page.har\"{keys} }}\n"
    )
}

/// Runs the only flow of a scenario in `directory`.
fn play(text: &str, directory: &Path) -> FlowOutcome {
    let plan = Plan::parse("t.toml", text, directory, &Changes::default()).unwrap();
    let spec = plan.spec(plan.tasks[0]).unwrap();
    bentpipe_sim::run(&spec, &AtomicBool::new(false)).unwrap().flows.remove(0)
}

fn time(at: Span) -> String {
    let ms = at.as_millis_f64();
    format!("2026-11-28T19:{:02}:{:09.6}Z", (ms / 60e3) as u64, ms % 60e3 / 1e3)
}

/// Writes a page that was loaded as an HTTP Archive, as a browser would have recorded it.
fn archive(flow: &FlowOutcome) -> Value {
    let page = flow.page.as_ref().unwrap();
    let parts = &page.page.objects;
    let end = |index: usize| flow.objects[index].completion.unwrap();
    let mut met = vec![false; page.origins.len()];
    let entry = |(index, part): (usize, &bentpipe_tcp::http::PageObject)| {
        let source = part.object.source;
        let parent = part.object.after.first().copied();
        let started = parent.map_or(Span::ZERO, |parent| end(parent) + part.object.delay);
        let is_first = !std::mem::replace(&mut met[source.origin], true);
        let (connect, ssl) = if is_first { (RTT * 2, RTT) } else { (Span::ZERO, Span::ZERO) };
        let url = |index: usize| format!("https://{}", parts[index].name);
        json!({
            "startedDateTime": time(started),
            "time": (end(index) - started).as_millis_f64(),
            "_priority": PRIORITIES[usize::from(source.priority.urgency)],
            "_resourceType": match part.kind.name() {
                "style" => "stylesheet",
                "data" => "fetch",
                other => other,
            },
            "_initiator": { "url": parent.map(url) },
            "serverIPAddress": format!("192.0.2.{}", source.origin),
            "request": { "url": url(index) },
            "response": { "status": 200, "_transferSize": part.object.bytes.get() },
            "timings": {
                "connect": connect.as_millis_f64(),
                "ssl": ssl.as_millis_f64(),
                "wait": (RTT + source.server_time).as_millis_f64(),
            },
        })
    };
    let entries: Vec<Value> = parts.iter().enumerate().map(entry).collect();
    let on_load = page.onload.unwrap().as_millis_f64() + 1.0;
    let pages = json!([{ "id": "p", "startedDateTime": time(Span::ZERO),
                         "pageTimings": { "onLoad": on_load } }]);
    json!({ "log": { "pages": pages, "entries": entries } })
}

/// Check W4 of the specification: a page that a simulation has written as an HTTP Archive, read
/// again, has the same dependencies, and the same load time within 1 %.
#[test]
fn a_page_survives_being_written_and_read_again() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/examples");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.har");
    std::fs::copy(examples.join("news.har"), &file).unwrap();
    for keys in ["", ", origins = \"one\", dns = \"none\""] {
        let text = scenario(keys);
        let first = play(&text, directory.path());
        std::fs::write(&file, archive(&first).to_string()).unwrap();
        let again = play(&text, directory.path());
        let page = |flow: &FlowOutcome| flow.page.clone().unwrap();
        let (before, after) = (page(&first), page(&again));
        assert_eq!(before.origins.len(), if keys.is_empty() { 5 } else { 1 });
        assert_eq!(before.page.objects.len(), 40);
        let find = |name: &str| {
            after
                .page
                .objects
                .iter()
                .find(|one| one.name == name)
                .unwrap_or_else(|| panic!("{name}"))
        };
        let name_of = |page: &bentpipe_sim::PageOutcome, index: Option<&usize>| {
            index.map(|index| page.page.objects[*index].name.clone())
        };
        for one in &before.page.objects {
            let other = find(&one.name);
            let parents = [(&before, one), (&after, other)]
                .map(|(page, one)| name_of(page, one.object.after.first()));
            assert_eq!(parents[0], parents[1], "{}", one.name);
            assert_eq!((one.kind, one.after_load), (other.kind, other.after_load), "{}", one.name);
            assert_eq!(one.blocks_render, other.blocks_render, "{}", one.name);
            assert_eq!(one.object.bytes, other.object.bytes, "{}", one.name);
        }
        for (is, asked, what) in [
            (after.onload, before.onload, "onload"),
            (after.first_render, before.first_render, "first render"),
        ] {
            let (is, asked) = (is.unwrap().as_secs_f64(), asked.unwrap().as_secs_f64());
            assert!((is / asked - 1.0).abs() < 0.01, "{what}: {is}, asked {asked}");
        }
    }
}

#[test]
fn a_file_that_is_no_page_is_refused_with_its_name_and_the_entry() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.har");
    for (content, expected) in [
        ("no JSON", ["page.har", "not an HTTP Archive", "allowed: HAR 1.2"]),
        (
            "{\"log\":{\"entries\":[{\"startedDateTime\":\"2026-11-28T19:00:00Z\"},{}]}}",
            ["page.har", "entry 2", "allowed: a whole file"],
        ),
        (
            "{\"log\":{\"entries\":[{\"startedDateTime\":\"2026-11-28T19:00:00Z\"}]}}",
            ["page.har", "no request", "allowed: at least one"],
        ),
    ] {
        std::fs::write(&file, content).unwrap();
        let parsed = Plan::parse("t.toml", &scenario(""), directory.path(), &Changes::default());
        let error = parsed.unwrap_err().to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    }
    std::fs::remove_file(&file).unwrap();
    let missing = Plan::parse("t.toml", &scenario(""), directory.path(), &Changes::default());
    assert!(missing.unwrap_err().to_string().contains("page.har"));
}
