//! Content of requests at a proxy: slow clients, unusual methods, lengths and codings.

use super::exchange::{over_http1, over_http3, tls};
use super::kit::{LONG, listener, soon};
use super::proxy::{Proxied, ask};
use bentpipe_net::proxy::Upstream;
use bentpipe_units::Rate;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Connects over HTTP/1.1 from 127.0.0.`last`, and sends `text`.
async fn send(proxied: &Proxied, last: u8, text: &str) -> TlsStream<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, last], 0).into()).unwrap();
    let stream = socket.connect(proxied.server.address()).await.unwrap();
    let connector = TlsConnector::from(Arc::new(tls(&proxied.trust, b"http/1.1")));
    let mut stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Returns the beginning of the answer.
async fn answer(stream: &mut TlsStream<TcpStream>) -> String {
    let mut answer = vec![0; 4096];
    let read = soon(stream.read(&mut answer)).await.unwrap_or(0);
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_that_does_not_come_keeps_nobody_from_the_upstream() {
    let proxied = Proxied::new(|upstream| upstream.connections(2)).await;
    let post = "POST /echo HTTP/1.1\r\nhost: h\r\ncontent-length: 1000\r\n\r\nx";
    let mut slow = Vec::new();
    for last in 10..16 {
        slow.push(send(&proxied, last, post).await);
    }
    sleep(Duration::from_millis(300)).await;
    let begun = Instant::now();
    let mut other = send(&proxied, 99, "GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    assert!(answer(&mut other).await.starts_with("HTTP/1.1 200 "));
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    // What comes in the end is passed on.
    slow[0].write_all(&[b'x'; 999]).await.unwrap();
    assert!(answer(&mut slow[0]).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_stall_give_their_places_to_others() {
    let proxied = Proxied::new(|upstream| upstream.connections(2).per_client(1)).await;
    // More than the beginning that the proxy waits for.
    let post = format!(
        "POST /echo HTTP/1.1\r\nhost: h\r\ncontent-length: 1000000\r\n\r\n{}",
        "x".repeat(40_000)
    );
    let mut slow = vec![send(&proxied, 10, &post).await, send(&proxied, 11, &post).await];
    sleep(Duration::from_millis(300)).await;
    let begun = Instant::now();
    let mut other = send(&proxied, 99, "GET / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    assert!(answer(&mut other).await.starts_with("HTTP/1.1 200 "));
    assert!(begun.elapsed() > Duration::from_secs(4), "{:?}", begun.elapsed());
    // One of the two was cut off.
    slow.reverse();
    assert!(timeout(LONG, slow.pop().unwrap().read(&mut [0; 100])).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_below_the_minimum_rate_is_refused() {
    // Beyond the 20 s that every client has.
    let fast = Rate::from_mbps(1000);
    let proxied = Proxied::new(|upstream| upstream.min_upload_rate(fast)).await;
    let post = "POST /echo HTTP/1.1\r\nhost: h\r\ncontent-length: 1000\r\n\r\n";
    let mut slow = send(&proxied, 10, post).await;
    let begun = Instant::now();
    let answered = async { answer(&mut slow).await };
    assert!(answered.await.starts_with("HTTP/1.1 408 "));
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_of_any_method_arrives_or_is_an_error() {
    let proxied = Proxied::new(|upstream| upstream).await;
    let large = vec![b'x'; 100_000];
    for content in [b"some".to_vec(), large] {
        for method in ["GET", "POST", "DELETE"] {
            let request = || ask(method, "/echo", &[], content.clone());
            for echoed in
                [over_http3(&proxied, request()).await, over_http1(&proxied, request()).await]
            {
                let echoed = echoed.unwrap();
                assert_eq!(echoed.head.status(), 200, "{method}");
                assert!(echoed.body == content, "{method}: {} bytes", echoed.body.len());
            }
        }
    }
    // RFC 9114 §4.1.2: malformed, as any other length that the content does not have.
    let request = ask("GET", "/", &[("content-length", "0")], b"some".to_vec());
    assert_eq!(over_http3(&proxied, request).await.unwrap().head.status(), 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfer_codings_other_than_chunked_are_refused() {
    let proxied = Proxied::new(|upstream| upstream).await;
    let post = "POST /echo HTTP/1.1\r\nhost: h\r\ntransfer-encoding: gzip, chunked\r\n\r\n\
        4\r\nsome\r\n0\r\n\r\n";
    let mut stream = send(&proxied, 10, post).await;
    assert!(answer(&mut stream).await.starts_with("HTTP/1.1 501 "));
}

/// Starts an upstream that answers every request with `text`.
async fn answering(text: &'static str) -> SocketAddr {
    let (listener, address) = listener().await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // Ignores the request.
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(text.as_bytes()).await;
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_that_clients_would_misread_do_not_reach_them() {
    let empty = "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n";
    let coded = "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n4\r\nsome\r\n0\r\n\r\n";
    for (text, status) in [(empty, 204), (coded, 502)] {
        let proxied = Proxied::of(answering(text).await, |upstream: Upstream| upstream).await;
        let request = || ask("GET", "/", &[], vec![]);
        for answer in [over_http3(&proxied, request()).await, over_http1(&proxied, request()).await]
        {
            let head = answer.unwrap().head;
            assert_eq!(head.status(), status);
            assert_eq!(head.headers().contains_key("content-length"), status == 502, "{text}");
        }
    }
}
