//! HTTP/1.1 and HTTP/2 beside HTTP/3, and the metrics.

use super::Place;
use bentpipe_net::LogFormat;
use bentpipe_net::serve::Limits;
use bentpipe_units::Span;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub async fn connect(place: &Place) -> TlsStream<TcpStream> {
    connect_as(place, [127, 0, 0, 1], b"http/1.1").await
}

/// Connects from `source`, whose address is what the server takes for the client.
pub async fn connect_as(place: &Place, source: [u8; 4], protocol: &[u8]) -> TlsStream<TcpStream> {
    let bentpipe_net::Trust::Only(certificates) = &place.trust else { unreachable!("made so") };
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificates[0].clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((source, 0).into()).unwrap();
    let stream = socket.connect(place.server.address()).await.unwrap();
    TlsConnector::from(Arc::new(config))
        .connect("localhost".try_into().unwrap(), stream)
        .await
        .unwrap()
}

pub async fn ask(stream: &mut TlsStream<TcpStream>, request: &str) -> String {
    // A server that refuses need not read all of it.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    // A server that ends without word of TLS has still said what it had to.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// Lines of a log, for the test to read.
#[derive(Clone, Default)]
struct LogWriter(Arc<Mutex<Vec<u8>>>);

impl Write for LogWriter {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        Write::write(&mut *self.0.lock().unwrap(), data)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http1_serves_the_same_files_and_points_to_http3() {
    let lines = LogWriter::default();
    let sink = lines.clone();
    let place = Place::with(|builder| {
        builder.metrics(([127, 0, 0, 1], 0).into()).access_log(LogFormat::Json, Box::new(sink))
    })
    .await;
    let request =
        "GET /hello.txt?secret=x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let answer = ask(&mut connect(&place).await, request).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"),
        "{answer}"
    );
    let port = place.server.address().port();
    assert!(answer.contains(&format!("alt-svc: h3=\":{port}\"; ma=86400\r\n")), "{answer}");
    let answer = ask(
        &mut connect(&place).await,
        "GET /../x HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");

    let mut scrape = TcpStream::connect(place.server.metrics_address().unwrap()).await.unwrap();
    scrape.write_all(b"GET /metrics HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
    let mut text = String::new();
    scrape.read_to_string(&mut text).await.unwrap();
    assert!(text.contains("bentpipe_responses_total{class=\"2xx\"} 1\n"), "{text}");

    tokio::time::sleep(Duration::from_millis(100)).await;
    let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert_eq!(log.lines().count(), 2, "{log}");
    let line: serde_json::Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!((line["path"].as_str(), line["status"].as_u64()), (Some("/hello.txt"), Some(200)));
    assert_eq!((line["bytes"].as_u64(), line["complete"].as_bool()), (Some(5), Some(true)));
    assert!(!log.contains("secret"), "queries may hold secrets: {log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http1_refuses_what_is_slow_or_too_large() {
    let place =
        Place::limited(Limits { header_time: Span::from_millis(300), ..Limits::default() }).await;
    let mut slow = connect(&place).await;
    let answer = tokio::time::timeout(Duration::from_secs(5), ask(&mut slow, "GET / HT")).await;
    assert!(!answer.unwrap().contains("200"), "ended, and not served");
    let large = format!("GET / HTTP/1.1\r\nhost: h\r\ncookie: {}\r\n\r\n", "c".repeat(17_000));
    let answer = ask(&mut connect(&place).await, &large).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}
