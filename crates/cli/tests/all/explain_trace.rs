//! `bentpipe explain` of qlog files, compared with the time budgets of the same simulated runs.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used)]

use crate::program::bentpipe;
use serde_json::Value;
use std::fs::DirEntry;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

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

fn explained(directory: &Path, file: &Path) -> Value {
    let output = bentpipe(directory, &["explain", file.to_str().unwrap(), "--json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", file.display());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a scenario. Returns its runs, and what it wrote for each into the folder of that name.
fn simulated(directory: &Path, scenario: &str, folder: &str) -> (Vec<Value>, Vec<DirEntry>) {
    std::fs::write(directory.join("scenario.toml"), scenario).unwrap();
    let output = bentpipe(directory, &["run", "scenario.toml", "--no-store", "--out", "out"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = std::fs::read(directory.join("out/results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    let written = std::fs::read_dir(directory.join("out").join(folder)).unwrap();
    let mut written: Vec<_> = written.flatten().collect();
    written.sort_by_key(DirEntry::file_name);
    (results["runs"].as_array().unwrap().clone(), written)
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
    let (runs, folders) = simulated(directory, SCENARIO, "qlog");
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
                // An error of the rate, which is bounded above, moves time between these two.
                let both =
                    |part: &dyn Fn(&str) -> f64| part("serialisation_s") + part("slow_start_s");
                close(&what, both(&told), both(&known), 0.01);
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

/// Downloads as a capture at the server shows them. Each is the second of two connections between
/// the same ports.
const CAPTURED: &str = r#"
name = "captures"
seed = 3
[path]
forward = { rate = "20 Mbps", delay = "300 ms" }
return = { rate = "5 Mbps", delay = "300 ms" }
[workload]
visits = [{ download = "1 MB", measured = false }, { download = "5 MB", idle_before = "2 s" }]
[defaults]
slow_start = "standard"
resume = "none"
[output]
capture = "access"
time_series = "none"
[[variant]]
name = "plain"
[[variant]]
name = "early-data"
handshake = "0rtt"
[[variant]]
name = "window"
flow_control.connection_window = "500 kB"
[sweep]
"path.forward.loss" = ["0 %", "1 %"]
"#;

#[test]
fn captures_of_quic_say_with_their_keys_what_the_simulation_knows() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (runs, captures) = simulated(directory, CAPTURED, "captures");
    assert_eq!((runs.len(), captures.len()), (6, 6));
    for (run, capture) in runs.iter().zip(&captures) {
        let lossless = run["point"]["path.forward.loss"] == "0 %";
        let what = &*format!("{}, lossless {lossless}", run["variant"].as_str().unwrap());
        let flow = &run["flows"][0];
        let document = explained(directory, &capture.path());
        let transfer = &document["transfers"][0];
        assert_eq!(document["recorded_by"], "sender", "{what}");
        assert!((5_000_000..5_000_100).contains(&document["bytes"].as_u64().unwrap()), "{what}");
        let known = |part: &str| flow["time_budget"][part].as_f64().unwrap_or(0.0);
        let told = |part: &str| transfer["time_budget"][part].as_f64().unwrap_or(0.0);
        let completion = transfer["completion_s"].as_f64().unwrap();
        close(what, completion, flow["completion_s"].as_f64().unwrap(), 0.01);
        close(what, told("handshake_s"), known("handshake_s"), 0.01);
        close(what, document["path"]["rtt_ms"].as_f64().unwrap() / 1e3, 0.6, 0.01);
        if lossless {
            assert_eq!(document["path"]["loss"], 0.0, "{what}");
        }
        // A small window is paced over the RTT, and such a link is never full.
        if what.starts_with("window") {
            assert!(!lossless || told("flow_control_s") > 2.0, "{what}");
        } else if lossless {
            close(what, told("slow_start_s"), known("slow_start_s"), 0.03);
        }
        // Which of the two limits a start within a small window is not told apart from its pacing.
        if !(lossless && what.starts_with("window")) {
            let first = if lossless { "slow_start_s" } else { "congestion_window_s" };
            assert_eq!(transfer["causes"][0], first, "{what}");
        }
    }
    // Without the keys, which are in a block of the file, sizes and times remain.
    let capture = std::fs::read(captures[0].path()).unwrap();
    let (with_keys, without) = without_keys(&capture);
    let files = ["bare.pcapng", "keys.txt", "wrong.txt"].map(|name| directory.join(name));
    std::fs::write(&files[0], without).unwrap();
    std::fs::write(&files[1], &with_keys).unwrap();
    let wrong = String::from_utf8(with_keys).unwrap().replace(['0', '1'], "2");
    std::fs::write(&files[2], wrong).unwrap();
    for (keys, reason) in [(None, "there are none"), (Some("wrong.txt"), "none that was given")] {
        let mut arguments = vec!["explain", "bare.pcapng", "--json"];
        arguments.extend(keys.iter().flat_map(|keys| ["--keys", *keys]));
        let output = bentpipe(directory, &arguments);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let bytes = document["bytes"].as_f64().unwrap();
        assert!((4_950_000.0..5_050_000.0).contains(&bytes), "{bytes}");
        close(reason, document["path"]["rtt_ms"].as_f64().unwrap() / 1e3, 0.6, 0.02);
        let notes = document["notes"].to_string();
        assert!(notes.contains("keys are missing") && notes.contains(reason), "{notes}");
    }
    let again = bentpipe(directory, &["explain", "bare.pcapng", "--keys", "keys.txt", "--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again, explained(directory, &captures[0].path()));
    // From standard input, which is a pipe, by both of its names.
    for name in ["-", "/dev/stdin"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bentpipe"))
            .args(["explain", name, "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&capture).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}");
        assert_eq!(again, serde_json::from_slice::<Value>(&output.stdout).unwrap(), "{name}");
    }
}

/// Returns the key log of a little-endian pcapng file, and the file without it.
fn without_keys(file: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (mut keys, mut rest, mut at) = (Vec::new(), Vec::new(), 0);
    while at < file.len() {
        let length = number(at + 4);
        if number(at) == 10 {
            keys.extend_from_slice(&file[at + 16..at + 16 + number(at + 12)]);
        } else {
            rest.extend_from_slice(&file[at..at + length]);
        }
        at += length;
    }
    (keys, rest)
}

/// A trace in which packets of 20 MB arrive a nanosecond apart.
fn faster_than_any_link() -> String {
    let frame = r#"{"frame_type":"stream","stream_id":0,"offset":0,"length":65000}"#;
    let frames = vec![frame; 300].join(",");
    let packet = |kind: &str, number: u32, time: f64, frames: &str| {
        format!(
            r#"{{"name":"packet_{kind}","time":{time:.6},"data":{{"header":{{"packet_number":{number},
            "packet_type":"1RTT"}},"frames":[{frames}]}}}}"#
        )
    };
    let ack = r#"{"frame_type":"ack","acked_ranges":[[0]]}"#;
    let mut events = vec![packet("sent", 0, 0.0, ""), packet("received", 0, 1.0, ack)];
    events.extend(
        (1..41).map(|number| packet("received", number, 2.0 + f64::from(number) * 1e-6, &frames)),
    );
    format!(r#"{{"qlog_version":"0.3","traces":[{{"events":[{}]}}]}}"#, events.join(","))
}

#[test]
fn wrong_files_are_refused_with_what_is_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let empty = "{\"qlog_version\":\"0.3\",\"traces\":[{\"events\":[]}]}";
    let fast = faster_than_any_link();
    for (name, text, reason) in
        [("text", "not JSON", "allowed: qlog as JSON"), ("empty.qlog", empty, "no packets of QUIC")]
    {
        std::fs::write(directory.join(name), text).unwrap();
        let output = bentpipe(directory, &["explain", name]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(name) && errors.contains(reason), "{errors}");
    }
    // Data that arrives at once shows what the rate is at least.
    std::fs::write(directory.join("fast.qlog"), &fast).unwrap();
    let document = explained(directory, Path::new("fast.qlog"));
    assert_eq!(document["bytes"], 65_000);
    assert_eq!(document["path"]["rate_is_least"], true);
    let output = bentpipe(directory, &["explain", "text", "--variant", "a"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--variant"));
    let output = bentpipe(directory, &["explain", ".", "--rate", "1 Mbps"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--rate"));
}
