//! Peers that violate HTTP/3. Their frames are written byte by byte over a QUIC stack without HTTP.

use super::frames::{
    DATA, GOAWAY, HEADERS, SETTINGS, UNKNOWN, data, field, frame, get, headers, request,
};
use super::kit::listener;
use super::peer::{Peer, SOON};
use super::proxy::Proxied;
use super::{TestServer, content};
use bentpipe_net::Trust;
use bentpipe_net::get::{Client, Download, download};
use bentpipe_net::proxy::Upstream;
use bentpipe_quic::noq_proto::crypto::rustls::QuicServerConfig;
use bentpipe_quic::tls::ALPN_H3;
use bentpipe_units::Span;
use http::HeaderMap;
use noq::{Endpoint, ReadError, ReadToEndError, ServerConfig, TransportConfig, VarInt};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Error codes (RFC 9114 §8.1).
const FRAME_ERROR: u64 = 0x106;
const EXCESSIVE_LOAD: u64 = 0x107;
const MESSAGE_ERROR: u64 = 0x10e;
const REQUEST_CANCELLED: u32 = 0x10c;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborted_downloads_return_their_streams_and_do_not_delay_a_stop() {
    let site = TestServer::new().await;
    let whole = site.file("large.bin", 4_000_000);
    let peer = Peer::connect(&site.server, &site.trust).await;
    for _ in 0..250 {
        let (mut send, mut recv) = peer.ask(&get("/large.bin")).await;
        send.finish().unwrap();
        recv.read_chunk(1000).await.unwrap();
        recv.stop(VarInt::from_u32(REQUEST_CANCELLED)).unwrap();
    }
    let (mut send, mut recv) = peer.ask(&get("/large.bin")).await;
    send.finish().unwrap();
    let answer = timeout(SOON, recv.read_to_end(8_000_000)).await.unwrap().unwrap();
    assert!(data(&answer) == whole, "{} bytes", answer.len());
    // No request is left, so the server closes the connection.
    let TestServer { server, directory, .. } = site;
    let cut = timeout(SOON, server.stop(Span::from_secs(60)))
        .await
        .expect("the stop waits for aborted downloads");
    assert_eq!(cut, 0);
    drop((peer, directory));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_that_a_client_drops_are_cancelled_at_the_server() {
    let site = TestServer::new().await;
    site.file("large.bin", 4_000_000);
    let client = site.client();
    for _ in 0..250 {
        let response =
            timeout(SOON, site.get(&client, "/large.bin")).await.expect("no more streams").unwrap();
        drop(response);
    }
    let response = site.get(&client, "/hello.txt").await.unwrap();
    assert_eq!(content(response).await.unwrap(), b"hello");
    client.disconnect().await;
}

/// Starts a web server whose responses never end. Returns its address and the number of connections
/// that its clients closed.
async fn endless() -> (SocketAddr, Arc<std::sync::atomic::AtomicUsize>) {
    let (listener, address) = listener().await;
    let gone = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = gone.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let counted = counted.clone();
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                let no_response = stream
                    .read(&mut buffer)
                    .await
                    .is_ok_and(|read| buffer[..read].starts_with(b"GET /silent"));
                if !no_response {
                    let head =
                        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
                    stream.write_all(head).await.unwrap();
                }
                // No further request arrives, so this waits for the end of the connection.
                let _ = stream.read(&mut buffer).await;
                counted.fetch_add(1, Relaxed);
            });
        }
    });
    (address, gone)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_a_client_cancels_are_cancelled_upstream() {
    let (address, gone) = endless().await;
    let proxied = Proxied::of(address, |upstream: Upstream| upstream).await;
    let peer = Peer::connect(&proxied.server, &proxied.trust).await;
    for (count, path) in [(1, "/silent"), (2, "/endless")] {
        let (mut send, mut recv) = peer.ask(&get(path)).await;
        send.finish().unwrap();
        if path == "/endless" {
            recv.read_chunk(1000).await.unwrap();
        } else {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        recv.stop(VarInt::from_u32(REQUEST_CANCELLED)).unwrap();
        let cancelled = async {
            while gone.load(Relaxed) < count {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, cancelled)
            .await
            .unwrap_or_else(|_| panic!("{path} continues at the upstream"));
    }
    peer.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_cancelled_before_they_are_answered_return_their_streams() {
    let site = TestServer::new().await;
    let peer = Peer::connect(&site.server, &site.trust).await;
    for _ in 0..250 {
        let (mut send, mut recv) = peer.ask(&get("/hello.txt")).await;
        recv.stop(VarInt::from_u32(REQUEST_CANCELLED)).unwrap();
        // The server has dropped the request before the end of its stream arrives.
        tokio::time::sleep(Duration::from_millis(2)).await;
        let _ = send.reset(VarInt::from_u32(REQUEST_CANCELLED));
    }
    peer.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frame_that_declares_too_much_ends_the_connection_at_once() {
    let site = TestServer::new().await;
    let peer = Peer::connect(&site.server, &site.trust).await;
    let _streams = peer.ask(&frame(HEADERS, 1 << 28)).await;
    assert_eq!(peer.closed().await, EXCESSIVE_LOAD);

    let mut peer = Peer::connect(&site.server, &site.trust).await;
    peer.control.write_all(&frame(SETTINGS, 1 << 28)).await.unwrap();
    assert_eq!(peer.closed().await, EXCESSIVE_LOAD);

    let mut peer = Peer::connect(&site.server, &site.trust).await;
    peer.control.write_all(&frame(GOAWAY, 1 << 28)).await.unwrap();
    assert_eq!(peer.closed().await, FRAME_ERROR);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_frames_of_any_length_are_skipped() {
    let site = TestServer::new().await;
    let mut peer = Peer::connect(&site.server, &site.trust).await;
    let filler = vec![0; 1 << 20];
    peer.control.write_all(&frame(UNKNOWN, 1 << 24)).await.unwrap();
    let (mut send, mut recv) = peer.ask(&frame(UNKNOWN, 1 << 24)).await;
    for _ in 0..1 << 4 {
        // The connection's window is 128 kB, so this ends only if skipped bytes are consumed.
        timeout(SOON, peer.control.write_all(&filler))
            .await
            .expect("the window stays closed")
            .unwrap();
        timeout(SOON, send.write_all(&filler)).await.expect("the window stays closed").unwrap();
    }
    send.write_all(&get("/hello.txt")).await.unwrap();
    send.finish().unwrap();
    let answer = timeout(SOON, recv.read_to_end(10_000)).await.unwrap().unwrap();
    assert!(answer.windows(5).any(|text| text == b"hello"), "{answer:?}");
    peer.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_that_arrive_interleaved_do_not_wait_for_each_other() {
    let site = TestServer::new().await;
    let peer = Peer::connect(&site.server, &site.trust).await;
    // 100 headers of 4 kB without their last bytes: three times the connection's window.
    let request = request(17, "/hello.txt", &field(5, &[b'c'; 4000]));
    let mut streams = Vec::new();
    for _ in 0..100 {
        streams.push(
            timeout(SOON, peer.ask(&request[..request.len() - 1]))
                .await
                .expect("the window stays closed"),
        );
    }
    for (send, recv) in &mut streams {
        timeout(SOON, send.write_all(&request[request.len() - 1..]))
            .await
            .expect("the window stays closed")
            .unwrap();
        send.finish().unwrap();
        let answer = timeout(SOON, recv.read_to_end(10_000)).await.unwrap().unwrap();
        assert!(answer.windows(5).any(|text| text == b"hello"), "{answer:?}");
    }
    peer.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_beyond_the_limit_gets_a_complete_response() {
    let site = TestServer::new().await;
    let peer = Peer::connect(&site.server, &site.trust).await;
    let (mut send, mut recv) =
        peer.ask(&request(17, "/hello.txt", &field(5, &[b'c'; 20_000]))).await;
    send.finish().unwrap();
    let answer =
        timeout(SOON, recv.read_to_end(10_000)).await.expect("the response does not end").unwrap();
    // `:status` is entry 24 of the static table. "431" follows in the Huffman code (RFC 7541,
    // appendix B).
    assert_eq!(answer, [HEADERS, 8, 0, 0, 0x5f, 9, 0x83, 0x69, 0x90, 0xff]);
    peer.leave().await;
}

/// Starts a web server that reports whether each chunked upload was complete.
async fn collector() -> (SocketAddr, tokio::sync::mpsc::Receiver<bool>) {
    let (listener, address) = listener().await;
    let (seen, taken) = tokio::sync::mpsc::channel(16);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut all = Vec::new();
            let mut buffer = [0; 4096];
            let whole = loop {
                match stream.read(&mut buffer).await {
                    Ok(0) | Err(_) => break false,
                    Ok(read) => all.extend_from_slice(&buffer[..read]),
                }
                // The last chunk (RFC 9112 §7.1).
                if all.ends_with(b"\r\n0\r\n\r\n") {
                    break true;
                }
            };
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .await;
            let _ = seen.send(whole).await;
        }
    });
    (address, taken)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_that_ends_inside_a_frame_is_not_forwarded_as_complete() {
    let (address, mut taken) = collector().await;
    let proxied = Proxied::of(address, |upstream: Upstream| upstream).await;
    let post = request(20, "/", &[]);

    let peer = Peer::connect(&proxied.server, &proxied.trust).await;
    let (mut send, mut recv) =
        peer.ask(&[post.clone(), frame(DATA, 40_000), vec![7; 40_000]].concat()).await;
    send.finish().unwrap();
    timeout(SOON, recv.read_to_end(1000)).await.unwrap().unwrap();
    assert_eq!(taken.recv().await, Some(true), "a complete one is");
    peer.leave().await;

    let peer = Peer::connect(&proxied.server, &proxied.trust).await;
    let (mut send, _recv) =
        peer.ask(&[post.clone(), frame(DATA, 100_000), vec![7; 40_000]].concat()).await;
    // The proxy has started to forward it.
    tokio::time::sleep(Duration::from_millis(200)).await;
    send.finish().unwrap();
    assert_eq!(peer.closed().await, FRAME_ERROR);
    assert_eq!(timeout(SOON, taken.recv()).await.expect("the upload continues"), Some(false));

    let peer = Peer::connect(&proxied.server, &proxied.trust).await;
    let (mut send, _recv) = peer.ask(&[post, frame(DATA, 100_000), vec![7; 40_000]].concat()).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    send.reset(VarInt::from_u32(REQUEST_CANCELLED)).unwrap();
    assert_eq!(
        timeout(SOON, taken.recv()).await.expect("the upload continues"),
        Some(false),
        "nor one that is reset"
    );
    peer.leave().await;
}

/// What a server does after its answer.
#[derive(Debug, Clone, Copy)]
enum Then {
    /// Ends the stream.
    Finish,
    /// Sends no more content, but keeps the connection alive.
    Stall,
}

/// Starts a server that sends `answer` to each request. Returns its address and the trust in it.
async fn responding(answer: Vec<u8>, then: Then) -> (SocketAddr, Trust) {
    let certificate = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let der = certificate.cert.der().clone();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![der.clone()], key.into())
        .unwrap();
    tls.alpn_protocols = vec![ALPN_H3.to_vec()];
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    let mut transport = TransportConfig::default();
    transport.keep_alive_interval(Some(Duration::from_millis(200)));
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::server(config, ([127, 0, 0, 1], 0).into()).unwrap();
    let address = endpoint.local_addr().unwrap();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let connection = incoming.await.unwrap();
                let mut control = connection.open_uni().await.unwrap();
                control.write_all(&[&[0x00][..], &frame(SETTINGS, 0)].concat()).await.unwrap();
                while let Ok((mut send, _recv)) = connection.accept_bi().await {
                    // A client may close the connection after an error.
                    let _ = send.write_all(&answer).await;
                    // The end arrives after the client has processed all before it.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    match then {
                        Then::Finish => _ = send.finish(),
                        // The stream would end if it was dropped.
                        Then::Stall => std::mem::forget(send),
                    }
                }
            });
        }
    });
    (address, Trust::Only(vec![der]))
}

/// Returns `:status 200`, without a length.
fn status_200() -> Vec<u8> {
    headers(&[0xc0 | 25])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_incomplete_response_is_an_error() {
    let truncated = [status_200(), frame(DATA, 1000), vec![7; 400]].concat();
    let cut_header = [status_200(), vec![DATA, 0x80]].concat();
    let endless_header = [frame(HEADERS, 1 << 29), vec![0; 100_000]].concat();
    for (name, answer) in
        [("truncated", truncated), ("in a header", cut_header), ("too long", endless_header)]
    {
        let (address, trust) = responding(answer, Then::Finish).await;
        let client =
            Client::builder().trust(trust).handshake_time(Span::from_secs(5)).build().unwrap();
        let site = tempfile::tempdir().unwrap();
        let what = Download {
            url: format!("https://{address}/f").parse().unwrap(),
            file: site.path().join("f"),
        };
        let outcome = timeout(SOON, download(&client, &what, |_, _| ())).await.expect(name);
        assert!(outcome.is_err(), "{name}: {outcome:?}");
        assert!(!what.file.exists(), "{name}");
        client.disconnect().await;
    }
    let (address, trust) =
        responding([status_200(), frame(DATA, 5), b"whole".to_vec()].concat(), Then::Finish).await;
    let client = Client::builder().trust(trust).build().unwrap();
    let url = format!("https://{address}/f").parse().unwrap();
    let response = client.get(&url, &HeaderMap::new()).await.unwrap();
    assert_eq!(content(response).await.unwrap(), b"whole");
    client.disconnect().await;
}

/// Downloads from a server that sends `answer`. Returns the content, or the error text.
async fn fetched(answer: Vec<u8>, then: Then) -> Result<Vec<u8>, String> {
    let (address, trust) = responding(answer, then).await;
    let limit = Span::from_millis(700);
    let client = Client::builder().trust(trust).stall_time(limit).build().unwrap();
    let url = format!("https://{address}/f").parse().unwrap();
    let result = async {
        let response = client.get(&url, &HeaderMap::new()).await?;
        assert_eq!(response.head.status(), 200);
        content(response).await
    };
    let result = timeout(SOON, result).await.expect("neither content nor an error");
    client.disconnect().await;
    result.map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interim_responses_are_skipped_up_to_a_number() {
    // `:status 103`, with a `link` field.
    let hints = headers(&[&[0xc0 | 24][..], &field(11, b"</style.css>")].concat());
    let whole = [status_200(), frame(DATA, 5), b"whole".to_vec()].concat();
    let few = [hints.repeat(3), whole.clone()].concat();
    assert_eq!(fetched(few, Then::Finish).await.unwrap(), b"whole");
    let error = fetched([hints.repeat(100), whole].concat(), Then::Finish).await.unwrap_err();
    assert!(error.contains("interim responses"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_that_stalls_is_an_error() {
    let half = [status_200(), frame(DATA, 1000), vec![7; 400]].concat();
    for answer in [half, Vec::new(), status_200()] {
        let error = fetched(answer, Then::Stall).await.unwrap_err();
        assert!(error.contains("nothing arrived for 700 ms"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_header_of_a_response_is_bounded() {
    let large = headers(&[&[0xc0 | 25][..], &field(6, &vec![b'a'; 70_000])].concat());
    let error = fetched(large, Then::Finish).await.unwrap_err();
    assert!(error.to_lowercase().contains("header"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pseudo_fields_come_once_and_first() {
    let site = TestServer::new().await;
    // Entry 1 of the static table is `:path`, entry 5 is `cookie`.
    let late = [field(5, b"a=b"), vec![0xc0 | 1]].concat();
    let twice = field(1, b"/other");
    // The length of a name in more bytes than it needs, as no encoder writes it.
    let padded = [&[0x27, 0x80, 0x80, 0x80, 0x80, 0x80, 0][..], b"x-other", &[1, b'v']].concat();
    let behind = [padded, field(1, b"/other")].concat();
    for more in [late, twice, behind] {
        let peer = Peer::connect(&site.server, &site.trust).await;
        let _streams = peer.ask(&request(17, "/hello.txt", &more)).await;
        assert_eq!(peer.closed().await, MESSAGE_ERROR);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_with_fields_for_one_connection_are_reset() {
    let site = TestServer::new().await;
    let peer = Peer::connect(&site.server, &site.trust).await;
    // Names as literals (RFC 9204 §4.5.6).
    let connection = [&[0x27, 3][..], b"connection", &[5], b"close"].concat();
    let te = [&[0x22][..], b"te", &[4], b"gzip"].concat();
    for field in [connection, te] {
        let (mut send, mut recv) = peer.ask(&request(17, "/hello.txt", &field)).await;
        send.finish().unwrap();
        match timeout(SOON, recv.read_to_end(10_000)).await.unwrap() {
            Err(ReadToEndError::Read(ReadError::Reset(code))) => {
                assert_eq!(code.into_inner(), MESSAGE_ERROR);
            }
            other => panic!("{other:?}"),
        }
    }
    let trailers = [&[0x22][..], b"te", &[8], b"trailers"].concat();
    let (mut send, mut recv) = peer.ask(&request(17, "/hello.txt", &trailers)).await;
    send.finish().unwrap();
    let answer = timeout(SOON, recv.read_to_end(10_000)).await.unwrap().unwrap();
    assert_eq!(data(&answer), b"hello");
    assert_eq!(site.server.metrics().malformed.load(Relaxed), 2);
    peer.leave().await;
}
