//! Whole runs over recorded paths, and paths whose recordings do not go together.

#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_lab::{Changes, Lab, Plan};
use bentpipe_units::{Rate, Time};

/// A minute in steps of a second: 40 ms and 10 Mbps, with 60 ms and 5 Mbps in every fifteenth.
fn minute() -> String {
    let mut csv = "# start: 2026-05-01T12:00:00Z\ntime_s,rate_bps,delay_ms,loss\n".to_owned();
    for second in 0..60 {
        let slow = second % 15 == 14;
        csv += &format!(
            "{second},{},{},0\n",
            if slow { 5e6 } else { 1e7 },
            if slow { 60 } else { 40 }
        );
    }
    csv
}

struct Directory(tempfile::TempDir);

impl Directory {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        Self(directory)
    }

    fn plan(&self, path: &str) -> Result<Plan, String> {
        let text =
            format!("name = \"recorded\"\nrepeat = 20\n{path}\n[workload]\ndownload = \"1 MB\"\n");
        let plan = Plan::parse("recorded.toml", &text, self.0.path(), &Changes::default());
        plan.map_err(|error| error.to_string())
    }

    #[track_caller]
    fn refused(&self, path: &str, words: &[&str]) {
        let error = self.plan(path).err().unwrap_or_else(|| panic!("accepted: {path}"));
        for word in words {
            assert!(error.contains(word), "no {word:?} in: {error}");
        }
    }
}

const BOTH: &str = "forward = { recording = \"down.csv\", queue = \"100 packets\" }\n\
                    return = { recording = \"up.csv\", rate = \"2 Mbps\" }\n";

#[test]
fn runs_draw_their_start_and_both_directions_have_the_same() {
    let minute = minute();
    let directory = Directory::new(&[("down.csv", &minute), ("up.csv", &minute)]);
    let plan =
        directory.plan(&format!("[path]\n{BOTH}[path.recording]\nstart = \"random\"\n")).unwrap();
    assert_eq!(plan.tasks.len(), 20);
    let mut phases = Vec::new();
    for task in &plan.tasks {
        let spec = plan.spec(*task).unwrap();
        assert!((spec.base_rtt.as_millis_f64() - 80.0).abs() < 1e-9, "the median, in all runs");
        let hop = &spec.hops[0];
        let slow = |ms: u64| hop.forward.rate_at(Time::from_millis(ms)) == Rate::from_mbps(5);
        for ms in (0..60_000).step_by(100) {
            let at = Time::from_millis(ms);
            assert_eq!(hop.forward.delay_at(at), hop.reverse.delay_at(at));
            assert_eq!(hop.reverse.rate_at(at), Rate::from_mbps(2));
        }
        phases.push((0..15_000).find(|ms| slow(*ms)).unwrap());
    }
    phases.sort_unstable();
    phases.dedup();
    assert!(phases.len() > 15, "{phases:?}");
    assert!(plan.notes.iter().all(|note| !note.contains("all runs begin")), "{:?}", plan.notes);
}

#[test]
fn starts_are_multiples_of_the_period() {
    let minute = minute();
    let directory = Directory::new(&[("down.csv", &minute), ("up.csv", &minute)]);
    let keys = "[path.recording]\nstart = \"random\"\nperiod = \"15 s\"\n";
    let plan = directory.plan(&format!("[path]\n{BOTH}{keys}")).unwrap();
    for task in &plan.tasks {
        let spec = plan.spec(*task).unwrap();
        let rate = |secs| spec.hops[0].forward.rate_at(Time::from_secs(secs));
        assert_eq!(
            [rate(13), rate(14), rate(15)].map(Rate::as_bps),
            [10_000_000, 5_000_000, 10_000_000]
        );
    }
    assert!(plan.notes.iter().any(|note| note.contains("at most 4 independent starts")));
    let fixed = directory.plan(&format!("[path]\n{BOTH}")).unwrap();
    assert_eq!(fixed.tasks.len(), 20, "the loss of a recording is drawn");
    assert!(
        fixed.notes.iter().any(|note| note.contains("all runs begin at the same place")),
        "{:?}",
        fixed.notes
    );
}

#[test]
fn a_transfer_over_a_recording_takes_as_long_as_over_the_schedule_that_it_is() {
    let minute = minute();
    let directory = Directory::new(&[("down.csv", &minute), ("up.csv", &minute)]);
    let steps = |value: &str, low: &str, high: &str| {
        let step = |at: &str, which: &str| format!("{{ at = \"{at}\", {value} = \"{which}\" }}");
        format!(
            "{{ schedule = [{}, {}], repeat = \"15 s\" }}",
            step("0 s", low),
            step("14 s", high)
        )
    };
    let (rate, delay) = (steps("rate", "10 Mbps", "5 Mbps"), steps("delay", "40 ms", "60 ms"));
    let run = |path: &str| {
        let text = format!("name = \"one\"\n{path}\n[workload]\ndownload = \"20 MB\"\n");
        let file = directory.0.path().join("one.toml");
        std::fs::write(&file, text).unwrap();
        Lab::new().run_file(&file).unwrap().runs[0].flows[0].metrics.completion_s
    };
    let scheduled = run(&format!(
        "[path]\nforward = {{ rate = {rate}, delay = {delay}, queue = \"100 packets\" }}\n\
         return = {{ rate = \"2 Mbps\", delay = {delay}, queue = \"1 MB\" }}"
    ));
    let recorded =
        run(&format!("[path]\n{}", BOTH.replace("\"2 Mbps\"", "\"2 Mbps\", queue = \"1 MB\"")));
    assert!(scheduled.is_some_and(|secs| secs > 16.0));
    assert_eq!(recorded, scheduled);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let minute = minute();
    let later = minute.replace("12:00:00", "12:00:07");
    let gap = minute.lines().filter(|line| !line.starts_with('2')).collect::<Vec<_>>().join("\n");
    let files = [
        ("down.csv", minute.as_str()),
        ("up.csv", &minute),
        ("later.csv", &later),
        ("gap.csv", &gap),
        ("delay.csv", "time_s,delay_ms\n0,20\n1,30\n2,x\n"),
        ("rate.trace", "1\n2\n3\n20000\n"),
    ];
    let directory = Directory::new(&files);
    let with = |recording: &str| format!("[path]\n{BOTH}[path.recording]\n{recording}\n");
    directory
        .refused(&with("start = \"60 s\""), &["beyond the end of the recordings", "below 1 min"]);
    directory.refused(&with("period = \"61 s\""), &["less than the `period`"]);
    directory.refused(&with("period = \"0 s\""), &["`period`"]);
    directory.refused(&with("loop = \"end\""), &["runs may last 1 h", "1 min of the recordings"]);
    directory.refused(&with("loop = \"end\"\nstart = \"random\""), &["the same for all runs"]);
    directory.refused(&with("loop = \"again\""), &["`cut`, `hold`, `end`"]);
    let path = format!("[path]\n{BOTH}").replace("up.csv", "later.csv");
    directory.refused(&path, &["down.csv begins at", "12:00:07Z"]);
    let path = format!("[path]\n{BOTH}").replace("up.csv", "gap.csv");
    directory.refused(&path, &["gap.csv, line 21", "nothing was measured for 11 s", "fill"]);
    assert!(directory.plan(&format!("{path}[path.recording]\nfill = \"hold\"\n")).is_ok());
    directory.refused(
        "[path]\nforward = { recording = \"delay.csv\", rate = \"1 Mbps\" }",
        &["delay.csv, line 4", "is no number"],
    );
    directory.refused(&format!("[path]\nrtt = \"1 s\"\n{BOTH}"), &["`rtt` sets the delay"]);
    let trace = "[path]\nrtt = \"50 ms\"\nforward = { rate = { trace = \"rate.trace\" } }\n\
                 return = { rate = \"1 Mbps\" }\n";
    directory.refused(
        &format!("{trace}[path.recording]\nloop = \"hold\""),
        &["rate.trace has opportunities"],
    );
    let still = "[path]\nprofile = \"geo-50-10\"\n[path.recording]\nstart = \"1 s\"";
    directory.refused(still, &["no effect on a path without recordings"]);
    directory
        .refused("[path]\nforward = { recording = \"none.csv\" }", &["cannot read", "none.csv"]);
}

#[test]
fn a_trace_is_cut_to_the_recording_beside_it() {
    let minute = minute();
    let trace: String = (1..=70_000).map(|ms| format!("{ms}\n")).collect();
    let directory = Directory::new(&[("down.csv", &minute), ("rate.trace", &trace)]);
    let path = "[path]\nforward = { recording = \"down.csv\", rate = { trace = \"rate.trace\" } }\n\
                return = { rate = \"1 Mbps\", delay = \"1 ms\" }\n";
    let plan = directory.plan(path).unwrap();
    assert!(
        plan.notes.iter().any(|note| note.contains("rate.trace has 10 s more")),
        "{:?}",
        plan.notes
    );
    let forward = &plan.spec(plan.tasks[0]).unwrap().hops[0].forward;
    assert_eq!(forward.pattern(), bentpipe_units::Span::from_secs(60));
}
