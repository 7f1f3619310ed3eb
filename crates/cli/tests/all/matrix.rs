//! `bentpipe matrix` with the real simulator.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]

use std::path::Path;
use std::process::{Command, Output};

/// Two flows that share a link.
const TWO: &str = r#"
name = "small"
[path]
rtt = "20 ms"
forward = { rate = "5 Mbps", queue = "20 packets" }
return = { rate = "5 Mbps", queue = "20 packets" }
[defaults]
http = "raw"
[[flow]]
name = "first"
bulk.duration = "6 s"
[[flow]]
name = "sec.ond"
bulk.duration = "6 s"
[[flow]]
name = "cross"
cbr.rate = "100 kbps"
cbr.duration = "6 s"
[output]
time_series = "none"
"#;

fn matrix(directory: &Path, scenario: &str, args: &[&str]) -> Output {
    std::fs::write(directory.join("s.toml"), scenario).expect("writes the scenario");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.env("XDG_CACHE_HOME", directory.join("cache"));
    command.current_dir(directory).arg("matrix").args(args).output().expect("command runs")
}

fn figure(directory: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.current_dir(directory).arg("figure").args(args).output().expect("command runs")
}

#[test]
fn every_pair_runs_once_and_its_shares_are_reported() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let output = matrix(
        dir.path(),
        TWO,
        &["s.toml", "--controllers", "newreno,vegas", "--out", "o", "--json"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let results: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one JSON document");
    let runs = results["runs"].as_array().expect("runs");
    let pairs: Vec<(&str, &str)> = runs
        .iter()
        .map(|run| {
            let controller = |flow: &str| {
                run["point"][format!("flow.{flow}.congestion")].as_str().unwrap_or_default()
            };
            (controller("first"), controller("sec.ond"))
        })
        .collect();
    assert_eq!(
        pairs,
        [("newreno", "newreno"), ("newreno", "vegas"), ("vegas", "newreno"), ("vegas", "vegas")]
    );
    for run in runs {
        assert_eq!(run["flows"][0]["congestion"], run["point"]["flow.first.congestion"]);
        let fairness = &run["fairness"];
        let shares: f64 = (0..2).filter_map(|flow| fairness["flows"][flow]["share"].as_f64()).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{fairness}");
        assert!(
            fairness["jain_index"].as_f64().is_some_and(|jain| (0.5..=1.0).contains(&jain)),
            "{fairness}"
        );
        assert_eq!(fairness["bottleneck"], "access/forward");
    }
    let jain = results["summary"]
        .as_array()
        .expect("summary")
        .iter()
        .filter(|row| row["metric"] == "jain_index");
    assert!(jain.clone().all(|row| row["flow"] == "all" && row["n"] == 1) && jain.count() == 4);
    assert!(dir.path().join("o/small/report.html").is_file());
    let of_matrix = figure(dir.path(), &["o/small", "--what", "heat"]);
    let drawn = String::from_utf8_lossy(&of_matrix.stdout);
    // A box for each pair, and nine of the scale.
    assert_eq!(drawn.matches("<rect x=").count(), 4 + 9, "{drawn}");
    assert!(drawn.contains("the controller of sec.ond (across)"), "{drawn}");

    let output = matrix(dir.path(), TWO, &["s.toml", "--controllers", "cubic"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("share of `first`")
            && text.contains("Jain's index")
            && text.contains("\ncubic "),
        "{text}"
    );
    assert!(dir.path().join("out/small/results.json").is_file());
}

#[test]
fn figures_are_written_as_their_files_are_called() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let output = matrix(dir.path(), TWO, &["s.toml", "--controllers", "newreno,vegas"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let run = "out/small";
    for (file, begin) in [
        ("f.svg", "<svg xmlns"),
        ("f.csv", "flow.first.congestion,"),
        ("f.md", "| flow.first.congestion |"),
        ("f.tex", "\\begin{table}"),
    ] {
        let output = figure(dir.path(), &[run, "--what", "heat", "-o", file]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{file}\n"));
        let text = std::fs::read_to_string(dir.path().join(file)).expect("it was written");
        assert!(text.starts_with(begin), "{text}");
    }
    let output = figure(dir.path(), &[run, "--list"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("flow.first.congestion by flow.sec.ond.congestion: 4 cells"), "{text}");
    assert!(text.contains("series  no: no time series were recorded"), "{text}");
    for (args, part) in [
        (&[run, "--what", "heat", "-o", "f.png"][..], "rsvg-convert"),
        (&[run, "--what", "budget", "--width", "9"], "allowed: 40 to 400 mm"),
        (&[run, "--what", "series"], "output.time_series"),
        (&[run, "--what", "heat", "--point", "x"], "allowed: KEY=VALUE"),
        (&[run], "--what"),
        (&["none", "--list"], "allowed: a directory that `bentpipe run` wrote"),
    ] {
        let output = figure(dir.path(), args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(part), "{args:?}: {error}");
    }
    assert!(!dir.path().join("f.png").exists());
}

#[test]
fn scenarios_without_two_controlled_flows_are_rejected() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let alone = TWO.replace(
        "name = \"sec.ond\"\nbulk.duration = \"6 s\"",
        "name = \"other\"\nping = { interval = \"1 s\", duration = \"6 s\" }",
    );
    for (scenario, args, expected) in [
        (alone.as_str(), &["s.toml"][..], "has one flow with congestion control; allowed: two"),
        (
            TWO,
            &["s.toml", "--controllers", "reno"],
            "no controller is named `reno`; allowed: `newreno`",
        ),
        (TWO, &["s.toml", "s.toml"], "two scenarios are named `small`"),
    ] {
        let output = matrix(dir.path(), scenario, args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(expected) && output.stdout.is_empty(), "{error}");
        assert!(!dir.path().join("out").exists());
    }
}
