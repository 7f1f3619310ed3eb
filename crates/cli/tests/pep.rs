//! `bentpipe pep` as a program: who is led on and who is not, how it stops, what it refuses to be.

// Waiting for a process takes a clock.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod running;

use running::{Running, bentpipe, refused};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Destinations on this machine are allowed.
const INSIDE: [&str; 4] = ["--allow", "127.0.0.0/8", "--allow", "::1"];
/// Longer than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that gives back what it gets, reversed, once the client has said all.
fn mirror(listener: TcpListener) -> SocketAddr {
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut seen = Vec::new();
                // A connection that breaks off has no answer.
                if stream.read_to_end(&mut seen).is_ok() {
                    seen.reverse();
                    let _ = stream.write_all(&seen);
                }
            });
        }
    });
    address
}

/// One on the loopback, over IPv4.
fn server() -> SocketAddr {
    mirror(TcpListener::bind("127.0.0.1:0").unwrap())
}

/// `bentpipe pep` at a free port.
fn pep(place: &Path, options: &[&str]) -> (Running, SocketAddr) {
    let running = Running::begin(place, &[&["pep"], options].concat());
    let address = running.first["listening"].as_str().unwrap().parse().unwrap();
    (running, address)
}

/// An explicit one that leads to the loopback, and listens there.
fn explicit(place: &Path, options: &[&str]) -> (Running, SocketAddr) {
    pep(place, &[&INSIDE[..], &["--listen", "127.0.0.1:0"], options].concat())
}

fn dial(pep: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(pep).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Asks by SOCKS5 (RFC 1928) for an address of its own form, which the port follows; the
/// connection, and the answer's code.
fn socks(pep: SocketAddr, address: &[u8], port: u16) -> (TcpStream, u8) {
    let mut stream = dial(pep);
    stream.write_all(&[5, 1, 0]).unwrap();
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).unwrap();
    assert_eq!(chosen, [5, 0]);
    stream.write_all(&[&[5, 1, 0], address, &port.to_be_bytes()].concat()).unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).unwrap();
    // The address that it connects from, of either family.
    let mut bound = vec![0; if answer[3] == 4 { 18 } else { 6 }];
    stream.read_exact(&mut bound).unwrap();
    (stream, answer[1])
}

/// Asks by HTTP CONNECT; the connection, and the head of the answer.
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

/// Asserts that there is a [`mirror`] at the other end.
fn mirrors(mut stream: TcpStream) {
    let sent: Vec<u8> =
        (0..300_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    stream.write_all(&sent).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer.reverse();
    assert!(answer == sent, "{} bytes came of {}", answer.len(), sent.len());
}

/// What a line of the log says of a connection that was led on whole.
fn whole(line: &Value) -> [&Value; 4] {
    [&line["bytes_to_server"], &line["bytes_to_client"], &line["how"], &line["end"]]
}

#[test]
fn clients_that_ask_by_socks_or_connect_are_led_on_and_every_connection_is_a_line() {
    let place = tempfile::tempdir().unwrap();
    let (mut running, address) = explicit(place.path(), &[]);
    let target = server();
    let by_address = [&[1][..], &[127, 0, 0, 1]].concat();
    let by_name = [&[3, 9][..], b"localhost"].concat();
    for asked in [by_address, by_name] {
        let (stream, code) = socks(address, &asked, target.port());
        assert_eq!(code, 0);
        mirrors(stream);
        let line = running.line();
        assert_eq!(
            whole(&line),
            [&json!(300_000), &json!(300_000), &json!("socks5"), &json!("complete")],
            "{line}"
        );
    }
    for asked in [target.to_string(), format!("localhost:{}", target.port())] {
        let (stream, head) = connect(address, &asked, "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        mirrors(stream);
        let line = running.line();
        assert_eq!(
            whole(&line),
            [&json!(300_000), &json!(300_000), &json!("connect"), &json!("complete")],
            "{line}"
        );
        assert_eq!(line["target"], asked.as_str());
    }
    assert_eq!(running.terminate(), Some(0), "{}", running.errors());
}

#[test]
fn servers_are_reached_over_ipv6() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        eprintln!("not run: there is no IPv6");
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let (_running, address) = pep(place.path(), &[&INSIDE[..], &["--listen", "[::1]:0"]].concat());
    let target = mirror(listener);
    let (stream, head) = connect(address, &target.to_string(), "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    mirrors(stream);
    let loopback = [&[4][..], &[0; 15], &[1]].concat();
    let (stream, code) = socks(address, &loopback, target.port());
    assert_eq!(code, 0);
    mirrors(stream);
}

#[test]
fn without_more_words_it_leads_nowhere_inside_and_credentials_are_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let target = server();
    let (mut running, address) = pep(place.path(), &["--listen", "127.0.0.1:0"]);
    assert!(connect(address, &target.to_string(), "").1.starts_with("HTTP/1.1 403 "));
    assert_eq!(running.line()["end"], "not-allowed");
    assert_eq!(socks(address, &[1, 127, 0, 0, 1], target.port()).1, 2);

    std::fs::write(place.path().join("credentials"), "user:pass\n").unwrap();
    let (_running, address) = explicit(place.path(), &["--credentials", "credentials"]);
    let target = target.to_string();
    assert!(connect(address, &target, "").1.starts_with("HTTP/1.1 407 "));
    // `user:fail`, and `user:pass` (RFC 7617 §2).
    let basic = |encoded: &str| format!("Proxy-Authorization: Basic {encoded}\r\n");
    assert!(connect(address, &target, &basic("dXNlcjpmYWls")).1.starts_with("HTTP/1.1 407 "));
    let (stream, head) = connect(address, &target, &basic("dXNlcjpwYXNz"));
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    mirrors(stream);
}

#[test]
fn two_of_them_lead_connections_through_a_tunnel() {
    let place = tempfile::tempdir().unwrap();
    let made = bentpipe(place.path()).args(["pep", "--make-secret", "secret"]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let with = ["--secret", "secret", "--allow", "127.0.0.1"];
    let (mut exit, at) =
        pep(place.path(), &[&["--tunnel-listen", "127.0.0.1:0"], &with[..]].concat());
    let to = at.to_string();
    let entrance = ["--listen", "127.0.0.1:0", "--tunnel-to", &to, "--congestion", "newreno"];
    let (mut entrance, address) = pep(place.path(), &[&entrance[..], &with].concat());
    let target = server();
    for _ in 0..2 {
        let (stream, head) = connect(address, &target.to_string(), "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        mirrors(stream);
    }
    for (running, how) in [(&mut entrance, "connect"), (&mut exit, "tunnel")] {
        for _ in 0..2 {
            let line = running.line();
            assert_eq!(
                whole(&line),
                [&json!(300_000), &json!(300_000), &json!(how), &json!("complete")],
                "{line}"
            );
        }
    }
    for mut running in [entrance, exit] {
        assert_eq!(running.terminate(), Some(0), "{}", running.errors());
    }
}

/// Waits until standard error says so.
fn until_said(running: &Running, words: &str) {
    let until = Instant::now() + PATIENCE;
    while !running.errors().contains(words) {
        assert!(Instant::now() < until, "`{words}` is not said: {}", running.errors());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn told_to_stop_it_takes_nobody_new_and_lets_those_inside_finish() {
    let place = tempfile::tempdir().unwrap();
    let (mut running, address) = explicit(place.path(), &[]);
    let (stream, _) = connect(address, &server().to_string(), "");
    running.tell();
    until_said(&running, "stopping: 1 connections have 10 s to finish");
    // It says so before it closes the door.
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < until, "it still listens");
        std::thread::sleep(Duration::from_millis(10));
    }
    mirrors(stream);
    assert_eq!(running.line()["end"], "complete");
    assert_eq!(running.ended(), Some(0), "{}", running.errors());
}

#[test]
fn who_does_not_finish_in_time_is_reset_and_a_second_signal_waits_for_nobody() {
    let place = tempfile::tempdir().unwrap();
    let target = server().to_string();
    let (mut running, address) = explicit(place.path(), &["--drain", "200 ms"]);
    let (mut stream, _) = connect(address, &target, "");
    assert_eq!(running.terminate(), Some(0), "{}", running.errors());
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(running.errors().contains("1 connections were reset"), "{}", running.errors());

    let (mut running, address) = explicit(place.path(), &["--drain", "1000 s"]);
    let (_stream, _) = connect(address, &target, "");
    running.tell();
    until_said(&running, "again to stop at once");
    assert_eq!(running.terminate(), Some(3), "{}", running.errors());
}

#[test]
fn what_does_not_go_together_is_refused() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("nothing"), "nothing").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (options, reason) in [
        (&["--keep-source"][..], "--keep-source is only for --mode transparent"),
        (&["--mode", "redirect", "--keep-source"], "--keep-source is only for --mode transparent"),
        (
            &["--mode", "redirect", "--credentials", "nothing"],
            "--credentials is only for --mode explicit",
        ),
        (&["--credentials", "nothing"], "nothing: one line NAME:PASSWORD is expected"),
        (&["--credentials", "absent"], "absent"),
        (&["--print-rules"], "--interface <NAME>"),
        (&["--print-rules", "--interface", "lan0"], "they are for --mode transparent and redirect"),
        (&["--mode", "redirect", "--print-rules", "--interface", "lan 0"], "1 to 15 letters"),
        (&["--tunnel-to", "127.0.0.1:4434"], "--secret <FILE>"),
        (&["--tunnel-to", "gateway", "--secret", "nothing"], "expected: 64 hexadecimal digits"),
        (&["--tunnel-listen", "127.0.0.1:0", "--tunnel-to", "127.0.0.1:1"], "cannot be used with"),
        (&["--tunnel-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"], "cannot be used with"),
        (&["--secret", "nothing"], "--secret is only for --tunnel-to and --tunnel-listen"),
        (&["--make-secret", "nothing"], "nothing"),
        (&["--make-secret", "new", "--mode", "redirect"], "cannot be used with"),
        (&["--congestion", "fastest"], "`fastest`"),
        (&["--profile", "geo-9000"], "no profile `geo-9000`; allowed: one of `bentpipe profiles`"),
        (&["--profile", "geo-50-10", "--buffer", "1 MB"], "cannot be used with"),
        (&["--rate", "50 Mbps"], "--rtt <TIME>"),
        (&["--rtt", "600 ms"], "--rate <RATE>"),
        (&["--clients", "everybody"], "everybody"),
        (&["--allow", "10.0.0.0/33"], "10.0.0.0/33"),
        (&["--max-connections", "0"], "allowed: at least 1"),
        (&["--max-per-client", "0"], "allowed: at least 1"),
        (&["--idle", "0 s"], "allowed: more than 0 s"),
        (&["--listen", &taken], &taken),
    ] {
        refused(place.path(), &[&["pep"], options].concat(), reason);
    }
    // Of a name without a port, the port is what is missing.
    let secret = bentpipe(place.path()).args(["pep", "--make-secret", "secret"]).status().unwrap();
    assert!(secret.success());
    refused(
        place.path(),
        &["pep", "--tunnel-to", "gateway", "--secret", "secret"],
        "--tunnel-to gateway: ",
    );
}
