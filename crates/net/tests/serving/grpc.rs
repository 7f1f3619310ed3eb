//! gRPC through a front: HTTP/2 to the upstream, content both ways at once, trailers.

use super::exchange::{Requests, on_http3};
use super::front::{Hosts, acceptor, upstream};
use super::kit::{soon, until};
use bentpipe_net::front::Sites;
use bentpipe_net::serve::Server;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::Stream;
use futures_util::future::join_all;
use h3::client::RequestStream;
use http::{HeaderMap, Request, Response, Version};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, mpsc};

/// Returns a message with the prefix that gRPC gives it: not compressed, and its length.
fn framed(message: &[u8]) -> Bytes {
    let mut bytes = BytesMut::from(&[0][..]);
    bytes.put_u32(message.len() as u32);
    bytes.put_slice(message);
    bytes.freeze()
}

/// Takes complete messages from `buffer`.
fn messages(buffer: &mut BytesMut) -> Vec<String> {
    let mut found = Vec::new();
    while let Some(prefix) = buffer.get(1..5) {
        let length = u32::from_be_bytes(prefix.try_into().unwrap()) as usize;
        if buffer.len() < 5 + length {
            break;
        }
        let message = buffer.split_to(5 + length).split_off(5);
        found.push(String::from_utf8(message.to_vec()).unwrap());
    }
    found
}

/// What the upstream has seen.
#[derive(Debug, Default)]
struct Seen {
    connections: AtomicUsize,
    /// Streams under way.
    streams: AtomicUsize,
    heads: Mutex<Vec<(Version, String, HeaderMap)>>,
}

impl Seen {
    fn last(&self) -> (Version, String, HeaderMap) {
        self.heads.lock().unwrap().last().unwrap().clone()
    }
}

/// An upstream that speaks HTTP/2 alone, and what it waits for in `/held`.
#[derive(Clone)]
struct Grpc {
    seen: Arc<Seen>,
    held: Arc<Semaphore>,
    /// Streams that a connection may have.
    streams: u32,
}

type Answer = mpsc::Sender<std::io::Result<Frame<Bytes>>>;

/// Counts a stream until it is dropped.
struct Counted(Arc<Seen>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Relaxed);
    }
}

impl Grpc {
    fn new() -> Self {
        Self { seen: Arc::default(), held: Arc::new(Semaphore::new(0)), streams: 200 }
    }

    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        self.seen.connections.fetch_add(1, Relaxed);
        let streams = self.streams;
        let service = service_fn(move |request| {
            let grpc = self.clone();
            async move { Ok::<_, Infallible>(grpc.answer(request)) }
        });
        let mut server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        server.max_concurrent_streams(streams);
        // A client that closes is no error of the test.
        let _ = server.serve_connection(TokioIo::new(stream), service).await;
    }

    fn answer(
        self,
        request: Request<Incoming>,
    ) -> Response<StreamBody<impl Stream<Item = std::io::Result<Frame<Bytes>>>>> {
        let (head, content) = request.into_parts();
        let path = head.uri.path().to_owned();
        let seen = (head.version, head.uri.to_string(), head.headers);
        self.seen.heads.lock().unwrap().push(seen);
        let (sender, mut frames) = mpsc::channel(1);
        let mut response = Response::builder().header("content-type", "application/grpc+proto");
        if path == "/fails" {
            // Only a head: "Trailers-Only".
            response = response.header("grpc-status", "5").header("grpc-message", "not%20here");
        } else {
            self.seen.streams.fetch_add(1, Relaxed);
            tokio::spawn(self.stream(path, content, sender));
        }
        let stream = futures_util::stream::poll_fn(move |cx| frames.poll_recv(cx));
        response.body(StreamBody::new(stream)).unwrap()
    }

    /// Sends the messages of a response, and its trailers.
    async fn stream(self, path: String, mut content: Incoming, answer: Answer) {
        let _counted = Counted(self.seen.clone());
        let send = async |message: &str| {
            let frame = Ok(Frame::data(framed(message.as_bytes())));
            tokio::time::timeout(super::kit::LONG, answer.send(frame)).await.unwrap()
        };
        let (mut buffer, mut got) = (BytesMut::new(), Vec::new());
        if path == "/held" {
            // The head is there before the client has sent anything.
            tokio::select! {
                permit = self.held.acquire() => permit.unwrap().forget(),
                () = answer.closed() => return,
            }
        }
        while let Some(Ok(frame)) = content.frame().await {
            buffer.extend_from_slice(&frame.into_data().unwrap());
            for message in messages(&mut buffer) {
                if path == "/both" && send(&format!("{message}!")).await.is_err() {
                    return;
                }
                got.push(message);
            }
        }
        let sent = match path.as_str() {
            "/many" => join_all((0..3).map(|number| send(["a", "b", "c"][number]))).await,
            "/both" => Vec::new(),
            _ => vec![send(&got.join(",")).await],
        };
        let status = [("grpc-status", "0"), ("grpc-message", "")].map(|(name, value)| {
            (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
        });
        if sent.iter().all(Result::is_ok) {
            let _ = answer.send(Ok(Frame::trailers(status.into_iter().collect()))).await;
        }
    }

    /// Serves over `h2c` and returns the URL.
    async fn over_tcp(&self) -> String {
        let (listener, grpc) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), self.clone());
        let url = format!("h2c://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(grpc.clone().serve(stream));
            }
        });
        url
    }

    fn over_unix(&self, hosts: &Hosts) -> String {
        let path = hosts.path("grpc.sock");
        let (listener, grpc) = (UnixListener::bind(&path).unwrap(), self.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(grpc.clone().serve(stream));
            }
        });
        format!("unix+h2c:{}", path.display())
    }

    /// Serves over TLS, and returns the address.
    async fn over_tls(&self, hosts: &Hosts, alpn: Option<&[u8]>) -> String {
        let (listener, grpc) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), self.clone());
        let (acceptor, address) = (acceptor(hosts, alpn), listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, grpc) = (acceptor.clone(), grpc.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        grpc.serve(stream).await;
                    }
                });
            }
        });
        address.to_string()
    }
}

/// A call of a client over HTTP/3.
struct Call {
    stream: RequestStream<bentpipe_quic::BidiStream, Bytes>,
    received: BytesMut,
    waiting: std::collections::VecDeque<String>,
}

impl Call {
    /// Begins a call, without content so far.
    async fn new(requests: &mut Requests, path: &str) -> Self {
        let request = Request::post(format!("https://a.test{path}"))
            .header("content-type", "application/grpc+proto")
            .header("te", "trailers")
            .header("grpc-timeout", "10S")
            .body(())
            .unwrap();
        let stream = requests.send_request(request).await.unwrap();
        Self { stream, received: BytesMut::new(), waiting: std::collections::VecDeque::new() }
    }

    async fn send(&mut self, message: &str) {
        self.stream.send_data(framed(message.as_bytes())).await.unwrap();
    }

    async fn head(&mut self) -> Response<()> {
        soon(self.stream.recv_response()).await.unwrap()
    }

    async fn next(&mut self) -> Option<String> {
        while self.waiting.is_empty() {
            let mut data = soon(self.stream.recv_data()).await.unwrap()?;
            self.received.extend_from_slice(&data.copy_to_bytes(data.remaining()));
            self.waiting.extend(messages(&mut self.received));
        }
        self.waiting.pop_front()
    }

    async fn trailers(&mut self) -> HeaderMap {
        assert_eq!(self.next().await, None);
        self.stream.recv_trailers().await.unwrap().unwrap_or_default()
    }
}

/// Makes one call with these messages, and returns those of the response and its status.
async fn call(requests: &mut Requests, path: &str, sent: &[&str]) -> (String, String) {
    let mut call = Call::new(requests, path).await;
    for message in sent {
        call.send(message).await;
    }
    call.stream.finish().await.unwrap();
    assert_eq!(call.head().await.status(), 200);
    let mut got = Vec::new();
    while let Some(message) = call.next().await {
        got.push(message);
    }
    let trailers = call.trailers().await;
    let status = trailers.get("grpc-status").map(|status| status.to_str().unwrap());
    (got.join(" "), status.unwrap_or_default().to_owned())
}

/// Does `work` on a connection over HTTP/3 to a front with this upstream.
async fn with<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    hosts: &Hosts,
    url: &str,
    work: impl FnOnce(Requests) -> F + Send + 'static,
) -> (T, Server) {
    let server = hosts.front(Sites::default().with_default(upstream(url))).await;
    let work = |_, requests| work(requests);
    let done = on_http3(server.address(), "a.test", hosts.client_config(), work).await;
    (done.unwrap(), server)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_pass_over_every_kind_of_http2() {
    let (hosts, grpc) = (Hosts::new(), Grpc::new());
    let urls = [
        grpc.over_tcp().await,
        grpc.over_unix(&hosts),
        format!("h2://{}", grpc.over_tls(&hosts, Some(b"h2")).await),
        format!("https://{}", grpc.over_tls(&hosts, Some(b"h2")).await),
    ];
    for url in urls {
        let work = |mut requests: Requests| async move {
            for (path, sent, expected) in [
                ("/one", &["hello"][..], "hello"),
                ("/many", &["go"], "a b c"),
                ("/one", &["1", "2", "3"], "1,2,3"),
            ] {
                let got = call(&mut requests, path, sent).await;
                assert_eq!(got, (expected.to_owned(), "0".to_owned()), "{path}");
            }
        };
        let before = grpc.seen.connections.load(Relaxed);
        with(&hosts, &url, work).await;
        let (version, uri, headers) = grpc.seen.last();
        let scheme =
            if url.starts_with("h2:") || url.starts_with("https") { "https" } else { "http" };
        assert_eq!((version, uri), (Version::HTTP_2, format!("{scheme}://a.test/one")), "{url}");
        let field = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!((field("te"), field("grpc-timeout")), (Some("trailers"), Some("10S")));
        assert_eq!((field("x-forwarded-for"), field("host")), (Some("127.0.0.1"), None));
        assert_eq!(grpc.seen.connections.load(Relaxed) - before, 1, "{url}: one is kept");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_go_both_ways_at_once_and_the_server_may_speak_first() {
    let (hosts, grpc) = (Hosts::new(), Grpc::new());
    let held = grpc.held.clone();
    let work = move |mut requests: Requests| async move {
        let mut call = Call::new(&mut requests, "/both").await;
        assert_eq!(call.head().await.status(), 200, "before the client has sent anything");
        for message in ["a", "b"] {
            call.send(message).await;
            assert_eq!(call.next().await, Some(format!("{message}!")));
        }
        call.stream.finish().await.unwrap();
        assert_eq!(call.trailers().await["grpc-status"], "0");

        let mut call = Call::new(&mut requests, "/fails").await;
        call.stream.finish().await.unwrap();
        let head = call.head().await;
        let field = |name: &str| head.headers()[name].to_str().unwrap();
        assert_eq!((field("grpc-status"), field("grpc-message")), ("5", "not%20here"));
        assert!(call.trailers().await.is_empty());
        held.add_permits(1);
    };
    with(&hosts, &grpc.over_tcp().await, work).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_share_connections_and_one_that_is_cancelled_ends_at_the_server() {
    let (hosts, grpc) = (Hosts::new(), Grpc::new());
    let seen = grpc.seen.clone();
    let work = move |mut requests: Requests| async move {
        let mut calls = Vec::new();
        for _ in 0..99 {
            let mut call = Call::new(&mut requests, "/held").await;
            assert_eq!(call.head().await.status(), 200);
            calls.push(call);
        }
        assert_eq!(seen.streams.load(Relaxed), 99);
        assert_eq!(seen.connections.load(Relaxed), 1);
        for mut call in calls {
            call.stream.stop_stream(h3::error::Code::H3_REQUEST_CANCELLED);
            call.stream.stop_sending(h3::error::Code::H3_REQUEST_CANCELLED);
        }
        until("the server's streams have ended", || seen.streams.load(Relaxed) == 0).await;
        let (got, _) = call(&mut requests, "/one", &["after"]).await;
        assert_eq!(got, "after");
        assert_eq!(seen.connections.load(Relaxed), 1);
    };
    with(&hosts, &grpc.over_tcp().await, work).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_has_as_many_calls_at_a_time_as_the_server_allows() {
    let (hosts, grpc) = (Hosts::new(), Grpc { streams: 10, ..Grpc::new() });
    let (seen, held) = (grpc.seen.clone(), grpc.held.clone());
    let work = |mut requests: Requests| async move {
        call(&mut requests, "/one", &["the settings have arrived"]).await;
        let mut calls = Vec::new();
        for _ in 0..30 {
            let mut call = Call::new(&mut requests, "/held").await;
            assert_eq!(call.head().await.status(), 200);
            calls.push(call);
        }
        assert_eq!(seen.connections.load(Relaxed), 3);
        held.add_permits(30);
        for mut call in calls {
            call.stream.finish().await.unwrap();
            assert_eq!(call.next().await, Some(String::new()));
            assert_eq!(call.trailers().await["grpc-status"], "0");
        }
    };
    with(&hosts, &grpc.over_tcp().await, work).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_replaced_before_nginx_would_end_it() {
    let (hosts, grpc) = (Hosts::new(), Grpc::new());
    let seen = grpc.seen.clone();
    let work = |mut requests: Requests| async move {
        for (calls, connections) in [(900, 1), (1, 2)] {
            for _ in 0..calls {
                call(&mut requests, "/fails", &[]).await;
            }
            assert_eq!(seen.connections.load(Relaxed), connections);
        }
    };
    with(&hosts, &grpc.over_tcp().await, work).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_http2_gets_all_but_grpc() {
    let hosts = Hosts::new();
    // The first refuses the offer of HTTP/2 in the handshake, the second ignores it.
    for alpn in [Some(&b"http/1.1"[..]), None] {
        let old = Grpc::new().over_tls(&hosts, alpn).await;
        let work = |mut requests: Requests| async move {
            let mut call = Call::new(&mut requests, "/one").await;
            call.stream.finish().await.unwrap();
            call.head().await.status().as_u16()
        };
        let (status, server) = with(&hosts, &format!("https://{old}"), work).await;
        assert_eq!(status, 502, "{alpn:?}");
        let down = server.metrics().upstream.down.load(Relaxed);
        assert_eq!(down, 0, "it still answers other requests: {alpn:?}");
    }
}
