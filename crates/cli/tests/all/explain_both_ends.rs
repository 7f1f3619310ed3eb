//! `bentpipe explain` of the captures of both ends of simulated transfers.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used)]

use crate::program::bentpipe;
use serde_json::Value;
use std::path::Path;

/// Losses in both directions; and a return link that is too slow for the acknowledgements.
const SCENARIO: &str = r#"
name = "both-ends"
seed = 5
[path]
forward = { rate = "20 Mbps", delay = "100 ms", loss = "0.5 %" }
return = { rate = "2 Mbps", delay = "100 ms", loss = "1 %" }
[workload]
download = "2 MB"
[defaults]
resume = "none"
slow_start = "standard"
[output]
capture = "access"
time_series = "none"
[[variant]]
name = "quic"
[[variant]]
name = "tcp"
transport = "tcp"
[sweep]
"path.return.rate" = ["2 Mbps", "40 kbps"]
"#;

fn explained(directory: &Path, arguments: &[&str]) -> Value {
    let all = [&["explain", "--json"], arguments].concat();
    let output = bentpipe(directory, &all);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs the scenario with captures at `end`. Returns its runs and the names of the captures.
fn captured(directory: &Path, end: &str) -> (Vec<Value>, Vec<String>) {
    let at = format!("[output]\ncapture_at = \"{end}\"");
    std::fs::write(directory.join("scenario.toml"), SCENARIO.replace("[output]", &at)).unwrap();
    let output = bentpipe(directory, &["run", "scenario.toml", "--no-store", "--out", end]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = std::fs::read(directory.join(end).join("results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    let files = std::fs::read_dir(directory.join(end).join("captures")).unwrap().flatten();
    let mut files: Vec<String> = files
        .map(|file| format!("{end}/captures/{}", file.file_name().to_str().unwrap()))
        .collect();
    files.sort();
    (results["runs"].as_array().unwrap().clone(), files)
}

#[test]
fn both_ends_together_say_what_was_lost_and_what_waited_in_each_direction() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (runs, servers) = captured(directory, "server");
    let (again, clients) = captured(directory, "client");
    assert_eq!((runs.len(), servers.len(), clients.len()), (4, 4, 4));
    for (index, run) in runs.iter().enumerate() {
        let flow = &run["flows"][0];
        assert_eq!(flow["packets_sent"], again[index]["flows"][0]["packets_sent"]);
        let what = format!("{} {}", run["variant"], run["point"]);
        let is_slow = run["point"]["path.return.rate"] == "40 kbps";
        let (server, client) = (&servers[index], &clients[index]);
        let told = explained(directory, &[server, client]);
        assert_eq!(told["recorded_by"], "both", "{what}");
        // The order of the files does not matter.
        assert_eq!(told, explained(directory, &[client, server]), "{what}");
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{what}: {value}"));
        let ways = ["to_receiver", "to_sender"].map(|way| &told["both_ends"][way]);
        let lost = |at: &str| number(&flow[at]);
        let forward = lost("packets_lost_channel") + lost("packets_lost_queue");
        assert_eq!(number(&ways[0]["lost"]), forward, "{what}: {}", told["both_ends"]);
        let back = number(&flow["reverse_packets_lost"]);
        let packets = number(&flow["reverse_packets"]);
        // Packets of the application count, up to the last that arrived.
        let told_back = (number(&ways[1]["lost"]), number(&ways[1]["packets"]));
        for (told, known) in [(told_back.0, back), (told_back.1, packets)] {
            assert!((told - known).abs() <= 8.0 + 0.01 * known, "{what}: {told} of {known}");
        }
        let transfer = &told["transfers"][0];
        let off = number(&transfer["completion_s"]) / number(&flow["completion_s"]) - 1.0;
        assert!(off.abs() < 0.01, "{what}: {off}");
        let rtt = number(&told["path"]["rtt_ms"]);
        assert!((200.0..if is_slow { 225.0 } else { 203.0 }).contains(&rtt), "{what}: {rtt}");
        let wait = number(&ways[1]["longest_wait_ms"]);
        if is_slow {
            // Beside the known part of the time: a queue of acknowledgements.
            let is_tcp = run["variant"] == "tcp";
            let first = if is_tcp { "return_link_s" } else { "slow_start_s" };
            assert_eq!(transfer["causes"][0], first, "{what}: {}", transfer["text"]);
            assert!(wait > 200.0, "{what}: {wait}");
        } else {
            assert!(wait < 10.0, "{what}: {wait}");
        }
        let words = bentpipe(directory, &["explain", server, client]).stdout;
        let words = String::from_utf8(words).unwrap();
        if is_slow && run["variant"] == "tcp" {
            let open = "is not said: waiting on the return link took much of the time";
            assert!(words.contains(open), "{words}");
        }
        let both = format!("both ways: to the client {forward} of ");
        assert!(words.contains("recorded by both ends") && words.contains(&both), "{words}");
        let notes = told["notes"].to_string();
        assert!(notes.contains("clocks of the two files are aligned"), "{notes}");
    }
}

#[test]
fn files_of_different_connections_are_compared() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (_, servers) = captured(directory, "server");
    let (_, clients) = captured(directory, "client");
    // Of one end, or of two runs; asked for by name, also those of one connection.
    let quic: Vec<_> = servers.iter().filter(|name| name.contains("quic")).collect();
    assert_eq!(quic.len(), 2);
    let pairs = [
        vec![quic[0].as_str(), quic[1]],
        vec![&servers[0], &clients[1]],
        vec![&servers[0], "--against", &clients[0]],
    ];
    for arguments in pairs {
        let told = explained(directory, &arguments);
        assert!(told["more_s"].is_object() && told["both_ends"].is_null(), "{arguments:?}: {told}");
    }
    let both = bentpipe(directory, &["explain", &servers[0], &clients[0], "--against", "x"]);
    assert!(!both.status.success());
}
