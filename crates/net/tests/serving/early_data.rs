//! Early data (0-RTT, RFC 8470): requests that an attacker sends again, and 425 (Too Early).

use super::content;
use super::exchange::{early_over_http3, tls};
use super::kit::{LogBuffer, certificate, listener, soon, until};
use super::relay::Relay;
use bentpipe_net::get::Client;
use bentpipe_net::proxy::Upstream;
use bentpipe_net::serve::Server;
use bentpipe_net::{LogFormat, Trust};
use bentpipe_quic::noq_proto::crypto::rustls::QuicClientConfig;
use bentpipe_quic::tls::ALPN_H3;
use bentpipe_units::Span;
use http::{HeaderMap, Request};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::sleep;

/// An upstream that keeps the head of each request. It answers 425 to early data.
struct Counting {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Counting {
    async fn new() -> Self {
        let (listener, address) = listener().await;
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = heads.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, kept.clone()));
            }
        });
        Self { address, heads }
    }

    /// Returns how many requests began with `line`, and how many of them were marked.
    fn count(&self, line: &str) -> (usize, usize) {
        let heads = self.heads.lock().unwrap();
        let found = heads.iter().filter(|head| head.starts_with(line));
        (found.clone().count(), found.filter(|head| head.contains("early-data: 1\r\n")).count())
    }

    async fn proxy(
        &self,
        keys: &Path,
        certificate: bentpipe_net::Certificate,
        log: &LogBuffer,
    ) -> Server {
        let upstream = Upstream::new(&format!("http://{}", self.address)).unwrap();
        let builder = Server::proxy(upstream, certificate).keys(keys);
        builder.access_log(LogFormat::Text, Box::new(log.clone())).start().await.unwrap()
    }
}

async fn answer(mut stream: TcpStream, heads: Arc<Mutex<Vec<String>>>) {
    let mut received = Vec::new();
    while !received.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut received).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let head = String::from_utf8_lossy(&received).to_lowercase();
    let status = if head.contains("early-data: 1\r\n") { "425 Too Early" } else { "200 OK" };
    heads.lock().unwrap().push(head);
    let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
    let _ = stream.write_all(answer.as_bytes()).await;
    // The rest of the request, until the proxy closes.
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
}

/// Sends a recorded flight from an address of its own.
async fn replay(flight: &[Vec<u8>], server: SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for datagram in flight {
        socket.send_to(datagram, server).await.unwrap();
    }
    // Long enough for a request to reach the upstream.
    sleep(Duration::from_millis(500)).await;
}

fn request(method: &str) -> Request<Vec<u8>> {
    Request::builder().method(method).uri("/order").body(b"one".to_vec()).unwrap()
}

/// Records the first flight of a client that comes back with a request, and that nobody answers.
async fn flight(server: SocketAddr, trust: &Trust, method: &'static str) -> Vec<Vec<u8>> {
    let mut config = tls(trust, ALPN_H3);
    config.enable_early_data = true;
    let config = Arc::new(QuicClientConfig::try_from(config).unwrap());
    let first = early_over_http3(server, config.clone(), request("GET")).await.unwrap();
    assert_eq!(first.head.status(), 200);
    let relay = Relay::new(None, Duration::ZERO).await;
    let client = tokio::spawn(early_over_http3(relay.address, config, request(method)));
    until("the first flight", || !relay.sent.lock().unwrap().is_empty()).await;
    // The whole flight. Timeouts repeat parts of it.
    sleep(Duration::from_millis(500)).await;
    client.abort();
    let flight = relay.sent.lock().unwrap();
    flight.clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flight_from_an_address_that_nobody_has_validated_passes_nothing() {
    let here = tempfile::tempdir().unwrap();
    let keys = here.path().join("server.sqlite");
    let (upstream, log) = (Counting::new().await, LogBuffer::default());
    let (certificate, trust) = certificate();
    let server = upstream.proxy(&keys, certificate.clone(), &log).await;
    let get = flight(server.address(), &trust, "GET").await;
    let post = flight(server.address(), &trust, "POST").await;
    assert_eq!(upstream.count("get /order"), (2, 0), "one visit before each flight");
    // The handshake is never completed, so the client is not known to have asked.
    for _ in 0..3 {
        replay(&get, server.address()).await;
        replay(&post, server.address()).await;
    }
    // Another server with the same keys and sessions.
    soon(server.stop(Span::from_millis(100))).await;
    let server = upstream.proxy(&keys, certificate, &log).await;
    replay(&get, server.address()).await;
    replay(&post, server.address()).await;
    assert_eq!((upstream.count("get /order"), upstream.count("post /order")), ((2, 0), (0, 0)));
    soon(server.stop(Span::from_millis(100))).await;
    assert_eq!(log.text().lines().count(), 2, "nobody is said to have asked: {}", log.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flight_with_a_token_passes_once() {
    let here = tempfile::tempdir().unwrap();
    let keys = here.path().join("server.sqlite");
    let (upstream, log) = (Counting::new().await, LogBuffer::default());
    let (certificate, trust) = certificate();
    let server = upstream.proxy(&keys, certificate.clone(), &log).await;
    let relay = Relay::new(Some(server.address()), Duration::ZERO).await;
    let client = Client::builder().trust(trust).build().unwrap();
    let url = format!("https://{}/order", relay.address).parse().unwrap();
    let response = client.get(&url, &HeaderMap::new()).await.unwrap();
    assert_eq!(content(response).await.unwrap(), b"ok");
    sleep(Duration::from_millis(200)).await;
    client.disconnect().await;
    // The client hears nothing, so it cannot complete the handshake.
    relay.sent.lock().unwrap().clear();
    relay.muted.store(true, Relaxed);
    let again = tokio::spawn(async move { client.get(&url, &HeaderMap::new()).await.map(|_| ()) });
    until("the early request", || upstream.count("get /order") == (2, 1)).await;
    again.abort();
    let flight = relay.sent.lock().unwrap().clone();
    for _ in 0..3 {
        replay(&flight, server.address()).await;
    }
    soon(server.stop(Span::from_millis(100))).await;
    let server = upstream.proxy(&keys, certificate, &log).await;
    replay(&flight, server.address()).await;
    assert_eq!(upstream.count("get /order"), (2, 1), "its session and its token are used up");
    soon(server.stop(Span::from_millis(100))).await;
    // By which the sessions of each are bounded.
    let client = "SELECT client FROM session LIMIT 1";
    let file = rusqlite::Connection::open(&keys).unwrap();
    let client: String = file.query_row(client, [], |row| row.get(0)).unwrap();
    assert_eq!(client, "127.0.0.1/32");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_too_early_is_sent_again_after_the_handshake() {
    let here = tempfile::tempdir().unwrap();
    let upstream = Counting::new().await;
    let (certificate, trust) = certificate();
    let log = LogBuffer::default();
    let server = upstream.proxy(&here.path().join("server.sqlite"), certificate, &log).await;
    // The server sees a request of the first flight long before the handshake is complete.
    let relay = Relay::new(Some(server.address()), Duration::from_millis(50)).await;
    let client = Client::builder().trust(trust).build().unwrap();
    let url = format!("https://{}/file", relay.address).parse().unwrap();
    for visit in 0..2 {
        let response = client.get(&url, &HeaderMap::new()).await.unwrap();
        assert_eq!(response.head.status(), 200, "visit {visit}");
        assert_eq!(content(response).await.unwrap(), b"ok");
        sleep(Duration::from_millis(200)).await;
        client.disconnect().await;
    }
    assert_eq!(upstream.count("get /file"), (3, 1), "one of them too early");
}
