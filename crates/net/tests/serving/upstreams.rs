//! Several upstreams: shares, retries and health checks.

use super::exchange::{over_http1, over_http3};
use super::kit::{LogBuffer, certificate, listener, until};
use super::proxy::Proxied;
use bentpipe_net::LogFormat;
use bentpipe_net::proxy::Upstream;
use bentpipe_net::serve::Server;
use bentpipe_units::Span;
use http::Request;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// How an upstream answers each request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Answers {
    /// 200, with its name as content.
    Name(&'static str),
    /// Closes the connection when the request has arrived.
    Closes,
    /// 503.
    Unavailable,
}

/// An upstream on the loopback that can change its mind.
struct Fake {
    address: SocketAddr,
    answers: Arc<std::sync::Mutex<Answers>>,
    requests: Arc<AtomicUsize>,
}

impl Fake {
    async fn new(answers: Answers) -> Self {
        let (listener, address) = listener().await;
        let (answers, requests) =
            (Arc::new(std::sync::Mutex::new(answers)), Arc::new(AtomicUsize::new(0)));
        let (mind, count) = (answers.clone(), requests.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut received = Vec::new();
                while !received.windows(4).any(|end| end == b"\r\n\r\n") {
                    if stream.read_buf(&mut received).await.unwrap_or(0) == 0 {
                        break;
                    }
                }
                // Health checks are not counted.
                let checked = received.starts_with(b"GET /up ");
                count.fetch_add(usize::from(!checked), Relaxed);
                let now = *mind.lock().unwrap();
                let answer = match now {
                    Answers::Closes => continue,
                    Answers::Unavailable => "HTTP/1.1 503 No\r\ncontent-length: 0\r\n".to_owned(),
                    Answers::Name(name) => {
                        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n", name.len())
                    }
                };
                let body = if let Answers::Name(name) = now { name } else { "" };
                let answer = format!("{answer}connection: close\r\n\r\n{body}");
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { address, answers, requests }
    }

    fn now(&self, answers: Answers) {
        *self.answers.lock().unwrap() = answers;
    }

    fn requests(&self) -> usize {
        self.requests.load(Relaxed)
    }
}

fn request(method: &str, body: &str) -> Request<Vec<u8>> {
    Request::builder().method(method).uri("/").body(body.into()).unwrap()
}

/// Returns the content of responses, over both ways of HTTP, or their status if it is not 200.
async fn answers(proxied: &Proxied, request: Request<Vec<u8>>) -> [String; 2] {
    let both = [over_http3(proxied, request.clone()).await, over_http1(proxied, request).await];
    both.map(|answer| {
        let answer = answer.unwrap();
        match answer.head.status().as_u16() {
            200 => String::from_utf8(answer.body).unwrap(),
            status => status.to_string(),
        }
    })
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstreams_share_requests_and_one_that_refuses_connections_is_left_out() {
    let (a, b) = (Fake::new(Answers::Name("a")).await, Fake::new(Answers::Name("b")).await);
    // Nobody listens there.
    let (gone, nobody) = listener().await;
    drop(gone);
    let proxied = Proxied::of(nobody, |upstream| {
        upstream.and(&url(a.address)).unwrap().and(&url(b.address)).unwrap()
    })
    .await;
    for _ in 0..6 {
        for answer in answers(&proxied, request("GET", "")).await {
            assert!(answer == "a" || answer == "b", "{answer}");
        }
    }
    assert_eq!(a.requests() + b.requests(), 12);
    assert!(a.requests() >= 3 && b.requests() >= 3, "{} {}", a.requests(), b.requests());
    let counts = &proxied.server.metrics().upstream;
    let counted =
        [&counts.retries, &counts.failures, &counts.down].map(|count| count.load(Relaxed));
    assert_eq!(counted, [1, 1, 1], "it is asked once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_retried_only_if_nothing_is_lost() {
    let (broken, whole) = (Fake::new(Answers::Closes).await, Fake::new(Answers::Name("w")).await);
    let proxied =
        Proxied::of(broken.address, |upstream| upstream.and(&url(whole.address)).unwrap()).await;
    for _ in 0..4 {
        assert_eq!(answers(&proxied, request("GET", "")).await, ["w", "w"]);
        assert_eq!(answers(&proxied, request("DELETE", "")).await, ["w", "w"]);
    }
    assert!(broken.requests() > 0);
    // One that has arrived may have been executed, and content is gone.
    for (method, body) in [("POST", ""), ("PATCH", ""), ("PUT", "content")] {
        let (before, retries) = (
            broken.requests() + whole.requests(),
            proxied.server.metrics().upstream.retries.load(Relaxed),
        );
        let mut failed = 0;
        for _ in 0..3 {
            let answers = answers(&proxied, request(method, body)).await;
            failed += answers.iter().filter(|answer| *answer == "502").count();
        }
        assert!(failed > 0, "{method}");
        assert_eq!(broken.requests() + whole.requests() - before, 6, "{method}");
        assert_eq!(proxied.server.metrics().upstream.retries.load(Relaxed), retries);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_fails_its_health_checks_gets_no_requests_until_it_is_back() {
    let (a, b) = (Fake::new(Answers::Name("a")).await, Fake::new(Answers::Name("b")).await);
    let (certificate, trust) = certificate();
    let log = LogBuffer::default();
    let upstream = Upstream::new(&url(a.address)).unwrap().and(&url(b.address)).unwrap();
    let upstream = upstream.health_check("/up", Span::from_millis(50)).unwrap();
    let server =
        Server::proxy(upstream, certificate).error_log(LogFormat::Text, Box::new(log.clone()));
    let proxied = Proxied::around(server.start().await.unwrap(), trust);
    a.now(Answers::Unavailable);
    let down = || proxied.server.metrics().upstream.down.load(Relaxed);
    until("a is down", || down() == 1).await;
    for _ in 0..4 {
        assert_eq!(answers(&proxied, request("GET", "")).await, ["b", "b"]);
    }
    assert_eq!(a.requests(), 0);
    a.now(Answers::Name("a"));
    until("a is up", || down() == 0).await;
    let mut from_a = 0;
    for _ in 0..4 {
        let answers = answers(&proxied, request("GET", "")).await;
        from_a += answers.iter().filter(|answer| *answer == "a").count();
    }
    assert!(from_a >= 2, "{from_a}");
    let lines = log.lines(2).await;
    assert!(lines[0].ends_with(&format!("the upstream {} is down", url(a.address))), "{lines:?}");
    assert!(lines[1].ends_with("is up again"), "{lines:?}");
}
