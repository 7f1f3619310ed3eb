//! HTTP/1.1 and HTTP/2 beside HTTP/3, and the metrics.

use super::TestServer;
use super::kit::{LogBuffer, client_tls, scrape};
use bentpipe_net::LogFormat;
use bentpipe_net::serve::Limits;
use bentpipe_units::Span;
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
    let config =
        client_tls(&site.trust, protocol, &[&rustls::version::TLS13, &rustls::version::TLS12]);
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((source, 0).into()).unwrap();
    let stream = socket.connect(site.server.address()).await.unwrap();
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
        builder.metrics(([127, 0, 0, 1], 0).into()).access_log(LogFormat::Json, Box::new(sink))
    })
    .await;
    let request =
        "GET /hello.txt?secret=x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
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
    assert!(!log.contains("secret"), "queries may hold secrets: {log}");
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
