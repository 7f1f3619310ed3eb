//! `bentpipe proxy` in front of web servers that work, are down, or use TLS.

// The tests wait for processes.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::running;

use running::{Running, bentpipe, refused};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::sync::mpsc::{Receiver, channel};

/// Response body of the web server.
const HELLO: &str = "hello from behind";

/// Runs a web server that responds with [`HELLO`]. Returns the heads of its requests.
fn web(listener: TcpListener) -> Receiver<String> {
    let (heads, seen) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let heads = heads.clone();
            std::thread::spawn(move || {
                // Connections may end with any error.
                let _ = respond(stream, |head| heads.send(head).is_ok());
            });
        }
    });
    seen
}

/// Responds to requests without a body until `seen` returns false.
fn respond(stream: TcpStream, seen: impl Fn(String) -> bool) -> std::io::Result<()> {
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

/// Starts `bentpipe proxy` in front of `upstream`, on the loopback.
fn proxy(dir: &Path, upstream: &str, options: &[&str]) -> Running {
    proxy_at(dir, "127.0.0.1:0", upstream, options)
}

fn proxy_at(dir: &Path, address: &str, upstream: &str, options: &[&str]) -> Running {
    let begin = ["proxy", "--upstream", upstream, "--listen", address, "--no-store"];
    let certificate = ["--self-signed", "--save-cert", "proxy.pem"];
    Running::start(dir, &[&begin[..], &certificate, options].concat())
}

/// Starts `bentpipe serve` at `address`, for a directory with `hello`. Its certificate is in
/// `upstream.pem`.
fn tls(dir: &Path, address: &str) -> (Running, u16) {
    let public = dir.join("public");
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
    let running = Running::start(dir, &serve);
    let listening: SocketAddr = running.first["listening"].as_str().unwrap().parse().unwrap();
    (running, listening.port())
}

/// Runs `bentpipe get` of `/hello?from=test` through the proxy.
fn get(dir: &Path, proxy: &Running) -> Output {
    let url = format!("{}/hello?from=test", proxy.first["url"].as_str().unwrap());
    bentpipe(dir).args(["get", "--ca", "proxy.pem", "--output", "copy", &url]).output().unwrap()
}

/// Asserts that the upstream's content is downloaded through the proxy.
fn assert_download(dir: &Path, proxy: &Running) {
    // An existing file would not be overwritten.
    let _ = std::fs::remove_file(dir.join("copy"));
    let output = get(dir, proxy);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}{}",
        String::from_utf8_lossy(&output.stderr),
        proxy.errors()
    );
    assert_eq!(std::fs::read_to_string(dir.join("copy")).unwrap(), HELLO);
}

/// Asserts that the proxy responds with this error status.
fn assert_status(dir: &Path, proxy: &Running, status: &str) {
    let output = get(dir, proxy);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(1) && stderr.contains(status),
        "{:?}: {stderr}",
        output.status
    );
}

/// Returns a listener on the IPv6 loopback, if available.
fn ipv6() -> Option<TcpListener> {
    TcpListener::bind("[::1]:0").inspect_err(|error| eprintln!("skipped, no IPv6: {error}")).ok()
}

#[test]
fn content_is_served_over_http3_and_requests_are_logged() {
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap();
    let heads = web(listener);
    let mut running = proxy(dir.path(), &format!("http://{upstream}"), &[]);
    assert_download(dir.path(), &running);
    let host = running.first["listening"].as_str().unwrap().to_owned();
    let head = heads.recv().unwrap().to_lowercase();
    assert!(head.starts_with("get /hello?from=test http/1.1\r\n"), "{head}");
    for field in [&format!("host: {host}"), "x-forwarded-for: 127.0.0.1", "via: 3 bentpipe"] {
        assert!(head.contains(&format!("\r\n{field}\r\n")), "{field}: {head}");
    }
    let logged = running.line();
    assert_eq!(
        (logged["status"].as_u64(), logged["bytes"].as_u64()),
        (Some(200), Some(HELLO.len() as u64))
    );
    // The query may contain a secret.
    assert_eq!(
        (&logged["path"], &logged["protocol"]),
        (&Value::from("/hello"), &Value::from("HTTP/3"))
    );
    assert_eq!(running.terminate(), Some(0), "{}", running.errors());

    let running =
        proxy(dir.path(), &format!("http://{upstream}/"), &["--upstream-host", "inside.test:80"]);
    assert_download(dir.path(), &running);
    let head = heads.recv().unwrap().to_lowercase();
    assert!(head.contains("\r\nhost: inside.test:80\r\n"), "{head}");
}

#[test]
fn a_web_server_is_reached_over_ipv6() {
    let Some(listener) = ipv6() else { return };
    let dir = tempfile::tempdir().unwrap();
    let upstream = listener.local_addr().unwrap();
    let heads = web(listener);
    let running = proxy(dir.path(), &format!("http://{upstream}"), &[]);
    assert_download(dir.path(), &running);
    assert!(heads.recv().unwrap().contains("/hello"));
    // And clients over IPv6.
    let running = proxy_at(dir.path(), "[::1]:0", &format!("http://{upstream}"), &[]);
    assert_download(dir.path(), &running);
    let head = heads.recv().unwrap().to_lowercase();
    assert!(head.contains("\r\nforwarded: for=\"[::1]\";"), "{head}");
}

#[test]
fn an_https_upstream_needs_a_trusted_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let (_serving, port) = tls(dir.path(), "127.0.0.1:0");
    let believed = ["--upstream-ca", "upstream.pem"];
    for host in ["127.0.0.1", "localhost"] {
        let running = proxy(dir.path(), &format!("https://{host}:{port}"), &believed);
        assert_download(dir.path(), &running);
    }
    let upstream = format!("https://127.0.0.1:{port}");
    assert_download(dir.path(), &proxy(dir.path(), &upstream, &["--upstream-insecure"]));
    // The certificate is checked for the upstream's name, not for the requested host.
    assert_download(
        dir.path(),
        &proxy(
            dir.path(),
            &upstream,
            &[&believed[..], &["--upstream-host", "other.test"]].concat(),
        ),
    );

    std::fs::copy(dir.path().join("proxy.pem"), dir.path().join("other.pem")).unwrap();
    assert_status(
        dir.path(),
        &proxy(dir.path(), &upstream, &["--upstream-ca", "other.pem"]),
        "502",
    );
    // A TLS server cannot be reached over plain HTTP.
    assert_status(dir.path(), &proxy(dir.path(), &format!("http://127.0.0.1:{port}"), &[]), "502");
    // A server with a certificate for other addresses.
    let (_serving, port) = tls(dir.path(), "127.0.0.2:0");
    let upstream = format!("https://127.0.0.2:{port}");
    assert_status(dir.path(), &proxy(dir.path(), &upstream, &believed), "502");
    assert_download(dir.path(), &proxy(dir.path(), &upstream, &["--upstream-insecure"]));
}

#[test]
fn a_web_server_with_tls_is_reached_over_ipv6() {
    if ipv6().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (_serving, port) = tls(dir.path(), "[::1]:0");
    let running =
        proxy(dir.path(), &format!("https://[::1]:{port}"), &["--upstream-ca", "upstream.pem"]);
    assert_download(dir.path(), &running);
}

#[test]
fn the_proxy_responds_502_until_the_upstream_is_up() {
    let dir = tempfile::tempdir().unwrap();
    // A port that was free just before.
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut running = proxy(dir.path(), &format!("http://{upstream}"), &[]);
    assert_status(dir.path(), &running, "502");
    assert_eq!(running.line()["status"], 502);
    assert!(!dir.path().join("copy").exists(), "an error response is not saved");
    let _heads = web(TcpListener::bind(upstream).unwrap());
    assert_download(dir.path(), &running);
    assert_status(dir.path(), &proxy(dir.path(), "http://no-such-host.invalid", &[]), "502");
}

#[test]
fn a_slow_upstream_times_out() {
    let dir = tempfile::tempdir().unwrap();
    // The kernel accepts connections, but there is no response.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("http://{}", silent.local_addr().unwrap());
    assert_status(
        dir.path(),
        &proxy(dir.path(), &upstream, &["--upstream-timeout", "300 ms"]),
        "504",
    );
}

#[test]
fn invalid_upstreams_are_rejected_with_allowed_values() {
    let dir = tempfile::tempdir().unwrap();
    let allowed = "allowed: http://HOST[:PORT], https://HOST[:PORT] or unix:/PATH";
    for (url, reason) in [
        ("127.0.0.1:8080", "its scheme is none of http, https, h2c and h2"),
        ("localhost", "its scheme is none of http, https, h2c and h2"),
        ("ftp://localhost", "its scheme is none of http, https, h2c and h2"),
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
        refused(dir.path(), &begin, reason);
        refused(dir.path(), &begin, allowed);
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
        refused(dir.path(), &[&begin[..], options].concat(), reason);
    }
    refused(dir.path(), &["proxy", "--self-signed"], "--upstream <URL>");
    refused(dir.path(), &["proxy", "--upstream", "http://localhost"], "--self-signed");
}
