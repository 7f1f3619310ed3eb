//! Priorities (RFC 9218): which of two responses on a connection is sent first. The client's
//! connection window is small, so that it is the server that decides.

use super::TestServer;
use super::frames::{data, request};
use super::kit::listener;
use super::peer::{Peer, SOON, control};
use super::proxy::Proxied;
use bentpipe_net::Trust;
use bentpipe_net::serve::Server;
use noq::{RecvStream, TransportConfig, VarInt};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

/// Receive window of the client's connection, bytes.
const WINDOW: u32 = 128 * 1024;
/// Sizes of the response that is asked for first, and of the one that is asked for then, bytes.
const LARGE: usize = 8_000_000;
const SMALL: usize = 800_000;
const TRIES: usize = 5;

/// Error codes (RFC 9114 §8.1).
const FRAME_UNEXPECTED: u64 = 0x105;
const EXCESSIVE_LOAD: u64 = 0x107;
const ID_ERROR: u64 = 0x108;

/// Returns a `priority` field with a literal name (RFC 9204 §4.5.6).
fn priority(value: &str) -> Vec<u8> {
    let name: &[u8] = b"priority";
    [&[0x27, name.len() as u8 - 7][..], name, &[value.len() as u8], value.as_bytes()].concat()
}

/// Returns a frame of a type from RFC 9218 §7.2 for the request stream `id`.
fn update(kind: u32, id: u32, value: &[u8]) -> Vec<u8> {
    let id = (0x8000_0000 | id).to_be_bytes();
    let length = (id.len() + value.len()) as u8;
    [&(0x8000_0000 | kind).to_be_bytes()[..], &[length], &id, value].concat()
}

/// PRIORITY_UPDATE for a request.
const UPDATE: u32 = 0xf0700;

async fn connect(server: &Server, trust: &Trust) -> Peer {
    let mut transport = TransportConfig::default();
    transport.receive_window(VarInt::from_u32(WINDOW));
    Peer::configured(server.address(), trust, &control(), transport).await
}

/// Reads both responses. Returns how many bytes of the large one arrived from the first byte of the
/// small one to its last.
async fn beside(mut large: RecvStream, mut small: RecvStream) -> usize {
    let (begun, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let noted = (begun.clone(), ended.clone());
    let reading = tokio::spawn(async move {
        let mut bytes = 0;
        while let Ok(Some(chunk)) = small.read_chunk(usize::MAX).await {
            bytes += chunk.len();
            noted.0.store(true, Relaxed);
        }
        noted.1.store(true, Relaxed);
        bytes
    });
    let mut beside = 0;
    let mut piece = vec![0; 16 * 1024];
    while !ended.load(Relaxed) {
        if !begun.load(Relaxed) {
            // The large response shall not end before the small one begins.
            sleep(Duration::from_millis(5)).await;
        }
        let counts = begun.load(Relaxed);
        match timeout(Duration::from_millis(200), large.read(&mut piece)).await {
            Ok(Ok(Some(bytes))) if counts => beside += bytes,
            Ok(Ok(Some(_))) | Err(_) => {}
            other => panic!("{other:?} after {beside} bytes"),
        }
    }
    let whole = reading.await.unwrap();
    assert!(whole >= SMALL, "{whole} bytes");
    beside
}

/// Asks for both, with these fields, until they share the connection as `in_turn` says. On a busy
/// machine, a server that waits for the disk or for an upstream lets the large one through, and a
/// client that reads late holds it up: one of a few tries counts.
async fn assert_shared(server: &Server, trust: &Trust, fields: [&[u8]; 2], in_turn: bool) {
    let mut tries = Vec::new();
    for _ in 0..TRIES {
        let peer = connect(server, trust).await;
        let bytes = ask_for_both(&peer, fields).await;
        peer.leave().await;
        // What is on its way when the small one begins, and what the client had not read.
        if (bytes > 4 * WINDOW as usize) == in_turn {
            return;
        }
        tries.push(bytes);
    }
    panic!("{fields:?}: {tries:?} bytes beside {SMALL}");
}

/// Asks for both, and returns how much of the large one arrived with the small one.
async fn ask_for_both(peer: &Peer, fields: [&[u8]; 2]) -> usize {
    let (mut first, mut large) = peer.ask(&request(17, "/large.bin", fields[0])).await;
    // A proxy waits for the content of a request that may have some.
    first.finish().unwrap();
    timeout(SOON, large.read_exact(&mut [0; 1024])).await.unwrap().unwrap();
    let (mut second, small) = peer.ask(&request(17, "/small.bin", fields[1])).await;
    second.finish().unwrap();
    timeout(SOON, beside(large, small)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_urgent_response_precedes_a_large_one_that_was_asked_for_first() {
    let site = TestServer::new().await;
    site.file("large.bin", LARGE);
    site.file("small.bin", SMALL);
    let (low, high) = (priority("u=6"), priority("u=1"));
    let incremental = priority("u=3, i");
    for (fields, in_turn) in [
        // Without any, they share the connection.
        ([&[][..], &[]], true),
        ([&incremental, &incremental], true),
        ([&low, &high], false),
        // The default is 3.
        ([&[], &high], false),
        ([&low, &[]], false),
    ] {
        assert_shared(&site.server, &site.trust, fields, in_turn).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_priority_update_changes_what_the_request_said() {
    let site = TestServer::new().await;
    site.file("large.bin", LARGE);
    site.file("small.bin", SMALL);
    // The small one is the second request, on stream 4. Once the frame comes before it, and once
    // the large one, which is under way, is put behind.
    for frame in [update(UPDATE, 4, b"u=0"), update(UPDATE, 0, b"u=7")] {
        let mut tries = Vec::new();
        while tries.last().is_none_or(|bytes| *bytes > 4 * WINDOW as usize) {
            assert!(tries.len() < TRIES, "{frame:?}: {tries:?} bytes beside {SMALL}");
            let mut peer = connect(&site.server, &site.trust).await;
            let (_first, large) = peer.ask(&request(17, "/large.bin", &[])).await;
            peer.control.write_all(&frame).await.unwrap();
            let (_second, small) = peer.ask(&request(17, "/small.bin", &[])).await;
            tries.push(timeout(SOON, beside(large, small)).await.unwrap());
            peer.leave().await;
        }
    }
}

/// An upstream whose small response has a priority of its own.
async fn upstream() -> SocketAddr {
    let (listener, address) = listener().await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut request).await {
                    let large = request[..read].windows(6).any(|bytes| bytes == b"/large");
                    let (field, bytes) =
                        if large { ("", LARGE) } else { ("priority: u=0\r\n", SMALL) };
                    let head = format!("HTTP/1.1 200 OK\r\n{field}content-length: {bytes}\r\n\r\n");
                    let response = [head.as_bytes(), &vec![7; bytes]].concat();
                    if stream.write_all(&response).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_follows_the_client_and_the_response() {
    let proxied = Proxied::of(upstream().await, |upstream| upstream).await;
    let (low, high) = (priority("u=6"), priority("u=1"));
    for (fields, in_turn) in [
        ([&[][..], &[]], true),
        ([&low, &high], false),
        // The client has the large one first, and the response's own field precedes that.
        ([&high, &low], false),
    ] {
        assert_shared(&proxied.server, &proxied.trust, fields, in_turn).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_priorities_are_refused_or_bounded() {
    let site = TestServer::new().await;
    for (frame, code) in [
        (update(UPDATE, 3, b"u=1"), ID_ERROR),
        (update(UPDATE + 1, 0, b"u=1"), ID_ERROR),
        ([&(0x8000_0000 | UPDATE).to_be_bytes()[..], &[0x7f, 0xff]].concat(), EXCESSIVE_LOAD),
    ] {
        let bytes = [control(), frame].concat();
        let peer = Peer::with_control(&site.server, &site.trust, &bytes).await;
        assert_eq!(peer.closed().await, code);
    }
    let peer = Peer::connect(&site.server, &site.trust).await;
    let _stream = peer.ask(&update(UPDATE, 0, b"u=1")).await;
    assert_eq!(peer.closed().await, FRAME_UNEXPECTED);
    // Updates of requests that never come, and fields that say nothing.
    let mut peer = Peer::connect(&site.server, &site.trust).await;
    for index in 0..5000 {
        peer.control.write_all(&update(UPDATE, 4 * index, b"u=7")).await.unwrap();
    }
    for field in ["u=99999999999", "\"", "u=1,,,", &"i,".repeat(60)] {
        let (mut send, mut recv) = peer.ask(&request(17, "/hello.txt", &priority(field))).await;
        send.finish().unwrap();
        let answer = timeout(SOON, recv.read_to_end(10_000)).await.unwrap().unwrap();
        assert_eq!(data(&answer), b"hello", "{field}");
    }
    peer.leave().await;
}
