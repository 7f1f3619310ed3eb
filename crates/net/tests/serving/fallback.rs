//! Downloads from servers without HTTP/3.

use super::kit::{listener, noise, soon};
use super::{TestServer, content};
use bentpipe_net::Trust;
use bentpipe_net::get::{Client, ClientError, discard};
use bentpipe_units::Span;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, Uri, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

fn client(trust: &Trust) -> Client {
    Client::builder().trust(trust.clone()).tcp_fallback(true).build().unwrap()
}

fn url(address: SocketAddr, path: &str) -> Uri {
    format!("https://{address}{path}").parse().unwrap()
}

/// Starts a port that passes TCP on to `site`, and has no UDP. Returns its connections too.
async fn tcp_only(site: &TestServer) -> (SocketAddr, Arc<AtomicUsize>) {
    let (listener, address) = listener().await;
    let (target, count) = (site.server.address(), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Relaxed);
            tokio::spawn(async move {
                let mut server = TcpStream::connect(target).await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut server).await;
            });
        }
    });
    (address, count)
}

/// Starts a server of TCP that knows these `protocols` (ALPN), each connection of which `serve`
/// serves.
async fn server_of<F>(
    protocols: &[&[u8]],
    serve: impl Fn(TlsStream<TcpStream>) -> F + Send + 'static,
) -> (SocketAddr, Trust)
where
    F: Future<Output = ()> + Send + 'static,
{
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], PrivateKeyDer::Pkcs8(key))
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let (listener, address) = listener().await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(serve(stream));
            }
        }
    });
    (address, Trust::Only(vec![made.cert.der().clone()]))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_quic_http2_is_used_over_one_connection() {
    let site = TestServer::new().await;
    let large = site.file("large.bin", 20_000_000);
    let (address, connections) = tcp_only(&site).await;
    let client = client(&site.trust);
    let response = soon(client.get(&url(address, "/hello.txt"), &HeaderMap::new())).await.unwrap();
    assert_eq!((response.version(), response.head.status()), (Version::HTTP_2, StatusCode::OK));
    let timings = response.timings();
    assert!(timings.handshake.unwrap() <= timings.first_byte && !timings.early);
    assert_eq!(content(response).await.unwrap(), b"hello");
    let response = soon(client.get(&url(address, "/large.bin"), &HeaderMap::new())).await.unwrap();
    assert_eq!(response.timings().handshake, None, "the connection was open");
    assert!(soon(content(response)).await.unwrap() == large);
    assert_eq!(connections.load(Relaxed), 1);
    client.disconnect().await;
    let outcome = soon(discard(&client, &url(address, "/large.bin"), |_, _| {})).await.unwrap();
    assert_eq!((outcome.bytes, outcome.version), (20_000_000, Version::HTTP_2));
    assert_eq!(connections.load(Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_over_http2_do_not_wait_for_each_other() {
    let second_came = Arc::new(Notify::new());
    let serve = move |stream| {
        let second_came = second_came.clone();
        async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let second_came = second_came.clone();
                async move {
                    match request.uri().path() {
                        "/first" => second_came.notified().await,
                        _ => second_came.notify_one(),
                    }
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"hello"))))
                }
            });
            let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        }
    };
    let (address, trust) = server_of(&[b"h2"], serve).await;
    let client = client(&trust);
    let (none, [first, second]) =
        (HeaderMap::new(), ["/first", "/second"].map(|path| url(address, path)));
    let both = async { tokio::join!(client.get(&first, &none), client.get(&second, &none)) };
    let (first, second) = soon(both).await;
    assert_eq!(
        (first.unwrap().version(), second.unwrap().version()),
        (Version::HTTP_2, Version::HTTP_2)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http3_is_used_where_it_is() {
    let site = TestServer::new().await;
    let client = client(&site.trust);
    let response = site.get(&client, "/hello.txt").await.unwrap();
    assert_eq!(response.version(), Version::HTTP_3);
    assert_eq!(content(response).await.unwrap(), b"hello");
    assert_eq!(site.server.metrics().connections_tcp.load(Relaxed), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http1_is_used_where_there_is_nothing_newer() {
    let serve = |stream| async {
        let service = service_fn(|request: Request<Incoming>| async move {
            assert!(request.headers().contains_key("host") && request.uri().host().is_none());
            let length = request.uri().path()[1..].parse().unwrap();
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(noise(length)))))
        });
        let builder = hyper::server::conn::http1::Builder::new();
        let _ = builder.serve_connection(TokioIo::new(stream), service).await;
    };
    let (address, trust) = server_of(&[], serve).await;
    let client = client(&trust);
    for length in [3_000_000, 0, 5] {
        let target = url(address, &format!("/{length}"));
        let response = soon(client.get(&target, &HeaderMap::new())).await.unwrap();
        assert_eq!(response.version(), Version::HTTP_11);
        assert!(soon(content(response)).await.unwrap() == noise(length));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_that_is_cut_off_is_an_error() {
    let serve = |mut stream: TlsStream<TcpStream>| async move {
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nfour").await;
        let _ = stream.shutdown().await;
    };
    let (address, trust) = server_of(&[], serve).await;
    let response = client(&trust).get(&url(address, "/"), &HeaderMap::new()).await.unwrap();
    let error = soon(content(response)).await.unwrap_err();
    assert!(matches!(error, ClientError::ExchangeOverTcp { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_fallback_or_trust_there_is_no_response() {
    let site = TestServer::new().await;
    let (address, connections) = tcp_only(&site).await;
    let builder = Client::builder().trust(site.trust.clone());
    let client = builder.handshake_time(Span::from_millis(300)).build().unwrap();
    let refused = soon(client.get(&url(address, "/hello.txt"), &HeaderMap::new())).await;
    assert!(matches!(refused, Err(ClientError::Connection { .. })), "{refused:?}");
    assert_eq!(connections.load(Relaxed), 0);
    // TLS is verified over TCP too.
    let other = super::kit::certificate().1;
    let builder = Client::builder().trust(other).tcp_fallback(true);
    let client = builder.handshake_time(Span::from_secs(1)).build().unwrap();
    let refused = soon(client.get(&url(address, "/hello.txt"), &HeaderMap::new())).await;
    let Err(ClientError::Both { tcp, .. }) = refused else { panic!("{refused:?}") };
    assert!(tcp.to_string().contains("certificate"), "{tcp}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_connection_that_closes_under_a_request_is_replaced_and_a_new_one_is_not() {
    for (protocol, breaks) in [("a kept connection", false), ("every connection", true)] {
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        // Answers one request of each connection, and closes it when the second has come.
        let serve = move |mut stream: TlsStream<TcpStream>| {
            let number = counted.fetch_add(1, Relaxed);
            async move {
                let mut request = [0; 4096];
                let read = stream.read(&mut request).await.unwrap();
                let answer: &[u8] = match &request[..read] {
                    _ if breaks && number > 0 => return,
                    start if start.starts_with(b"GET /moved ") => {
                        b"HTTP/1.1 302 Found\r\nlocation: /here\r\ncontent-length: 0\r\n\r\n"
                    }
                    _ => b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhere",
                };
                stream.write_all(answer).await.unwrap();
                // Without a TLS alert, as a process that is killed.
                let _ = stream.read(&mut request).await;
            }
        };
        let (address, trust) = server_of(&[], serve).await;
        let target = url(address, "/moved");
        let outcome = soon(discard(&client(&trust), &target, |_, _| {})).await;
        let bytes = outcome.map(|outcome| (outcome.bytes, outcome.redirects)).ok();
        assert_eq!(bytes, (!breaks).then_some((4, 1)), "{protocol}");
        assert_eq!(connections.load(Relaxed), 2, "{protocol}");
    }
}
