//! Variants begin their measured visits together on a path that changes.

#![allow(clippy::unwrap_used)]

use bentpipe_lab::{Changes, Lab, Options, Plan, Simulator, Threads, study};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const SCENARIO: &str = r#"
name = "aligned"
[path]
forward = { rate = RATE, delay = "300 ms" }
return = { rate = "5 Mbps", delay = "300 ms" }
[workload]
download = "1 MB"
ALIGN
[[variant]]
name = "plain"
[[variant]]
name = "resumed"
handshake = "0rtt"
"#;
const CHANGING: &str = r#"{ schedule = [{ at = "0 s", rate = "20 Mbps" },
    { at = "70 s", rate = "5 Mbps" }] }"#;

/// Returns the start of the measured visit of `plain` and of `resumed`, in seconds.
fn starts(rate: &str, align: &str) -> (f64, f64) {
    starts_of(&SCENARIO.replace("RATE", rate).replace("ALIGN", align))
}

/// Returns the same of this scenario.
fn starts_of(text: &str) -> (f64, f64) {
    let results = Lab::new().run(text).unwrap();
    let start = |index: usize| results.runs[index].flows[0].start_s;
    assert_eq!(results.runs[1].variant, "resumed");
    (start(0), start(1))
}

#[test]
fn measured_visits_begin_at_the_same_multiple_of_the_step() {
    assert_eq!(starts(CHANGING, ""), (60.0, 60.0), "a minute by default");
    assert_eq!(starts(CHANGING, "align_visits = \"90 s\""), (90.0, 90.0));
    assert_eq!(starts(CHANGING, "align_visits = \"45 s\""), (45.0, 45.0));
}

#[test]
fn without_alignment_or_change_visits_follow_one_another() {
    let (plain, resumed) = starts(CHANGING, "align_visits = \"0 s\"");
    assert!(plain == 0.0 && resumed > 10.0 && resumed < 45.0, "{plain}, {resumed}");
    let (plain, resumed) = starts("\"20 Mbps\"", "");
    assert!(plain == 0.0 && resumed > 10.0 && resumed < 45.0, "{plain}, {resumed}");
}

#[test]
fn drawn_paths_orbits_and_times_of_loss_are_changes() {
    let links = "forward = { rate = RATE, delay = \"300 ms\" }\n\
                 return = { rate = \"5 Mbps\", delay = \"300 ms\" }";
    let lossy = "forward = { rate = \"20 Mbps\", delay = \"300 ms\", loss = LOSS }\n\
                 return = { rate = \"5 Mbps\", delay = \"300 ms\" }";
    let loss =
        "{ model = \"periodic\", every = 50, active = [{ from = \"61 s\", to = \"62 s\" }] }";
    let lossy = &lossy.replace("LOSS", loss);
    let orbit = "orbit = { constellation = \"kuiper-630\", links.all = { rate = \"20 Mbps\", \
                 queue = \"100 packets\" } }";
    let ends = "from = \"Toronto\"\nto = \"Washington\"";
    for (path, align) in [("profile = \"leo\"", ""), (lossy, ""), (orbit, ends)] {
        assert!(SCENARIO.contains(links), "the scenario has these links");
        let text = SCENARIO.replace(links, path).replace("ALIGN", align);
        assert_eq!(starts_of(&text), (60.0, 60.0), "{path}");
    }
}

#[test]
fn a_note_says_if_all_changes_are_over_before_measured_visits_begin() {
    let noted = |align: &str| {
        let text = SCENARIO.replace("RATE", CHANGING).replace("ALIGN", align);
        let plan = Plan::parse("t.toml", &text, Path::new("."), &Changes::default()).unwrap();
        let stop = AtomicBool::new(false);
        let executor = Threads { runner: &Simulator, jobs: NonZeroUsize::MIN };
        let notes = study(&plan, &Options::new(&executor, &stop)).unwrap().manifest.notes;
        notes.iter().any(|note| note.contains("they meet no change"))
    };
    assert!(!noted(""), "visits at 60 s, the change at 70 s");
    assert!(noted("align_visits = \"90 s\""));
    assert!(!noted("align_visits = \"0 s\""), "not aligned: the plain visit meets the change");
}

#[test]
fn before_a_repeated_call_over_quic_is_the_same_call() {
    let call = "call = { duration = \"5 s\", direction = \"download\", framing = \"datagrams\" }";
    let text = SCENARIO.replace("download = \"1 MB\"", call);
    let results = Lab::new().run(&text.replace("RATE", CHANGING).replace("ALIGN", "")).unwrap();
    let visits: Vec<_> = results.runs.iter().map(|run| run.flows[0].visit).collect();
    assert_eq!(visits, [1, 2]);
    for run in &results.runs {
        let audio = &run.flows[0].call[0].metrics;
        assert!(audio.mos.is_some_and(|mos| mos > 1.0), "{}", run.variant);
    }
}
