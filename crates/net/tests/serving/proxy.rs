//! A server in front of an upstream.

use super::content;
use super::exchange::{Answer, over_http1, over_http3, tls};
use super::kit::{certificate, listener, soon};
use bentpipe_net::Trust;
use bentpipe_net::get::Client;
use bentpipe_net::proxy::Upstream;
use bentpipe_net::serve::Server;
use bentpipe_units::{Bytes, Span};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Responds as the upstream: `/echo` returns the content of the request, `/fields` its header
/// fields, `/slow` takes five seconds, and other paths return a greeting.
async fn upstream_response(
    request: Request<Incoming>,
) -> Response<Either<Incoming, Full<bytes::Bytes>>> {
    let text = match request.uri().path() {
        "/echo" => return Response::new(Either::Left(request.into_body())),
        "/fields" => {
            let target = format!("{} {}\n", request.method(), request.uri());
            let fields = request
                .headers()
                .iter()
                .map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap()));
            target + &fields.collect::<String>()
        }
        "/slow" => {
            tokio::time::sleep(Duration::from_secs(5)).await;
            String::new()
        }
        _ => "hello".to_owned(),
    };
    let mut response = Response::new(Either::Right(Full::new(text.into())));
    let headers = response.headers_mut();
    headers.insert("connection", HeaderValue::from_static("x-inside"));
    headers.insert("x-inside", HeaderValue::from_static("1"));
    headers.insert("x-outside", HeaderValue::from_static("1"));
    headers.insert("alt-svc", HeaderValue::from_static("h3=\":1\""));
    response
}

/// A server in front of an upstream, and the number of connections to the upstream.
pub struct Proxied {
    pub server: Server,
    pub trust: Trust,
    upstream_connections: Arc<AtomicUsize>,
}

impl Proxied {
    pub async fn new(change: impl FnOnce(Upstream) -> Upstream) -> Self {
        let (listener, address) = listener().await;
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                counted.fetch_add(1, Relaxed);
                tokio::spawn(async move {
                    let service = service_fn(|request| async {
                        Ok::<_, Infallible>(upstream_response(request).await)
                    });
                    let mut builder = Builder::new(TokioExecutor::new());
                    // The proxy may close the connection.
                    let _ = builder.http1().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { upstream_connections: count, ..Self::of(address, change).await }
    }

    /// Returns a server in front of the upstream at `address`.
    pub async fn of(address: SocketAddr, change: impl FnOnce(Upstream) -> Upstream) -> Self {
        Self::with(change(Upstream::new(&format!("http://{address}")).unwrap())).await
    }

    /// Returns a server in front of an upstream.
    pub async fn with(upstream: Upstream) -> Self {
        let (certificate, trust) = certificate();
        let server = Server::proxy(upstream, certificate).start().await.unwrap();
        Self::around(server, trust)
    }

    /// Returns a server that is started.
    pub fn around(server: Server, trust: Trust) -> Self {
        Self { server, trust, upstream_connections: Arc::default() }
    }

    /// Sends a request over HTTP/3 and over HTTP/1.1.
    async fn both(&self, request: &Request<Vec<u8>>) -> [Result<Answer, String>; 2] {
        [over_http3(self, request.clone()).await, over_http1(self, request.clone()).await]
    }

    async fn statuses(&self, request: &Request<Vec<u8>>) -> [u16; 2] {
        self.both(request).await.map(|answer| answer.unwrap().head.status().as_u16())
    }
}

pub fn ask(method: &str, path: &str, fields: &[(&str, &str)], body: Vec<u8>) -> Request<Vec<u8>> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(body).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_of_the_upstream_arrive_over_all_versions() {
    let proxied = Proxied::new(|upstream| upstream).await;
    for (method, expected) in [("GET", "hello"), ("HEAD", ""), ("DELETE", "hello")] {
        for (index, answer) in
            proxied.both(&ask(method, "/", &[], vec![])).await.into_iter().enumerate()
        {
            let Answer { head, body, .. } = answer.unwrap();
            assert_eq!(
                (head.status().as_u16(), body),
                (200, expected.as_bytes().to_vec()),
                "{method}"
            );
            let headers = head.headers();
            assert_eq!(
                (&headers["content-length"], &headers["x-outside"]),
                (&"5".parse().unwrap(), &"1".parse().unwrap())
            );
            assert_eq!(headers["via"], "1.1 bentpipe");
            assert!(
                !headers.contains_key("x-inside"),
                "a field that `connection` names is for the proxy: {headers:?}"
            );
            let alternative =
                headers.get("alt-svc").map(|field| field.to_str().unwrap().to_owned());
            let ours = format!("h3=\":{}\"; ma=86400", proxied.server.address().port());
            assert_eq!(
                alternative,
                [None, Some(ours)][index],
                "the Alt-Svc of the upstream is not for clients"
            );
        }
    }
    assert!(
        proxied.upstream_connections.load(Relaxed) <= 2,
        "connections are reused: {:?}",
        proxied.upstream_connections
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_of_any_size_is_forwarded() {
    let proxied = Proxied::new(|upstream| upstream.max_body(Bytes::from_mb(10))).await;
    let sent: Vec<u8> = (0..10_000_000u32).map(|index| (index % 251) as u8).collect();
    for answer in proxied.both(&ask("POST", "/echo", &[], sent.clone())).await {
        let Answer { head, body, .. } = answer.unwrap();
        assert!(head.status() == 200 && body == sent, "{:?}: {} bytes", head.status(), body.len());
    }
    for answer in
        proxied.both(&ask("PUT", "/echo", &[("expect", "100-continue")], b"some".to_vec())).await
    {
        assert_eq!(answer.unwrap().body, b"some");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_beyond_the_limit_is_refused_announced_or_not() {
    let proxied = Proxied::new(|upstream| upstream.max_body(Bytes::new(1000))).await;
    let announced = [("content-length", "1001")];
    assert_eq!(proxied.statuses(&ask("POST", "/hello", &announced, vec![0; 1001])).await, [413; 2]);
    let unannounced = over_http3(&proxied, ask("POST", "/slow", &[], vec![0; 1001])).await.unwrap();
    assert_eq!(unannounced.head.status(), 413);
    let fits = over_http3(&proxied, ask("POST", "/echo", &[], vec![0; 1000])).await.unwrap();
    assert_eq!((fits.head.status().as_u16(), fits.body.len()), (200, 1000));
    // The proxy itself has to check the length over HTTP/3. The upstream would read excess bytes as
    // another request.
    for wrong in ["3", "9"] {
        let request = ask("POST", "/slow", &[("content-length", wrong)], vec![0; 6]);
        assert_eq!(over_http3(&proxied, request).await.unwrap().head.status(), 400, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_arrives_though_the_client_sends_all_of_its_content() {
    let proxied = Proxied::new(|upstream| upstream.max_body(Bytes::new(1000))).await;
    let stream = TcpStream::connect(proxied.server.address()).await.unwrap();
    let connector = TlsConnector::from(Arc::new(tls(&proxied.trust, b"http/1.1")));
    let mut stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
    let head = "POST /echo HTTP/1.1\r\nhost: h\r\ncontent-length: 8000000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..80 {
        soon(stream.write_all(&[0; 100_000])).await.expect("the content is read and discarded");
    }
    let mut answer = Vec::new();
    soon(stream.read_to_end(&mut answer)).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 413 "), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forwarding_fields_are_the_proxys_own() {
    let proxied = Proxied::new(|upstream| upstream.host("inside.test").unwrap()).await;
    let fields = [
        ("x-forwarded-for", "10.0.0.1"),
        ("forwarded", "for=10.0.0.1"),
        ("te", "trailers"),
        ("x_own", "10.0.0.1"),
        ("proxy", "10.0.0.1"),
        ("x-own", "1"),
    ];
    let version = ["via: 3 bentpipe\n", "via: 1.1 bentpipe\n"];
    for (answer, via) in
        proxied.both(&ask("GET", "/fields?a=%20b", &fields, vec![])).await.into_iter().zip(version)
    {
        let text = String::from_utf8(answer.unwrap().body).unwrap();
        let host = format!("localhost:{}", proxied.server.address().port());
        for expected in [
            "GET /fields?a=%20b\n",
            "host: inside.test\n",
            "x-own: 1\n",
            "x-forwarded-for: 127.0.0.1\n",
            "x-forwarded-proto: https\n",
            &format!("x-forwarded-host: {host}\n"),
            &format!("forwarded: for=127.0.0.1;host=\"{host}\";proto=https\n"),
            via,
        ] {
            assert!(text.contains(expected), "{expected} is missing: {text}");
        }
        assert_eq!(text.matches("\nhost: ").count(), 1, "one host: {text}");
        for unexpected in [
            "10.0.0.1",
            "trailers",
            "connection:",
            "content-length",
            "transfer-encoding",
            "early-data",
        ] {
            assert!(!text.contains(unexpected), "{unexpected} is there: {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn early_requests_are_marked_as_such() {
    let proxied = Proxied::new(|upstream| upstream).await;
    let client = Client::builder().trust(proxied.trust.clone()).build().unwrap();
    let url = format!("https://{}/fields", proxied.server.address()).parse().unwrap();
    // After the handshake, an early request is like any other (RFC 8470 §3). On the loopback, the
    // handshake may be complete before the server checks.
    let mut marked = false;
    for visit in 0..20 {
        let response = client.get(&url, &HeaderMap::new()).await.unwrap();
        let early = response.timings().early;
        assert_eq!(early, visit > 0);
        let text = String::from_utf8(content(response).await.unwrap()).unwrap();
        let mark = text.contains("early-data: 1\n");
        assert!(early || !mark, "marked but not early");
        marked |= mark;
        if marked {
            break;
        }
        // Tickets arrive after the handshake.
        tokio::time::sleep(Duration::from_millis(100)).await;
        client.disconnect().await;
    }
    assert!(marked, "none of twenty requests is marked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_cannot_be_forwarded_get_a_status() {
    let proxied = Proxied::new(|upstream| upstream.answer_time(Span::from_millis(300))).await;
    assert_eq!(proxied.statuses(&ask("GET", "/slow", &[], vec![])).await, [504; 2]);
    assert_eq!(proxied.statuses(&ask("TRACE", "/", &[], vec![])).await, [501; 2]);
    assert_eq!(
        proxied.statuses(&ask("OPTIONS", "/slow", &[("max-forwards", "0")], vec![])).await,
        [200; 2]
    );
    let upgrade = [("connection", "upgrade"), ("upgrade", "h2c")];
    assert_eq!(
        over_http1(&proxied, ask("GET", "/", &upgrade, vec![])).await.unwrap().head.status(),
        501
    );

    let (_, nowhere) = listener().await;
    let proxied = Proxied::of(nowhere, |upstream| upstream).await;
    assert_eq!(proxied.statuses(&ask("GET", "/", &[], vec![])).await, [502; 2]);
}

/// Starts an upstream that sends `text` on each connection and closes it.
async fn sending(text: &'static str) -> SocketAddr {
    let (listener, address) = listener().await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            // Ignores the request.
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(text.as_bytes()).await;
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_fails_or_sends_nonsense_is_an_error() {
    for nonsense in [
        "",
        "nonsense\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ] {
        let proxied = Proxied::of(sending(nonsense).await, |upstream| upstream).await;
        assert_eq!(proxied.statuses(&ask("GET", "/", &[], vec![])).await, [502; 2], "{nonsense}");
    }
    let proxied = Proxied::of(
        sending("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nfew").await,
        |upstream| upstream,
    )
    .await;
    for answer in proxied.both(&ask("GET", "/", &[], vec![])).await {
        assert!(answer.is_err(), "a truncated response is not complete: {answer:?}");
    }
    assert_eq!(proxied.server.metrics().broken.load(Relaxed), 2);
    // Without a length, the end of the connection is the end of the content.
    let proxied =
        Proxied::of(sending("HTTP/1.0 200 OK\r\n\r\nall").await, |upstream| upstream).await;
    for answer in proxied.both(&ask("GET", "/", &[], vec![])).await {
        let Answer { head, body, .. } = answer.unwrap();
        assert_eq!(
            (body.as_slice(), &head.headers()[HeaderName::from_static("via")]),
            (&b"all"[..], &"1.0 bentpipe".parse().unwrap())
        );
    }
}
