//! `bentpipe shell` and signals: before its command runs, while it runs, and from a terminal.
// The tests measure real time.
#![allow(clippy::disallowed_methods)]

use crate::shell::{cannot_run, shell, sleeps, stderr, wait_until};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
}

/// Returns the output of `child`, which ends in time.
fn ended(child: Child) -> Output {
    let begin = Instant::now();
    let output = child.wait_with_output().expect("command ends");
    assert!(begin.elapsed() < Duration::from_secs(5), "after {:?}", begin.elapsed());
    output
}

#[test]
fn a_signal_while_the_server_starts_ends_it_and_the_command_is_not_run() {
    if cannot_run() {
        return;
    }
    let dir = tempfile::tempdir().expect("creates a directory");
    let ran = dir.path().join("ran");
    for (signal, status) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let marker = format!("59.{}{status}", std::process::id());
        // It never listens.
        let serve = format!("sleep {marker}");
        let ran = ran.to_str().expect("a path in UTF-8");
        let emulator = shell(&["terrestrial", "--serve", &serve, "--", "touch", ran])
            .stderr(Stdio::piped())
            .spawn()
            .expect("command runs");
        wait_until("the server runs", || sleeps(&marker));
        send(signal, &emulator);
        let output = ended(emulator);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        assert!(stderr(&output).contains("ended by SIG"), "{}", stderr(&output));
        assert!(!Path::new(ran).exists(), "{signal}: the command was run");
        assert!(!sleeps(&marker));
    }
}

#[test]
fn a_signal_while_it_waits_for_utc_ends_it_and_the_command_is_not_run() {
    if cannot_run() {
        return;
    }
    let dir = tempfile::tempdir().expect("creates a directory");
    let ran = dir.path().join("ran");
    // The wait is one of 0 to 15 s, so it may be over before the signal comes.
    for attempt in 0.. {
        let mut emulator = shell(&["starlink-2023", "--", "touch", ran.to_str().expect("UTF-8")])
            .stderr(Stdio::piped())
            .spawn()
            .expect("command runs");
        let mut text = BufReader::new(emulator.stderr.take().expect("piped"));
        let mut line = String::new();
        text.read_line(&mut line).expect("a line");
        assert!(line.contains("starts within 15 s"), "{line}");
        send("-TERM", &emulator);
        let status = ended(emulator).status.code();
        text.read_to_string(&mut line).expect("the rest");
        if !ran.exists() {
            assert_eq!(status, Some(143), "{line}");
            return;
        }
        assert!(attempt < 3, "the command is run: {line}");
        std::fs::remove_file(&ran).expect("removed");
    }
}

#[test]
fn a_command_that_ignores_sigterm_is_killed_by_another_signal_or_after_10_s() {
    if cannot_run() {
        return;
    }
    let start = |number: u32| {
        let marker = format!("61.{}{number}", std::process::id());
        let script = format!("trap '' TERM INT HUP; sleep {marker}; exit 5");
        let emulator = shell(&["terrestrial", "--", "/bin/sh", "-c", &script])
            .stderr(Stdio::piped())
            .spawn()
            .expect("command runs");
        wait_until("the command runs", || sleeps(&marker));
        (emulator, marker)
    };
    let ([mut first, mut second], markers): ([Child; 2], [String; 2]) = {
        let ((first, one), (second, two)) = (start(1), start(2));
        ([first, second], [one, two])
    };
    let begin = Instant::now();
    for emulator in [&first, &second] {
        // As timeout(1) does it: to the process, and to its group.
        send("-TERM", emulator);
        send("-TERM", emulator);
    }
    std::thread::sleep(Duration::from_millis(1500));
    for emulator in [&mut first, &mut second] {
        assert!(emulator.try_wait().expect("waits").is_none(), "two at once are one request");
    }
    send("-INT", &first);
    let killed = ended(first);
    let second = second.wait_with_output().expect("command ends");
    let took = begin.elapsed();
    assert!((9.9..15.0).contains(&took.as_secs_f64()), "{took:?}");
    for output in [killed, second] {
        assert_eq!(output.status.code(), Some(137), "{}", stderr(&output));
        assert!(stderr(&output).contains("access/return"), "{}", stderr(&output));
    }
    assert!(!markers.iter().any(|marker| sleeps(marker)));
}

/// Runs a program at a terminal of its own, types Ctrl-C or sends a signal once it has printed
/// `ready`, prints what it prints, and ends with its exit status.
const TERMINAL: &str = r#"
import os, pty, signal, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen = b''
asked = False
try:
    while data := os.read(fd, 1000):
        seen += data
        if b'ready' in seen and not asked:
            asked = True
            if sys.argv[1] == 'key':
                os.write(fd, b'\x03')
            else:
                os.kill(pid, signal.Signals[sys.argv[1]])
except OSError:
    pass
print(seen.decode())
status = os.waitpid(pid, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status))
"#;

#[test]
fn at_a_terminal_a_key_goes_to_the_command_and_signals_are_passed_on() {
    if cannot_run() {
        return;
    }
    let at_terminal = |how: &str, args: &[&str]| {
        let begin = Instant::now();
        let output = Command::new("python3")
            .args(["-c", TERMINAL, how, env!("CARGO_BIN_EXE_bentpipe"), "shell", "terrestrial"])
            .args(args)
            .output()
            .expect("python3 runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(begin.elapsed() < Duration::from_secs(15), "{how}: {text}");
        (output.status.code(), text)
    };
    let script = "trap 'exit 6' TERM; trap 'exit 7' INT; echo ready; sleep 30 & wait";
    let command = ["--", "/bin/sh", "-c", script];
    for (how, expected) in [("key", 7), ("SIGTERM", 6), ("SIGINT", 6)] {
        let (status, text) = at_terminal(how, &command);
        assert_eq!(status, Some(expected), "{how}: {text}");
        assert!(text.contains("access/return"), "{how}: {text}");
    }
    // Before the command runs, nothing else takes the key.
    let dir = tempfile::tempdir().expect("creates a directory");
    let ran = dir.path().join("ran");
    let serving = ["--serve", "echo ready; sleep 30", "--", "touch", ran.to_str().expect("UTF-8")];
    let (status, text) = at_terminal("key", &serving);
    assert_eq!(status, Some(130), "{text}");
    assert!(!ran.exists(), "{text}");
}
