//! WebSockets through the proxy: over HTTP/1.1, and over streams of HTTP/2 and HTTP/3.

use super::exchange::{over_http3, tls};
use super::frames;
use super::kit::{certificate, listener, noise, soon, until};
use super::peer::Peer;
use super::proxy::Proxied;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bentpipe_net::proxy::Upstream;
use bentpipe_net::serve::{Limits, Server};
use bentpipe_units::Span;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::ext::Protocol;
use hyper_util::rt::{TokioExecutor, TokioIo};
use noq::{RecvStream, VarInt};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// An upstream that agrees to WebSockets for `/ws` and sends back what it gets. `/liar` gets a 101
/// without the proof, `/no` a 403, and other paths a plain response.
struct Echo {
    address: SocketAddr,
    /// The last head of a request.
    seen: Arc<Mutex<String>>,
    /// WebSockets that are open.
    open: Arc<AtomicUsize>,
}

impl Echo {
    async fn new() -> Self {
        let (listener, address) = listener().await;
        let (seen, open) = (Arc::new(Mutex::new(String::new())), Arc::new(AtomicUsize::new(0)));
        let (last, count) = (seen.clone(), open.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(echo(stream, last.clone(), count.clone()));
            }
        });
        Self { address, seen, open }
    }

    /// Returns the value of a field of the last request.
    fn field(&self, name: &str) -> Option<String> {
        field(&self.seen.lock().unwrap(), name)
    }

    fn line(&self) -> String {
        self.seen.lock().unwrap().lines().next().unwrap().to_owned()
    }
}

async fn echo(mut stream: TcpStream, seen: Arc<Mutex<String>>, open: Arc<AtomicUsize>) {
    let mut received = Vec::new();
    while !received.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut received).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let head = String::from_utf8(received).unwrap();
    let key = field(&head, "sec-websocket-key").unwrap_or_default();
    let upgrade = "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\n\
        upgrade: websocket\r\nsec-websocket-protocol: chat\r\n";
    let answer = match head.split(' ').nth(1).unwrap() {
        "/ws" => format!("{upgrade}sec-websocket-accept: {}\r\n\r\n", proof(&key)),
        "/liar" => format!("{upgrade}sec-websocket-accept: no\r\n\r\n"),
        "/no" => "HTTP/1.1 403 No\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno".to_owned(),
        _ => "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok".to_owned(),
    };
    *seen.lock().unwrap() = head;
    let _ = stream.write_all(answer.as_bytes()).await;
    if !answer.starts_with("HTTP/1.1 101 ") {
        return;
    }
    open.fetch_add(1, Relaxed);
    let (mut from, mut to) = stream.split();
    let _ = tokio::io::copy(&mut from, &mut to).await;
    let _ = to.shutdown().await;
    open.fetch_sub(1, Relaxed);
}

fn field(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(": ")?;
        found.eq_ignore_ascii_case(name).then(|| value.to_owned())
    })
}

fn proof(key: &str) -> String {
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    BASE64_STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()))
}

async fn connect(proxied: &Proxied, protocol: &[u8]) -> TlsStream<TcpStream> {
    connect_from([127, 0, 0, 1], proxied, protocol).await
}

/// Connects from an address of the loopback.
async fn connect_from(source: [u8; 4], proxied: &Proxied, protocol: &[u8]) -> TlsStream<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((source, 0).into()).unwrap();
    let stream = socket.connect(proxied.server.address()).await.unwrap();
    let connector = TlsConnector::from(Arc::new(tls(&proxied.trust, protocol)));
    connector.connect("localhost".try_into().unwrap(), stream).await.unwrap()
}

/// Asks for a WebSocket over HTTP/1.1, and returns the connection and the head of the response.
async fn over_http1(proxied: &Proxied, path: &str) -> (TlsStream<TcpStream>, String) {
    ask_over(connect(proxied, b"http/1.1").await, path).await
}

/// Asks for a WebSocket on a connection of HTTP/1.1.
async fn ask_over(mut stream: TlsStream<TcpStream>, path: &str) -> (TlsStream<TcpStream>, String) {
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: keep-alive, Upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: {KEY}\r\n\
         origin: https://localhost\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(soon(stream.read_u8()).await.unwrap());
    }
    (stream, String::from_utf8(head).unwrap())
}

/// A connection of HTTP/2.
struct Http2(SendRequest<Empty<Bytes>>);

impl Http2 {
    async fn new(proxied: &Proxied) -> Self {
        let stream = TokioIo::new(connect(proxied, b"h2").await);
        let (mut sender, connection) = handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        // The server's settings arrive before its response.
        let request = Request::get("https://localhost/").body(Empty::new()).unwrap();
        assert_eq!(soon(sender.send_request(request)).await.unwrap().status(), StatusCode::OK);
        Self(sender)
    }

    /// Asks for a WebSocket.
    async fn ask(&mut self, path: &str) -> Response<Incoming> {
        let mut request = Request::builder()
            .method(Method::CONNECT)
            .uri(format!("https://localhost{path}"))
            .header("sec-websocket-version", "13")
            .header("origin", "https://localhost")
            .body(Empty::new())
            .unwrap();
        request.extensions_mut().insert(Protocol::from_static("websocket"));
        soon(self.0.send_request(request)).await.unwrap()
    }
}

/// Sends much both ways at once, ends the client's direction, and waits for the other's end.
async fn exchange(stream: impl AsyncRead + AsyncWrite) {
    let (mut from, mut to) = tokio::io::split(stream);
    let content = noise(2_000_000);
    let mut returned = Vec::new();
    let sending = async {
        to.write_all(&content).await.unwrap();
        to.shutdown().await.unwrap();
    };
    // A server may end without a TLS alert.
    let (_, _) = soon(async { tokio::join!(sending, from.read_to_end(&mut returned)) }).await;
    assert!(returned == content, "{} bytes", returned.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http1_bytes_go_both_ways() {
    let echo = Echo::new().await;
    let proxied = Proxied::of(echo.address, |upstream| upstream).await;
    let (stream, head) = over_http1(&proxied, "/ws").await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert_eq!(field(&head, "sec-websocket-accept"), Some(proof(KEY)));
    assert_eq!(field(&head, "upgrade").as_deref(), Some("websocket"));
    assert_eq!(field(&head, "via").as_deref(), Some("1.1 bentpipe"));
    assert_eq!(echo.line(), "GET /ws HTTP/1.1");
    assert_eq!(echo.field("origin").as_deref(), Some("https://localhost"));
    assert_eq!(echo.field("x-forwarded-for").as_deref(), Some("127.0.0.1"));
    exchange(stream).await;
    assert_eq!(proxied.server.metrics().websockets.load(Relaxed), 1);
    // It does not count among the client's connections any longer.
    until("the WebSocket ends", || proxied.server.connections() == 0).await;
    let (mut stream, head) = over_http1(&proxied, "/no").await;
    let mut content = [0; 2];
    stream.read_exact(&mut content).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 403 ") && &content == b"no", "{head}");
    // Without the upgrade that it names, it is a request as any other.
    assert!(over_http1(&proxied, "/plain").await.1.starts_with("HTTP/1.1 200 "));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http2_each_has_a_stream() {
    let echo = Echo::new().await;
    let proxied = Proxied::of(echo.address, |upstream| upstream).await;
    let mut http2 = Http2::new(&proxied).await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut response = http2.ask("/ws").await;
        assert_eq!(response.status(), StatusCode::OK);
        let headers = response.headers();
        assert_eq!(headers["sec-websocket-protocol"], "chat");
        for name in ["sec-websocket-accept", "upgrade", "connection", "content-length"] {
            assert!(!headers.contains_key(name), "{headers:?}");
        }
        streams.push(TokioIo::new(hyper::upgrade::on(&mut response).await.unwrap()));
    }
    assert_eq!(echo.line(), "GET /ws HTTP/1.1");
    assert_eq!(echo.field("connection").as_deref(), Some("Upgrade"));
    assert_eq!(echo.field("sec-websocket-version").as_deref(), Some("13"));
    assert_eq!(echo.field("host").as_deref(), Some("localhost"));
    assert_eq!(echo.field("sec-websocket-key").map(|key| key.len()), Some(24));
    futures_util::future::join_all(streams.into_iter().map(exchange)).await;
    assert_eq!(proxied.server.metrics().websockets.load(Relaxed), 3);
    // A success that is no WebSocket would mean that there is one.
    for (path, status) in [("/no", 403), ("/plain", 502), ("/liar", 502)] {
        assert_eq!(http2.ask(path).await.status(), status, "{path}");
    }
}

/// Returns a request of HTTP/3 for a protocol, with a literal name (RFC 9204 §4.5.6). Entry 15 of
/// the static table is `:method CONNECT`.
fn extended_connect(path: &str, protocol: &[u8]) -> Vec<u8> {
    let length = protocol.len() as u8;
    let protocol = [&[0x27, 2][..], b":protocol", &[length], protocol].concat();
    let referer = frames::field(13, b"https://localhost/");
    frames::request(15, path, &[protocol, referer].concat())
}

/// Reads the head of a response, and returns its status, of those that are in the static table, and
/// the rest of its fields.
pub async fn status_of(recv: &mut RecvStream) -> (u16, Vec<u8>) {
    let mut start = [0; 2];
    soon(recv.read_exact(&mut start)).await.unwrap();
    assert_eq!(start[0], frames::HEADERS);
    let mut rest = Vec::new();
    let length = match start[1] >> 6 {
        0 => usize::from(start[1]),
        1 => {
            let mut more = [0];
            recv.read_exact(&mut more).await.unwrap();
            usize::from(start[1] & 0x3f) << 8 | usize::from(more[0])
        }
        _ => panic!("a long head"),
    };
    rest.resize(length, 0);
    recv.read_exact(&mut rest).await.unwrap();
    // The status comes first (RFC 9204, appendix A).
    let status = match rest[2..] {
        [0xd9, ..] => 200,
        [0xff, rest, ..] => [100, 204, 206, 302, 400, 403, 421, 425, 500][usize::from(rest)],
        // 500 and a digit, with a Huffman code (RFC 7541, appendix B): 011011 00000 000xx.
        [0x5f, 0x09, 0x82, 0x6c, digit, ..] => 500 + u16::from(digit),
        _ => panic!("{rest:x?}"),
    };
    (status, rest)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http3_each_has_a_stream() {
    let echo = Echo::new().await;
    let proxied = Proxied::of(echo.address, |upstream| upstream).await;
    let peer = Peer::connect(&proxied.server, &proxied.trust).await;
    let mut settings = [0; 64];
    loop {
        let mut stream = soon(peer.connection.accept_uni()).await.unwrap();
        let length = soon(stream.read(&mut settings)).await.unwrap().unwrap();
        if settings[..2] == [0, frames::SETTINGS] {
            // SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 9220 §5).
            assert!(settings[3..length].windows(2).any(|pair| pair == [8, 1]), "{settings:x?}");
            break;
        }
    }
    let content = noise(2_000_000);
    for _ in 0..2 {
        let (mut send, mut recv) = peer.ask(&extended_connect("/ws", b"websocket")).await;
        assert_eq!(status_of(&mut recv).await.0, 200);
        assert_eq!(echo.line(), "GET /ws HTTP/1.1");
        assert_eq!(echo.field("connection").as_deref(), Some("Upgrade"));
        assert_eq!(echo.field("referer").as_deref(), Some("https://localhost/"));
        assert_eq!(echo.field("sec-websocket-key").map(|key| key.len()), Some(24));
        let sending = async {
            send.write_all(&frames::frame(frames::DATA, 2_000_000)).await.unwrap();
            send.write_all(&content).await.unwrap();
            send.finish().unwrap();
        };
        let (_, returned) =
            soon(async { tokio::join!(sending, recv.read_to_end(4_000_000)) }).await;
        assert!(frames::data(&returned.unwrap()) == content);
    }
    assert_eq!(proxied.server.metrics().websockets.load(Relaxed), 2);
    for (path, protocol, status) in [
        ("/no", &b"websocket"[..], 403),
        ("/plain", b"websocket", 502),
        ("/liar", b"websocket", 502),
        ("/ws", b"connect-udp", 501),
        ("/ws", b"webtransport", 501),
        ("/ws", b"connect-ip", 501),
        ("/ws", b"foo", 501),
    ] {
        let (_, mut recv) = peer.ask(&extended_connect(path, protocol)).await;
        assert_eq!(status_of(&mut recv).await.0, status, "{path}");
    }
    // A client that cancels ends the upstream's connection, and the place is free again.
    let (mut send, mut recv) = peer.ask(&extended_connect("/ws", b"websocket")).await;
    assert_eq!(status_of(&mut recv).await.0, 200);
    assert_eq!(echo.open.load(Relaxed), 1);
    send.reset(VarInt::from_u32(0x10c)).unwrap();
    until("the upstream's connection ends", || echo.open.load(Relaxed) == 0).await;
    let error = soon(recv.read_to_end(10)).await.unwrap_err();
    assert!(format!("{error:?}").contains("268"), "H3_REQUEST_CANCELLED: {error:?}");
    peer.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http3_one_that_is_idle_ends() {
    let echo = Echo::new().await;
    let (certificate, trust) = certificate();
    let upstream = Upstream::new(&format!("http://{}", echo.address)).unwrap();
    let limits = Limits { websocket_idle: Span::from_millis(400), ..Limits::default() };
    let server = Server::proxy(upstream, certificate).limits(limits).start().await.unwrap();
    let peer = Peer::connect(&server, &trust).await;
    let (_send, mut recv) = peer.ask(&extended_connect("/ws", b"websocket")).await;
    assert_eq!(status_of(&mut recv).await.0, 200);
    assert!(soon(recv.read_to_end(10)).await.is_err());
    until("the upstream's connection ends", || echo.open.load(Relaxed) == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_idle_ends_and_its_connection_does_not_before() {
    let echo = Echo::new().await;
    let (certificate, trust) = certificate();
    let upstream = Upstream::new(&format!("http://{}", echo.address)).unwrap();
    let limits = Limits {
        idle_time: Span::from_millis(200),
        websocket_idle: Span::from_secs(4),
        ..Limits::default()
    };
    let server = Server::proxy(upstream, certificate).limits(limits).start().await.unwrap();
    let proxied = Proxied::around(server, trust);
    let mut connection = Http2::new(&proxied).await;
    let mut response = connection.ask("/ws").await;
    let mut http2 = TokioIo::new(hyper::upgrade::on(&mut response).await.unwrap());
    let (mut http1, _) = over_http1(&proxied, "/ws").await;
    // Longer than the idle time of connections.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut streams: [&mut (dyn Stream + Send); 2] = [&mut http1, &mut http2];
    for stream in &mut streams {
        stream.write_all(b"ping").await.unwrap();
        let mut returned = [0; 4];
        soon(stream.read_exact(&mut returned)).await.unwrap();
        assert_eq!(&returned, b"ping");
    }
    for stream in streams {
        let mut rest = Vec::new();
        // With or without an error.
        let _ = soon(stream.read_to_end(&mut rest)).await;
        assert!(rest.is_empty());
    }
    until("all connections end", || proxied.server.connections() == 0).await;
}

trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_upgrades_and_a_server_of_files_refuse() {
    let echo = Echo::new().await;
    let proxied = Proxied::of(echo.address, |upstream| upstream).await;
    let mut stream = connect(&proxied, b"http/1.1").await;
    let request = "GET /ws HTTP/1.1\r\nhost: h\r\nconnection: Upgrade, close\r\n\
        upgrade: h2c\r\n\r\n";
    assert!(super::tcp::ask(&mut stream, request).await.starts_with("HTTP/1.1 501 "));
    let request = Request::get("/ws").header("sec-websocket-key", KEY).body(vec![]).unwrap();
    // Over HTTP/3 nothing asks for an upgrade; the upstream decides.
    assert_eq!(over_http3(&proxied, request).await.unwrap().head.status(), 502);
}

#[tokio::test]
async fn one_client_does_not_get_all_places_of_the_upstream() {
    let echo = Echo::new().await;
    let proxied = Proxied::of(echo.address, |upstream| upstream.connections(4)).await;
    let held = [over_http1(&proxied, "/ws").await, over_http1(&proxied, "/ws").await];
    // Its half is taken, so its next request waits, also if it is another.
    let third = connect(&proxied, b"http/1.1").await;
    let mut waiting = Box::pin(ask_over(third, "/other"));
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut waiting).await.is_err());
    let other = connect_from([127, 0, 0, 2], &proxied, b"http/1.1").await;
    let (_, head) = soon(ask_over(other, "/ws")).await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    drop(held);
    let (_, head) = soon(waiting).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
}
