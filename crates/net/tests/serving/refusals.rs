//! Refusals. Other clients are served all the same.

use super::kit::{LogBuffer, certificate, until};
use super::{TestServer, content, tcp};
use bentpipe_net::LogFormat;
use bentpipe_net::serve::{Limits, Server, ServerBuilder};
use bentpipe_units::Span;
use http::HeaderMap;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::TcpSocket;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_outside_the_directory_are_not_found() {
    let site = TestServer::new().await;
    std::fs::write(site.path().join(".hidden"), "x").unwrap();
    std::os::unix::fs::symlink("/etc", site.path().join("etc")).unwrap();
    let client = site.client();
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/etc/passwd",
        "/.hidden",
    ] {
        assert_eq!(site.get(&client, path).await.unwrap().head.status(), 404, "{path}");
    }
    assert_eq!(site.get(&client, "/hello.txt").await.unwrap().head.status(), 200);
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_that_is_too_large_is_refused_and_the_connection_stays() {
    let site = TestServer::new().await;
    let client = site.client();
    let headers =
        HeaderMap::from_iter([(http::header::COOKIE, "c".repeat(20_000).parse().unwrap())]);
    match client.get(&site.url("/hello.txt"), &headers).await {
        Ok(response) => assert_eq!(response.head.status(), 431),
        // The client's own stack may apply the server's limit.
        Err(error) => assert!(error.to_string().contains("HTTP/3"), "{error}"),
    }
    assert_eq!(site.get(&client, "/hello.txt").await.unwrap().head.status(), 200);
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_beyond_the_limits_are_refused_until_others_end() {
    for limits in [
        Limits { connections: 2, ..Limits::default() },
        Limits { per_client: 2, ..Limits::default() },
    ] {
        let site = TestServer::limited(limits).await;
        let clients = [site.client(), site.client()];
        for client in &clients {
            assert_eq!(site.get(client, "/hello.txt").await.unwrap().head.status(), 200);
        }
        let third = site.client();
        let error = site.get(&third, "/hello.txt").await.unwrap_err().to_string();
        assert!(error.contains("refuse"), "{error}");
        assert!(site.server.metrics().refused.load(Relaxed) >= 1);
        for client in &clients {
            client.disconnect().await;
        }
        let mut tries = 100;
        while site.get(&third, "/hello.txt").await.is_err() {
            tries -= 1;
            assert!(tries > 0, "no room comes back");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        third.disconnect().await;
    }
}

/// Sends first flights of clients to the server, each from a socket that never answers.
async fn unanswered(site: &TestServer, count: usize) -> Vec<UdpSocket> {
    let relay = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let url: http::Uri = format!("https://{}/", relay.local_addr().unwrap()).parse().unwrap();
    let mut silent = Vec::new();
    for _ in 0..count {
        let (nowhere, url) = (site.client(), url.clone());
        let asking =
            tokio::spawn(async move { nowhere.get(&url, &HeaderMap::new()).await.map(|_| ()) });
        let mut buffer = [0; 2048];
        let (length, _) = relay.recv_from(&mut buffer).await.unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&buffer[..length], site.server.address()).unwrap();
        silent.push(socket);
        asking.abort();
    }
    silent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_a_client_validates_its_address_and_is_served() {
    let site = TestServer::limited(Limits { handshakes: 1, ..Limits::default() }).await;
    let _silent = unanswered(&site, 1).await;
    let client = site.client();
    until("the first flight did not arrive", || site.server.connections() > 0).await;
    assert_eq!(content(site.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    assert_eq!(site.server.metrics().retried.load(Relaxed), 1);
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_client_that_says_nothing_leaves_places_for_handshakes() {
    // 64 in all, for longer than the test lasts.
    let limits =
        Limits { handshakes: 16, handshake_time: Span::from_secs(600), ..Limits::default() };
    let site = TestServer::limited(limits).await;
    let mut silent = Vec::new();
    for _ in 0..64 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 2], 0).into()).unwrap();
        silent.push(socket.connect(site.server.address()).await.unwrap());
    }
    let metrics = site.server.metrics();
    until("the server did not see all", || site.server.connections() >= 64).await;
    let client = site.client();
    assert_eq!(content(site.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    let mut stream = tcp::connect_as(&site, [127, 0, 0, 3], b"http/1.1").await;
    let request = "GET /hello.txt HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
    assert!(tcp::ask(&mut stream, request).await.contains("200 OK"));
    assert_eq!(metrics.refused.load(Relaxed), 0, "an eighth is for one client, others of it wait");
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unanswered_first_flights_do_not_lock_their_address_out() {
    let limits = Limits {
        per_client: 4,
        // Longer than the test: the places of the first flights stay taken.
        handshake_time: Span::from_secs(600),
        ..Limits::default()
    };
    let site = TestServer::limited(limits).await;
    let _silent = unanswered(&site, 8).await;
    until("the first flights did not arrive", || site.server.connections() >= 4).await;
    for _ in 0..3 {
        let client = site.client();
        let response = site.get(&client, "/hello.txt").await.unwrap();
        assert_eq!(content(response).await.unwrap(), b"hello");
        client.disconnect().await;
    }
    assert!(site.server.metrics().retried.load(Relaxed) >= 3);
    assert_eq!(site.server.metrics().refused.load(Relaxed), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_first_flights_is_bounded_while_clients_are_served() {
    let handshake_time = Span::from_secs(2);
    let site =
        TestServer::limited(Limits { handshakes: 4, handshake_time, ..Limits::default() }).await;
    let _silent = unanswered(&site, 100).await;
    let client = site.client();
    assert_eq!(content(site.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    let metrics = site.server.metrics();
    assert!(
        metrics.retried.load(Relaxed) >= 50,
        "{} had to validate their addresses",
        metrics.retried.load(Relaxed)
    );
    assert!(site.server.connections() <= 5, "{} connections", site.server.connections());
    client.disconnect().await;
    let mut tries = 200;
    while site.server.connections() > 0 {
        tries -= 1;
        assert!(tries > 0, "{} connections stay", site.server.connections());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn started_with(file: &Path) -> Result<String, String> {
    started(|builder| builder.store(file)).await
}

/// Starts a server and downloads a file. Returns what the server reports at the start.
pub async fn started(
    change: impl FnOnce(ServerBuilder) -> ServerBuilder,
) -> Result<String, String> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("hello.txt"), "hello").unwrap();
    let (certificate, trust) = certificate();
    let log = LogBuffer::default();
    let builder = change(Server::builder(directory.path(), certificate));
    let builder = builder.error_log(LogFormat::Text, Box::new(log.clone()));
    let started = builder.start().await;
    let server = started.map_err(|error| error.to_string())?;
    let site = TestServer { directory, server, trust };
    let client = site.client();
    assert_eq!(content(site.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    client.disconnect().await;
    Ok(log.text())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_store_does_not_keep_the_server_from_starting() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("paths.sqlite");
    std::fs::write(&file, "no database").unwrap();
    let report = started_with(&file).await.unwrap();
    assert!(report.contains("in memory only") && report.contains("paths.sqlite"), "{report}");

    let file = directory.path().join("row.sqlite");
    assert_eq!(started_with(&file).await.unwrap(), "");
    let database = rusqlite::Connection::open(&file).unwrap();
    let row = "INSERT OR REPLACE INTO path (remote, local, dscp, window_bytes, rtt_ns, saved_ms, \
        expires_ms, used) VALUES ('nonsense', 'any', 0, -1, 0, 0, 4611686018427387903, 99)";
    database.execute(row, []).unwrap();
    drop(database);
    let report = started_with(&file).await.unwrap();
    assert!(report.contains("1 invalid rows are ignored"), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_programs_database_is_refused_as_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("other.sqlite");
    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let error = started_with(&file).await.unwrap_err();
    assert!(error.contains("another program's database"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_reads_nothing_is_aborted_and_another_is_served() {
    let site =
        TestServer::limited(Limits { stall_time: Span::from_millis(500), ..Limits::default() })
            .await;
    // A sparse file, larger than the client's window and all buffers.
    std::fs::File::create(site.path().join("big")).unwrap().set_len(300_000_000).unwrap();
    let (slow, other) = (site.client(), site.client());
    let held = site.get(&slow, "/big").await.unwrap();
    until("nobody was given up", || site.server.metrics().slow.load(Relaxed) > 0).await;
    assert_eq!(site.get(&other, "/hello.txt").await.unwrap().head.status(), 200);
    assert!(content(held).await.is_err(), "an aborted response is not complete");
    slow.disconnect().await;
    other.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_datagrams_take_no_lasting_resources() {
    let site =
        TestServer::limited(Limits { handshake_time: Span::from_millis(300), ..Limits::default() })
            .await;
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in [0usize, 1, 20, 1200, 1472, 9000] {
        for first in [0x00, 0x40, 0xc0, 0xff] {
            let mut datagram = vec![0x5a; length];
            datagram.first_mut().into_iter().for_each(|byte| *byte = first);
            socket.send_to(&datagram, site.server.address()).unwrap();
        }
    }
    let client = site.client();
    assert_eq!(content(site.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    client.disconnect().await;
    assert!(site.server.connections() <= 1);
}
