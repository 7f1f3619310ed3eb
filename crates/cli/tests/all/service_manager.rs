//! What services tell systemd.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::front::write;
use crate::running::{Running, bentpipe};
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;

/// Starts a service with these options as systemd would, and stops it.
fn start_and_stop(options: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::create_dir(dir.join("public")).unwrap();
    write(dir, "a.test");
    let manager = UnixDatagram::bind(dir.join("notify")).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let message = || {
        let mut text = [0; 100];
        let length = manager.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let mut command = bentpipe(dir);
    command.env("NOTIFY_SOCKET", dir.join("notify")).env("WATCHDOG_USEC", "200000");
    let options = [options, &["--listen", "127.0.0.1:0"]].concat();
    let mut running = Running::start_with(command, dir, &options);
    assert_eq!(message(), "READY=1", "{options:?}");
    for _ in 0..3 {
        assert_eq!(message(), "WATCHDOG=1", "{options:?}");
    }
    assert_eq!(running.terminate(), Some(0), "{options:?}: {}", running.errors());
    let last = std::iter::repeat_with(message).find(|text| text != "WATCHDOG=1");
    assert_eq!(last.as_deref(), Some("STOPPING=1"), "{options:?}");
}

#[test]
fn every_service_says_that_it_is_ready_alive_and_stopping() {
    let upstream = ["proxy", "--self-signed", "--no-store", "--upstream", "http://127.0.0.1:1"];
    start_and_stop(&["serve", "public", "--self-signed", "--no-store"]);
    start_and_stop(&upstream);
    start_and_stop(&["front", "--certs", "live", "--no-store"]);
    start_and_stop(&["pep"]);
}

/// The units are for these programs, so that their options exist.
#[test]
fn units_start_services_with_options_that_exist() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/systemd");
    let mut units = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "service") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap().replace("\\\n", " ");
        assert!(text.contains("Type=notify") && text.contains("WatchdogSec="), "{path:?}");
        // Only a front has several processes, of which an older one may start the next.
        let front = text.contains("bentpipe front");
        assert_eq!(text.contains("\nNotifyAccess=all\n"), front, "{path:?}");
        let start = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let words: Vec<&str> = start.split_whitespace().skip(1).collect();
        let help = Command::new(env!("CARGO_BIN_EXE_bentpipe"))
            .args([words[0], "--help"])
            .output()
            .unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(&format!("{option} <")), "{path:?}: {option}");
        }
        units += 1;
    }
    assert_eq!(units, 4);
}
