//! Time limits of headers and responses, and the number of requests, over HTTP/3.

use super::TestServer;
use super::frames::{DATA, HEADERS, UNKNOWN, data, frame, get};
use super::kit::until;
use super::peer::{Peer, SOON, control};
use super::relay::Relay;
use bentpipe_net::serve::Limits;
use bentpipe_units::Span;
use noq::VarInt;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

const EXCESSIVE_LOAD: u64 = 0x107;
const REQUEST_CANCELLED: u32 = 0x10c;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_that_does_not_arrive_in_time_ends_the_connection() {
    let site =
        TestServer::limited(Limits { header_time: Span::from_millis(400), ..Limits::default() })
            .await;
    let whole = get("/hello.txt");
    let cut = &whole[..whole.len() - 1];
    for (count, start) in [&[HEADERS][..], &frame(HEADERS, 100), cut].into_iter().enumerate() {
        let peer = Peer::connect(&site.server, &site.trust).await;
        let begun = Instant::now();
        let _streams = peer.ask(start).await;
        assert_eq!(peer.closed().await, EXCESSIVE_LOAD, "{start:?}");
        assert!(begun.elapsed() >= Duration::from_millis(400), "{:?}", begun.elapsed());
        // The default limit is 10 s.
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
        assert_eq!(site.server.metrics().slow.load(Relaxed), count as u64 + 1);
    }

    // Other frames do not extend the time.
    let peer = Peer::connect(&site.server, &site.trust).await;
    let (mut send, _recv) = peer.ask(&[]).await;
    let filler = async {
        while send.write_all(&[&frame(UNKNOWN, 1)[..], b"x"].concat()).await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, filler).await.expect("frames before the header keep the connection open");
    assert_eq!(peer.closed().await, EXCESSIVE_LOAD);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_beyond_the_limit_wait_for_a_stream() {
    let site = TestServer::limited(Limits { requests: 2, ..Limits::default() }).await;
    std::fs::File::create(site.path().join("big")).unwrap().set_len(300_000_000).unwrap();
    let peer = Peer::connect(&site.server, &site.trust).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let (mut send, mut recv) = peer.ask(&get("/big")).await;
        send.finish().unwrap();
        recv.read_chunk(1000).await.unwrap();
        held.push(recv);
    }
    let third = timeout(Duration::from_millis(400), peer.connection.open_bi()).await;
    assert!(third.is_err(), "a third request may be sent");
    held[0].stop(VarInt::from_u32(REQUEST_CANCELLED)).unwrap();
    let (mut send, mut recv) = peer.ask(&get("/hello.txt")).await;
    send.finish().unwrap();
    let answer = timeout(SOON, recv.read_to_end(10_000)).await.unwrap().unwrap();
    assert_eq!(data(&answer), b"hello");
    peer.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_that_is_not_acknowledged_in_time_ends_the_connection() {
    let site =
        TestServer::limited(Limits { stall_time: Span::from_millis(100), ..Limits::default() })
            .await;
    let relay = Relay::new(Some(site.server.address()), Duration::ZERO).await;
    let peer = Peer::at(relay.address, &site.trust, &control()).await;
    let (mut send, mut recv) = peer.ask(&get("/hello.txt")).await;
    send.finish().unwrap();
    let answer = timeout(SOON, recv.read_to_end(10_000)).await.unwrap().unwrap();
    assert_eq!(data(&answer), b"hello", "frames of type {DATA}");
    let begun = Instant::now();
    relay.muted.store(true, Relaxed);
    let (mut send, _recv) = peer.ask(&get("/hello.txt")).await;
    send.finish().unwrap();
    let metrics = site.server.metrics();
    until("the response is given up", || metrics.slow.load(Relaxed) == 1).await;
    // Once for each 256 kB of the send buffer, which begins with 4 MB.
    let elapsed = begun.elapsed();
    assert!(elapsed >= Duration::from_millis(100), "{elapsed:?}");
    until("the connection ends", || site.server.connections() == 0).await;
    // It was complete when it was sent.
    assert_eq!(metrics.broken.load(Relaxed), 0);
}
