//! What an upstream of a front is told before a request, and what a client is told before its
//! response: the PROXY protocol and early hints.

use super::exchange::{on_http3, over_http3};
use super::front::{Hosts, acceptor, upstream};
use super::kit::{listener, soon};
use super::proxy::Proxied;
use bentpipe_net::front::Sites;
use bentpipe_net::proxy::Upstream;
use bentpipe_units::Span;
use http::Request;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Bytes of a header of the PROXY protocol that names an IPv4 client, and of one that names nobody.
const IPV4: usize = 28;
const LOCAL: usize = 16;

/// Reads a header of the PROXY protocol.
async fn header(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut header = vec![0; LOCAL];
    stream.read_exact(&mut header).await.unwrap();
    let rest = usize::from(header[15]);
    header.resize(LOCAL + rest, 0);
    stream.read_exact(&mut header[LOCAL..]).await.unwrap();
    header
}

/// Reads the head of a request, in lower case.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap().to_lowercase()
}

/// Answers one request.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let closes = head(&mut stream).await.contains("connection: close\r\n");
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Closes: {closes}\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
    // The client closes.
    let _ = stream.read_u8().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_may_be_told_the_client_of_each_connection() {
    let hosts = Hosts::new();
    for scheme in ["http", "https"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{scheme}://{} send-proxy-v2", listener.local_addr().unwrap());
        let headers = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let (seen, acceptor) = (headers.clone(), acceptor(&hosts, None));
        let secure = scheme == "https";
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let header = header(&mut stream).await;
                seen.lock().unwrap().push(header);
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    if !secure {
                        answer(stream).await;
                    } else if let Ok(stream) = acceptor.accept(stream).await {
                        answer(stream).await;
                    }
                });
            }
        });
        let upstream = upstream(&url).health_check("/", Span::from_secs(600)).unwrap();
        let server = hosts.front(Sites::default().with_default(upstream)).await;
        for _ in 0..2 {
            let answer = hosts.ask(&server, "a.test", "https://a.test:8443/", &[]).await.unwrap();
            assert_eq!(answer.head.status(), 200, "{scheme}");
            assert_eq!(answer.head.headers()["x-closes"], "true");
        }
        let headers = headers.lock().unwrap().clone();
        // The health check is that of nobody. It may be refused over TLS, for its name.
        let (local, told): (Vec<_>, Vec<_>) =
            headers.into_iter().partition(|header| header.len() == LOCAL);
        assert_eq!((local.len(), told.len()), (1, 2), "{scheme}");
        for header in told {
            assert_eq!(header.len(), IPV4);
            assert_eq!(header[12..24], [0x21, 0x11, 0, 12, 127, 0, 0, 1, 0, 0, 0, 0]);
            assert_eq!(header[26..], 8443_u16.to_be_bytes());
        }
    }
}

/// Uploads whose beginning was not sent, for the server refused the connection, go to the next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_that_no_server_has_seen_goes_to_the_next_one() {
    let (gone, nobody) = listener().await;
    drop(gone);
    let (server, address) = listener().await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = server.accept().await {
            header(&mut stream).await;
            head(&mut stream).await;
            let mut content = [0; 7];
            stream.read_exact(&mut content).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n").await.unwrap();
            stream.write_all(&content).await.unwrap();
        }
    });
    let upstream = Upstream::new(&format!("http://{nobody} send-proxy-v2")).unwrap();
    let upstream = upstream.and(&format!("http://{address} send-proxy-v2")).unwrap();
    let proxied = Proxied::with(upstream).await;
    let request = Request::post("/").body(b"content".to_vec()).unwrap();
    let answer = over_http3(&proxied, request).await.unwrap();
    assert_eq!((answer.head.status().as_u16(), &answer.body[..]), (200, &b"content"[..]));
    assert_eq!(proxied.server.metrics().upstream.retries.load(Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn early_hints_go_to_browsers_that_load_a_page() {
    let hosts = Hosts::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Semaphore::new(0));
    let go = seen.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let go = go.clone();
            tokio::spawn(async move {
                let hints = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\
                             X-Other: 1\r\n\r\n";
                head(&mut stream).await;
                stream.write_all(hints.as_bytes()).await.unwrap();
                go.acquire().await.unwrap().forget();
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                stream.write_all(answer).await.unwrap();
            });
        }
    });
    let server = hosts.front(Sites::default().with_default(upstream(&url))).await;
    for navigates in [true, false] {
        let seen = seen.clone();
        let work = move |_, mut requests: super::exchange::Requests| async move {
            let mut request = Request::get("https://a.test/");
            if navigates {
                request = request.header("sec-fetch-mode", "navigate");
            } else {
                seen.add_permits(1);
            }
            let mut stream = requests.send_request(request.body(()).unwrap()).await.unwrap();
            stream.finish().await.unwrap();
            let mut head = soon(stream.recv_response()).await.unwrap();
            if navigates {
                assert_eq!(head.status(), 103);
                assert_eq!(head.headers()["link"], "</style.css>; rel=preload");
                assert_eq!(head.headers().len(), 1, "{head:?}");
                seen.add_permits(1);
                head = soon(stream.recv_response()).await.unwrap();
            }
            assert_eq!(head.status(), 200);
        };
        on_http3(server.address(), "a.test", hosts.client_config(), work).await.unwrap();
    }
}
