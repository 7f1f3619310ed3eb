//! Whom a request is accounted to, and what of those without a response is.

use super::exchange::{over_http1, over_http3, tls};
use super::frames::{field, get, headers, request};
use super::kit::{LogBuffer, certificate, listener, soon, until};
use super::peer::{Peer, SOON};
use super::proxy::{Proxied, ask};
use super::{TestServer, tcp};
use bentpipe_net::LogFormat;
use bentpipe_net::proxy::Upstream;
use bentpipe_net::serve::Server;
use noq::VarInt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Returns a server in front of `upstream`, and its access log.
async fn logging(upstream: Upstream) -> (Proxied, LogBuffer) {
    let (log, (certificate, trust)) = (LogBuffer::default(), certificate());
    let server = Server::proxy(upstream, certificate)
        .access_log(LogFormat::Json, Box::new(log.clone()))
        .start();
    (Proxied::around(server.await.unwrap(), trust), log)
}

fn json(line: &str) -> serde_json::Value {
    serde_json::from_str(line).unwrap()
}

/// An upstream that never answers.
async fn silent() -> Upstream {
    let (listener, address) = listener().await;
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            kept.push(stream);
        }
    });
    Upstream::new(&format!("http://{address}")).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_its_client_gives_up_has_no_status() {
    let (proxied, log) = logging(silent().await).await;
    let peer = Peer::connect(&proxied.server, &proxied.trust).await;
    let (mut send, mut recv) = peer.ask(&get("/slow")).await;
    send.finish().unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    recv.stop(VarInt::from_u32(0x10c)).unwrap();
    let lines = log.lines(1).await;
    let tcp = tokio::spawn({
        let (address, config) = (proxied.server.address(), tls(&proxied.trust, b"http/1.1"));
        async move {
            let stream = tokio::net::TcpStream::connect(address).await.unwrap();
            let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
            let mut stream =
                connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
            stream.write_all(b"GET /slow HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    tcp.await.unwrap();
    let lines = [lines, log.lines(2).await[1..].to_vec()].concat();
    for line in lines.iter().map(|line| json(line)) {
        assert_eq!(line["path"], "/slow");
        assert_eq!((&line["status"], &line["complete"]), (&serde_json::Value::Null, &false.into()));
    }
    let metrics = proxied.server.metrics();
    assert_eq!(metrics.broken.load(Relaxed), 2);
    assert!(metrics.responses.iter().all(|count| count.load(Relaxed) == 0));
    peer.leave().await;
}

/// A response that has begun keeps its status.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_that_its_client_gives_up_keeps_its_status() {
    let log = LogBuffer::default();
    let sink = log.clone();
    let site =
        TestServer::with(|builder| builder.access_log(LogFormat::Json, Box::new(sink))).await;
    std::fs::File::create(site.path().join("big")).unwrap().set_len(100_000_000).unwrap();
    let peer = Peer::connect(&site.server, &site.trust).await;
    let (mut send, mut recv) = peer.ask(&get("/big")).await;
    send.finish().unwrap();
    recv.read_chunk(1000).await.unwrap();
    recv.stop(VarInt::from_u32(0x10c)).unwrap();
    let line = json(&log.lines(1).await[0]);
    assert_eq!((&line["status"], &line["complete"]), (&200.into(), &false.into()));
    peer.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_that_are_too_large_are_logged_and_malformed_ones_counted() {
    let log = LogBuffer::default();
    let sink = log.clone();
    let site =
        TestServer::with(|builder| builder.access_log(LogFormat::Json, Box::new(sink))).await;
    let metrics = site.server.metrics();
    let peer = Peer::connect(&site.server, &site.trust).await;
    // Entry 5 is `cookie`.
    let (mut send, _recv) = peer.ask(&request(17, "/", &field(5, &vec![b'c'; 17_000]))).await;
    send.finish().unwrap();
    let line = json(&log.lines(1).await[0]);
    assert_eq!((&line["status"], &line["method"]), (&431.into(), &serde_json::Value::Null));
    assert_eq!((&line["protocol"], &line["client"]), (&"HTTP/3".into(), &"127.0.0.1".into()));
    assert_eq!(metrics.responses[3].load(Relaxed), 1);
    // A name in upper case, a path without a slash, and no authority.
    let upper = [&[0x23][..], b"AbC", &[1, b'v']].concat();
    let no_host = headers(&[&[0xc0 | 17, 0xc0 | 23][..], &field(1, b"/")].concat());
    for malformed in [request(17, "/", &upper), request(17, "no slash", &[]), no_host] {
        let before = metrics.malformed.load(Relaxed);
        let (mut send, mut recv) = peer.ask(&malformed).await;
        send.finish().unwrap();
        assert!(timeout(SOON, recv.read_to_end(1000)).await.unwrap().is_err());
        until("it is counted", || metrics.malformed.load(Relaxed) == before + 1).await;
    }
    let mut stream = tcp::connect(&site).await;
    let large = format!("GET / HTTP/1.1\r\nhost: h\r\ncookie: {}\r\n\r\n", "c".repeat(20_000));
    assert!(tcp::ask(&mut stream, &large).await.starts_with("HTTP/1.1 431 "));
    let line = json(&log.lines(2).await[1]);
    assert_eq!((&line["status"], &line["protocol"]), (&431.into(), &"HTTP/1.1".into()));
    let before = metrics.malformed.load(Relaxed);
    tcp::ask(&mut tcp::connect(&site).await, "no request\r\n\r\n").await;
    until("it is counted", || metrics.malformed.load(Relaxed) == before + 1).await;
    peer.leave().await;
}

/// Answers requests, and keeps the client that the PROXY protocol names for each.
async fn named_clients() -> (SocketAddr, Arc<Mutex<Vec<SocketAddr>>>) {
    let (listener, address) = listener().await;
    let clients = Arc::<Mutex<Vec<SocketAddr>>>::default();
    let seen = clients.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let seen = seen.clone();
            // A connection may be opened in advance, and wait while others are used.
            tokio::spawn(async move {
                let mut header = [0; 28];
                stream.read_exact(&mut header).await.unwrap();
                let ip: [u8; 4] = header[16..20].try_into().unwrap();
                let port = u16::from_be_bytes([header[24], header[25]]);
                if stream.read_buf(&mut Vec::with_capacity(4096)).await.is_ok_and(|read| read > 0) {
                    seen.lock().unwrap().push((ip, port).into());
                    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
                    let _ = stream.write_all(head.as_bytes()).await;
                }
            });
        }
    });
    (address, clients)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_moves_is_named_by_its_validated_address_and_port() {
    let (address, clients) = named_clients().await;
    let upstream = Upstream::new(&format!("http://{address} send-proxy-v2")).unwrap();
    let (proxied, log) = logging(upstream).await;
    let peer = Peer::connect(&proxied.server, &proxied.trust).await;
    let ask = async || {
        let (mut send, mut recv) = peer.ask(&get("/")).await;
        send.finish().unwrap();
        soon(recv.read_to_end(10_000)).await.unwrap();
        *clients.lock().unwrap().last().unwrap()
    };
    let before = peer.endpoint.local_addr().unwrap();
    assert_eq!(ask().await, before);
    // A packet that the old socket still receives makes the client's stack send from its address
    // again, at which nobody listens.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).unwrap();
    let after = socket.local_addr().unwrap();
    peer.endpoint.rebind(socket).unwrap();
    soon(async {
        loop {
            let client = ask().await;
            if client == after {
                return;
            }
            assert_eq!(client, before, "not validated yet");
        }
    })
    .await;
    let asked = clients.lock().unwrap().len();
    let last = json(&log.lines(asked).await[asked - 1]);
    assert_eq!(last["client"], IpAddr::from([127, 0, 0, 2]).to_string());
    peer.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_that_is_empty_reaches_the_upstream_with_its_length() {
    let proxied = Proxied::new(|upstream| upstream).await;
    for (method, length) in [("POST", true), ("PUT", true), ("PATCH", true), ("DELETE", false)] {
        for fields in [&[("content-length", "0")][..], &[]] {
            let request = ask(method, "/fields", fields, vec![]);
            for answer in [
                over_http3(&proxied, request.clone()).await,
                over_http1(&proxied, request.clone()).await,
            ] {
                let seen = String::from_utf8(answer.unwrap().body).unwrap();
                assert_eq!(seen.contains("content-length: 0\n"), length, "{seen}");
                assert!(!seen.contains("transfer-encoding"), "{seen}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_asterisk_is_for_options_only() {
    let proxied = Proxied::new(|upstream| upstream).await;
    let peer = Peer::connect(&proxied.server, &proxied.trust).await;
    // Entry 19 is `:method OPTIONS`.
    for (method, status) in [(17, 400), (20, 400), (19, 200)] {
        let (mut send, mut recv) = peer.ask(&request(method, "*", &[])).await;
        send.finish().unwrap();
        assert_eq!(super::websockets::status_of(&mut recv).await.0, status, "{method}");
    }
    peer.leave().await;
}
