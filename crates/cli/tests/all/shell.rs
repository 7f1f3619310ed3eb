//! `bentpipe shell`: real programs behind an emulated path, which leaves nothing behind.
//!
//! Without root, the command moves to a user namespace. If the kernel permits neither, the tests
//! print the reason and pass.
// The tests measure real time.
#![allow(clippy::disallowed_methods)]

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub fn shell(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.arg("shell").args(args).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    shell(args).output().expect("command runs")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns true, with a note on standard error, if neither root nor user namespaces are available.
pub fn cannot_run() -> bool {
    let output = run(&["terrestrial", "--", "true"]);
    if output.status.code() == Some(3) && stderr(&output).contains("Needed:") {
        eprintln!("skipped: {}", stderr(&output));
        return true;
    }
    false
}

/// Returns true if a process `sleep MARKER` runs.
pub fn sleeps(marker: &str) -> bool {
    let all = std::fs::read_dir("/proc").expect("reads /proc").flatten();
    all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| line.starts_with(b"sleep\0") && String::from_utf8_lossy(&line).contains(marker))
}

pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(20), "waited 20 s until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_exit_status_is_that_of_the_command_and_a_summary_is_printed() {
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
    assert_eq!(output.status.code(), Some(9), "{}", stderr(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "to 198.19.0.1 from 198.18.0.1\n");
    assert!(stderr(&output).contains("access/forward: 0 packets"), "{}", stderr(&output));
    let missing = run(&["terrestrial", "--", "/no/such/program"]);
    assert_eq!(missing.status.code(), Some(127), "{}", stderr(&missing));
}

/// A Python server and client over HTTP.
#[test]
fn a_server_is_reached_through_the_path() {
    if cannot_run() {
        return;
    }
    let dir = tempfile::tempdir().expect("creates a directory");
    std::fs::write(dir.path().join("file"), vec![b'x'; 300_000]).expect("writes the file");
    let serve = format!("cd {} && exec python3 -m http.server 8000", dir.path().display());
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
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one JSON document");
    let text = stderr(&output);
    let line =
        text.lines().find(|line| line.starts_with("300000 ")).expect("output of the command");
    let seconds: f64 =
        line.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("valid time");
    // At least two RTTs of 650 ms, one for TCP and one for the first window. 300 kB take a few
    // more.
    assert!((1.3..8.0).contains(&seconds), "{seconds} s");
    let forward = &report["directions"][0];
    assert_eq!(forward["name"], "forward");
    assert!(forward["links"][0]["bytes"].as_u64().is_some_and(|bytes| bytes > 300_000), "{report}");
    assert_eq!(forward["dropped_ring"], 0, "{report}");
}

/// UDP round trips by Python programs, from London to New York over moving satellites: `bentpipe
/// orbit` gives 42.8 ms until the route changes after 3.9 s, and then 46.2 ms.
#[test]
fn programs_cross_a_constellation_whose_routes_change() {
    if cannot_run() {
        return;
    }
    let echo = "import socket as s; u = s.socket(s.AF_INET, s.SOCK_DGRAM); \
        u.bind(('198.19.0.1', 9000)); t = s.create_server(('198.19.0.1', 9001)); print('on')\n\
        while True: u.sendto(*u.recvfrom(99))";
    let ask = "import socket as s, time\nu = s.socket(s.AF_INET, s.SOCK_DGRAM); u.settimeout(1)\n\
        for n in range(60):\n  t = time.time(); u.sendto(b'x', ('198.19.0.1', 9000))\n  \
        try: u.recv(9); print('rtt', time.time() - t)\n  except TimeoutError: print('lost')\n  \
        time.sleep(0.05)";
    let serve = format!("exec python3 -c \"{echo}\"");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/examples/leo-ping.toml");
    let output = run(&[scenario, "--json", "--serve", &serve, "--", "python3", "-c", ask]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let rtts = text.lines().filter_map(|line| line.strip_prefix("rtt ")?.parse().ok());
    let mut rtts: Vec<f64> = rtts.map(|seconds: f64| seconds * 1e3).collect();
    assert!(rtts.len() >= 50, "{text}");
    rtts.sort_by(f64::total_cmp);
    // Programs and kernels add to the path's time, and a busy machine much.
    let (shortest, of_late) = (rtts[0], rtts[rtts.len() * 3 / 4]);
    assert!((42.8..44.5).contains(&shortest) && of_late >= 46.2, "{rtts:?}");
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one JSON document");
    let links = report["satellite_links"].as_array().expect("a list");
    // Up, down, and between satellites, on both routes and in both directions.
    let used = links.iter().filter(|link| link["packets"].as_u64() > Some(0)).count();
    assert!(used >= 8, "{links:?}");
}

/// A Python server and client over a contact plan: two contacts of three seconds with gaps, and a
/// long one. `bentpipe contacts` says that 1 MB cannot have arrived before 8.632 s.
#[test]
fn programs_wait_for_the_contacts_of_a_plan() {
    if cannot_run() {
        return;
    }
    let dir = tempfile::tempdir().expect("creates a directory");
    std::fs::write(dir.path().join("file"), vec![b'x'; 1_000_000]).expect("writes the file");
    let serve = format!("cd {} && exec python3 -m http.server 8000", dir.path().display());
    let get = "import sys, urllib.request as r; print(len(r.urlopen(sys.argv[1]).read()), 'bytes')";
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/examples/contact-plan.toml");
    let url = "http://{server}:8000/file";
    let output = run(&[plan, "--json", "--serve", &serve, "--", "python3", "-c", get, url]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.lines().any(|line| line == "1000000 bytes"), "{text}");
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one JSON document");
    let seconds = report["length_s"].as_f64().expect("a number");
    assert!(seconds > 8.632, "{seconds} s");
    // What the program sends in a gap waits at the orbiter, and nothing is lost.
    let links = report["directions"][0]["links"].as_array().expect("a list");
    assert!(links.iter().all(|link| link["dropped_queue"] == 0), "{links:?}");
    assert!(links.iter().any(|link| link["queue_max_bytes"].as_u64() > Some(50_000)), "{links:?}");
}

#[test]
fn invalid_paths_and_options_are_rejected_with_allowed_values() {
    let output = run(&["geo-50-11", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("geo-50-10"), "{}", stderr(&output));
    for wrong in
        [["--forward", "80"], ["--busy-poll", "40 MB"], ["--set", "path.forward.rate=5 ms"]]
    {
        let output = run(&["terrestrial", wrong[0], wrong[1], "--", "true"]);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", stderr(&output));
    }
}

#[test]
fn nothing_remains_if_the_command_or_the_emulator_is_killed() {
    if cannot_run() {
        return;
    }
    // The host's interfaces and routes must not change.
    let host = || {
        ["/proc/net/dev", "/proc/net/route", "/proc/net/ipv6_route"].map(|file| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            // Without counters, which other traffic changes.
            let first = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
            text.lines().map(first).collect::<Vec<String>>()
        })
    };
    let before = host();
    let marker = format!("47.{}", std::process::id());
    let script = format!("setsid sleep {marker} & sleep {marker}");
    let serve = format!("setsid sleep {marker}");

    // Kills the emulator itself.
    let mut emulator = shell(&["terrestrial", "--", "/bin/sh", "-c", &script])
        .stderr(Stdio::null())
        .spawn()
        .expect("command runs");
    wait_until("the command runs", || sleeps(&marker));
    assert_eq!(host(), before);
    emulator.kill().expect("killed");
    emulator.wait().expect("waited");
    wait_until("all its processes have ended", || !sleeps(&marker));

    // A server process ends without listening and is killed with its shell, and a signal ends the
    // command.
    let output = run(&[
        "terrestrial",
        "--serve",
        &format!("{serve} & exit 4"),
        "--",
        "/bin/sh",
        "-c",
        "kill -9 $$",
    ]);
    assert_eq!(output.status.code(), Some(137), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("ended with status 4 before it listened"),
        "{}",
        stderr(&output)
    );
    assert!(!sleeps(&marker));
    assert_eq!(host(), before);
}

#[test]
fn an_interrupt_ends_the_command_and_prints_the_summary() {
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
    .expect("command runs");
    wait_until("the command runs", || sleeps(&marker));
    let interrupted =
        Command::new("kill").args(["-INT", &emulator.id().to_string()]).status().expect("kill");
    assert!(interrupted.success());
    let output = emulator.wait_with_output().expect("command ends");
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    assert!(stderr(&output).contains("access/return"), "{}", stderr(&output));
    assert!(!sleeps(&marker));
}

/// Returns a copy of the program that all users may run.
fn for_all_users() -> Option<(tempfile::TempDir, PathBuf)> {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir_in("/tmp").ok()?;
    let program = dir.path().join("bentpipe");
    std::fs::copy(env!("CARGO_BIN_EXE_bentpipe"), &program).ok()?;
    for path in [dir.path(), Path::new(&program)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).ok()?;
    }
    Some((dir, program))
}

#[test]
fn a_user_namespace_replaces_root() {
    const NOBODY: u32 = 65_534;
    let Some((_place, program)) = for_all_users() else {
        eprintln!("skipped: cannot create an executable in /tmp");
        return;
    };
    let mut command = Command::new(program);
    command
        .args(["shell", "terrestrial", "--", "/bin/sh", "-c", "id -u; exit 3"])
        .stdin(Stdio::null())
        .current_dir("/");
    // Only root can become another user. Any other user is already unprivileged.
    if std::fs::metadata("/proc/self")
        .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
    {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().expect("command runs");
    if stderr(&output).contains("Needed:") {
        eprintln!("skipped: {}", stderr(&output));
        return;
    }
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_ne!(String::from_utf8_lossy(&output.stdout).trim(), "0", "the user ID stays the same");
}

/// Sends 100 datagrams of 1000 bytes to a port of the server without a listener.
const DATAGRAMS: &str = "import socket, sys, time\n\
                         s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                         for _ in range(100):\n    s.sendto(b'x' * 1000, (sys.argv[1], 9)); \
                         time.sleep(0.01)\n\
                         time.sleep(0.3)\n";

#[test]
fn live_lines_show_the_traffic_of_the_path() {
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
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let _: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let text = stderr(&output);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("bentpipe: ")).collect();
    assert!(lines.len() >= 4, "{text}");
    // Datagrams of 1028 bytes with headers, about 100 per second, with a delay of 15 ms.
    let of_return = |line: &str| -> Option<(f64, f64)> {
        let words: Vec<&str> = line.split_once("return")?.1.split_whitespace().collect();
        Some((words[0].parse().ok()?, words[2].parse().ok()?))
    };
    let busy: Vec<(f64, f64)> =
        lines.iter().filter_map(|line| of_return(line)).filter(|(mbps, _)| *mbps > 0.2).collect();
    assert!(!busy.is_empty(), "{text}");
    assert!(busy.iter().all(|(mbps, ms)| *mbps < 1.7 && (15.0..40.0).contains(ms)), "{text}");
}

/// Returns the `fields` of the packets of a capture that `filter` selects; `None` without tshark.
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
    assert!(output.status.success(), "{}", stderr(&output));
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

#[test]
fn captures_contain_the_packets_of_both_ends_and_lost_ones() {
    if cannot_run() {
        return;
    }
    let dir = tempfile::tempdir().expect("creates a directory");
    let file = |name: &str| dir.path().join(name).display().to_string();
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
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one JSON document");
    let captures = report["captures"].as_array().expect("captures");
    assert_eq!(
        captures.iter().map(|capture| capture["file"].as_str()).collect::<Vec<_>>(),
        [Some(server.as_str()), Some(&client), Some(&lost)]
    );
    assert!(
        captures.iter().all(|capture| capture["missed"] == 0 && capture["error"].is_null()),
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
    // 1 means that the checksum is right.
    assert!([sent, arrived, lost].concat().iter().all(|status| status == "1"));
}

#[test]
fn short_intervals_and_shared_capture_files_are_rejected() {
    for (wrong, words) in [
        (&["--stats=10 ms"][..], "100 ms or more"),
        (&["--stats=often"], "often"),
        (&["--capture", "one.pcapng", "--capture-lost", "one.pcapng"], "a file of its own"),
    ] {
        let output = run(&[&["terrestrial"], wrong, &["--", "true"]].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{wrong:?}: {}", stderr(&output));
    }
}

/// A datagram to a service that does not listen is refused (ICMP), and the next one may be told.
#[test]
fn datagrams_that_the_service_did_not_get_are_counted() {
    if cannot_run() {
        return;
    }
    let unused = std::net::UdpSocket::bind("127.0.0.1:0").expect("binds");
    let target = unused.local_addr().expect("has an address").to_string();
    drop(unused);
    let send = "import socket as s, sys, time\nu = s.socket(s.AF_INET, s.SOCK_DGRAM)\n\
        for n in range(5): u.sendto(b'x', (sys.argv[1], 9000)); time.sleep(0.1)\ntime.sleep(0.5)";
    let forward = format!("9000:{target}");
    let args = ["terrestrial", "--forward", &forward, "--", "python3", "-c", send, "{server}"];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let note = format!("port 9000: 5 datagrams to or from {target} were lost");
    assert!(stderr(&output).contains(&note), "{}", stderr(&output));
}

#[test]
fn a_command_that_outlasts_the_recordings_of_its_path_is_told_so() {
    if cannot_run() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("r.csv"), "time_s,delay_ms\n0,10\n1,10\n").unwrap();
    let scenario = |at_end: &str| {
        format!(
            "name = \"r\"\ntime_limit = \"900 ms\"\n[path]\n\
             forward = {{ rate = \"9 Mbps\", delay = {{ recording = \"r.csv\" }} }}\n\
             return = {{ rate = \"9 Mbps\", delay = \"10 ms\" }}\n\
             [path.recording]\nloop = \"{at_end}\"\n[workload]\ndownload = \"1 kB\"\n"
        )
    };
    let file = directory.path().join("r.toml");
    for (at_end, seconds, told) in [("end", "2", true), ("end", "0.1", false), ("cut", "2", false)]
    {
        std::fs::write(&file, scenario(at_end)).unwrap();
        let output = run(&[file.to_str().unwrap(), "--", "sleep", seconds]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let note = stderr(&output).contains("the recordings of the path ended after");
        assert_eq!(note, told, "{at_end}, {seconds}: {}", stderr(&output));
    }
}
