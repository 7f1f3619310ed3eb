//! Measurements: within their budget, only with the token, and of no use to reflect or amplify.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use bentpipe_net::RealClock;
use bentpipe_net::measure::{MeasureLimits, MeasureServer, Measurement, Outcome, Progress, Secret};
use bentpipe_units::{Bytes, Span};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

fn token() -> Secret {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    Secret::make(&file).unwrap();
    Secret::from_file(&file).unwrap()
}

fn server(token: &Secret, limits: MeasureLimits) -> MeasureServer {
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    MeasureServer::start(address, token, limits, &RealClock::new()).unwrap()
}

/// No pause between measurements.
fn limits() -> MeasureLimits {
    MeasureLimits { interval: Span::ZERO, ..MeasureLimits::default() }
}

async fn measure(server: SocketAddr, token: &Secret, bytes: Bytes) -> Result<Outcome, String> {
    measure_with(server, token, bytes, Span::from_secs(1)).await
}

/// Measures with `pings` for so long.
async fn measure_with(
    server: SocketAddr,
    token: &Secret,
    bytes: Bytes,
    pings: Span,
) -> Result<Outcome, String> {
    let (progress, _told) = mpsc::channel(8);
    plan(server, token, bytes, pings).run(&RealClock::new(), progress).await
}

fn plan(server: SocketAddr, token: &Secret, bytes: Bytes, pings: Span) -> Measurement {
    Measurement {
        server,
        token: token.clone(),
        bytes,
        time: Span::from_secs(60),
        pings,
        transfer: (Span::from_secs(2), Bytes::from_mb(4)),
        start: Box::new(|_| None),
    }
}

/// Passes datagrams between a client and a server, and counts their bytes.
struct Relay {
    address: SocketAddr,
    /// From the client, and to it.
    bytes: Arc<[AtomicU64; 2]>,
    first: Arc<Mutex<Vec<u8>>>,
}

/// Keeps the first datagram.
fn keep(kept: &Mutex<Vec<u8>>, datagram: &[u8]) {
    let mut kept = kept.lock().unwrap();
    if kept.is_empty() {
        *kept = datagram.to_vec();
    }
}

impl Relay {
    async fn start(server: SocketAddr) -> Self {
        Self::with(server, Ipv4Addr::LOCALHOST, usize::MAX, usize::MAX).await
    }

    /// Loses each eighth answer to a ping.
    async fn lossy(server: SocketAddr) -> Self {
        Self::with(server, Ipv4Addr::LOCALHOST, 8, usize::MAX).await
    }

    /// Passes nothing from the client once the server, which sees `address`, has answered what
    /// followed its Retry: a handshake that stays incomplete.
    async fn stuck(server: SocketAddr, address: Ipv4Addr) -> Self {
        Self::with(server, address, usize::MAX, 2).await
    }

    /// Loses each `each`th answer to a ping, and what the client sends after so many `replies`.
    async fn with(server: SocketAddr, address: Ipv4Addr, each: usize, replies: usize) -> Self {
        let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let far = UdpSocket::bind((address, 0)).await.unwrap();
        let address = near.local_addr().unwrap();
        let bytes: Arc<[AtomicU64; 2]> = Arc::default();
        let first: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (counted, kept) = (bytes.clone(), first.clone());
        tokio::spawn(async move {
            let (mut client, mut to, mut from) = (None, vec![0; 65_536], vec![0; 65_536]);
            let (mut answers, mut replied) = (0, 0);
            loop {
                tokio::select! {
                    Ok((length, remote)) = near.recv_from(&mut to) => {
                        client = Some(remote);
                        counted[0].fetch_add(length as u64, Relaxed);
                        keep(&kept, &to[..length]);
                        if replied < replies {
                            let _ = far.send_to(&to[..length], server).await;
                        }
                    }
                    Ok((length, _)) = far.recv_from(&mut from) => {
                        counted[1].fetch_add(length as u64, Relaxed);
                        replied += 1;
                        answers += usize::from((100..200).contains(&length));
                        let lost = (100..200).contains(&length) && answers % each == 0;
                        if let Some(client) = client.filter(|_| !lost) {
                            let _ = near.send_to(&from[..length], client).await;
                        }
                    }
                }
            }
        });
        Self { address, bytes, first }
    }

    fn counted(&self) -> [u64; 2] {
        [0, 1].map(|index: usize| self.bytes[index].load(Relaxed))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_measurement_has_pings_and_transfers_and_stays_below_its_budget() {
    let token = token();
    let server = server(&token, limits());
    let relay = Relay::start(server.address()).await;
    let budget = Bytes::from_mb(10);
    let outcome = measure(relay.address, &token, budget).await.unwrap();
    let answered = outcome.samples.iter().filter_map(|sample| sample.rtt()).count();
    assert!((80..=101).contains(&outcome.samples.len()), "{}", outcome.samples.len());
    assert!(answered * 10 >= outcome.samples.len() * 9, "{answered} of 100");
    for transfer in &outcome.transfers {
        let bytes: u64 = transfer.bins.iter().sum();
        assert!((1_000_000..5_000_000).contains(&bytes), "{bytes} in {:?}", transfer.bins);
    }
    let [up, down] = relay.counted();
    assert!(up + down <= budget.get(), "{up} and {down} bytes on the wire");
    assert!(outcome.used <= budget, "{}", outcome.used);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_token_a_client_gets_a_refusal_and_nothing_else() {
    let server = server(&token(), limits());
    let relay = Relay::start(server.address()).await;
    let reason = measure(relay.address, &token(), Bytes::from_mb(10)).await.unwrap_err();
    assert!(reason.contains("token"), "{reason}");
    let [up, down] = relay.counted();
    assert!(down < 2 * up && down < 10_000, "{up} bytes sent, {down} received");
    server.stop().await;
}

/// The last 8 s of what was granted are for what is under way.
#[tokio::test(flavor = "multi_thread")]
async fn a_time_that_is_too_short_is_refused_before_anything_is_sent() {
    let token = token();
    let limits = MeasureLimits { time: Span::from_secs(14), ..limits() };
    let server = server(&token, limits);
    let reason = measure(server.address(), &token, Bytes::from_mb(10)).await.unwrap_err();
    assert_eq!(
        reason,
        "the time granted is 14 s; allowed: 15 s or more, for pings, a download, an upload and 8 s \
         of reserve (`--measure-time` of the server)"
    );
    server.stop().await;
}

/// As many as may measure, each with a ClientHello and nothing more.
#[tokio::test(flavor = "multi_thread")]
async fn clients_without_the_token_do_not_keep_others_out() {
    let (none, token) = (token(), token());
    let server = server(&token, limits());
    let mut relays = Vec::new();
    for number in 0..16 {
        let address = Ipv4Addr::new(127, 0, 0, 2 + number / 4);
        let relay = Relay::stuck(server.address(), address).await;
        let (near, none) = (relay.address, none.clone());
        tokio::spawn(async move { measure(near, &none, Bytes::from_mb(1)).await });
        relays.push(relay);
    }
    // A Retry is shorter than a certificate.
    while relays.iter().any(|relay| relay.counted()[1] < 500) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let outcome = measure(server.address(), &token, Bytes::from_mb(2)).await.unwrap();
    assert_eq!(outcome.ended, None);
    server.stop().await;
}

/// What a forged address would get: less than was sent, as it is validated first.
#[tokio::test(flavor = "multi_thread")]
async fn the_server_amplifies_nothing() {
    let token = token();
    let server = server(&token, limits());
    let relay = Relay::start(server.address()).await;
    measure(relay.address, &token, Bytes::from_mb(10)).await.unwrap();
    let initial = relay.first.lock().unwrap().clone();
    assert!(initial.len() >= 1200, "the first datagram of a client: {} bytes", initial.len());
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (mut sent, mut received, mut buffer) = (0, 0, vec![0; 65_536]);
    for attempt in 0..50_u8 {
        let mut datagram = initial.clone();
        // Other connection IDs too: each could be another client.
        datagram[6] ^= if attempt % 2 == 0 { 0 } else { attempt };
        sent += socket.send_to(&datagram, server.address()).await.unwrap();
        let wait = Duration::from_millis(20);
        while let Ok(Ok((length, _))) =
            tokio::time::timeout(wait, socket.recv_from(&mut buffer)).await
        {
            received += length;
        }
    }
    assert!(received < sent / 4, "{sent} bytes sent, {received} received");
    // Bytes that are no QUIC get no answer.
    for _ in 0..50 {
        socket.send_to(&[0x40; 1400], server.address()).await.unwrap();
    }
    let none = tokio::time::timeout(Duration::from_millis(500), socket.recv_from(&mut buffer));
    let length = none.await.map_or(0, |received| received.unwrap().0);
    assert!(length < 1400, "{length} bytes for 1400");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_waits_for_its_turn() {
    let token = token();
    let server = server(&token, MeasureLimits::default());
    measure(server.address(), &token, Bytes::from_mb(2)).await.unwrap();
    let reason = measure(server.address(), &token, Bytes::from_mb(2)).await.unwrap_err();
    assert!(reason.contains("again in"), "{reason}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_keeps_its_own_bounds() {
    let token = token();
    let limits = MeasureLimits { bytes: Bytes::from_mb(1), ..limits() };
    let server = server(&token, limits);
    let relay = Relay::start(server.address()).await;
    let outcome = measure(relay.address, &token, Bytes::from_mb(100)).await.unwrap();
    let [up, down] = relay.counted();
    assert!(up + down <= 1_000_000, "{up} and {down} bytes, {}", outcome.used);
    assert_eq!(outcome.ended, None);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_measured_before_the_connection_ended_is_kept() {
    let token = token();
    let server = server(&token, limits());
    let plan = plan(server.address(), &token, Bytes::from_mb(10), Span::from_secs(1));
    let (progress, mut told) = mpsc::channel(8);
    let clock = RealClock::new();
    let stopped = async {
        // It ends in the download, or in the pause behind it.
        while told.recv().await != Some(Progress::Download) {}
        server.stop().await;
    };
    let (outcome, ()) = tokio::join!(plan.run(&clock, progress), stopped);
    let outcome = outcome.unwrap();
    assert!(outcome.samples.len() > 50, "{}", outcome.samples.len());
    assert!(outcome.transfers[1].bins.is_empty());
    let reason = outcome.ended.unwrap();
    assert!(reason.contains("closed") || reason.contains("ended"), "{reason}");
}

/// Pings end early so that both transfers have their time.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_grants_less_time_than_asked_for_still_measures() {
    let token = token();
    let limits = MeasureLimits { time: Span::from_secs(15), ..limits() };
    let server = server(&token, limits);
    let pings = Span::from_secs(30);
    let outcome = measure_with(server.address(), &token, Bytes::from_mb(10), pings).await.unwrap();
    assert!((50..=101).contains(&outcome.samples.len()), "{}", outcome.samples.len());
    assert!(outcome.transfers.iter().all(|transfer| !transfer.bins.is_empty()), "{outcome:?}");
    assert_eq!(outcome.ended, None);
    server.stop().await;
}

/// The pings say why there was no transfer.
#[tokio::test(flavor = "multi_thread")]
async fn pings_of_a_path_that_loses_too_many_are_kept() {
    let token = token();
    let server = server(&token, limits());
    let relay = Relay::lossy(server.address()).await;
    let pings = Span::from_secs(12);
    let outcome = measure_with(relay.address, &token, Bytes::from_mb(10), pings).await.unwrap();
    assert!((700..900).contains(&outcome.samples.len()), "{}", outcome.samples.len());
    let lost = outcome.samples.iter().filter(|sample| sample.delays.is_none()).count();
    assert!(lost > 50, "{lost}");
    let reason = outcome.ended.unwrap();
    assert!(reason.contains("of 500 pings in 5 s: stopped"), "{reason}");
    server.stop().await;
}
