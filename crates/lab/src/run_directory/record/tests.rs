//! Tests of run directories as a whole.

use super::*;
use crate::execution::Threads;
use crate::testing::{Fake, TWO_VARIANTS, plan};
use bentpipe_sim::{RunError, RunOutcome, RunSpec, Runner};
use std::fs;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

fn jobs(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

fn recorded(text: &str, runner: &dyn Runner, n: usize, target: &Path) -> Recorded {
    let stop = AtomicBool::new(false);
    let executor = Threads { runner, jobs: jobs(n) };
    record(&plan(text), target, &Options::new(&executor, &stop)).unwrap()
}

#[test]
fn the_number_of_jobs_does_not_change_any_file() {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("{TWO_VARIANTS}\n[output]\nqlog = true\ntime_series = \"all\"\n");
    let targets = [1, 2, 5].map(|n| {
        let target = directory.path().join(n.to_string());
        assert!(recorded(&text, &Fake, n, &target).complete);
        target
    });
    let manifest: Manifest =
        serde_json::from_slice(&fs::read(targets[0].join(MANIFEST)).unwrap()).unwrap();
    assert!(
        manifest.files.iter().any(|name| name.starts_with("qlog/000-1rtt-run0/")),
        "{:?}",
        manifest.files
    );
    for name in manifest.files.iter().map(String::as_str).chain([MANIFEST]) {
        let first = fs::read(targets[0].join(name)).unwrap();
        for target in &targets[1..] {
            assert!(
                fs::read(target.join(name)).unwrap() == first,
                "{name} differs in {}",
                target.display()
            );
        }
    }
}

#[test]
fn results_have_the_documented_keys() {
    let directory = tempfile::tempdir().unwrap();
    let recorded = recorded(TWO_VARIANTS, &Fake, 2, &directory.path().join("run"));
    let text = fs::read_to_string(directory.path().join("run/results.json")).unwrap();
    assert_eq!(recorded.results.to_json().unwrap(), text);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let keys = |value: &serde_json::Value| {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys.join(" ")
    };
    insta::assert_snapshot!(
        [
            keys(&json),
            keys(&json["runs"][0]),
            keys(&json["runs"][0]["flows"][0]),
            keys(&json["runs"][0]["flows"][0]["path"]),
            keys(&json["runs"][0]["flows"][0]["objects"][0]),
            keys(&json["runs"][0]["links"][0]),
            keys(&json["summary"][0]),
            keys(&json["expectations"][0]),
        ]
        .join("\n")
    );
    assert!(json["runs"][0]["flows"][0]["flow_control_blocked_s"].is_null());
    assert_eq!(json["runs"][0]["point"]["workload.download"], "2 MB");
    assert_eq!(recorded.results.runs.len(), 24);
    assert_eq!(
        recorded.results.published[0].ratio,
        recorded.results.published[0].measured.map(|own| own / 3.0)
    );
}

/// Runs like [`Fake`] up to run number `after`, then ends as `then` says.
struct EndsEarly {
    after: u64,
    then: Then,
}

enum Then {
    Stop,
    Fail,
    Panic,
}

impl Runner for EndsEarly {
    fn run(&self, spec: &RunSpec, label: &str, stop: &AtomicBool) -> Result<RunOutcome, RunError> {
        if spec.run < self.after {
            return Fake.run(spec, label, stop);
        }
        match self.then {
            Then::Stop => {
                stop.store(true, Ordering::Relaxed);
                Err(RunError::Interrupted)
            }
            Then::Fail => Err(RunError::Failed("out of order".to_owned())),
            Then::Panic => panic!("a bug"),
        }
    }
}

#[test]
fn interruption_keeps_the_runs_that_have_ended() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("run");
    let recorded = recorded(TWO_VARIANTS, &EndsEarly { after: 2, then: Then::Stop }, 1, &target);
    assert!(!recorded.complete && recorded.failure.is_none());
    // Two repeats of four cases.
    assert_eq!(recorded.results.runs.len(), 8);
    let manifest: Manifest =
        serde_json::from_slice(&fs::read(target.join(MANIFEST)).unwrap()).unwrap();
    assert!(!manifest.complete && manifest.runs_done == 8 && manifest.runs_planned == 24);
    assert!(recorded.results.expectations.iter().all(|expectation| expectation.passed.is_none()));
    assert!(crate::run_directory::rebuild(&target).is_ok());
}

#[test]
fn a_failed_run_is_reported_and_no_directory_is_left_without_results() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("run");
    let recorded = recorded(TWO_VARIANTS, &EndsEarly { after: 0, then: Then::Fail }, 1, &target);
    let failure = recorded.failure.map(|error| error.to_string());
    assert_eq!(
        failure.as_deref(),
        Some("run 0 of variant `0rtt` at workload.download = 10 MB failed: out of order")
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_panic_in_one_run_keeps_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let recorded = recorded(
        TWO_VARIANTS,
        &EndsEarly { after: 2, then: Then::Panic },
        1,
        &directory.path().join("run"),
    );
    assert_eq!((recorded.results.runs.len(), recorded.complete), (8, false));
    assert!(
        recorded
            .failure
            .is_some_and(|error| error.to_string().contains("a bug") && !error.is_usage())
    );
}

#[test]
fn the_report_can_be_rebuilt_from_the_run_directory() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("run");
    recorded(TWO_VARIANTS, &Fake, 2, &target);
    let first = fs::read_to_string(target.join("report.html")).unwrap();
    fs::remove_file(target.join("report.html")).unwrap();
    assert_eq!(crate::run_directory::rebuild(&target).unwrap(), target.join("report.html"));
    assert_eq!(fs::read_to_string(target.join("report.html")).unwrap(), first);
}

#[test]
fn what_another_run_has_replaced_is_not_mixed_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("run");
    recorded(TWO_VARIANTS, &Fake, 2, &target);
    let opened = crate::RunDirectory::open(&target).unwrap();
    opened.results().unwrap();
    recorded(&TWO_VARIANTS.replace("repeat = 6", "repeat = 6\nseed = 7"), &Fake, 2, &target);
    for error in [
        opened.results().map(|_| ()).unwrap_err(),
        opened.recording().map(|_| ()).unwrap_err(),
        opened.bytes("report.html").map(|_| ()).unwrap_err(),
    ] {
        assert!(error.to_string().contains("another run"), "{error}");
    }
    crate::RunDirectory::open(&target).unwrap().results().unwrap();
}

#[test]
fn time_series_that_are_cut_off_are_not_left_out_silently() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("run");
    recorded(TWO_VARIANTS, &Fake, 2, &target);
    let index = r#"[{ "variant": "a", "point": {}, "run": 0, "links": [], "flows": [{
        "name": "main", "visit": 1, "start_s": 0.0, "marks": [],
        "series": { "cwnd": { "offset": 8, "n": 3, "unit": "B" } } }] }]"#;
    fs::write(target.join("traces.json"), index).unwrap();
    for (bytes, whole) in [(44, true), (43, false), (0, false)] {
        fs::write(target.join("traces.bin"), vec![0; bytes]).unwrap();
        let read = crate::RunDirectory::open(&target).unwrap().recording();
        assert_eq!(read.is_ok(), whole, "{bytes}: {read:?}");
        assert!(whole || read.unwrap_err().to_string().contains("traces.bin"));
    }
}

#[test]
fn the_plain_report_has_tables_and_plots_and_escapes_text() {
    let plan =
        plan(&TWO_VARIANTS.replace("name = \"two\"", "name = \"two\"\ntitle = \"<b> & co\""));
    let results = crate::testing::results(&plan);
    let manifest = manifest(&plan, &results, true, plan.notes.clone());
    let html = bentpipe_report::static_html(&manifest, &results, &[], &[]);
    assert!(html.contains("&lt;b&gt; &amp; co") && !html.contains("<b> & co"));
    assert!(html.contains("<svg") && html.contains("objective 3"));
}
