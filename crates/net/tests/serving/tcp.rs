//! HTTP/1.1 and HTTP/2 beside HTTP/3, and the metrics.

use super::kit::{LogBuffer, certificate, client_tls, page, scrape, soon};
use super::slow_peers::Http2;
use super::{TestServer, content};
use bentpipe_net::get::Client;
use bentpipe_net::serve::{Limits, LogField};
use bentpipe_net::{LogFormat, Trust};
use bentpipe_units::Span;
use http::header::CACHE_CONTROL;
use http_body::Body;
use http_body_util::BodyExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub async fn connect(site: &TestServer) -> TlsStream<TcpStream> {
    connect_as(site, [127, 0, 0, 1], b"http/1.1").await
}

/// Connects from `source`, the address of the client for the server.
pub async fn connect_as(
    site: &TestServer,
    source: [u8; 4],
    protocol: &[u8],
) -> TlsStream<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((source, 0).into()).unwrap();
    let stream = socket.connect(site.server.address()).await.unwrap();
    secured(site, stream, protocol).await
}

/// Does the TLS handshake of an open connection.
pub async fn secured(
    site: &TestServer,
    stream: TcpStream,
    protocol: &[u8],
) -> TlsStream<TcpStream> {
    let config =
        client_tls(&site.trust, protocol, &[&rustls::version::TLS13, &rustls::version::TLS12]);
    TlsConnector::from(Arc::new(config))
        .connect("localhost".try_into().unwrap(), stream)
        .await
        .unwrap()
}

/// Sends a request and returns all that the server sends.
pub async fn ask(stream: &mut TlsStream<TcpStream>, request: &str) -> String {
    // A server that refuses the request need not read all of it.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    // A server may end without a TLS alert.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http1_serves_the_same_files_and_points_to_http3() {
    let lines = LogBuffer::default();
    let sink = lines.clone();
    let site = TestServer::with(|builder| {
        builder
            .metrics(([127, 0, 0, 1], 0).into())
            .access_log(LogFormat::Json, Box::new(sink))
            .log_fields(&[LogField::Agent])
    })
    .await;
    let request = "GET /hello.txt?secret=x HTTP/1.1\r\nhost: LocalHost\r\nuser-agent: test/1\r\n\
                   referer: https://a.test/\r\nconnection: close\r\n\r\n";
    let answer = ask(&mut connect(&site).await, request).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"),
        "{answer}"
    );
    let port = site.server.address().port();
    assert!(answer.contains(&format!("alt-svc: h3=\":{port}\"; ma=86400\r\n")), "{answer}");
    let answer = ask(
        &mut connect(&site).await,
        "GET /../x HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");

    let text = scrape(site.server.metrics_address().unwrap()).await;
    assert!(text.contains("bentpipe_responses_total{class=\"2xx\"} 1\n"), "{text}");

    tokio::time::sleep(Duration::from_millis(100)).await;
    let log = lines.text();
    assert_eq!(log.lines().count(), 2, "{log}");
    let line: serde_json::Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!((line["path"].as_str(), line["status"].as_u64()), (Some("/hello.txt"), Some(200)));
    assert_eq!((line["bytes"].as_u64(), line["complete"].as_bool()), (Some(5), Some(true)));
    assert_eq!(
        (line["host"].as_str(), line["agent"].as_str()),
        (Some("localhost"), Some("test/1"))
    );
    let paths = ["referrer", "rtt_s", "resumption"].map(|name| line.get(name));
    assert_eq!(paths, [None; 3], "nobody asked, and the kernel's paths are not known");
    assert!(!log.contains("secret"), "queries may hold secrets: {log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_have_the_cache_control_of_their_server() {
    let site =
        TestServer::with(|builder| builder.cache_control("max-age=60".parse().unwrap())).await;
    let request = "GET /hello.txt HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
    let answer = ask(&mut connect(&site).await, request).await;
    assert!(answer.contains("\r\ncache-control: max-age=60\r\n"), "{answer}");
    let client = site.client();
    let response = site.get(&client, "/hello.txt").await.unwrap();
    assert_eq!(response.head.headers()[CACHE_CONTROL], "max-age=60");
    let absent = site.get(&client, "/absent").await.unwrap();
    assert_eq!(absent.head.headers().get(CACHE_CONTROL), None);
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http1_refuses_what_is_slow_or_too_large() {
    let site =
        TestServer::limited(Limits { header_time: Span::from_millis(300), ..Limits::default() })
            .await;
    let mut slow = connect(&site).await;
    let answer = tokio::time::timeout(Duration::from_secs(5), ask(&mut slow, "GET / HT")).await;
    assert!(!answer.unwrap().contains("200"), "closed, and not served");
    let large = format!("GET / HTTP/1.1\r\nhost: h\r\ncookie: {}\r\n\r\n", "c".repeat(17_000));
    let answer = ask(&mut connect(&site).await, &large).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_arrives_whole_though_the_client_goes_on_sending() {
    let site = TestServer::new().await;
    let whole = site.file("large.bin", 3_000_000);
    let mut stream = connect(&site).await;
    let request = "GET /large.bin HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    // Most of the response waits in the kernel's buffer, because the client does not read.
    for _ in 0..40 {
        stream.write_all(&[b'x'; 1000]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut answer = Vec::new();
    soon(stream.read_to_end(&mut answer)).await.unwrap();
    assert!(answer.ends_with(&whole), "{} bytes", answer.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http1_requests_without_one_host_are_refused() {
    let site = TestServer::new().await;
    for hosts in ["", "host: a\r\nhost: b\r\n", "host: a b\r\n"] {
        let request = format!("GET /hello.txt HTTP/1.1\r\n{hosts}connection: close\r\n\r\n");
        let answer = ask(&mut connect(&site).await, &request).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{hosts:?}: {answer}");
    }
    let answer = ask(&mut connect(&site).await, "GET /hello.txt HTTP/1.0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 200 "), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_ends_when_the_server_stops() {
    let site = TestServer::with(|builder| builder.metrics(([127, 0, 0, 1], 0).into())).await;
    let address = site.server.metrics_address().unwrap();
    let health = page(address, "/health").await;
    assert!(health.starts_with("HTTP/1.1 200 ") && health.ends_with("\r\n\r\nok\n"), "{health}");
    // An open connection keeps the server from ending.
    let _open = connect(&site).await;
    let TestServer { server, directory, .. } = site;
    let stopping = tokio::spawn(server.stop(Span::from_secs(60)));
    let mut health = String::new();
    for _ in 0..500 {
        health = page(address, "/health").await;
        if health.starts_with("HTTP/1.1 503 ") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(health.starts_with("HTTP/1.1 503 "), "{health}");
    stopping.abort();
    drop(directory);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_connections_get_the_certificate_that_replaced_another() {
    let site = TestServer::new().await;
    let before = connect(&site).await;
    let (certificate, trust) = certificate();
    site.server.certificates().replace(&certificate).unwrap();
    let new =
        [content(site.get(&client_of(&trust), "/hello.txt").await.unwrap()).await.unwrap(), {
            let config = client_tls(&trust, b"http/1.1", &[&rustls::version::TLS13]);
            let stream = TcpStream::connect(site.server.address()).await.unwrap();
            let connector = TlsConnector::from(Arc::new(config));
            let mut stream =
                connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
            let request = "GET /hello.txt HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
            ask(&mut stream, request).await.into_bytes()
        }];
    assert!(new.iter().all(|answer| answer.ends_with(b"hello")), "{new:?}");
    let refused = site.get(&client_of(&site.trust), "/hello.txt").await;
    assert!(refused.is_err(), "the certificate before is not in use any more");
    // A connection that is open stays.
    let request = "GET /hello.txt HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
    assert!(ask(&mut { before }, request).await.ends_with("hello"));
}

fn client_of(trust: &Trust) -> Client {
    Client::builder().trust(trust.clone()).build().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_that_arrived_whole_are_complete_though_their_client_leaves_at_once() {
    let lines = LogBuffer::default();
    let sink = lines.clone();
    let site =
        TestServer::with(|builder| builder.access_log(LogFormat::Json, Box::new(sink))).await;
    site.file("1k.bin", 1024);
    let large = site.file("large.bin", 300_000);
    for number in 0..60 {
        let path = if number % 2 == 0 { "/1k.bin" } else { "/large.bin" };
        let mut client = Http2::connect(&site, [127, 0, 0, 1], 1 << 20).await;
        let mut body = client.ask(path).await.unwrap().into_body();
        let (mut left, length) = (large.len(), body.size_hint().exact().unwrap() as usize);
        left -= large.len() - length;
        // As curl does: it counts what comes, and does not wait for the end of the stream.
        while left > 0 {
            let data = body.frame().await.unwrap().unwrap().into_data().unwrap();
            left -= data.len();
        }
        drop((body, client));
    }
    let all = lines.lines(60).await;
    let broken = all.iter().filter(|line| line.contains("\"complete\":false")).count();
    assert_eq!(broken, 0, "of {}", all.len());
    // A client that leaves before it has all has not got it whole.
    let mut client = Http2::connect(&site, [127, 0, 0, 1], 65_536).await;
    let response = client.ask("/large.bin").await.unwrap();
    drop((response, client));
    let last = lines.lines(61).await.pop().unwrap();
    assert!(last.contains("\"complete\":false"), "{last}");
}
