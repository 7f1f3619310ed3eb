//! The command with the real simulator: `run`, its files and its output.
// The tests wait for processes.
#![allow(clippy::disallowed_methods)]

use crate::program::{bentpipe, command};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Small transfers with random loss, frames and both handshakes, which could differ between
/// threads.
const SMALL: &str = r#"
name = "small"
repeat = 3
[path]
profile = "terrestrial"
forward = { loss = 0.01, frame = "5 ms" }
[workload]
download = "200 kB"
start_jitter = "10 ms"
[[variant]]
name = "1rtt"
[[variant]]
name = "0rtt"
handshake = "0rtt"
[sweep]
"workload.download" = ["50 kB", "200 kB"]
[output]
qlog = true
"#;

fn dir(scenario: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("creates a directory");
    std::fs::write(dir.path().join("s.toml"), scenario).expect("writes the scenario");
    dir
}

fn json(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).expect("one JSON document")
}

#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    let dir = dir(SMALL);
    let outputs = ["1", "2", "4"].map(|jobs| {
        bentpipe(dir.path(), &["run", "s.toml", "--json", "--jobs", jobs, "--out", jobs])
    });
    for (output, jobs) in outputs.iter().zip(["1", "2", "4"]) {
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout == outputs[0].stdout, "results of {jobs} jobs");
        let file =
            std::fs::read(dir.path().join(jobs).join("results.json")).expect("reads the results");
        assert!(file == output.stdout, "standard output equals the file");
    }
    let results = json(&outputs[0].stdout);
    let runs = results["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 12);
    for run in runs {
        let flow = &run["flows"][0];
        assert_eq!(flow["completed"], true, "{flow}");
        assert_eq!(flow["visit"], if run["variant"] == "0rtt" { 2 } else { 1 });
    }
}

#[test]
fn output_has_a_table_without_colours_and_the_path_of_the_report() {
    let dir = dir(SMALL);
    let output = bentpipe(dir.path(), &["run", "s.toml", "--repeat", "1"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(
        text.contains("download")
            && text.contains("50 kB")
            && text.contains("report: out/small/report.html"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "no progress bar without a terminal");
    let report = bentpipe(dir.path(), &["report", "out/small"]);
    assert_eq!(String::from_utf8_lossy(&report.stdout), "out/small/report.html\n");
    let entries = std::fs::read_dir(dir.path().join("out")).expect("out").count();
    assert_eq!(entries, 1, "temporary files remain");
}

#[test]
fn several_files_produce_a_list_and_a_directory_each() {
    let dir = dir(SMALL);
    std::fs::write(dir.path().join("t.toml"), SMALL.replace("small", "other"))
        .expect("writes the scenario");
    let output = bentpipe(
        dir.path(),
        &["run", "s.toml", "t.toml", "--json", "--repeat", "1", "--out", "results"],
    );
    let names: Vec<_> = json(&output.stdout)
        .as_array()
        .expect("list")
        .iter()
        .map(|one| one["scenario"].clone())
        .collect();
    assert_eq!(names, ["small", "other"]);
    assert!(
        dir.path().join("results/small/report.html").is_file()
            && dir.path().join("results/other/manifest.json").is_file()
    );
}

#[test]
fn a_failed_expectation_sets_exit_status_1() {
    let dir = dir(&format!("{SMALL}\n[[expect]]\nmetric = \"completion_s\"\nbelow = 0.001\n"));
    let output = bentpipe(dir.path(), &["run", "s.toml", "--repeat", "1", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let results = json(&output.stdout);
    assert_eq!(results["expectations"][0]["passed"], false);
    assert!(
        results["expectations"][0]["measured"].as_f64().is_some_and(|measured| measured > 0.001)
    );
}

#[test]
fn a_failed_transfer_stands_in_the_tables_place_with_its_cause() {
    let text = "time_limit = \"20 s\"\n[path]\nprofile = \"geo-10-2\"\n\
         [workload]\ndownload = \"1 MB\"\n[output]\ntime_series = \"none\"\n\
         [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n";
    let dir = dir(&format!("name = \"never\"\n{text}"));
    std::fs::write(dir.path().join("next.toml"), format!("name = \"next\"\n{text}")).unwrap();
    let lost = "path.forward.loss=1";
    let output = bentpipe(dir.path(), &["run", "s.toml", "next.toml", "--set", lost]);
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8_lossy(&output.stdout);
    for name in ["a", "b"] {
        let line = format!("{name} did not complete: it ended after 20 s (the time limit of 20 s");
        assert_eq!(told.matches(&line).count(), 2, "each scenario runs: {told}");
    }
    assert!(told.contains("a longer `time_limit` lets it go on"), "{told}");
    assert!(!told.contains("completion") && !told.contains("identical results"), "{told}");
    let output = bentpipe(dir.path(), &["explain", "out/never"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("b did not complete: it ended after 20 s"), "{told}");
    let output = bentpipe(dir.path(), &["explain", "out/never", "--variant", "b", "--json"]);
    let told = json(&output.stdout);
    assert_eq!((told.as_array().unwrap().len(), &told[0]["variant"]), (1, &"b".into()), "{told}");
    assert_eq!((&told[0]["failed"], &told[0]["runs"]), (&1.into(), &1.into()), "{told}");
}

#[test]
fn flows_of_fixed_duration_are_compared_by_goodput_and_datagrams_by_loss() {
    let dir = dir("name = \"fixed\"\n[path]\nrtt = \"50 ms\"\n\
         forward = { rate = \"5 Mbps\", queue = \"50 ms\" }\nreturn = { rate = \"5 Mbps\" }\n\
         [workload]\nbulk = { duration = \"5 s\" }\n[output]\ntime_series = \"none\"\n\
         [[variant]]\nname = \"bbr3\"\ncongestion = \"bbr3\"\n\
         [[variant]]\nname = \"tiny\"\nmax_window = \"6 kB\"\n");
    let output = bentpipe(dir.path(), &["run", "s.toml", "--out", "fixed"]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("bbr3 has goodput 4.") && told.contains("tiny has goodput "), "{told}");
    assert!(told.contains("times that of bbr3") && !told.contains("as fast as"), "{told}");
    let named = ["run", "s.toml", "--out", "named", "--set", "headline=\"rtt_p99_ms\""];
    let told = bentpipe(dir.path(), &named).stdout;
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("bbr3 has 99th-percentile RTT "), "{told}");

    let datagrams = "name = \"cbr\"\n[path]\nrtt = \"50 ms\"\n\
         forward = { rate = \"5 Mbps\", queue = \"50 ms\" }\nreturn = { rate = \"5 Mbps\" }\n\
         [workload]\ncbr = { rate = \"10 Mbps\", duration = \"5 s\" }\n";
    std::fs::write(dir.path().join("cbr.toml"), datagrams).unwrap();
    let output = bentpipe(dir.path(), &["run", "cbr.toml", "--json"]);
    let results = json(&output.stdout);
    let flow = &results["runs"][0]["flows"][0];
    assert!(flow["packets_declared_lost"].is_null(), "{flow}");
    assert_eq!(flow["workload"], "cbr");
    let median = |metric: &str| {
        let rows = results["summary"].as_array().unwrap();
        rows.iter().find(|row| row["metric"] == metric).unwrap()["median"].as_f64().unwrap()
    };
    assert!((45.0..55.0).contains(&median("lost_percent")), "{}", median("lost_percent"));
    // Half of 50 ms of propagation, and a queue of 50 ms that is always full.
    assert!((70.0..80.0).contains(&median("delay_mean_ms")), "{}", median("delay_mean_ms"));
    assert!((40.0..51.0).contains(&median("queue_delay_mean_ms")));
}

#[test]
fn sentences_and_tables_name_flows_and_leave_none_out() {
    let dir = dir("name = \"flows\"\n[path]\nrtt = \"50 ms\"\n\
         forward = { rate = \"5 Mbps\", queue = \"50 ms\" }\nreturn = { rate = \"5 Mbps\" }\n\
         [output]\ntime_series = \"none\"\n[[flow]]\nname = \"one\"\n\
         bulk = { duration = \"5 s\" }\n[[flow]]\nname = \"two\"\nbulk = { duration = \"5 s\" }\n\
         [[flow]]\nname = \"asks\"\nprobe = { interval = \"500 ms\", duration = \"4 s\" }\n\
         [[flow]]\nname = \"steady\"\ncbr = { rate = \"1 Mbps\", duration = \"5 s\" }\n\
         [[flow]]\nname = \"dropped\"\ncbr = { rate = \"9 Mbps\", duration = \"5 s\" }\n");
    let output = bentpipe(dir.path(), &["run", "s.toml", "--out", "flows"]);
    let told = String::from_utf8_lossy(&output.stdout);
    for sentence in [
        "default, flow asks has median response time ",
        "default, flow steady lost ",
        "default, flow dropped lost ",
    ] {
        assert!(told.contains(sentence), "{sentence}: {told}");
    }
    assert!(!told.contains("median median"), "{told}");
    let rows = told.lines().filter(|line| line.starts_with("default  "));
    for row in rows.filter(|line| !line.contains(" one ") && !line.contains(" two ")) {
        let named = ["asks", "steady", "dropped"].iter().any(|flow| row.contains(flow));
        // The table of fairness is of all flows.
        assert!(named || row.split_whitespace().count() == 8, "{row}");
    }
}

#[test]
fn an_incomplete_transfer_ends_at_the_time_limit_with_nulls() {
    let dir = dir("name = \"never\"\ntime_limit = \"20 s\"\n[path]\nprofile = \"geo-10-2\"\n\
             forward = { loss = 1 }\n[workload]\ndownload = \"1 MB\"\n");
    let output = bentpipe(dir.path(), &["run", "s.toml", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let flow = &json(&output.stdout)["runs"][0]["flows"][0];
    assert_eq!(flow["completed"], false);
    assert!(
        flow["completion_s"].is_null()
            && flow["goodput_mbps"].is_null()
            && flow["first_byte_s"].is_null()
    );
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    for args in [["schema"], ["profiles"], ["controllers"]] {
        let mut child = command(Path::new("."), &args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("command starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("command ends");
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{args:?}");
    }
}

#[test]
fn lists_and_schema_are_json_and_completions_exist() {
    let schema = json(&bentpipe(Path::new("."), &["schema"]).stdout);
    assert!(
        schema["properties"]["path"].is_object() && schema["properties"]["variant"].is_object()
    );
    let profiles = json(&bentpipe(Path::new("."), &["profiles", "--json"]).stdout);
    assert_eq!(profiles[1]["name"], "geo-50-10");
    assert_eq!(profiles[1]["bdp_bytes"], 4_062_500);
    let all = json(&bentpipe(Path::new("."), &["controllers", "--json"]).stdout);
    let kinds: Vec<_> =
        all.as_array().expect("list").iter().map(|entry| entry["kind"].clone()).collect();
    assert!(
        ["controller", "slow_start", "resume"].iter().all(|kind| kinds.contains(&(*kind).into())),
        "{kinds:?}"
    );
    let one = json(&bentpipe(Path::new("."), &["controllers", "newreno", "--json"]).stdout);
    let beta = &one[0]["parameters"][0];
    assert_eq!((&one[0]["name"], &one[1]), (&"newreno".into(), &serde_json::Value::Null));
    assert_eq!(
        (&beta["name"], &beta["default"], &beta["high"]),
        (&"beta".into(), &0.5.into(), &0.95.into())
    );
    let bash = bentpipe(Path::new("."), &["completions", "bash"]);
    assert!(String::from_utf8_lossy(&bash.stdout).contains("_bentpipe()"));
}

/// A child process that is killed when dropped.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

#[test]
fn an_interrupt_keeps_finished_runs() {
    let dir = dir(&SMALL
        .replace("repeat = 3", "repeat = 100000")
        .replace("qlog = true", "time_series = \"none\""));
    let child = command(dir.path(), &["run", "s.toml", "--jobs", "2"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn();
    let mut child = KilledOnDrop(child.expect("command starts"));
    // Once the staging directory exists, the signal handler is installed. Some runs then finish.
    for _ in 0..600 {
        if dir.path().join("out").is_dir() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    let kill = Command::new("kill").args(["-INT", &child.0.id().to_string()]).status();
    assert!(kill.is_ok_and(|status| status.success()));
    assert_eq!(child.0.wait().expect("command ends").code(), Some(3));
    let manifest = json(
        &std::fs::read(dir.path().join("out/small/manifest.json")).expect("reads the manifest"),
    );
    assert_eq!(manifest["complete"], false);
    let done = manifest["runs_done"].as_u64().unwrap_or_default();
    assert!(done > 0 && done < 400_000, "{done}");
    let results =
        json(&std::fs::read(dir.path().join("out/small/results.json")).expect("reads the results"));
    assert_eq!(results["runs"].as_array().map(|runs| runs.len() as u64), Some(done));
    let entries = std::fs::read_dir(dir.path().join("out")).expect("out").count();
    assert_eq!(entries, 1, "temporary files remain");
}

/// A sweep with more rows and expectations than a person reads.
fn long_sweep() -> String {
    let sizes: Vec<String> = (1..=15).map(|n| format!("\"{n} kB\"")).collect();
    let expect = "[[expect]]\nmetric = \"completion_s\"\nbelow = 60.0\n";
    let failing = "[[expect]]\nmetric = \"completion_s\"\nvariant = \"1rtt\"\nbelow = 0.000001\n";
    SMALL
        .replace("\"50 kB\", \"200 kB\"", &sizes.join(", "))
        .replace("qlog = true", "time_series = \"none\"")
        .replace("repeat = 3", "repeat = 1")
        + &expect.repeat(14)
        + failing
}

#[test]
fn a_long_sweep_is_printed_in_short_unless_asked() {
    let dir = dir(&long_sweep());
    let text = |more: &[&str]| {
        let args = [&["run", "s.toml", "--no-store"], more].concat();
        let output = bentpipe(dir.path(), &args);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let short = text(&[]);
    assert!(short.contains("best variant") && short.contains("all 30 rows: --full"), "{short}");
    assert!(short.contains("FAILED") && !short.contains("below 60"), "{short}");
    let full = text(&["--full"]);
    assert!(!full.contains("best variant"), "{full}");
    assert!(full.matches("passed  ").count() >= 14, "{full}");
    let quiet = text(&["--quiet"]);
    assert!(quiet.lines().all(|line| line.starts_with("FAILED  ")) && !quiet.is_empty(), "{quiet}");
}

#[test]
fn quiet_runs_print_nothing_if_all_is_well() {
    let dir = dir(SMALL);
    let output = bentpipe(dir.path(), &["run", "s.toml", "--no-store", "--quiet"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b""[..], &b""[..]));
}

#[test]
fn an_interrupt_before_the_first_result_is_one_line() {
    let long = SMALL
        .replace("\"50 kB\", \"200 kB\"", "\"900 MB\", \"1 GB\"")
        .replace("qlog = true", "time_series = \"none\"");
    let dir = dir(&long);
    let child = command(dir.path(), &["run", "s.toml", "--jobs", "1", "--no-store"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = KilledOnDrop(child.expect("command starts"));
    for _ in 0..600 {
        if dir.path().join("out").is_dir() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let kill = Command::new("kill").args(["-INT", &child.0.id().to_string()]).status();
    assert!(kill.is_ok_and(|status| status.success()));
    assert_eq!(child.0.wait().expect("command ends").code(), Some(3));
    let read = |stream: &mut dyn std::io::Read| {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("text");
        text
    };
    let said = child.0.stderr.as_mut().map(|stream| read(stream)).unwrap_or_default();
    let printed = child.0.stdout.as_mut().map(|stream| read(stream)).unwrap_or_default();
    assert_eq!(printed, "");
    assert!(said.contains("incomplete: none of 12 runs finished; nothing was written"), "{said}");
    // On a machine that is slow to stop, it is said that the signal was seen.
    assert!(said.lines().count() <= 2, "{said}");
}
