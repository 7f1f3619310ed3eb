//! Bounds on open files, and time limits of handshakes, headers, responses and idle connections,
//! over all versions of HTTP.

use super::kit::{LONG, until};
use super::slow_peers::{Http2, open_for};
use super::tcp::{ask, connect, connect_as, secured};
use super::{TestServer, content};
use bentpipe_net::serve::Limits;
use bentpipe_units::Span;
use futures_util::future::join_all;
use http_body_util::BodyExt;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

const ATTACKER: [u8; 4] = [127, 0, 0, 2];
const OTHER: [u8; 4] = [127, 0, 0, 3];
fn few_files() -> Limits {
    Limits { files: 8, files_per_client: 4, ..Limits::default() }
}

/// Returns how many descriptors of this process lead to `file`.
fn open_files(file: &std::path::Path) -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    links
        .filter_map(|link| std::fs::read_link(link.ok()?.path()).ok())
        .filter(|to| to == file)
        .count()
}

async fn get_as(site: &TestServer, source: [u8; 4], path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n");
    ask(&mut connect_as(site, source, b"http/1.1").await, &request).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_take_nothing_hold_no_file_and_give_way_to_others() {
    let site = TestServer::limited(few_files()).await;
    site.file("big", 1_000_000);
    let file = std::fs::canonicalize(site.path().join("big")).unwrap();
    let mut attacker = Http2::connect(&site, ATTACKER, 0).await;
    let mut held = Vec::new();
    for _ in 0..4 {
        let response = attacker.ask("/big").await.unwrap();
        assert_eq!(response.status(), 200);
        held.push(response);
    }
    assert_eq!(open_files(&file), 0, "no stream can send");
    // Small files of other clients, and large ones, come at once.
    let begun = Instant::now();
    assert!(get_as(&site, OTHER, "/hello.txt").await.ends_with("hello"));
    assert!(get_as(&site, OTHER, "/big").await.starts_with("HTTP/1.1 200 "));
    assert!(begun.elapsed() < Duration::from_secs(4));
    // The client itself waits until its oldest stream has been stalled for 5 s.
    let late = attacker.ask("/big").await.unwrap();
    assert_eq!(late.status(), 200);
    assert!(begun.elapsed() > Duration::from_secs(4), "{:?}", begun.elapsed());
    let reset = held.remove(0).into_body().collect().await.unwrap_err();
    assert!(format!("{reset:?}").contains("CANCEL"), "{reset:?}");
    let metrics = site.server.metrics();
    assert_eq!((metrics.busy.load(Relaxed), metrics.slow.load(Relaxed)), (0, 1));
    drop((held, late, attacker));
    until("files are closed", || site.server.connections() == 0).await;
    assert_eq!(open_files(&file), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_addresses_that_take_nothing_keep_nobody_out() {
    let site = TestServer::limited(few_files()).await;
    site.file("big", 1_000_000);
    let mut attackers = Vec::new();
    for last in 10..18 {
        let mut attacker = Http2::connect(&site, [127, 0, 0, last], 40_000).await;
        let asked = tokio::spawn(async move {
            let mut held = Vec::new();
            for _ in 0..20 {
                held.push(attacker.ask("/big").await);
            }
            (attacker, held)
        });
        attackers.push(asked);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    for path in ["/hello.txt", "/big", "/hello.txt", "/big"] {
        let answer = tokio::time::timeout(LONG, get_as(&site, OTHER, path)).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {}", &answer[..30]);
    }
    attackers.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bursts_of_one_address_wait_and_lose_nothing() {
    let site = TestServer::limited(few_files()).await;
    site.file("big", 100_000);
    let begun = Instant::now();
    // 200 requests where four large files, or 42 small ones, may be sent at a time.
    let requests = (0..10).flat_map(|_| (0..20).map(|number| number % 2));
    let mut clients = Vec::new();
    for _ in 0..10 {
        clients.push(Http2::connect(&site, OTHER, 1 << 20).await);
    }
    let answers = requests.zip((0..10).cycle()).map(|(large, client)| {
        let request = clients[client].asking(if large == 1 { "/big" } else { "/hello.txt" });
        tokio::spawn(async move {
            let response = request.await.unwrap();
            let status = response.status().as_u16();
            (status, response.into_body().collect().await.unwrap().to_bytes().len())
        })
    });
    let answers: Vec<_> = answers.collect();
    for answer in answers {
        let (status, bytes) = answer.await.unwrap();
        assert!(status == 200 && (bytes == 5 || bytes == 100_000), "{status}: {bytes} bytes");
    }
    assert_eq!(site.server.metrics().busy.load(Relaxed), 0, "after {:?}", begun.elapsed());
}

/// As many connections as clients behind an address translator open at once, whose handshakes begin
/// when all are open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshakes_of_one_address_wait_for_each_other_and_none_fails() {
    // Four times as many in all, and an eighth of those for one client.
    let limits =
        Limits { handshakes: 16, handshake_time: Span::from_secs(60), ..Limits::default() };
    let site = TestServer::limited(limits).await;
    let mut streams = Vec::new();
    for _ in 0..40 {
        streams.push(TcpStream::connect(site.server.address()).await.unwrap());
    }
    until("all are accepted", || site.server.connections() == 40).await;
    // Others have places meanwhile.
    assert!(get_as(&site, OTHER, "/hello.txt").await.ends_with("hello"));
    let request = "GET /hello.txt HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
    let answers = join_all(streams.into_iter().map(async |stream| {
        let mut stream = secured(&site, stream, b"http/1.1").await;
        ask(&mut stream, request).await
    }));
    assert!(answers.await.iter().all(|answer| answer.ends_with("hello")));
    let metrics = site.server.metrics();
    let failed = [&metrics.refused, &metrics.handshakes_failed].map(|count| count.load(Relaxed));
    assert_eq!(failed, [0, 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http3_streams_that_take_nothing_give_way_too() {
    let site = TestServer::limited(few_files()).await;
    std::fs::File::create(site.path().join("big")).unwrap().set_len(300_000_000).unwrap();
    let client = site.client();
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(site.get(&client, "/big").await.unwrap());
    }
    assert!(get_as(&site, OTHER, "/hello.txt").await.ends_with("hello"));
    // On another connection: unread content uses up the flow-control window of the first.
    let second = site.client();
    let late = site.get(&second, "/big").await.unwrap();
    assert_eq!(late.head.status(), 200);
    until("a response is aborted", || site.server.metrics().slow.load(Relaxed) > 0).await;
    drop((held, late));
    second.disconnect().await;
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http2_streams_with_a_closed_window_are_reset_and_the_connection_stays() {
    let site =
        TestServer::limited(Limits { stall_time: Span::from_millis(500), ..Limits::default() })
            .await;
    site.file("big", 1_000_000);
    // The window allows nothing, a part of a small file, or a part of a large one.
    for (window, path) in [(0, "/hello.txt"), (3, "/hello.txt"), (0, "/big"), (40_000, "/big")] {
        let mut client = Http2::connect(&site, ATTACKER, window).await;
        let slow = site.server.metrics().slow.load(Relaxed);
        let held = client.ask(path).await.unwrap();
        until("the client is aborted", || site.server.metrics().slow.load(Relaxed) > slow).await;
        let reset = format!("{:?}", held.into_body().collect().await.unwrap_err());
        assert!(reset.contains("CANCEL"), "window {window} of {path}: {reset}");
        assert_eq!(client.ask("/none").await.unwrap().status(), 404);
    }
    until("no request is left", || site.server.metrics().broken.load(Relaxed) >= 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http2_clients_that_take_little_at_a_time_get_all_of_it() {
    let site =
        TestServer::limited(Limits { stall_time: Span::from_millis(800), ..Limits::default() })
            .await;
    let whole = site.file("big", 300_000);
    let mut client = Http2::connect(&site, ATTACKER, 16_384).await;
    let mut body = client.ask("/big").await.unwrap().into_body();
    let (begun, mut taken) = (Instant::now(), Vec::new());
    while let Some(frame) = body.frame().await {
        taken.extend_from_slice(&frame.unwrap().into_data().unwrap());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(taken, whole);
    assert!(
        begun.elapsed() > Duration::from_millis(1500),
        "slower than the limit: {:?}",
        begun.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http1_clients_that_take_nothing_are_cut_off() {
    let site =
        TestServer::limited(Limits { stall_time: Span::from_millis(500), ..Limits::default() })
            .await;
    std::fs::File::create(site.path().join("big")).unwrap().set_len(300_000_000).unwrap();
    let mut client = connect(&site).await;
    client.write_all(b"GET /big HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
    until("a response", || site.server.metrics().bytes.load(Relaxed) > 0).await;
    until("the client is aborted", || site.server.connections() == 0).await;
    let mut rest = Vec::new();
    // The connection may end with a reset.
    _ = client.read_to_end(&mut rest).await;
    assert!(rest.len() < 300_000_000, "{} bytes", rest.len());
    assert_eq!(site.server.metrics().slow.load(Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_without_requests_end() {
    let limits = Limits {
        idle_time: Span::from_millis(600),
        header_time: Span::from_millis(300),
        handshake_time: Span::from_millis(400),
        ..Limits::default()
    };
    let site = TestServer::limited(limits).await;

    // HTTP/2, whose client responds to every PING.
    let mut client = Http2::connect(&site, ATTACKER, 65_535).await;
    assert!(client.ended_within(LONG).await, "HTTP/2 before a request");
    let mut client = Http2::connect(&site, ATTACKER, 65_535).await;
    let response = client.ask("/hello.txt").await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "hello");
    assert!(client.ended_within(LONG).await, "HTTP/2 after a request");

    // HTTP/1.1, after a response and before a request.
    let mut client = connect(&site).await;
    client.write_all(b"GET /hello.txt HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
    assert!(open_for(&mut client).await < LONG);
    assert!(open_for(&mut connect(&site).await).await < LONG);

    // HTTP/3.
    let client = site.client();
    assert_eq!(content(site.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    until("HTTP/3 ends", || site.server.connections() == 0).await;

    // TCP without a TLS handshake.
    let mut silent = tokio::net::TcpStream::connect(site.server.address()).await.unwrap();
    let mut rest = Vec::new();
    _ = tokio::time::timeout(LONG, silent.read_to_end(&mut rest))
        .await
        .expect("the handshake has a time limit");
    assert_eq!(site.server.connections(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http2_connections_that_are_idle_or_have_incomplete_headers_end() {
    let site =
        TestServer::limited(Limits { idle_time: Span::from_millis(600), ..Limits::default() })
            .await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    // HEADERS of stream 1 without END_HEADERS: `:method: GET` only.
    let unfinished = b"\x00\x00\x01\x01\x01\x00\x00\x00\x01\x82";
    let header = [&preface[..], unfinished].concat();
    for start in [&preface[..], &header[..], &preface[..10], b""] {
        let mut client = connect_as(&site, ATTACKER, b"h2").await;
        client.write_all(start).await.unwrap();
        assert!(open_for(&mut client).await < LONG, "{} bytes", start.len());
    }
}

/// Waits until the server has closed its connections and returns how long that took. Meanwhile
/// `client` sends bytes, if `sends`.
async fn lingers(site: &TestServer, client: &mut TcpStream, sends: bool) -> Duration {
    let begun = Instant::now();
    while site.server.connections() > 0 && begun.elapsed() < LONG {
        if sends {
            // The server may have closed the connection by now.
            let _ = client.write_all(b"x").await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_closes_waits_for_its_client_and_not_for_long() {
    let limits = Limits {
        linger_pause: Span::from_millis(400),
        linger_time: Span::from_millis(1500),
        ..Limits::default()
    };
    let site = TestServer::limited(limits).await;
    let http1 = b"GET /hello.txt HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
    // The preface, SETTINGS, and GOAWAY.
    let http2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\
        \0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
    for (protocol, request) in [(&b"http/1.1"[..], &http1[..]), (b"h2", http2)] {
        for sends in [false, true] {
            let mut client = connect_as(&site, ATTACKER, protocol).await;
            client.write_all(request).await.unwrap();
            // All that the server sends, up to its end of the connection.
            let mut answer = Vec::new();
            tokio::time::timeout(LONG, client.read_to_end(&mut answer)).await.unwrap().unwrap();
            let limit = if sends { 1500 } else { 400 };
            let waited = lingers(&site, client.get_mut().0, sends).await;
            let name = String::from_utf8_lossy(protocol);
            // The server's time began a moment earlier.
            assert!(waited >= Duration::from_millis(limit - 100), "{name}, {sends}: {waited:?}");
            assert!(waited < Duration::from_millis(4500), "{name}, {sends}: {waited:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http2_requests_beyond_the_limit_wait_and_large_headers_are_refused() {
    let site = TestServer::limited(Limits { requests: 2, ..Limits::default() }).await;
    site.file("big", 1_000_000);
    let mut client = Http2::connect(&site, ATTACKER, 0).await;
    let held = [client.ask("/big").await.unwrap(), client.ask("/big").await.unwrap()];
    let third = tokio::time::timeout(Duration::from_millis(300), client.ask("/none"));
    assert!(third.await.is_err(), "the third request waits");
    drop(held);
    let fourth = tokio::time::timeout(LONG, client.ask("/none")).await.unwrap();
    assert_eq!(fourth.unwrap().status(), 404);

    let mut client = Http2::connect(&site, ATTACKER, 65_535).await;
    let refused = client.ask(&format!("/{}", "a".repeat(17_000))).await.unwrap();
    assert_eq!(refused.status(), 431);
}
