//! Studies that continue: the result store, shards, replays.
// The tests wait for processes, and a panic is how they fail.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use crate::program::{bentpipe, command};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// 24 runs with random loss, of which four record time series and qlog.
const STUDY: &str = r#"
name = "study"
repeat = 6
[path]
profile = "geo-50-10"
forward = { loss = { model = "trace", file = "loss.txt" }, frame = "5 ms" }
[workload]
download = "200 kB"
[[variant]]
name = "cubic"
slow_start = "standard"
[[variant]]
name = "bbr3"
congestion = "bbr3"
slow_start = "standard"
[sweep]
"workload.download" = ["200 kB", "1 MB"]
[output]
qlog = true
[[expect]]
metric = "completion_s"
below = 60
"#;

fn directory(scenario: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("creates a directory");
    std::fs::write(directory.path().join("s.toml"), scenario).expect("writes the scenario");
    let losses = format!("{}1\n", "0".repeat(150));
    std::fs::write(directory.path().join("loss.txt"), losses).expect("writes the losses");
    directory
}

/// Runs the command, which must succeed, and returns its standard output.
fn succeed(directory: &Path, args: &[&str]) -> String {
    let output = bentpipe(directory, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the contents of all files below `directory`.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(next).expect("lists").map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => left.push(entry),
                false => {
                    let name = entry.strip_prefix(directory).unwrap().to_owned();
                    all.insert(name, std::fs::read(&entry).unwrap());
                }
            }
        }
    }
    all
}

/// Asserts that both directories have the same files, without printing them.
fn assert_same(left: &Path, right: &Path) {
    let (left, right) = (files(left), files(right));
    assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>());
    for (name, content) in left {
        assert!(right[&name] == content, "{} differs", name.display());
    }
}

/// Returns (runs, runs in the store) of `run --dry-run` with `args`.
fn planned(directory: &Path, args: &[&str]) -> (u64, u64) {
    let args = [&["run", "s.toml", "--dry-run", "--json"], args].concat();
    let document = json(&succeed(directory, &args));
    (document["runs"].as_u64().unwrap(), document["in_store"].as_u64().unwrap())
}

#[test]
fn a_study_takes_from_the_store_what_it_shares_with_earlier_ones() {
    let dir = directory(STUDY);
    let (at, out) = (dir.path(), dir.path().join("out/study"));
    assert_eq!(planned(at, &[]), (24, 0));
    succeed(at, &["run", "s.toml", "--no-store", "--out", "without"]);
    assert_eq!(planned(at, &[]), (24, 0), "--no-store keeps nothing");
    succeed(at, &["run", "s.toml"]);
    assert_same(&out, &at.join("without"));
    assert_eq!(planned(at, &[]), (24, 24));
    succeed(at, &["run", "s.toml", "--out", "again"]);
    assert_same(&out, &at.join("again"));
    assert_eq!(planned(at, &["--repeat", "10"]), (40, 24));
    assert_eq!(planned(at, &["--set", "variant.bbr3.slow_start=hystart++"]), (24, 12));
    assert_eq!(planned(at, &["--set", "time_limit=30 min"]), (24, 0));
    assert_eq!(planned(at, &["--set", "output.qlog=false"]), (24, 20), "run 0 records other files");
    assert_eq!(planned(at, &["--no-reuse"]), (24, 0));
    std::fs::write(at.join("loss.txt"), "0 0 0 0 1\n").unwrap();
    assert_eq!(planned(at, &[]), (24, 0), "an input file has other content");

    let shown = json(&succeed(at, &["cache", "show", "--json"]));
    assert_eq!((shown["runs"].as_u64(), shown["recordings"].as_u64()), (Some(24), Some(4)));
    succeed(at, &["cache", "clear"]);
    let shown = json(&succeed(at, &["cache", "show", "--json"]));
    assert_eq!(shown["runs"].as_u64(), Some(0));
}

/// Starts a study with many repeats, sends it `signal` once it has kept some runs, and returns its
/// exit status.
fn interrupted(at: &Path, signal: &str) -> Option<i32> {
    let mut child = command(at, &["run", "s.toml", "--repeat", "100", "--jobs", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("command starts");
    let limit = Instant::now() + Duration::from_secs(60);
    let kept = || json(&succeed(at, &["cache", "show", "--json"]))["runs"].as_u64();
    while !at.join("cache/bentpipe/results-1.sqlite").exists() || kept() < Some(30) {
        assert!(Instant::now() < limit, "no runs are kept");
        assert!(child.try_wait().unwrap().is_none(), "the study ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    child.wait().unwrap().code()
}

#[test]
fn a_study_that_was_interrupted_or_killed_continues() {
    let dir = directory(STUDY);
    let at = dir.path();
    succeed(at, &["run", "s.toml", "--repeat", "100", "--no-store", "--out", "whole"]);
    for (signal, status) in [("-INT", Some(3)), ("-TERM", Some(3)), ("-KILL", None)] {
        for left in ["cache", "out"] {
            let _ = std::fs::remove_dir_all(at.join(left));
        }
        assert_eq!(interrupted(at, signal), status);
        let (runs, kept) = planned(at, &["--repeat", "100"]);
        assert!((30..400).contains(&kept) && runs == 400, "{kept} of {runs} runs are kept");
        succeed(at, &["run", "s.toml", "--repeat", "100"]);
        assert_same(&at.join("out/study"), &at.join("whole"));
    }
    let entries = std::fs::read_dir(at.join("out")).unwrap();
    let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["study"], "partial directories remain");
    // A complete study is not replaced by a part of one.
    succeed(at, &["cache", "clear"]);
    assert_eq!(interrupted(at, "-INT"), Some(3));
    assert_same(&at.join("out/study"), &at.join("whole"));
    let part = std::fs::read_to_string(at.join("out/study-incomplete/manifest.json")).unwrap();
    assert_eq!(json(&part)["complete"], false);
}

#[test]
fn two_processes_share_a_store() {
    let dir = directory(STUDY);
    let at = dir.path();
    let start = |out| command(at, &["run", "s.toml", "--out", out]).output();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| start("one"));
        assert!(start("two").unwrap().status.success());
        assert!(other.join().unwrap().unwrap().status.success());
    });
    assert_same(&at.join("one"), &at.join("two"));
    assert_eq!(planned(at, &[]), (24, 24));
}

#[test]
fn shards_are_joined_to_what_one_machine_would_have_run() {
    let dir = directory(STUDY);
    let at = dir.path();
    succeed(at, &["run", "s.toml", "--no-store"]);
    let shards = ["1/3", "2/3", "3/3"];
    for shard in shards {
        succeed(at, &["run", "s.toml", "--no-store", "--shard", shard]);
    }
    let directories =
        ["out/study-shard-1-of-3", "out/study-shard-2-of-3", "out/study-shard-3-of-3"];
    let two = [&["merge"], &directories[..2], &["--out", "two"]].concat();
    let output = bentpipe(at, &two);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("16 of 24 runs"), "{text}");
    // The scenario and its files come from the shards.
    std::fs::remove_file(at.join("s.toml")).unwrap();
    std::fs::remove_file(at.join("loss.txt")).unwrap();
    succeed(at, &[&["merge"], &directories[..], &["--out", "all"]].concat());
    assert_same(&at.join("all"), &at.join("out/study"));
    let output = bentpipe(at, &["merge", "out/study"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a shard"));
}

#[test]
fn a_run_is_replayed_with_everything_that_can_be_recorded() {
    let dir = directory(STUDY);
    let at = dir.path();
    succeed(at, &["run", "s.toml"]);
    std::fs::remove_file(at.join("loss.txt")).unwrap();
    let point = "workload.download=\"1 MB\"";
    let output =
        bentpipe(at, &["replay", "out/study", "--variant", "bbr3", "--run", "3", "--point", point]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("identical to the run"), "{text}");
    let names: Vec<PathBuf> = files(&at.join("out/study-bbr3-run3")).into_keys().collect();
    let has = |part: &str| names.iter().any(|name| name.to_string_lossy().contains(part));
    assert!(has("captures/") && has("qlog/") && has("traces.bin"), "{names:?}");
    for (args, part) in [
        (&["--variant", "bbr"][..], "allowed: cubic, bbr3"),
        (&["--variant", "bbr3"], "allowed: 200 kB, 1 MB"),
        (&["--variant", "bbr3", "--point", point, "--run", "6"], "allowed: 0 to 5"),
        (&["--variant", "bbr3", "--point", "seed=1", "--point", point], "not swept"),
        (&["--variant", "bbr3", "--point", "1 MB"], "KEY=VALUE"),
    ] {
        let output = bentpipe(at, &[&["replay", "out/study"], args].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(part), "{args:?}: {text}");
    }
}

#[test]
fn visits_at_different_times_of_a_changing_path_are_noted() {
    let path = "[path]\nforward = { rate = \"10 Mbps\", delay = \"50 ms\" }\n\
         return = { rate = \"1 Mbps\", delay = \"50 ms\" }\n";
    let changing = path.replacen(
        "rate = \"10 Mbps\"",
        "rate = { schedule = [{ at = \"0 s\", rate = \"10 Mbps\" }, \
         { at = \"1 s\", rate = \"5 Mbps\" }] }",
        1,
    );
    for (path, noted) in [(path, false), (changing.as_str(), true)] {
        let text = format!(
            "name = \"times\"\n{path}[workload]\nalign_visits = \"0 s\"\n\
             download = \"2 MB\"\n[[variant]]\nname = \"plain\"\n[[variant]]\n\
             name = \"resumed\"\nhandshake = \"0rtt\"\n"
        );
        let directory = directory(&text);
        let output = Command::new(env!("CARGO_BIN_EXE_bentpipe"))
            .current_dir(directory.path())
            .env_remove("BENTPIPE_STORE")
            .args(["run", "s.toml", "--no-store", "--out", "out"])
            .output()
            .expect("runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        let words = "measured visits of `plain` begin 0.0 s after the start of a run, those of";
        let shown = String::from_utf8_lossy(&output.stdout) + errors;
        assert_eq!(shown.contains(words), noted, "{shown}");
    }
}

#[test]
fn results_of_users_are_read_again_from_the_store_and_from_the_directory() {
    let directory = directory(
        r#"
name = "beam"
repeat = 2
[path]
profile = "geo-50-10"
[[flow]]
name = "users"
count = 6
download = "100 kB"
"#,
    );
    let directory = directory.path();
    let run = |out: &str| {
        let output = bentpipe(directory, &["run", "s.toml", "--out", out, "--store", "store"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(directory.join(out).join("results.json")).unwrap()
    };
    assert!(run("first") == run("again"), "the second is from the store");
    let report = bentpipe(directory, &["report", "first"]);
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
}
