//! `bentpipe run --clock real`: transfers of the kernel and of programs over emulated links, with
//! results in the form of a simulation.
//!
//! Without root, the command moves to a user namespace. If the kernel permits neither, the tests
//! print the reason and pass.
// The tests measure real time.
#![allow(clippy::disallowed_methods)]

use crate::clock;

use clock::{cannot_run, command, results, run, stderr};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const HEAD: &str = "name = \"real\"\nrepeat = 2\ntime_limit = \"20 s\"\n[path]\n\
     forward = { rate = \"20 Mbps\", delay = \"50 ms\" }\n\
     return = { rate = \"5 Mbps\", delay = \"50 ms\" }\n[workload]\ndownload = \"300 kB\"\n";
const TCP: &str = "[defaults]\ntransport = \"tcp\"\nhttp = \"raw\"\n[[variant]]\n\
     name = \"cubic\"\ncongestion = \"cubic\"\n[[variant]]\nname = \"bbr\"\n\
     congestion = \"bbr1\"\n";
const FETCH: &str = "python3 -c \"import sys, urllib.request as u; \
    sys.stdout.buffer.write(u.urlopen('http://{server}:{port}/{file}').read())\"";

#[test]
fn kernel_tcp_produces_results_with_the_same_keys_as_a_simulation() {
    let text = format!("{HEAD}{TCP}");
    let output = run("real", &text);
    if cannot_run(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (emulated, simulated) = (results(&output), results(&run("virtual", &text)));
    assert_eq!((&emulated["clock"], &simulated["clock"]), (&"real".into(), &"virtual".into()));
    // All runs are made, although nothing is random: real runs differ.
    assert_eq!(emulated["runs"].as_array().map(Vec::len), Some(4));
    let keys = |document: &Value| {
        let flow = document["runs"][0]["flows"][0].as_object().expect("flow");
        flow.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(&emulated), keys(&simulated));
    for run in emulated["runs"].as_array().expect("runs") {
        let flow = &run["flows"][0];
        assert_eq!(
            (flow["completed"].as_bool(), flow["bytes"].as_u64()),
            (Some(true), Some(300_000)),
            "{flow}"
        );
        let second = |key: &str| flow[key].as_f64().unwrap_or(0.0);
        assert!(second("handshake_s") >= 0.1 && second("first_byte_s") >= 0.2, "{flow}");
        assert!(second("completion_s") >= 0.3 && second("rtt_min_ms") >= 100.0, "{flow}");
        // 207 segments of 1448 bytes, and a few to open and close the connection.
        assert!((207..300).contains(&flow["packets_sent"].as_u64().unwrap_or(0)), "{flow}");
        assert!(flow["reverse_bytes"]["total"].as_u64() > Some(1000), "{flow}");
        for direction in run["emulation"]["directions"].as_array().expect("directions") {
            assert_eq!(direction["unaccounted"], 0, "{direction}");
        }
        assert!(run["links"][0]["bytes"].as_u64() > Some(300_000), "{run}");
    }
}

#[test]
fn keys_without_effect_on_the_real_clock_are_rejected() {
    let tcp = |more: &str| format!("{HEAD}[defaults]\ntransport = \"tcp\"\n{more}");
    for (text, words) in [
        (tcp("http = \"raw\"\ncongestion = \"copa\"\n"), "`congestion`"),
        (
            tcp("http = \"raw\"\ncongestion = \"newreno\"\nslow_start = \"long-path\"\n"),
            "`slow_start`",
        ),
        (tcp("http = \"raw\"\ninitial_window = 32\n"), "`initial_window`"),
        (tcp("http = \"raw\"\nack = \"1:10\"\n"), "`ack`"),
        (tcp("http = \"raw\"\nresume = \"careful\"\n"), "`resume`"),
        (format!("{HEAD}[defaults]\nvisit = \"repeat\"\n"), "`handshake`"),
        (format!("{HEAD}[defaults]\nquic.pacing = false\n"), "`quic.pacing`"),
        (format!("{HEAD}[defaults]\nquic.initial_rtt = \"1 s\"\n"), "`quic.initial_rtt`"),
        (format!("{HEAD}[defaults]\ninitial_window = 10\n"), "`initial_window`"),
        (format!("{HEAD}[defaults]\nack = \"1:10\"\n"), "`ack`"),
        (HEAD.replace("download = ", "upload = "), "`upload`"),
        (format!("{HEAD}[defaults]\nhttp = \"raw\"\n"), "`http`"),
    ] {
        let output = run("real", &text);
        let errors = stderr(&output);
        assert!(
            output.status.code() == Some(2) && errors.contains(words) && errors.contains("allowed"),
            "{words}: {errors}"
        );
    }
    let external = |keys: &str| HEAD.replace("download = ", "external.size = ") + keys;
    let output =
        run("virtual", &external("external.server = \"true\"\nexternal.client = \"true\"\n"));
    assert!(
        output.status.code() == Some(2) && stderr(&output).contains("--clock real"),
        "{}",
        stderr(&output)
    );
    let output = run("real", &external("external.server = \"true\"\n"));
    assert!(
        output.status.code() == Some(2) && stderr(&output).contains("`client`"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn programs_receive_addresses_and_files_and_their_packets_are_counted() {
    let server = "cd {dir} && exec python3 -m http.server {port} --bind {server}";
    let program =
        format!("[defaults]\nexternal = {{ server = '''{server}''', client = '''{FETCH}''' }}\n");
    let output =
        run("real", &format!("{}{program}", HEAD.replace("download = ", "external.size = ")));
    if cannot_run(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = results(&output);
    let flow = &document["runs"][1]["flows"][0];
    assert_eq!(
        (flow["completed"].as_bool(), flow["transport"].as_str()),
        (Some(true), Some("program")),
        "{flow}"
    );
    assert!(
        flow["completion_s"].as_f64() > Some(0.3) && flow["packets_sent"].as_u64() > Some(200),
        "{flow}"
    );
    assert!(flow["handshake_s"].is_null() && flow["packets_declared_lost"].is_null(), "{flow}");
}

#[test]
fn a_failed_program_fails_the_run_with_its_last_output() {
    let server = "cd {dir} && exec python3 -m http.server {port} --bind {server}";
    for (server, client, words) in [
        (server, "echo broken >&2; exit 7", "the client ended with status 7: broken"),
        (server, "echo few > {output}", "has written 4 of 300000 bytes"),
        (
            "echo nothing to serve; exit 3",
            "true",
            "the server ended with status 3 before it listened",
        ),
    ] {
        let program = format!(
            "[defaults]\nexternal = {{ server = '''{server}''', client = '''{client}''' }}\n"
        );
        let output =
            run("real", &format!("{}{program}", HEAD.replace("download = ", "external.size = ")));
        if cannot_run(&output) {
            return;
        }
        let error = results(&output)["runs"][0]["flows"][0]["error"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(error.contains(words), "{words}: {error}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(3));
    }
}

#[test]
fn quic_uses_the_product_server_and_client() {
    let output = run(
        "real",
        &format!("{HEAD}[defaults]\ncongestion = \"cubic\"\nslow_start = \"standard\"\n"),
    );
    if cannot_run(&output) {
        return;
    }
    let document = results(&output);
    let flow = &document["runs"][0]["flows"][0];
    assert_eq!(output.status.code(), Some(0), "{}: {flow}", stderr(&output));
    assert_eq!(
        (flow["completed"].as_bool(), flow["transport"].as_str()),
        (Some(true), Some("quic")),
        "{flow}"
    );
    let second = |key: &str| flow[key].as_f64().unwrap_or(0.0);
    assert!(second("handshake_s") >= 0.1 && second("completion_s") >= 0.3, "{flow}");
    assert!(flow["reverse_bytes"]["udp"].as_u64() > Some(100), "{flow}");
}

/// Temporary files are in a directory whose name is no word of a shell.
#[test]
fn programs_run_with_any_directory_for_temporary_files() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let temporary = dir.path().join("a b'$c");
    std::fs::create_dir(&temporary).expect("creates a directory");
    let quic = format!("{HEAD}[defaults]\ncongestion = \"cubic\"\nslow_start = \"standard\"\n");
    let head = HEAD.replace("download = \"300 kB\"", "external.size = \"300 kB\"");
    let server = "cd {dir} && exec python3 -m http.server {port} --bind {server}";
    let external =
        format!("{head}external.server = '''{server}'''\nexternal.client = '''{FETCH}'''\n");
    for text in [quic, external] {
        let mut command = command(dir.path(), "real", &text);
        let output = command.env("TMPDIR", &temporary).output().expect("command runs");
        if cannot_run(&output) {
            return;
        }
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(results(&output)["runs"][0]["flows"][0]["completed"], true);
        std::fs::remove_dir_all(dir.path().join("out")).expect("removes the results");
    }
}

#[test]
fn a_second_visit_uses_early_data_and_is_counted_separately() {
    let text = format!(
        "{}[output]\ncapture = \"access\"\n",
        HEAD.replace("\"300 kB\"\n", "\"300 kB\"\nidle_before = \"3 s\"\n")
    );
    let text = format!("{text}[defaults]\nhandshake = \"0rtt\"\nresume = \"careful\"\n")
        .replace("repeat = 2", "repeat = 1");
    let dir = tempfile::tempdir().expect("creates a directory");
    let output = command(dir.path(), "real", &text).output().expect("command runs");
    if cannot_run(&output) {
        return;
    }
    let document = results(&output);
    let flow = &document["runs"][0]["flows"][0];
    assert_eq!(output.status.code(), Some(0), "{}: {flow}", stderr(&output));
    assert_eq!(
        (flow["visit"].as_u64(), flow["bytes"].as_u64()),
        (Some(2), Some(300_000)),
        "{flow}"
    );
    // The response arrives one RTT after the first flight. The packets of the first visit, of 2.5
    // MB, are counted separately.
    assert!(
        flow["first_byte_s"].as_f64() < Some(0.19) && flow["start_s"].as_f64() > Some(3.0),
        "{flow}"
    );
    assert!((200..400).contains(&flow["packets_sent"].as_u64().unwrap_or(0)), "{flow}");
    let captures: Vec<_> =
        std::fs::read_dir(dir.path().join("out/captures")).expect("captures").flatten().collect();
    assert!(
        captures.len() == 1 && captures[0].metadata().is_ok_and(|file| file.len() > 300_000),
        "{captures:?}"
    );
}

#[test]
fn a_second_visit_resumes_the_path_from_the_store_or_a_token() {
    let head = HEAD
        .replace("\"300 kB\"\n", "\"300 kB\"\nidle_before = \"3 s\"\n")
        .replace("repeat = 2", "repeat = 1");
    let variants = "[defaults]\nhandshake = \"0rtt\"\nresume = \"careful\"\n\
                    [[variant]]\nname = \"store\"\n\
                    [[variant]]\nname = \"token\"\nquic.resume_state = \"token\"\n\
                    [[variant]]\nname = \"neither\"\nresume = \"none\"\n";
    let output = run("real", &format!("{head}{variants}"));
    if cannot_run(&output) {
        return;
    }
    let document = results(&output);
    assert_eq!(output.status.code(), Some(0), "{}: {document}", stderr(&output));
    for (run, (retreated, token)) in document["runs"].as_array().expect("runs").iter().zip([
        (Value::from(false), Value::Null),
        (Value::from(false), Value::from("accepted")),
        (Value::Null, Value::Null),
    ]) {
        let flow = &run["flows"][0];
        assert_eq!(
            (flow["visit"].as_u64(), flow["completed"].as_bool()),
            (Some(2), Some(true)),
            "{flow}"
        );
        assert_eq!(
            (&flow["path"]["retreated"], &flow["path"]["token"]),
            (&retreated, &token),
            "{run}"
        );
    }
}

#[test]
fn an_interrupt_ends_a_run_at_once() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let text = format!("{HEAD}{TCP}").replace("\"300 kB\"", "\"1 GB\"");
    let child = command(dir.path(), "real", &text).spawn().expect("command runs");
    std::thread::sleep(Duration::from_millis(1500));
    let begin = Instant::now();
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    let output = child.wait_with_output().expect("command ends");
    if cannot_run(&output) || !killed.is_ok_and(|status| status.success()) {
        return;
    }
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("nothing was written"), "{}", stderr(&output));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

/// Python's pseudo-terminal module. It copies the command's output to its own standard output.
const AT_TERMINAL: &str =
    "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

#[test]
fn a_terminal_shows_a_live_line_per_run() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let text = format!("{HEAD}{TCP}")
        .replace("\"300 kB\"", "\"3 MB\"")
        .replace("repeat = 2", "repeat = 1");
    let wanted = command(dir.path(), "real", &text);
    let mut terminal = Command::new("python3");
    terminal.args(["-c", AT_TERMINAL]).arg(wanted.get_program()).args(wanted.get_args());
    let output = terminal.env("TERM", "xterm").stdin(Stdio::null()).output().expect("command runs");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    if shown.contains("Needed:") {
        eprintln!("skipped: {shown}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for run in ["cubic, run 0 ", "bbr, run 0 "] {
        let lines = shown
            .split(run)
            .skip(1)
            .filter_map(|line| line.split_once("forward")?.1.split_once(" Mbps"));
        let rates: Vec<f64> = lines.filter_map(|(rate, _)| rate.trim().parse().ok()).collect();
        // Below the rate of 20 Mbps. 3 MB take longer than one second.
        assert!(rates.iter().any(|rate| (1.0..21.0).contains(rate)), "{run}: {rates:?}: {shown}");
    }
    // Without a terminal, no live lines are printed.
    let output = run("real", &text);
    assert!(!stderr(&output).contains("Mbps"), "{}", stderr(&output));
}

#[test]
fn qlog_files_of_both_ends_match_those_of_a_simulation() {
    let text = HEAD.replace("\"300 kB\"\n", "\"300 kB\"\nidle_before = \"3 s\"\n");
    let output = "[output]\nqlog = true\nqvis = true\n";
    let defaults = "[defaults]\nhandshake = \"0rtt\"\nresume = \"careful\"\n";
    let text = format!("{text}{output}{defaults}");
    let files = |clock: &str| {
        let dir = tempfile::tempdir().expect("creates a directory");
        let output = command(dir.path(), clock, &text).output().expect("command runs");
        if cannot_run(&output) {
            return None;
        }
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let manifest =
            std::fs::read(dir.path().join("out/manifest.json")).expect("reads the manifest");
        let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
        let names = manifest["files"].as_array().expect("files").iter().filter_map(Value::as_str);
        let traces: Vec<String> =
            names.filter(|name| name.starts_with("qlog")).map(str::to_owned).collect();
        let bytes = std::fs::read(dir.path().join("out").join(&traces[traces.len() - 1]))
            .expect("reads the trace");
        Some((traces, String::from_utf8_lossy(&bytes).into_owned()))
    };
    let Some((emulated, trace)) = files("real") else { return };
    let (simulated, _) = files("virtual").expect("simulations need no permissions");
    assert_eq!(emulated, simulated);
    // Current and older form, two ends, one reported visit of one run.
    assert_eq!(emulated.len(), 4, "{emulated:?}");
    assert!(trace.matches("packet_sent").count() > 200, "300 kB in packets: {trace}");
}
