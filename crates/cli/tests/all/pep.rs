//! `bentpipe pep`: forwarding, access rules, shutdown, and rejected command lines.

// The tests wait for processes.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::running;

use running::{Running, bentpipe, refused};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Permits destinations on this machine.
const INSIDE: [&str; 4] = ["--allow", "127.0.0.0/8", "--allow", "::1"];
/// Timeout that suffices even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A server that returns the reversed input once the client has sent all.
fn mirror(listener: TcpListener) -> SocketAddr {
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut seen = Vec::new();
                // An aborted connection has no response.
                if stream.read_to_end(&mut seen).is_ok() {
                    seen.reverse();
                    let _ = stream.write_all(&seen);
                }
            });
        }
    });
    address
}

/// Starts a [`mirror`] on the IPv4 loopback.
fn server() -> SocketAddr {
    mirror(TcpListener::bind("127.0.0.1:0").unwrap())
}

/// Starts `bentpipe pep` at a free port.
fn pep(dir: &Path, options: &[&str]) -> (Running, SocketAddr) {
    let running = Running::start(dir, &[&["pep"], options].concat());
    let address = running.first["listening"].as_str().unwrap().parse().unwrap();
    (running, address)
}

/// Starts an explicit proxy on the loopback, for destinations on the loopback.
fn explicit(dir: &Path, options: &[&str]) -> (Running, SocketAddr) {
    pep(dir, &[&INSIDE[..], &["--listen", "127.0.0.1:0"], options].concat())
}

fn dial(pep: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(pep).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

/// Requests a connection by SOCKS5 (RFC 1928). `address` contains its type, and the port follows.
/// Returns the connection and the reply code.
fn socks(pep: SocketAddr, address: &[u8], port: u16) -> (TcpStream, u8) {
    let mut stream = dial(pep);
    stream.write_all(&[5, 1, 0]).unwrap();
    let mut method = [0; 2];
    stream.read_exact(&mut method).unwrap();
    assert_eq!(method, [5, 0]);
    stream.write_all(&[&[5, 1, 0], address, &port.to_be_bytes()].concat()).unwrap();
    let mut reply = [0; 4];
    stream.read_exact(&mut reply).unwrap();
    // The address that the proxy connects from, of either family.
    let mut bound = vec![0; if reply[3] == 4 { 18 } else { 6 }];
    stream.read_exact(&mut bound).unwrap();
    (stream, reply[1])
}

/// Requests a connection by HTTP CONNECT. Returns the connection and the head of the response.
fn connect(pep: SocketAddr, target: &str, fields: &str) -> (TcpStream, String) {
    let mut stream = dial(pep);
    write!(stream, "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{fields}\r\n").unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    (stream, String::from_utf8(head).unwrap())
}

/// Asserts that a [`mirror`] is at the other end.
fn assert_mirror(mut stream: TcpStream) {
    let sent: Vec<u8> =
        (0..300_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    stream.write_all(&sent).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    response.reverse();
    assert!(response == sent, "received {} of {} bytes", response.len(), sent.len());
}

/// Fields of a log line that describe how a connection went.
fn outcome(line: &Value) -> [&Value; 4] {
    [&line["bytes_to_server"], &line["bytes_to_client"], &line["how"], &line["end"]]
}

#[test]
fn socks_and_connect_requests_are_forwarded_and_logged() {
    let dir = tempfile::tempdir().unwrap();
    let (mut running, address) = explicit(dir.path(), &[]);
    let target = server();
    let by_address = [&[1][..], &[127, 0, 0, 1]].concat();
    let by_name = [&[3, 9][..], b"localhost"].concat();
    for destination in [by_address, by_name] {
        let (stream, code) = socks(address, &destination, target.port());
        assert_eq!(code, 0);
        assert_mirror(stream);
        let line = running.line();
        assert_eq!(
            outcome(&line),
            [&json!(300_000), &json!(300_000), &json!("socks5"), &json!("complete")],
            "{line}"
        );
    }
    for destination in [target.to_string(), format!("localhost:{}", target.port())] {
        let (stream, head) = connect(address, &destination, "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert_mirror(stream);
        let line = running.line();
        assert_eq!(
            outcome(&line),
            [&json!(300_000), &json!(300_000), &json!("connect"), &json!("complete")],
            "{line}"
        );
        assert_eq!(line["target"], destination.as_str());
    }
    assert_eq!(running.terminate(), Some(0), "{}", running.errors());
}

#[test]
fn servers_are_reached_over_ipv6() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        eprintln!("skipped: no IPv6");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (_running, address) = pep(dir.path(), &[&INSIDE[..], &["--listen", "[::1]:0"]].concat());
    let target = mirror(listener);
    let (stream, head) = connect(address, &target.to_string(), "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_mirror(stream);
    let loopback = [&[4][..], &[0; 15], &[1]].concat();
    let (stream, code) = socks(address, &loopback, target.port());
    assert_eq!(code, 0);
    assert_mirror(stream);
}

#[test]
fn private_destinations_are_refused_and_credentials_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let target = server();
    let (mut running, address) = pep(dir.path(), &["--listen", "127.0.0.1:0"]);
    assert!(connect(address, &target.to_string(), "").1.starts_with("HTTP/1.1 403 "));
    assert_eq!(running.line()["end"], "not-allowed");
    assert_eq!(socks(address, &[1, 127, 0, 0, 1], target.port()).1, 2);

    let file = dir.path().join("credentials");
    std::fs::write(&file, "other:word\nuser:pass\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (running, address) = explicit(dir.path(), &["--credentials", "credentials"]);
    wait_for_stderr(&running, "passwords in credentials: its mode 0644");
    let target = target.to_string();
    assert!(connect(address, &target, "").1.starts_with("HTTP/1.1 407 "));
    // `user:fail`, and `user:pass` (RFC 7617 §2).
    let basic = |encoded: &str| format!("Proxy-Authorization: Basic {encoded}\r\n");
    assert!(connect(address, &target, &basic("dXNlcjpmYWls")).1.starts_with("HTTP/1.1 407 "));
    let (stream, head) = connect(address, &target, &basic("dXNlcjpwYXNz"));
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_mirror(stream);
}

#[test]
fn two_proxies_forward_connections_through_a_tunnel() {
    let dir = tempfile::tempdir().unwrap();
    let made = bentpipe(dir.path()).args(["pep", "--make-secret", "secret"]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let with = ["--secret", "secret", "--allow", "127.0.0.1"];
    let (mut exit, at) =
        pep(dir.path(), &[&["--tunnel-listen", "127.0.0.1:0"], &with[..]].concat());
    let to = at.to_string();
    let entrance = ["--listen", "127.0.0.1:0", "--tunnel-to", &to, "--congestion", "newreno"];
    let (mut entrance, address) = pep(dir.path(), &[&entrance[..], &with].concat());
    let target = server();
    for _ in 0..2 {
        let (stream, head) = connect(address, &target.to_string(), "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert_mirror(stream);
    }
    for (running, how) in [(&mut entrance, "connect"), (&mut exit, "tunnel")] {
        for _ in 0..2 {
            let line = running.line();
            assert_eq!(
                outcome(&line),
                [&json!(300_000), &json!(300_000), &json!(how), &json!("complete")],
                "{line}"
            );
        }
    }
    for mut running in [entrance, exit] {
        assert_eq!(running.terminate(), Some(0), "{}", running.errors());
    }
}

/// Waits until standard error contains `text`.
fn wait_for_stderr(running: &Running, text: &str) {
    let until = Instant::now() + TIMEOUT;
    while !running.errors().contains(text) {
        assert!(Instant::now() < until, "`{text}` is missing: {}", running.errors());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_signal_stops_accepting_and_lets_connections_finish() {
    let dir = tempfile::tempdir().unwrap();
    let (mut running, address) = explicit(dir.path(), &[]);
    let (stream, _) = connect(address, &server().to_string(), "");
    running.send_sigterm();
    wait_for_stderr(&running, "stopping: 1 connections have 10 s to finish");
    // The message appears before the listener closes.
    let until = Instant::now() + TIMEOUT;
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < until, "still listens");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_mirror(stream);
    assert_eq!(running.line()["end"], "complete");
    assert_eq!(running.wait(), Some(0), "{}", running.errors());
}

#[test]
fn drain_timeout_and_second_signal_end_open_connections() {
    let dir = tempfile::tempdir().unwrap();
    let target = server().to_string();
    let (mut running, address) = explicit(dir.path(), &["--drain", "200 ms"]);
    let (mut stream, _) = connect(address, &target, "");
    assert_eq!(running.terminate(), Some(0), "{}", running.errors());
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(running.errors().contains("1 connections were reset"), "{}", running.errors());

    let (mut running, address) = explicit(dir.path(), &["--drain", "1000 s"]);
    let (_stream, _) = connect(address, &target, "");
    running.send_sigterm();
    wait_for_stderr(&running, "again to stop at once");
    assert_eq!(running.terminate(), Some(3), "{}", running.errors());
}

#[test]
fn conflicting_options_are_rejected() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("nothing"), "nothing").unwrap();
    let in_use = TcpListener::bind("127.0.0.1:0").unwrap();
    let in_use = in_use.local_addr().unwrap().to_string();
    for (options, reason) in [
        (&["--keep-source"][..], "--keep-source is only for --mode transparent"),
        (&["--mode", "redirect", "--keep-source"], "--keep-source is only for --mode transparent"),
        (
            &["--mode", "redirect", "--credentials", "nothing"],
            "--credentials is only for --mode explicit",
        ),
        (
            &["--credentials", "nothing"],
            "nothing has no valid credentials; allowed: lines NAME:PASSWORD",
        ),
        (&["--credentials", "absent"], "absent"),
        (&["--print-rules"], "--interface <NAME>"),
        (
            &["--print-rules", "--interface", "lan0"],
            "--print-rules is only for --mode transparent and",
        ),
        (&["--mode", "redirect", "--print-rules", "--interface", "lan 0"], "1 to 15 letters"),
        (&["--tunnel-to", "127.0.0.1:4434"], "--secret <FILE>"),
        (&["--tunnel-to", "gateway", "--secret", "nothing"], "expected: 64 hexadecimal digits"),
        (&["--tunnel-listen", "127.0.0.1:0", "--tunnel-to", "127.0.0.1:1"], "cannot be used with"),
        (&["--tunnel-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"], "cannot be used with"),
        (&["--secret", "nothing"], "--secret is only for --tunnel-to and --tunnel-listen"),
        (&["--make-secret", "nothing"], "nothing"),
        (&["--make-secret", "new", "--mode", "redirect"], "cannot be used with"),
        (&["--congestion", "fastest"], "`fastest`"),
        (&["--profile", "geo-9000"], "no profile is named `geo-9000`; allowed: one of `bentpipe"),
        (&["--profile", "geo-50-10", "--buffer", "1 MB"], "cannot be used with"),
        (&["--rate", "50 Mbps"], "--rtt <TIME>"),
        (&["--rtt", "600 ms"], "--rate <RATE>"),
        (&["--clients", "everybody"], "everybody"),
        (&["--allow", "10.0.0.0/33"], "10.0.0.0/33"),
        (&["--max-connections", "0"], "allowed: at least 1"),
        (&["--max-per-client", "0"], "allowed: at least 1"),
        (&["--idle", "0 s"], "allowed: more than 0 s"),
        (&["--listen", &in_use], &in_use),
    ] {
        refused(dir.path(), &[&["pep"], options].concat(), reason);
    }
    // For a name without a port, the error is about the port.
    let secret = bentpipe(dir.path()).args(["pep", "--make-secret", "secret"]).status().unwrap();
    assert!(secret.success());
    refused(
        dir.path(),
        &["pep", "--tunnel-to", "gateway", "--secret", "secret"],
        "--tunnel-to gateway: ",
    );
}
