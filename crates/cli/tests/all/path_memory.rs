//! `bentpipe path-memory`.
// The command reads the clock, so the tests save paths with the current time.
#![allow(clippy::disallowed_methods)]

use bentpipe_net::store::SqliteStore;
use bentpipe_quic::path_memory::{Holder, Limits, PathKey, PathStore, Prefixes, SavedPath};
use bentpipe_units::{Bytes, Epoch, Span};
use std::path::Path;
use std::process::{Command, Output};
use std::time::SystemTime;

/// Returns the command in `home`, which contains the default store.
fn bentpipe(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.current_dir(home).env("XDG_STATE_HOME", home).env("HOME", home).args(args);
    command.output().expect("command runs")
}

fn text(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(&text(output)).expect("one JSON document")
}

/// Fills a store in `file` with paths to three networks. The first path is in use.
fn fill(file: &Path) {
    let now = Epoch::from(SystemTime::now());
    let mut store = SqliteStore::open(file, Limits::default()).expect("opens the store");
    for (remote, megabytes) in [("192.0.2.7", 4), ("198.51.100.7", 5), ("2001:db8:1::7", 6)] {
        let network = Prefixes::default().of(remote.parse().expect("valid address"));
        let key = PathKey::new(network, "eth0", 0).expect("valid key");
        let path = SavedPath::new(
            Bytes::from_mb(megabytes),
            Span::from_millis(600),
            now,
            Span::from_secs(3600),
        );
        let mut path = path.expect("valid path");
        path.first_rtt = (megabytes == 6).then_some(Span::from_millis(680));
        store.replace(&key, path, now).expect("saves the path");
        if megabytes == 4 {
            store.lease(&key, now, Holder(1)).expect("lent");
        }
    }
}

#[test]
fn a_path_that_was_saved_later_than_now_has_a_negative_age() {
    let home = tempfile::tempdir().expect("creates a directory");
    let file = home.path().join("bentpipe/paths.sqlite");
    let later = Epoch::from(SystemTime::now()) + Span::from_secs(3600);
    let network = Prefixes::default().of("192.0.2.7".parse().expect("valid address"));
    let key = PathKey::new(network, "eth0", 0).expect("valid key");
    let (window, rtt) = (Bytes::from_mb(4), Span::from_millis(600));
    let path = SavedPath::new(window, rtt, later, Span::from_secs(3600)).expect("valid path");
    let mut store = SqliteStore::open(&file, Limits::default()).expect("opens the store");
    store.replace(&key, path, later).expect("saves the path");
    drop(store);
    let listed = text(&bentpipe(home.path(), &["path-memory", "list"]));
    assert!(listed.contains(" -3600 s ") || listed.contains(" -3599 s "), "{listed}");
    let age = json(&bentpipe(home.path(), &["path-memory", "list", "--json"]))["paths"][0]["age_s"]
        .as_f64();
    assert!(age.is_some_and(|age| (-3600.0..-3500.0).contains(&age)), "{age:?}");
}

#[test]
fn remembered_paths_are_listed() {
    let home = tempfile::tempdir().expect("creates a directory");
    fill(&home.path().join("bentpipe/paths.sqlite"));
    let listed = text(&bentpipe(home.path(), &["path-memory", "list"]));
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 4, "{listed}");
    assert!(lines[1].starts_with("192.0.2.0/24") && lines[1].contains("until 20"), "{listed}");
    assert!(
        lines[3].starts_with("2001:db8:1::/56")
            && lines[3].contains("6 MB")
            && lines[3].contains("600 ms, first 680 ms"),
        "{listed}"
    );
    assert!(!lines[2].contains("first"), "{listed}");
    let document = json(&bentpipe(
        home.path(),
        &["path-memory", "list", "--json", "198.51.100.0/24", "2001:db8::/32"],
    ));
    let paths = document["paths"].as_array().expect("paths");
    assert_eq!(paths.len(), 2);
    assert_eq!(
        (&paths[0]["window_bytes"], &paths[0]["rtt_ms"]),
        (&5_000_000.into(), &600.0.into())
    );
    assert!(paths[0]["in_use_until"].is_null());
    assert_eq!((&paths[0]["first_rtt_ms"], &paths[1]["first_rtt_ms"]), (&().into(), &680.0.into()));
}

#[test]
fn forget_accepts_addresses_networks_and_all() {
    let home = tempfile::tempdir().expect("creates a directory");
    let file = home.path().join("my.sqlite");
    fill(&file);
    let forget = |args: &[&str]| {
        text(&bentpipe(
            home.path(),
            &[&["path-memory", "forget", "--store", "my.sqlite"], args].concat(),
        ))
    };
    assert_eq!(forget(&["192.0.2.200"]), "1 path forgotten in my.sqlite\n");
    assert_eq!(forget(&["192.0.2.0/24"]), "0 paths forgotten in my.sqlite\n");
    assert_eq!(
        json(&bentpipe(
            home.path(),
            &["path-memory", "forget", "--all", "--json", "--store", "my.sqlite"]
        ))["forgotten"],
        2
    );
    let listed = text(&bentpipe(home.path(), &["path-memory", "list", "--store", "my.sqlite"]));
    assert_eq!(listed, "no paths remembered in my.sqlite\n");
}

#[test]
fn reading_does_not_create_a_store() {
    let home = tempfile::tempdir().expect("creates a directory");
    assert!(
        text(&bentpipe(home.path(), &["path-memory", "list"]))
            .starts_with("no paths remembered in ")
    );
    assert!(
        text(&bentpipe(home.path(), &["path-memory", "forget", "--all"]))
            .starts_with("0 paths forgotten in ")
    );
    assert_eq!(std::fs::read_dir(home.path()).expect("reads the directory").count(), 0);
}

#[test]
fn invalid_arguments_are_rejected_with_allowed_values() {
    let home = tempfile::tempdir().expect("creates a directory");
    std::fs::write(home.path().join("text"), "no paths are in this file").expect("writes the file");
    for (args, expected) in [
        (&["list", "192.0.2"][..], &["`192.0.2`", "192.0.2.0/24"][..]),
        (&["list", "192.0.2.0/33"], &["prefix length 33", "0 to 32"]),
        (&["forget"], &["PREFIX", "--help"]),
        (&["forget", "--all", "192.0.2.7"], &["--all", "cannot be used with"]),
        (&["list", "--store", "text"], &["path store text", "not a database", "delete it"]),
        (&["list", "--store", "."], &["path store .", "name a file"]),
    ] {
        let output = bentpipe(home.path(), &[&["path-memory"], args].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {stderr}");
        for part in expected {
            assert!(stderr.contains(part), "{args:?}: {part} is missing in {stderr}");
        }
    }
    let mut homeless = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    let output = homeless
        .env_remove("XDG_STATE_HOME")
        .env_remove("HOME")
        .args(["path-memory", "list"])
        .output();
    let output = output.expect("command runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--store FILE"));
}
