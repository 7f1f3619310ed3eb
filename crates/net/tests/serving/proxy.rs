//! A server in front of another: what is passed on, in both directions, and what is not.

use super::content;
use super::exchange::{Answer, over_http1, over_http3};
use bentpipe_net::get::Client;
use bentpipe_net::proxy::Upstream;
use bentpipe_net::serve::Server;
use bentpipe_net::{Certificate, Trust};
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
use tokio::net::TcpListener;

/// What the server behind does: `/echo` gives content back as it comes, `/fields` the header fields
/// that it got, `/slow` takes five seconds, everything else is a greeting.
async fn behind(request: Request<Incoming>) -> Response<Either<Incoming, Full<bytes::Bytes>>> {
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

/// A server in front, and connections that the one behind has had.
pub struct Proxied {
    pub server: Server,
    pub trust: Trust,
    behind: Arc<AtomicUsize>,
}

impl Proxied {
    async fn new(change: impl FnOnce(Upstream) -> Upstream) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                counted.fetch_add(1, Relaxed);
                tokio::spawn(async move {
                    let service =
                        service_fn(|request| async { Ok::<_, Infallible>(behind(request).await) });
                    let mut builder = Builder::new(TokioExecutor::new());
                    // How it ends is the proxy's affair.
                    let _ = builder.http1().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { behind: count, ..Self::of(address, change).await }
    }

    /// In front of whatever is at `address`.
    pub async fn of(address: SocketAddr, change: impl FnOnce(Upstream) -> Upstream) -> Self {
        let certificate =
            Certificate::self_signed(&["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let trust = Trust::Only(certificate.own().cloned().into_iter().collect());
        let upstream = change(Upstream::new(&format!("http://{address}")).unwrap());
        let server = Server::proxy(upstream, certificate).start().await.unwrap();
        Self { server, trust, behind: Arc::default() }
    }

    /// The same request over HTTP/3 and over HTTP/1.1.
    async fn both(&self, request: &Request<Vec<u8>>) -> [Result<Answer, String>; 2] {
        [over_http3(self, request.clone()).await, over_http1(self, request.clone()).await]
    }

    async fn statuses(&self, request: &Request<Vec<u8>>) -> [u16; 2] {
        self.both(request).await.map(|answer| answer.unwrap().head.status().as_u16())
    }
}

fn ask(method: &str, path: &str, fields: &[(&str, &str)], body: Vec<u8>) -> Request<Vec<u8>> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(body).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_behind_answers_arrives_over_every_version() {
    let proxied = Proxied::new(|upstream| upstream).await;
    for (method, expected) in [("GET", "hello"), ("HEAD", ""), ("DELETE", "hello")] {
        for (index, answer) in
            proxied.both(&ask(method, "/", &[], vec![])).await.into_iter().enumerate()
        {
            let Answer { head, body } = answer.unwrap();
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
                "what `connection` names is for the proxy: {headers:?}"
            );
            let alternative =
                headers.get("alt-svc").map(|field| field.to_str().unwrap().to_owned());
            let ours = format!("h3=\":{}\"; ma=86400", proxied.server.address().port());
            assert_eq!(
                alternative,
                [None, Some(ours)][index],
                "the upstream's own is not for clients"
            );
        }
    }
    assert!(proxied.behind.load(Relaxed) <= 2, "connections are used again: {:?}", proxied.behind);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_of_any_size_goes_there_and_back() {
    let proxied = Proxied::new(|upstream| upstream.max_body(Bytes::from_mb(10))).await;
    let sent: Vec<u8> = (0..10_000_000u32).map(|index| (index % 251) as u8).collect();
    for answer in proxied.both(&ask("POST", "/echo", &[], sent.clone())).await {
        let Answer { head, body } = answer.unwrap();
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
    // HTTP/3 leaves it to us whether content is as long as announced: what follows would be read as
    // a request of its own.
    for wrong in ["3", "9"] {
        let request = ask("POST", "/slow", &[("content-length", wrong)], vec![0; 6]);
        assert_eq!(over_http3(&proxied, request).await.unwrap().head.status(), 400, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_say_who_asks_and_not_what_the_client_claims() {
    let proxied = Proxied::new(|upstream| upstream.host("inside.test").unwrap()).await;
    let fields = [
        ("x-forwarded-for", "10.0.0.1"),
        ("forwarded", "for=10.0.0.1"),
        ("te", "trailers"),
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
    // Once the handshake is complete an early request is one like others (RFC 8470 §3), and on the
    // loopback it may be before the server looks.
    let mut marked = false;
    for visit in 0..20 {
        let response = client.get(&url, &HeaderMap::new()).await.unwrap();
        let early = response.timings().early;
        assert_eq!(early, visit > 0);
        let text = String::from_utf8(content(response).await.unwrap()).unwrap();
        let mark = text.contains("early-data: 1\n");
        assert!(early || !mark, "marked, and not early");
        marked |= mark;
        if marked {
            break;
        }
        // Tickets come after the handshake.
        tokio::time::sleep(Duration::from_millis(100)).await;
        client.disconnect().await;
    }
    assert!(marked, "of twenty visits none is marked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_passed_on_is_said_not_to_be() {
    let proxied = Proxied::new(|upstream| upstream.answer_time(Span::from_millis(300))).await;
    assert_eq!(proxied.statuses(&ask("GET", "/slow", &[], vec![])).await, [504; 2]);
    assert_eq!(proxied.statuses(&ask("TRACE", "/", &[], vec![])).await, [501; 2]);
    assert_eq!(
        proxied.statuses(&ask("OPTIONS", "/slow", &[("max-forwards", "0")], vec![])).await,
        [200; 2]
    );
    let upgrade = [("connection", "upgrade"), ("upgrade", "websocket")];
    assert_eq!(
        over_http1(&proxied, ask("GET", "/", &upgrade, vec![])).await.unwrap().head.status(),
        501
    );

    let nowhere = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxied = Proxied::of(nowhere, |upstream| upstream).await;
    assert_eq!(proxied.statuses(&ask("GET", "/", &[], vec![])).await, [502; 2]);
}

/// A server behind that answers each connection with `text` and ends it.
async fn saying(text: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            // It does not look.
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(text.as_bytes()).await;
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_behind_that_breaks_off_or_talks_nonsense_is_found_out() {
    for nonsense in [
        "",
        "nonsense\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ] {
        let proxied = Proxied::of(saying(nonsense).await, |upstream| upstream).await;
        assert_eq!(proxied.statuses(&ask("GET", "/", &[], vec![])).await, [502; 2], "{nonsense}");
    }
    let proxied = Proxied::of(
        saying("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nfew").await,
        |upstream| upstream,
    )
    .await;
    for answer in proxied.both(&ask("GET", "/", &[], vec![])).await {
        assert!(answer.is_err(), "less than announced does not look whole: {answer:?}");
    }
    assert_eq!(proxied.server.metrics().broken.load(Relaxed), 2);
    // Without a length, the end is the connection's.
    let proxied =
        Proxied::of(saying("HTTP/1.0 200 OK\r\n\r\nall").await, |upstream| upstream).await;
    for answer in proxied.both(&ask("GET", "/", &[], vec![])).await {
        let Answer { head, body } = answer.unwrap();
        assert_eq!(
            (body.as_slice(), &head.headers()[HeaderName::from_static("via")]),
            (&b"all"[..], &"1.0 bentpipe".parse().unwrap())
        );
    }
}
