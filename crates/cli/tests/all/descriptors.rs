//! The limit on open descriptors: raised at the start, respected, and survived if reached.

// The tests wait for processes.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![cfg(target_os = "linux")]

use crate::running;

use running::{Running, bentpipe, refused};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const SERVE: [&str; 5] = ["serve", ".", "--self-signed", "--listen", "127.0.0.1:0"];
const PROXY: [&str; 6] =
    ["proxy", "--upstream", "http://127.0.0.1:1", "--self-signed", "--listen", "127.0.0.1:0"];
const PEP: [&str; 3] = ["pep", "--listen", "127.0.0.1:0"];

/// Returns the command, started by a shell that first runs `ulimit`.
fn limited(dir: &Path, ulimit: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit {ulimit} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_bentpipe")]);
    command.current_dir(dir).env("XDG_STATE_HOME", dir.join("state"));
    command
}

/// Returns the soft and the hard limit on descriptors of a process.
fn limits_of(id: u32) -> (u64, u64) {
    let limits = std::fs::read_to_string(format!("/proc/{id}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let mut numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

fn set_limit(id: u32, soft: usize) {
    let limit = format!("--nofile={soft}:");
    let set = Command::new("prlimit").args(["--pid", &id.to_string(), &limit]).status().unwrap();
    assert!(set.success());
}

fn open_descriptors(id: u32) -> usize {
    std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().count()
}

/// Returns the number of the next descriptor: the lowest free one.
fn next_descriptor(id: u32) -> usize {
    (0..)
        .find(|number| std::fs::symlink_metadata(format!("/proc/{id}/fd/{number}")).is_err())
        .unwrap()
}

#[test]
fn the_soft_limit_is_raised_at_the_start() {
    for options in [&SERVE[..], &PROXY, &PEP] {
        let dir = tempfile::tempdir().unwrap();
        let running = Running::start_with(limited(dir.path(), "-S -n 256"), dir.path(), options);
        let (soft, hard) = limits_of(running.id());
        assert!(soft == hard && hard > 256, "{options:?}: {soft}, {hard}");
        assert!(!running.errors().contains("open files"), "{}", running.errors());
    }
}

#[test]
fn too_many_connections_for_the_limit_are_rejected_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    for options in [&SERVE[..], &PROXY, &PEP] {
        let running = Running::start_with(limited(dir.path(), "-n 1024"), dir.path(), options);
        assert_eq!(limits_of(running.id()), (1024, 1024), "the default fits the limit");
        drop(running);
        let output = limited(dir.path(), "-n 1024")
            .args(options)
            .args(["--max-connections", "4096"])
            .output();
        let output = output.unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains("LimitNOFILE=") && stderr.contains("--max-connections"),
            "{stderr}"
        );
    }
    refused(
        dir.path(),
        &[&SERVE[..], &["--max-connections", "1000000000000000"]].concat(),
        "open files",
    );
}

#[test]
fn a_server_without_descriptors_responds_503_and_recovers() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file.bin"), vec![7; 100_000]).unwrap();
    let options = [&SERVE[..], &["--save-cert", "server.pem", "--no-store"]].concat();
    let running = Running::start(dir.path(), &options);
    let url = format!("{}/file.bin", running.first["url"].as_str().unwrap());
    let get = || {
        let mut command = bentpipe(dir.path());
        command
            .args(["get", "--ca", "server.pem", "--discard", "--no-tokens", &url])
            .output()
            .unwrap()
    };
    assert_eq!(get().status.code(), Some(0));

    let limit = limits_of(running.id()).0 as usize;
    // The limit applies to descriptor numbers, not to their count.
    set_limit(running.id(), next_descriptor(running.id()));
    let output = get();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("503"), "{stderr}");
    let messages = running.messages();
    let is_reported = messages.iter().any(|line| {
        let message = line["message"].as_str().unwrap();
        line["level"] == "error"
            && message.starts_with("cannot read /file.bin: ")
            && message.contains("os error 24")
    });
    assert!(is_reported, "{messages:?}");
    // A connection waits in the backlog until it can be accepted.
    let _waiting = TcpStream::connect(running.first["listening"].as_str().unwrap()).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while !running.errors().contains("cannot accept a TCP connection: ") {
        assert!(Instant::now() < until, "{}", running.errors());
        std::thread::sleep(Duration::from_millis(20));
    }
    let descriptors = open_descriptors(running.id());
    set_limit(running.id(), limit);
    while open_descriptors(running.id()) <= descriptors {
        assert!(Instant::now() < until, "connection is not accepted");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(get().status.code(), Some(0));
}
