//! Responses that are under way when the server stops, and requests on their way to it.

use super::kit::{LogBuffer, soon};
use super::relay::Relay;
use super::slow_peers::Http2;
use super::tcp::connect;
use super::{TestServer, content};
use bentpipe_net::LogFormat;
use bentpipe_units::Span;
use http::HeaderMap;
use http_body_util::BodyExt;
use std::net::SocketAddr;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Size of the file, bytes. More than the kernel's buffers of both ends hold.
const SIZE: usize = 20_000_000;

/// Returns a server with a file of [`SIZE`], the content of the file, and the access log.
async fn server() -> (TestServer, Vec<u8>, LogBuffer) {
    let log = LogBuffer::default();
    let sink = Box::new(log.clone());
    let site = TestServer::with(|builder| builder.access_log(LogFormat::Json, sink)).await;
    let whole = site.file("large.bin", SIZE);
    (site, whole, log)
}

/// Starts to stop the server, and waits until it accepts no connections.
async fn stop(site: TestServer) -> (JoinHandle<usize>, TempDir) {
    let TestServer { server, directory, .. } = site;
    let address = server.address();
    let stopping = tokio::spawn(server.stop(Span::from_secs(60)));
    soon(refused(address)).await;
    (stopping, directory)
}

async fn refused(address: SocketAddr) {
    while TcpStream::connect(address).await.is_ok() {
        sleep(Duration::from_millis(10)).await;
    }
}

/// Asserts that `count` requests were logged, each with the whole file.
async fn assert_logged(log: &LogBuffer, count: usize) {
    for line in log.lines(count).await {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        let sent = (line["bytes"].as_u64(), line["complete"].as_bool());
        assert_eq!(sent, (Some(SIZE as u64), Some(true)), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http1_responses_under_way_arrive_whole_when_the_server_stops() {
    let (site, whole, log) = server().await;
    let mut stream = connect(&site).await;
    stream.write_all(b"GET /large.bin HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
    let mut answer = vec![0; 1000];
    soon(stream.read_exact(&mut answer)).await.unwrap();
    let (stopping, _directory) = stop(site).await;
    // The connection ends after the response, with a TLS alert.
    soon(stream.read_to_end(&mut answer)).await.unwrap();
    assert!(answer.ends_with(&whole), "{} bytes", answer.len());
    drop(stream);
    assert_eq!(soon(stopping).await.unwrap(), 0, "connections that were cut off");
    assert_logged(&log, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http2_responses_under_way_arrive_whole_when_the_server_stops() {
    let (site, whole, log) = server().await;
    let mut client = Http2::connect(&site, [127, 0, 0, 1], 65_535).await;
    let mut responses = Vec::new();
    for _ in 0..2 {
        responses.push(client.ask("/large.bin").await.unwrap());
    }
    let (stopping, _directory) = stop(site).await;
    for response in responses {
        assert_eq!(response.status(), 200);
        let content = soon(response.into_body().collect()).await.unwrap().to_bytes();
        assert!(content == whole, "{} bytes", content.len());
    }
    assert_eq!(soon(stopping).await.unwrap(), 0, "connections that were cut off");
    assert_logged(&log, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_http3_request_sent_before_goaway_arrived_is_served() {
    let site = TestServer::new().await;
    // What the server says takes 300 ms to arrive, and what the client says no time.
    let relay = Relay::new(Some(site.server.address()), Duration::from_millis(300)).await;
    let client = site.client();
    let url = format!("https://{}/hello.txt", relay.address).parse().unwrap();
    let first = soon(client.get(&url, &HeaderMap::new())).await.unwrap();
    assert_eq!(soon(content(first)).await.unwrap(), b"hello");

    let TestServer { server, directory, .. } = site;
    let stopping = tokio::spawn(server.stop(Span::from_secs(60)));
    sleep(Duration::from_millis(30)).await;
    let second = soon(client.get(&url, &HeaderMap::new())).await.unwrap();
    assert_eq!(soon(content(second)).await.unwrap(), b"hello");
    // The connection ends by itself after that.
    assert_eq!(soon(stopping).await.unwrap(), 0, "connections that were cut off");
    drop(directory);
}
