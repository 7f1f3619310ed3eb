//! `bentpipe explain` of qlog files, compared with the time budgets of the same simulated runs.

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Downloads over one path, as sender and receiver record them.
const SCENARIO: &str = r#"
name = "traces"
seed = 3
[path]
forward = { rate = "20 Mbps", delay = "300 ms" }
return = { rate = "5 Mbps", delay = "300 ms" }
[workload]
download = "5 MB"
[defaults]
resume = "none"
slow_start = "standard"
[output]
qlog = true
time_series = "none"
[[variant]]
name = "cubic"
[[variant]]
name = "auto"
slow_start = "auto"
[[variant]]
name = "credit"
flow_control.connection_window = "500 kB"
[[variant]]
name = "bbr1"
congestion = "bbr1"
[sweep]
"path.forward.loss" = ["0 %", "1 %"]
"#;

fn bentpipe(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bentpipe"))
        .current_dir(directory)
        .env_remove("BENTPIPE_STORE")
        .args(arguments)
        .output()
        .unwrap()
}

fn explained(directory: &Path, file: &Path) -> Value {
    let output = bentpipe(directory, &["explain", file.to_str().unwrap(), "--json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", file.display());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Asserts that two numbers agree within a share of the larger, or to 30 ms.
fn close(what: &str, measured: f64, known: f64, share: f64) {
    let tolerated = (share * measured.max(known)).max(0.03);
    assert!((measured - known).abs() <= tolerated, "{what}: {measured} and {known}");
}

#[test]
fn traces_of_both_ends_say_what_the_simulation_knows() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    std::fs::write(directory.join("traces.toml"), SCENARIO).unwrap();
    let output = bentpipe(directory, &["run", "traces.toml", "--no-store", "--out", "out"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = std::fs::read(directory.join("out/results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    let runs = results["runs"].as_array().unwrap();
    let mut folders: Vec<_> =
        std::fs::read_dir(directory.join("out/qlog")).unwrap().flatten().collect();
    folders.sort_by_key(std::fs::DirEntry::file_name);
    assert_eq!((runs.len(), folders.len()), (8, 8));
    for (run, folder) in runs.iter().zip(folders) {
        let flow = &run["flows"][0];
        let variant = run["variant"].as_str().unwrap();
        let lossless = run["point"]["path.forward.loss"] == "0 %";
        for side in ["server", "client"] {
            let what = format!("{variant}, lossless {lossless}, {side}");
            let file = folder.path().join(format!("main-visit1-{side}.sqlog"));
            let document = explained(directory, &file);
            let (path, transfer) = (&document["path"], &document["transfers"][0]);
            // The frames of HTTP/3 are data of the stream too.
            let bytes = document["bytes"].as_u64().unwrap();
            assert!((5_000_000..5_000_100).contains(&bytes), "{what}: {bytes}");
            assert_eq!(document["direction"], "download", "{what}");
            let known = |part: &str| flow["time_budget"][part].as_f64().unwrap_or(0.0);
            let told = |part: &str| transfer["time_budget"][part].as_f64().unwrap_or(0.0);
            let completion = transfer["completion_s"].as_f64().unwrap();
            close(&what, completion, flow["completion_s"].as_f64().unwrap(), 0.01);
            let parts = transfer["time_budget"].as_object().unwrap();
            let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
            assert!((sum - completion).abs() < 1e-6, "{what}: {sum} of {completion} s");
            close(&what, path["rtt_ms"].as_f64().unwrap() / 1e3, 0.6, 0.01);
            // CUBIC at 1 % loss never fills the link, and a small window is paced over the RTT.
            let fills = lossless && !(variant == "credit" && side == "server");
            if fills || variant == "auto" {
                close(&what, path["rate_mbps"].as_f64().unwrap(), 20.0, 0.03);
            }
            if lossless {
                assert_eq!(path["loss"], 0.0, "{what}");
                close(&what, told("handshake_s"), known("handshake_s"), 0.01);
            }
            if fills {
                close(&what, told("slow_start_s"), known("slow_start_s"), 0.03);
                close(&what, told("flow_control_s"), known("flow_control_s"), 0.15);
            }
            if side == "server" {
                let loss = path["loss"].as_f64().unwrap();
                assert!(lossless || (0.007..0.016).contains(&loss), "{what}: {loss}");
                let first = &transfer["causes"][0];
                match (variant, lossless) {
                    ("cubic" | "credit", false) => assert_eq!(first, "congestion_window_s"),
                    ("credit", true) => assert!(told("flow_control_s") > 2.0, "{what}"),
                    ("auto", false) => {}
                    _ => assert_eq!(first, "slow_start_s", "{what}"),
                }
            }
        }
    }
}

#[test]
fn wrong_files_are_refused_with_what_is_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let empty = "{\"qlog_version\":\"0.3\",\"traces\":[{\"events\":[]}]}";
    for (name, text, reason) in
        [("text", "not JSON", "allowed: qlog as JSON"), ("empty.qlog", empty, "no stream data")]
    {
        std::fs::write(directory.join(name), text).unwrap();
        let output = bentpipe(directory, &["explain", name]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(name) && errors.contains(reason), "{errors}");
    }
    let output = bentpipe(directory, &["explain", "text", "--variant", "a"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--variant"));
    let output = bentpipe(directory, &["explain", ".", "--rate", "1 Mbps"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--rate"));
}
