//! `bentpipe explain` of files without packets: HTTP Archives and logs of the kernel's sockets.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Two requests of a page.
const ARCHIVE: &str = r#"{ "log": { "version": "1.2", "creator": { "name": "Browser", "version": "1" },
    "entries": [
      { "startedDateTime": "2026-01-01T10:00:00.000Z", "time": 1900,
        "request": { "method": "GET", "url": "https://h/a\u001b[31m", "httpVersion": "HTTP/2" },
        "response": { "status": 200, "headersSize": 100, "bodySize": 11900, "content": {} },
        "timings": { "blocked": 0, "dns": 1, "connect": 1199, "ssl": 600, "send": 0, "wait": 650,
          "receive": 50 }, "serverIPAddress": "192.0.2.1" },
      { "startedDateTime": "2026-01-01T10:00:01.900Z", "time": 700,
        "request": { "method": "GET", "url": "https://h/b", "httpVersion": "HTTP/2" },
        "response": { "status": 200, "headersSize": 100, "bodySize": 900, "content": {} },
        "timings": { "blocked": 50, "dns": -1, "connect": -1, "send": 0, "wait": 650,
          "receive": 0 }, "serverIPAddress": "192.0.2.1" }
    ] } }"#;

/// A socket that the peer's receive window holds back, 10 s apart.
const SOCKETS: &str = "\
1767261600.0
ESTAB 0 2760192 192.0.2.1:36210 192.0.2.2:443 timer:(persist,164ms,0)
\t ts sack cubic wscale:10,10 rto:804 rtt:600.5/0.6 mss:1448 cwnd:40 bytes_acked:1000 \
delivery_rate 873000bps busy:900ms rwnd_limited:800ms(95.0%) retrans:0/2 minrtt:599.75 snd_wnd:65535
1767261610.0
ESTAB 0 2760192 192.0.2.1:36210 192.0.2.2:443 timer:(persist,164ms,0)
\t ts sack cubic wscale:10,10 rto:804 rtt:601.5/0.6 mss:1448 cwnd:80 bytes_acked:1001000 \
delivery_rate 873000bps busy:9900ms rwnd_limited:9300ms(95.0%) retrans:0/12 dsack_dups:1 \
minrtt:599.75 snd_wnd:65535
";

fn explain(directory: &Path, file: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bentpipe"))
        .current_dir(directory)
        .args(["explain", file])
        .args(arguments)
        .output()
        .unwrap()
}

fn text(directory: &Path, file: &str) -> String {
    let output = explain(directory, file, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(directory: &Path, file: &str) -> Value {
    let output = explain(directory, file, &["--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn an_http_archive_says_what_its_requests_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("page.har"), ARCHIVE).unwrap();
    let said = text(directory.path(), "page.har");
    for part in [
        "Browser 1: 2 requests to 1 server, 13.0 kB in 2.60 s",
        "1.30 s waiting for the first byte, 1.20 s making connections",
        "https://h/b",
        "has no packets",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains('\u{1b}'), "{said}");
    let document = json(directory.path(), "page.har");
    assert_eq!(document["kind"], "har");
    assert_eq!(document["requests"][0]["tls_s"], 0.6);
    assert_eq!(document["requests"][1]["connect_s"], Value::Null);
    let output = explain(directory.path(), "page.har", &["--rate", "5 Mbps"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains("the file has no packets"), "{error}");
}

#[test]
fn a_log_of_sockets_says_what_held_the_sender_back() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("ss.log"), SOCKETS).unwrap();
    let said = text(directory.path(), "ss.log");
    for part in [
        "192.0.2.1:36210 to 192.0.2.2:443 (cubic): 1.00 MB acknowledged",
        "in 10.0 s (0.800 Mbps)",
        "busy 9.00 s: held back 8.50 s by the peer's receive window, at most 65.5 kB, \
         0.50 s by the congestion window, at most 116 kB or the path; 1.00 s nothing to send",
        "10 segments sent again (1 without need)",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let document = json(directory.path(), "ss.log");
    assert_eq!(document["kind"], "tcp_info");
    assert_eq!(document["sockets"][0]["receive_window_limited_s"], 8.5);
}
