//! `bentpipe shell`: real programs behind an emulated path, and nothing left of it.
//!
//! Without root the command moves into a user namespace; where the kernel allows neither, a reason
//! is printed.
// What is tested is the wall clock.
#![allow(clippy::disallowed_methods)]

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn shell(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.arg("shell").args(args).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    shell(args).output().expect("the command runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// True, with a word on standard error, where neither root nor user namespaces are to be had.
fn cannot_run() -> bool {
    let output = run(&["terrestrial", "--", "true"]);
    if output.status.code() == Some(3) && said(&output).contains("Needed:") {
        eprintln!("not run: {}", said(&output));
        return true;
    }
    false
}

/// Whether `sleep MARKER` runs anywhere.
fn sleeps(marker: &str) -> bool {
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| line.starts_with(b"sleep\0") && String::from_utf8_lossy(&line).contains(marker))
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(20), "waited 20 s until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_exit_status_is_the_command_s_and_the_summary_says_what_the_path_did() {
    if cannot_run() {
        return;
    }
    let output = run(&[
        "terrestrial",
        "--",
        "/bin/sh",
        "-c",
        "echo to {server} from $BENTPIPE_CLIENT; exit 9",
    ]);
    assert_eq!(output.status.code(), Some(9), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "to 198.19.0.1 from 198.18.0.1\n");
    assert!(said(&output).contains("access/forward: 0 packets"), "{}", said(&output));
    let missing = run(&["terrestrial", "--", "/no/such/program"]);
    assert_eq!(missing.status.code(), Some(127), "{}", said(&missing));
}

/// A server and a client of Python's, over HTTP.
#[test]
fn a_server_at_the_far_end_is_reached_through_the_path() {
    if cannot_run() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    std::fs::write(place.path().join("file"), vec![b'x'; 300_000]).expect("a file");
    let serve = format!("cd {} && exec python3 -m http.server 8000", place.path().display());
    let get = "import sys, time, urllib.request as r; t = time.time(); n = \
        len(r.urlopen(sys.argv[1]).read()); print(n, time.time() - t)";
    let args = [
        "geo-50-10",
        "--json",
        "--serve",
        &serve,
        "--",
        "python3",
        "-c",
        get,
        "http://{server}:8000/file",
    ];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one JSON document and nothing else");
    let text = said(&output);
    let line =
        text.lines().find(|line| line.starts_with("300000 ")).expect("what the command printed");
    let seconds: f64 = line.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a time");
    // Two round trips of 650 ms at least: one for TCP, one for the first window; 300 kB take a few
    // more.
    assert!((1.3..8.0).contains(&seconds), "{seconds} s");
    let forward = &report["directions"][0];
    assert_eq!(forward["name"], "forward");
    assert!(forward["links"][0]["bytes"].as_u64().is_some_and(|bytes| bytes > 300_000), "{report}");
    assert_eq!(forward["dropped_ring"], 0, "{report}");
}

#[test]
fn a_wrong_path_or_option_is_refused_with_what_is_allowed() {
    let output = run(&["geo-50-11", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("geo-50-10"), "{}", said(&output));
    for wrong in
        [["--forward", "80"], ["--busy-poll", "40 MB"], ["--set", "path.forward.rate=5 ms"]]
    {
        let output = run(&["terrestrial", wrong[0], wrong[1], "--", "true"]);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", said(&output));
    }
}

#[test]
fn nothing_is_left_when_the_command_or_the_emulator_is_killed() {
    if cannot_run() {
        return;
    }
    // Neither the host's interfaces nor its routes change, before, during or after.
    let host = || {
        ["/proc/net/dev", "/proc/net/route", "/proc/net/ipv6_route"].map(|file| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            // Without counters, which others move.
            let first = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
            text.lines().map(first).collect::<Vec<String>>()
        })
    };
    let before = host();
    let marker = format!("47.{}", std::process::id());
    let script = format!("setsid sleep {marker} & sleep {marker}");
    let serve = format!("setsid sleep {marker}");

    // The emulator itself, without warning.
    let mut emulator = shell(&["terrestrial", "--", "/bin/sh", "-c", &script])
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    wait_until("the command runs", || sleeps(&marker));
    assert_eq!(host(), before);
    emulator.kill().expect("killed");
    emulator.wait().expect("waited");
    wait_until("all that it ran has gone", || !sleeps(&marker));

    // A child: the server never listens and is killed with its shell, and the command ends by a
    // signal.
    let output = run(&[
        "terrestrial",
        "--serve",
        &format!("{serve} & exit 4"),
        "--",
        "/bin/sh",
        "-c",
        "kill -9 $$",
    ]);
    assert_eq!(output.status.code(), Some(137), "{}", said(&output));
    assert!(said(&output).contains("ended with status 4 before it listened"), "{}", said(&output));
    assert!(!sleeps(&marker));
    assert_eq!(host(), before);
}

#[test]
fn an_interrupt_ends_the_command_and_the_summary_is_written_all_the_same() {
    if cannot_run() {
        return;
    }
    let marker = format!("53.{}", std::process::id());
    let emulator = shell(&[
        "terrestrial",
        "--",
        "/bin/sh",
        "-c",
        &format!("trap 'exit 6' TERM; sleep {marker} & wait"),
    ])
    .stderr(Stdio::piped())
    .spawn()
    .expect("it runs");
    wait_until("the command runs", || sleeps(&marker));
    let interrupted =
        Command::new("kill").args(["-INT", &emulator.id().to_string()]).status().expect("kill");
    assert!(interrupted.success());
    let output = emulator.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    assert!(said(&output).contains("access/return"), "{}", said(&output));
    assert!(!sleeps(&marker));
}

/// A program that anyone may run: a copy, where the path to this one is closed to others.
fn for_anyone() -> Option<(tempfile::TempDir, PathBuf)> {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir_in("/tmp").ok()?;
    let program = place.path().join("bentpipe");
    std::fs::copy(env!("CARGO_BIN_EXE_bentpipe"), &program).ok()?;
    for path in [place.path(), Path::new(&program)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).ok()?;
    }
    Some((place, program))
}

#[test]
fn without_root_a_user_namespace_will_do() {
    const NOBODY: u32 = 65_534;
    let Some((_place, program)) = for_anyone() else {
        eprintln!("not run: no place in /tmp for a program that anyone may run");
        return;
    };
    let mut command = Command::new(program);
    command
        .args(["shell", "terrestrial", "--", "/bin/sh", "-c", "id -u; exit 3"])
        .stdin(Stdio::null())
        .current_dir("/");
    // Only root can become somebody else; anyone else is nobody already.
    if std::fs::metadata("/proc/self")
        .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
    {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().expect("it runs");
    if said(&output).contains("Needed:") {
        eprintln!("not run: {}", said(&output));
        return;
    }
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert_ne!(String::from_utf8_lossy(&output.stdout).trim(), "0", "the user stays who it was");
}

/// 100 datagrams of 1000 bytes, to a port of the server where nobody listens.
const DATAGRAMS: &str = "import socket, sys, time\n\
                         s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                         for _ in range(100):\n    s.sendto(b'x' * 1000, (sys.argv[1], 9)); \
                         time.sleep(0.01)\n\
                         time.sleep(0.3)\n";

#[test]
fn live_lines_say_what_the_path_carries_while_the_command_runs() {
    if cannot_run() {
        return;
    }
    let output = run(&[
        "terrestrial",
        "--stats=200 ms",
        "--json",
        "--",
        "python3",
        "-c",
        DATAGRAMS,
        "{server}",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let _: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one JSON document and nothing else");
    let text = said(&output);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("bentpipe: ")).collect();
    assert!(lines.len() >= 4, "{text}");
    // What the datagrams are: 1028 bytes each with their headers, some 100 a second, 15 ms on the
    // way.
    let of_return = |line: &str| -> Option<(f64, f64)> {
        let words: Vec<&str> = line.split_once("return")?.1.split_whitespace().collect();
        Some((words[0].parse().ok()?, words[2].parse().ok()?))
    };
    let busy: Vec<(f64, f64)> =
        lines.iter().filter_map(|line| of_return(line)).filter(|(mbps, _)| *mbps > 0.2).collect();
    assert!(!busy.is_empty(), "{text}");
    assert!(busy.iter().all(|(mbps, ms)| *mbps < 1.7 && (15.0..40.0).contains(ms)), "{text}");
}

/// The packets of a capture that `filter` lets through, as `fields` of each; none where there is no
/// tshark.
fn dissect(file: &Path, filter: &str, fields: &[&str]) -> Option<Vec<String>> {
    let mut command = Command::new("tshark");
    command
        .args(["-n", "-o", "udp.check_checksum:TRUE", "-T", "fields", "-r"])
        .arg(file)
        .args(["-Y", filter]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: tshark is not installed");
            return None;
        }
        output => output.expect("tshark runs"),
    };
    assert!(output.status.success(), "{}", said(&output));
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

#[test]
fn captures_have_the_packets_of_either_end_and_those_between() {
    if cannot_run() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let file = |name: &str| place.path().join(name).display().to_string();
    let (server, client, lost) =
        (file("server.pcapng"), file("client.pcapng"), file("lost.pcapng"));
    let captures = ["--capture", &server, "--capture-client", &client, "--capture-lost", &lost];
    let args = [
        &["terrestrial", "--json", "--set", "path.return.loss=0.3"][..],
        &captures,
        &["--", "python3", "-c", DATAGRAMS, "{server}"],
    ]
    .concat();
    let output = run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one JSON document and nothing else");
    let told = report["captures"].as_array().expect("captures");
    assert_eq!(
        told.iter().map(|capture| capture["file"].as_str()).collect::<Vec<_>>(),
        [Some(server.as_str()), Some(&client), Some(&lost)]
    );
    assert!(
        told.iter().all(|capture| capture["missed"] == 0 && capture["error"].is_null()),
        "{report}"
    );

    let ours = "udp.dstport == 9 && !icmp";
    let count = |file: &str| dissect(file.as_ref(), ours, &["udp.checksum.status"]);
    let (Some(arrived), Some(sent), Some(lost)) = (count(&server), count(&client), count(&lost))
    else {
        return;
    };
    assert_eq!((sent.len(), arrived.len() + lost.len()), (100, 100));
    // 30 of 100, within four standard errors.
    assert!((12..=48).contains(&lost.len()), "{} lost", lost.len());
    // 1: the checksum is right.
    assert!([sent, arrived, lost].concat().iter().all(|status| status == "1"));
}

#[test]
fn a_line_too_often_and_two_captures_in_one_file_are_refused_with_what_is_allowed() {
    for (wrong, words) in [
        (&["--stats=10 ms"][..], "100 ms or more"),
        (&["--stats=often"], "often"),
        (&["--capture", "one.pcapng", "--capture-lost", "one.pcapng"], "a file of its own"),
    ] {
        let output = run(&[&["terrestrial"], wrong, &["--", "true"]].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", said(&output));
        assert!(said(&output).contains(words), "{wrong:?}: {}", said(&output));
    }
}
