//! `bentpipe proxy` as a program: in front of web servers of every kind, and of none.

// Waiting for a process takes a clock.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod running;

use running::{Running, bentpipe, refused};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::sync::mpsc::{Receiver, channel};

/// What the web server answers with.
const HELLO: &str = "hello from behind";

/// A web server; what it gives are the heads of requests that it gets, which it answers with
/// [`HELLO`].
fn web(listener: TcpListener) -> Receiver<String> {
    let (heads, seen) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let heads = heads.clone();
            std::thread::spawn(move || {
                // How a connection ends is the proxy's affair.
                let _ = answer(stream, |head| heads.send(head).is_ok());
            });
        }
    });
    seen
}

/// Answers requests without content for as long as `seen` wants to.
fn answer(stream: TcpStream, seen: impl Fn(String) -> bool) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 0 {
        if head.ends_with("\r\n\r\n") {
            let length = HELLO.len();
            write!(reader.get_mut(), "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{HELLO}")?;
            if !seen(std::mem::take(&mut head)) {
                break;
            }
        }
    }
    Ok(())
}

/// `bentpipe proxy` in front of `upstream`, on the loopback.
fn proxy(place: &Path, upstream: &str, options: &[&str]) -> Running {
    proxy_at(place, "127.0.0.1:0", upstream, options)
}

fn proxy_at(place: &Path, address: &str, upstream: &str, options: &[&str]) -> Running {
    let begin = ["proxy", "--upstream", upstream, "--listen", address, "--no-store"];
    let certificate = ["--self-signed", "--save-cert", "proxy.pem"];
    Running::begin(place, &[&begin[..], &certificate, options].concat())
}

/// `bentpipe serve` of a directory with `hello`, at `address`; its certificate is in
/// `upstream.pem`.
fn tls(place: &Path, address: &str) -> (Running, u16) {
    let public = place.join("public");
    std::fs::create_dir_all(&public).unwrap();
    std::fs::write(public.join("hello"), HELLO).unwrap();
    let serve = [
        "serve",
        "public",
        "--listen",
        address,
        "--no-store",
        "--self-signed",
        "--save-cert",
        "upstream.pem",
    ];
    let running = Running::begin(place, &serve);
    let listening: SocketAddr = running.first["listening"].as_str().unwrap().parse().unwrap();
    (running, listening.port())
}

/// What `bentpipe get` makes of `/hello?from=test` through the proxy.
fn get(place: &Path, proxy: &Running) -> Output {
    let url = format!("{}/hello?from=test", proxy.first["url"].as_str().unwrap());
    bentpipe(place).args(["get", "--ca", "proxy.pem", "--output", "copy", &url]).output().unwrap()
}

/// Asserts that what is behind comes through the proxy.
fn comes(place: &Path, proxy: &Running) {
    // It would not be written anew.
    let _ = std::fs::remove_file(place.join("copy"));
    let output = get(place, proxy);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}{}",
        String::from_utf8_lossy(&output.stderr),
        proxy.errors()
    );
    assert_eq!(std::fs::read_to_string(place.join("copy")).unwrap(), HELLO);
}

/// Asserts that the proxy answers with this status instead.
fn answers(place: &Path, proxy: &Running, status: &str) {
    let output = get(place, proxy);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(1) && said.contains(status),
        "{:?}: {said}",
        output.status
    );
}

/// A port at the IPv6 loopback, where there is one.
fn ipv6() -> Option<TcpListener> {
    TcpListener::bind("[::1]:0")
        .inspect_err(|error| eprintln!("not run, there is no IPv6: {error}"))
        .ok()
}

#[test]
fn what_a_web_server_has_comes_over_http3_and_every_request_is_a_line() {
    let place = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap();
    let heads = web(listener);
    let mut running = proxy(place.path(), &format!("http://{upstream}"), &[]);
    comes(place.path(), &running);
    let asked = running.first["listening"].as_str().unwrap().to_owned();
    let head = heads.recv().unwrap().to_lowercase();
    assert!(head.starts_with("get /hello?from=test http/1.1\r\n"), "{head}");
    for field in [&format!("host: {asked}"), "x-forwarded-for: 127.0.0.1", "via: 3 bentpipe"] {
        assert!(head.contains(&format!("\r\n{field}\r\n")), "{field}: {head}");
    }
    let logged = running.line();
    assert_eq!(
        (logged["status"].as_u64(), logged["bytes"].as_u64()),
        (Some(200), Some(HELLO.len() as u64))
    );
    // What follows the question mark may be a secret.
    assert_eq!(
        (&logged["path"], &logged["protocol"]),
        (&Value::from("/hello"), &Value::from("HTTP/3"))
    );
    assert_eq!(running.terminate(), Some(0), "{}", running.errors());

    let running =
        proxy(place.path(), &format!("http://{upstream}/"), &["--upstream-host", "inside.test:80"]);
    comes(place.path(), &running);
    let head = heads.recv().unwrap().to_lowercase();
    assert!(head.contains("\r\nhost: inside.test:80\r\n"), "{head}");
}

#[test]
fn a_web_server_is_reached_over_ipv6() {
    let Some(listener) = ipv6() else { return };
    let place = tempfile::tempdir().unwrap();
    let upstream = listener.local_addr().unwrap();
    let heads = web(listener);
    let running = proxy(place.path(), &format!("http://{upstream}"), &[]);
    comes(place.path(), &running);
    assert!(heads.recv().unwrap().contains("/hello"));
    // And clients over IPv6, too.
    let running = proxy_at(place.path(), "[::1]:0", &format!("http://{upstream}"), &[]);
    comes(place.path(), &running);
    let head = heads.recv().unwrap().to_lowercase();
    assert!(head.contains("\r\nforwarded: for=\"[::1]\";"), "{head}");
}

#[test]
fn a_web_server_with_tls_is_believed_where_its_certificate_is() {
    let place = tempfile::tempdir().unwrap();
    let (_serving, port) = tls(place.path(), "127.0.0.1:0");
    let believed = ["--upstream-ca", "upstream.pem"];
    for host in ["127.0.0.1", "localhost"] {
        let running = proxy(place.path(), &format!("https://{host}:{port}"), &believed);
        comes(place.path(), &running);
    }
    let upstream = format!("https://127.0.0.1:{port}");
    comes(place.path(), &proxy(place.path(), &upstream, &["--upstream-insecure"]));
    // For its name, and not for that which it is asked for.
    comes(
        place.path(),
        &proxy(
            place.path(),
            &upstream,
            &[&believed[..], &["--upstream-host", "other.test"]].concat(),
        ),
    );

    std::fs::copy(place.path().join("proxy.pem"), place.path().join("other.pem")).unwrap();
    answers(place.path(), &proxy(place.path(), &upstream, &["--upstream-ca", "other.pem"]), "502");
    // One that speaks TLS is not one that does not.
    answers(place.path(), &proxy(place.path(), &format!("http://127.0.0.1:{port}"), &[]), "502");
    // It is there, and its certificate is for other addresses.
    let (_serving, port) = tls(place.path(), "127.0.0.2:0");
    let upstream = format!("https://127.0.0.2:{port}");
    answers(place.path(), &proxy(place.path(), &upstream, &believed), "502");
    comes(place.path(), &proxy(place.path(), &upstream, &["--upstream-insecure"]));
}

#[test]
fn a_web_server_with_tls_is_reached_over_ipv6() {
    if ipv6().is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (_serving, port) = tls(place.path(), "[::1]:0");
    let running =
        proxy(place.path(), &format!("https://[::1]:{port}"), &["--upstream-ca", "upstream.pem"]);
    comes(place.path(), &running);
}

#[test]
fn a_web_server_that_is_down_is_answered_for_until_it_is_there() {
    let place = tempfile::tempdir().unwrap();
    // A port that was free a moment ago.
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut running = proxy(place.path(), &format!("http://{upstream}"), &[]);
    answers(place.path(), &running, "502");
    assert_eq!(running.line()["status"], 502);
    assert!(!place.path().join("copy").exists(), "what is no file is not kept as one");
    let _heads = web(TcpListener::bind(upstream).unwrap());
    comes(place.path(), &running);
    answers(place.path(), &proxy(place.path(), "http://no-such-host.invalid", &[]), "502");
}

#[test]
fn a_web_server_that_takes_too_long_is_given_up() {
    let place = tempfile::tempdir().unwrap();
    // It accepts, as kernels do, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("http://{}", silent.local_addr().unwrap());
    answers(
        place.path(),
        &proxy(place.path(), &upstream, &["--upstream-timeout", "300 ms"]),
        "504",
    );
}

#[test]
fn what_is_no_upstream_is_refused_with_what_is() {
    let place = tempfile::tempdir().unwrap();
    let allowed = "allowed: http://HOST[:PORT] or https://HOST[:PORT]";
    for (url, reason) in [
        ("127.0.0.1:8080", "its scheme is neither http nor https"),
        ("localhost", "its scheme is neither http nor https"),
        ("ftp://localhost", "its scheme is neither http nor https"),
        ("http://localhost/api", "it has a path"),
        ("http://user:secret@localhost", "it has user information"),
        ("http://localhost:99999", "its port is not 1 to 65535"),
        ("http://localhost:0", "its port is not 1 to 65535"),
        ("http://:8080", "it has no host"),
        ("http://::1:8080", "it is not a URL"),
        ("http://[::1", "it is not a URL"),
        ("https://[localhost]:8443", "it has no host"),
    ] {
        let begin = ["proxy", "--self-signed", "--listen", "127.0.0.1:0", "--upstream", url];
        refused(place.path(), &begin, reason);
        refused(place.path(), &begin, allowed);
    }
    let http =
        ["proxy", "--self-signed", "--listen", "127.0.0.1:0", "--upstream", "http://localhost"];
    let https =
        ["proxy", "--self-signed", "--listen", "127.0.0.1:0", "--upstream", "https://localhost"];
    for (begin, options, reason) in [
        (&http, &["--upstream-connections", "0"][..], "allowed: at least 1"),
        (&http, &["--upstream-timeout", "0 s"], "allowed: more than 0 s"),
        (&http, &["--upstream-timeout", "soon"], "soon"),
        (&http, &["--upstream-host", "a b"], "`a b` is not a host name; allowed: HOST[:PORT]"),
        (&http, &["--upstream-host", "user@inside"], "`user@inside` is not a host name"),
        (&http, &["--upstream-insecure"], "--upstream-insecure is only for an https upstream"),
        (&http, &["--upstream-ca", "absent.pem"], "--upstream-ca is only for an https upstream"),
        (&https, &["--upstream-ca", "absent.pem"], "absent.pem"),
        (&https, &["--upstream-ca", "absent.pem", "--upstream-insecure"], "cannot be used with"),
        (&https, &["--cert", "chain.pem"], "cannot be used with"),
    ] {
        refused(place.path(), &[&begin[..], options].concat(), reason);
    }
    refused(place.path(), &["proxy", "--self-signed"], "--upstream <URL>");
    refused(place.path(), &["proxy", "--upstream", "http://localhost"], "--self-signed");
}
