//! `bentpipe compare` with real runs: findings, baseline files, JUnit XML, pages and errors.
// The tests wait for processes.
#![allow(clippy::disallowed_methods)]

use crate::program::command;
use std::path::Path;
use std::process::Output;

/// Short transfers whose runs differ by random loss.
const SMALL: &str = r#"
name = "small"
repeat = 12
[path]
profile = "terrestrial"
forward = { loss = 0.002 }
[workload]
download = "50 kB"
start_jitter = "10 ms"
[[variant]]
name = "cubic"
[[variant]]
name = "0rtt"
handshake = "0rtt"
[output]
time_series = "none"
"#;

/// Runs the command with its store of results in `store`.
fn bentpipe(directory: &Path, args: &[&str]) -> Output {
    let mut command = command(directory, args);
    command.env("BENTPIPE_STORE", directory.join("store")).output().expect("command runs")
}

/// Run directories `one` and `two` of different seeds, and `slow` with a longer RTT.
fn studies() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("creates a directory");
    std::fs::write(dir.path().join("s.toml"), SMALL).expect("writes the scenario");
    for (name, seed, rtt) in [("one", "1", "40 ms"), ("two", "4", "40 ms"), ("slow", "3", "60 ms")]
    {
        let set = format!("path.rtt={rtt}");
        let run = ["run", "s.toml", "--seed", seed, "--set", &set, "--out", name];
        let output = bentpipe(dir.path(), &run);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    dir
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).expect("reads the file")
}

#[test]
fn a_slower_path_is_a_regression_and_another_seed_is_not() {
    let dir = studies();
    let equal = bentpipe(dir.path(), &["compare", "one", "two"]);
    assert_eq!(equal.status.code(), Some(0), "{}{}", stdout(&equal), stderr(&equal));
    assert!(stdout(&equal).contains("2 without a change"), "{}", stdout(&equal));

    let files = ["--junit", "j.xml", "--html", "c.html"];
    let slower = bentpipe(dir.path(), &[&["compare", "one", "slow"][..], &files].concat());
    assert_eq!(slower.status.code(), Some(1), "{}{}", stdout(&slower), stderr(&slower));
    assert!(stdout(&slower).contains("2 regressions"), "{}", stdout(&slower));
    let junit = read(dir.path(), "j.xml");
    assert!(junit.contains("failures=\"2\"") && junit.contains("<failure message=\"regression:"));
    assert!(junit.contains("name=\"0rtt, visit 2: completion_s\""), "{junit}");
    let page = read(dir.path(), "c.html");
    assert!(page.contains("Regressions (2)") && page.contains("<svg"));
    assert!(!page.contains("<script") && !page.contains("http://"));

    let faster = bentpipe(dir.path(), &["compare", "slow", "one", "--json"]);
    assert_eq!(faster.status.code(), Some(0), "improvements do not fail");
    let faster = json(&faster);
    for change in faster["changes"].as_array().expect("changes") {
        assert_eq!(change["finding"], "improvement", "{change}");
        assert_eq!((&change["method"], &change["better"]), (&"unpaired".into(), &"lower".into()));
        assert!(change["typical"]["high"].as_f64().expect("interval") < 0.0, "{change}");
    }

    let tolerant = bentpipe(dir.path(), &["compare", "one", "slow", "--tolerance", "90%"]);
    assert_eq!(tolerant.status.code(), Some(0));
    assert!(stdout(&tolerant).contains("2 within tolerance"), "{}", stdout(&tolerant));
}

#[test]
fn a_baseline_file_gives_the_numbers_of_its_run_directory() {
    let dir = studies();
    let save = ["compare", "--save-baseline", "base.json", "one", "--metric", "packets_sent"];
    let saved = bentpipe(dir.path(), &save);
    assert_eq!(saved.status.code(), Some(0), "{}", stderr(&saved));
    assert_eq!(stdout(&saved), "base.json: 2 cases of completion_s, packets_sent\n");
    let metrics = ["--metric", "completion_s", "--metric", "packets_sent", "--json"];
    let directories = bentpipe(dir.path(), &[&["compare", "one", "slow"][..], &metrics].concat());
    let baseline = bentpipe(dir.path(), &["compare", "base.json", "slow", "--json"]);
    assert_eq!(json(&baseline)["changes"], json(&directories)["changes"]);
    assert_eq!(json(&baseline)["changes"].as_array().map(Vec::len), Some(4));
    // Also as the second side.
    let reversed = bentpipe(dir.path(), &["compare", "slow", "base.json"]);
    assert_eq!(reversed.status.code(), Some(0), "{}", stderr(&reversed));

    let refused =
        bentpipe(dir.path(), &["compare", "base.json", "two", "--metric", "first_byte_s"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("the baseline file has no `first_byte_s`"));
    let cut = read(dir.path(), "base.json").replace(",\"visit\":1}", "}");
    std::fs::write(dir.path().join("cut.json"), cut).expect("writes");
    let refused = bentpipe(dir.path(), &["compare", "cut.json", "two"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("cut.json: missing field `visit`"), "{}", stderr(&refused));
}

#[test]
fn runs_of_equal_seeds_are_paired_also_between_variants() {
    let dir = studies();
    let same = json(&bentpipe(dir.path(), &["compare", "one", "one", "--json"]));
    assert_eq!((&same["paired"], &same["tests"]), (&true.into(), &0.into()));
    assert!(
        same["changes"].as_array().expect("changes").iter().all(|c| c["finding"] == "identical")
    );
    let variants = ["compare", "one", "--variants", "cubic", "0rtt", "--json"];
    let variants = json(&bentpipe(dir.path(), &variants));
    assert_eq!(variants["missing"], serde_json::json!([]));
    assert_eq!(variants["changes"][0]["variant"], "cubic → 0rtt");
    assert_eq!(variants["changes"][0]["method"], "paired");
    assert_eq!(variants["changes"][0]["finding"], "improvement");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let dir = studies();
    for (args, reason) in [
        (&["one"][..], "error: AFTER: there is nothing to compare with"),
        (&["one", "nowhere"], "error: cannot read nowhere: No such file"),
        (&["one", "s.toml"], "error: cannot read s.toml: expected ident at line 2 column 2"),
        (&["one", "store"], "error: cannot read store/manifest.json"),
        (&["one", "two", "--metric", "speed"], "error: --metric: `speed` is no metric"),
        (&["one", "two", "--level", "0"], "allowed: more than 0 and at most 0.5"),
        (&["one", "--variants", "cubic", "x"], "has no variant `x`; allowed: cubic, 0rtt"),
        (&["one", "two", "--metric", "pep_acks_dropped"], "no values of the same case and metric"),
    ] {
        let output = bentpipe(dir.path(), &[&["compare"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(reason), "{args:?}: {}", stderr(&output));
    }
    let few = ["run", "s.toml", "--repeat", "2", "--seed", "7", "--out", "few"];
    assert_eq!(bentpipe(dir.path(), &few).status.code(), Some(0));
    let output = bentpipe(dir.path(), &["compare", "few", "few", "--json"]);
    assert_eq!(output.status.code(), Some(0), "equal values need no test");
    let set = "path.rtt=60 ms";
    let few = ["run", "s.toml", "--repeat", "2", "--seed", "8", "--set", set, "--out", "other"];
    assert_eq!(bentpipe(dir.path(), &few).status.code(), Some(0));
    let output = bentpipe(dir.path(), &["compare", "few", "other"]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stderr(&output).contains("more runs are needed"), "{}", stderr(&output));
    assert!(stdout(&output).contains("2 and 2 runs are too few to find a change"));
}
