//! `bentpipe serve` and `bentpipe get`: transfers, logs, traces, and exit status.

// The tests wait for processes.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::running;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use running::{Running, bentpipe, refused};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A server of a directory with `file.bin`, stopped when dropped.
struct Serving {
    running: Running,
    url: String,
    dir: TempDir,
}

impl Serving {
    fn start(options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("public")).unwrap();
        std::fs::write(dir.path().join("public/file.bin"), vec![7; 2_000_000]).unwrap();
        let serve = [
            "serve",
            "public",
            "--listen",
            "127.0.0.1:0",
            "--self-signed",
            "--save-cert",
            "server.pem",
        ];
        let named = ["--name", "server.test"];
        let running = Running::start(dir.path(), &[&serve[..], &named, options].concat());
        let url = running.first["url"].as_str().unwrap().to_owned();
        assert_eq!(url, format!("https://{}", running.first["listening"].as_str().unwrap()));
        Self { running, url, dir }
    }

    fn get(&self, options: &[&str]) -> Output {
        let mut command = bentpipe(self.dir.path());
        command.args(["get", "--ca", "server.pem"]).args(options).output().unwrap()
    }
}

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn files_are_served_and_requests_are_logged() {
    let mut serving = Serving::start(&[
        "--no-store",
        "--congestion",
        "newreno",
        "--slow-start",
        "standard",
        "--resume",
        "none",
    ]);
    let url = format!("{}/file.bin", serving.url);
    let document = json(&serving.get(&[&url, "--output", "copy.bin", "--json"]));
    let download = &document["downloads"][0];
    assert_eq!(
        (download["bytes"].as_u64(), download["early_data"].as_bool()),
        (Some(2_000_000), Some(false))
    );
    assert_eq!(download["path"], Value::Null, "a server without resumption reports no path");
    assert!(download["completion_s"].as_f64() >= download["first_byte_s"].as_f64());
    assert_eq!(std::fs::read(serving.dir.path().join("copy.bin")).unwrap(), vec![7; 2_000_000]);
    let logged = serving.running.line();
    assert_eq!(
        (logged["path"].as_str(), logged["bytes"].as_u64()),
        (Some("/file.bin"), Some(2_000_000))
    );
    assert_eq!(logged["protocol"], "HTTP/3");

    let absent = serving.get(&[&format!("{}/absent", serving.url)]);
    assert_eq!(absent.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&absent.stderr).contains("404"));
    assert_eq!(serving.running.terminate(), Some(0));
}

#[test]
fn a_second_visit_uses_early_data() {
    let serving = Serving::start(&["--no-store"]);
    let port = serving.url.rsplit(':').next().unwrap();
    let url = format!("https://server.test:{port}/file.bin");
    let found = ["--resolve", "server.test=127.0.0.1", "--discard", "--json"];
    let visits = |options: &[&str]| {
        let document = json(&serving.get(&[&found[..], &[&url, &url], options].concat()));
        document["downloads"].as_array().unwrap().clone()
    };
    let fresh = visits(&["--no-reuse", "--pause", "100 ms"]);
    let early: Vec<_> =
        fresh.iter().map(|download| download["early_data"].as_bool().unwrap()).collect();
    assert_eq!(early, [false, true]);
    let pause = fresh[1]["start_s"].as_f64().unwrap() - fresh[0]["start_s"].as_f64().unwrap();
    assert!(pause >= 0.1 + fresh[0]["completion_s"].as_f64().unwrap());
    assert!(
        fresh.iter().all(|download| download["path"].is_string() && download["file"].is_null())
    );

    let same = visits(&[]);
    assert!(
        same[0]["handshake_s"].is_number() && same[1]["handshake_s"].is_null(),
        "one connection: {same:?}"
    );
    let left = std::fs::read_dir(serving.dir.path()).unwrap().filter(|entry| {
        entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("file.bin")
    });
    assert_eq!(left.count(), 0, "no file is written");
}

#[test]
fn a_second_process_uses_early_data_once_for_each_ticket() {
    let serving = Serving::start(&["--no-store"]);
    let tokens = serving.dir.path().join("state/tokens.sqlite");
    let file = tokens.to_str().unwrap();
    let url = format!("{}/file.bin", serving.url);
    let early = || {
        let output = serving.get(&[&url, "--discard", "--json", "--tokens", file]);
        json(&output)["downloads"][0]["early_data"].as_bool().unwrap()
    };
    assert!(!early());
    assert!(early(), "the ticket of the first process");
    assert!(early(), "a resumed connection brings one, too");
    assert_eq!(std::fs::metadata(&tokens).unwrap().permissions().mode() & 0o777, 0o600);
    // Others might have read or written it.
    std::fs::set_permissions(&tokens, Permissions::from_mode(0o644)).unwrap();
    assert!(!early());
    let link = serving.dir.path().join("link.sqlite");
    std::os::unix::fs::symlink(&tokens, &link).unwrap();
    let refused = serving.get(&[&url, "--discard", "--tokens", link.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[test]
fn a_client_without_tokens_resumes_no_path() {
    let serving = Serving::start(&["--tokens-only"]);
    let url = format!("{}/file.bin", serving.url);
    let paths = |options: &[&str]| {
        let mut arguments = vec!["--discard", "--json", "--no-reuse", "--pause", "200 ms"];
        arguments.extend(options);
        arguments.extend([url.as_str(); 6]);
        let document = json(&serving.get(&arguments));
        let downloads = document["downloads"].as_array().unwrap();
        downloads
            .iter()
            .map(|download| download["path"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(paths(&["--no-tokens"]), ["unknown"; 6]);
    // A visit may end before its token arrives, especially on a busy machine.
    let until = Instant::now() + Duration::from_secs(60);
    while paths(&["--tokens", "tokens.sqlite"]).iter().all(|path| path == "unknown") {
        assert!(Instant::now() < until, "no visit presents a token");
    }
}

#[test]
fn a_private_key_that_every_user_may_read_is_served_with_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let pem = |name: &str, label: &str, der: &[u8]| {
        let encoded = STANDARD.encode(der);
        let text = format!("-----BEGIN {label}-----\n{encoded}\n-----END {label}-----\n");
        std::fs::write(dir.path().join(name), text).unwrap();
    };
    let made = rcgen::generate_simple_self_signed(["server.test".to_owned()]).unwrap();
    pem("chain.pem", "CERTIFICATE", made.cert.der());
    pem("key.pem", "PRIVATE KEY", &made.signing_key.serialize_der());
    let key = dir.path().join("key.pem");
    let allow = |mode| std::fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
    let warned = |running: &Running| {
        let messages = running.messages();
        let is_warning = |message: &&Value| {
            message["level"] == "warning"
                && message["message"].as_str().unwrap().starts_with("private key in ")
        };
        messages.iter().filter(is_warning).count()
    };
    // Loads the files again, and waits until the server says so for the `time`-th time.
    let reload = |running: &Running, time: usize| {
        let sent = Command::new("kill").args(["-HUP", &running.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let until = Instant::now() + Duration::from_secs(20);
        while running.errors().matches("new certificate").count() < time {
            assert!(Instant::now() < until, "{}", running.errors());
            std::thread::sleep(Duration::from_millis(20));
        }
    };

    allow(0o640);
    let serve = ["serve", ".", "--listen", "127.0.0.1:0", "--no-store"];
    let files = ["--cert", "chain.pem", "--key", "key.pem"];
    let mut running = Running::start(dir.path(), &[&serve[..], &files].concat());
    assert_eq!(warned(&running), 0, "{}", running.errors());
    allow(0o644);
    reload(&running, 1);
    assert_eq!(warned(&running), 1, "{}", running.errors());
    assert!(running.errors().contains("key.pem: its mode 0644 lets other users read or change it"));
    assert!(running.errors().contains("chmod 640"), "{}", running.errors());
    allow(0o600);
    reload(&running, 2);
    assert_eq!(warned(&running), 1, "{}", running.errors());
    assert_eq!(running.terminate(), Some(0));
    let last = running.messages().pop().unwrap();
    assert!(last["message"].as_str().unwrap().starts_with("stopping: 0 connections"), "{last}");
    assert!(last["level"] == "info" && last["time"].is_string(), "{last}");

    allow(0o644);
    let mut running = Running::start(dir.path(), &[&serve[..], &files].concat());
    assert_eq!(warned(&running), 1, "{}", running.errors());
    assert_eq!(running.terminate(), Some(0));
}

#[test]
fn both_ends_write_traces_up_to_their_limit() {
    let mut serving = Serving::start(&["--qlog", "traced/server", "--qlog-files", "1"]);
    let url = format!("{}/file.bin", serving.url);
    let both = ["--discard", "--no-reuse", "--qlog", "traced/client", &url, &url];
    let output = serving.get(&both);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(serving.running.terminate(), Some(0));
    let traces = |side: &str| {
        let entries = std::fs::read_dir(serving.dir.path().join("traced").join(side)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert!(names.iter().all(|name| name.ends_with(&format!("-{side}.sqlog"))), "{names:?}");
        names.len()
    };
    assert_eq!((traces("server"), traces("client")), (1, 2));
    // Existing traces count.
    let full = serving.get(&["--qlog-files", "2", "--discard", "--qlog", "traced/client", &url]);
    let stderr = String::from_utf8_lossy(&full.stderr);
    assert!(
        full.status.code() == Some(2) && stderr.contains("2 traces") && stderr.contains("allowed"),
        "{stderr}"
    );
    let alone = serving.get(&["--qlog-files", "2", "--discard", &url]);
    assert_eq!(alone.status.code(), Some(2), "--qlog-files requires --qlog");
}

#[test]
fn invalid_command_lines_are_rejected_before_anything_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    for (options, reason) in [
        (&["http://localhost/a"][..], "its scheme is not https"),
        (&["https://localhost/"], "--output"),
        (
            &["https://localhost/a", "https://localhost/b", "--output", "c"],
            "names one file, but there are 2 URLs",
        ),
        (&["https://localhost/a", "--resolve", "localhost"], "HOST=ADDRESS"),
    ] {
        refused(dir.path(), &[&["get", "--insecure"], options].concat(), reason);
    }
    for (options, reason) in [
        (&["absent", "--self-signed"][..], "absent"),
        (&[".", "--self-signed", "--congestion", "fastest"], "fastest"),
        (&["."], "--self-signed"),
        (&[".", "--cache-control", "max-age: 3600"], "`max-age: 3600` is no directive"),
    ] {
        refused(dir.path(), &[&["serve"], options].concat(), reason);
    }
}
