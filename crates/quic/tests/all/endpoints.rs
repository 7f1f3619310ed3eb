//! Two endpoints on a wire: a delay, and nothing else.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_quic::noq_proto::crypto::rustls::QuicClientConfig;
use bentpipe_quic::noq_proto::{ClientConfig, ConnectionError, EndpointConfig, ServerConfig};
use bentpipe_quic::tls::{self, Client, Identity, Randomness};
use bentpipe_quic::{
    Accept, Admission, Attachments, Clock, Conn, ConnectionConfig, ConnectionSignals, Endpoint,
    EpochClock, QuicSettings, RawStream, SenderMetrics, Task,
};
use bentpipe_units::{Bytes as Size, Span, Time};
use bytes::BytesMut;
use proptest::prelude::*;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

const CLIENT: ([u8; 4], u16) = ([192, 0, 2, 1], 40_000);
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 2], 443);
const DELAY: Span = Span::from_millis(20);

/// A client and a server that echoes every stream, and what is on the wire between them.
struct Pair {
    client: Endpoint,
    server: Endpoint,
    wire: Vec<(Time, bool, Vec<u8>)>,
    /// Whether the server's datagram of that number is lost.
    lost: fn(usize) -> bool,
    /// Datagrams of the server so far.
    sent: usize,
    /// Whether the client's datagram of that number is lost, and its datagrams so far.
    lost_by_client: fn(usize) -> bool,
    sent_by_client: usize,
    /// Tells the client's controller what the stack does not.
    signals: ConnectionSignals,
    /// Shortest wait for a timer of either end.
    shortest_wait: Span,
    now: Time,
}

fn pair(clock: Clock) -> (Pair, ClientConfig) {
    pair_with(clock, QuicSettings::default(), |conn| Box::pin(echo(conn)))
}

fn pair_with(clock: Clock, settings: QuicSettings, app: fn(Conn) -> Task) -> (Pair, ClientConfig) {
    let config = ConnectionConfig::new(settings, clock).unwrap();
    let epoch = EpochClock::new(1_767_225_600);
    let identity = Identity::self_signed("server.test", [1; 32]).unwrap();
    let client_tls =
        Client::new(&identity, tls::ALPN_RAW, Randomness::System, epoch.clone()).unwrap();
    let server_tls =
        tls::server(&identity, tls::ALPN_RAW, Randomness::System, epoch, None).unwrap();
    let server_config = Arc::new(ServerConfig::with_crypto(Arc::new(server_tls)));
    let (client_config, attachments) =
        config.clone().client(Arc::new(client_tls.quic(false).unwrap()));
    let base = server_config.clone();
    let acceptor = Box::new(move |_: SocketAddr| {
        let (config, attachments) = config.clone().server(&base);
        Some(Accept { config, attachments, app: Box::new(app) })
    });
    let segments = NonZeroUsize::new(4).unwrap();
    let pair = Pair {
        client: Endpoint::new(EndpointConfig::default(), clock, None, segments),
        server: Endpoint::new(
            EndpointConfig::default(),
            clock,
            Some((server_config, acceptor)),
            segments,
        ),
        wire: Vec::new(),
        lost: |_| false,
        sent: 0,
        lost_by_client: |_| false,
        sent_by_client: 0,
        signals: attachments.signals,
        shortest_wait: Span::MAX,
        now: Time::ZERO,
    };
    (pair, client_config)
}

async fn echo(conn: Conn) {
    while let Ok(mut stream) = RawStream::accept(&conn).await {
        while let Ok(Some(data)) = stream.read().await {
            if stream.write_all(&data).await.is_err() {
                return;
            }
        }
        let _ = stream.finish();
    }
}

impl Pair {
    fn send(&mut self) {
        for (endpoint, to_server) in [(&mut self.client, true), (&mut self.server, false)] {
            let mut buffer = Vec::new();
            while let Some(transmit) = endpoint.poll_transmit(self.now, &mut buffer) {
                for segment in buffer.chunks(transmit.segment_size) {
                    self.sent += usize::from(!to_server);
                    self.sent_by_client += usize::from(to_server);
                    if !to_server && (self.lost)(self.sent)
                        || to_server && (self.lost_by_client)(self.sent_by_client)
                    {
                        continue;
                    }
                    self.wire.push((self.now + DELAY, to_server, segment.to_vec()));
                }
                buffer.clear();
            }
            let wait = endpoint.next_timeout().map(|at| at.since(self.now));
            self.shortest_wait = wait.into_iter().fold(self.shortest_wait, Span::min);
        }
    }

    /// Runs until `limit` or until nothing is left to happen.
    fn run(&mut self, limit: Time) {
        self.send();
        loop {
            let arrival = self.wire.iter().map(|(time, ..)| *time).min();
            let timeout =
                self.client.next_timeout().into_iter().chain(self.server.next_timeout()).min();
            let Some(next) = arrival.into_iter().chain(timeout).min().filter(|&next| next <= limit)
            else {
                return;
            };
            self.now = self.now.max(next);
            let now = self.now;
            let (due, rest) =
                std::mem::take(&mut self.wire).into_iter().partition(|(time, ..)| *time <= now);
            self.wire = rest;
            let due: Vec<(Time, bool, Vec<u8>)> = due;
            for (_, to_server, data) in due {
                let data = BytesMut::from(&data[..]);
                if to_server {
                    self.server.handle_datagram(now, CLIENT.into(), None, data);
                } else {
                    self.client.handle_datagram(now, SERVER.into(), None, data);
                }
            }
            self.client.handle_timeout(now);
            self.server.handle_timeout(now);
            self.send();
        }
    }
}

fn ask(
    pair: &mut Pair,
    config: ClientConfig,
    question: Vec<u8>,
    metrics: Option<SenderMetrics>,
) -> (Conn, Arc<Mutex<Option<Vec<u8>>>>) {
    let answer = Arc::new(Mutex::new(None));
    let answered = answer.clone();
    let conn = pair
        .client
        .connect(
            pair.now,
            config,
            SERVER.into(),
            "server.test",
            Attachments { metrics, signals: pair.signals.clone(), ..Attachments::default() },
            move |conn| {
                Box::pin(async move {
                    let Ok(mut stream) = RawStream::open(&conn).await else { return };
                    stream.write_all(&question).await.unwrap();
                    stream.finish().unwrap();
                    let mut answer = Vec::new();
                    while let Ok(Some(data)) = stream.read().await {
                        answer.extend_from_slice(&data);
                    }
                    *answered.lock().unwrap() = Some(answer);
                })
            },
        )
        .unwrap();
    (conn, answer)
}

#[test]
fn a_question_comes_back_after_two_round_trips() {
    let (mut pair, config) = pair(Clock::new());
    let question: Vec<u8> = (0..5000u32).map(|index| index as u8).collect();
    let (conn, answer) = ask(&mut pair, config, question.clone(), None);
    pair.run(Time::from_millis(200));
    assert_eq!(answer.lock().unwrap().as_ref(), Some(&question));
    assert_eq!(conn.connected_at(), Some(Time::from_millis(40)));
}

/// Opens a stream as soon as it may, and writes to it.
async fn greet(conn: Conn) {
    let Ok(mut stream) = RawStream::open(&conn).await else { return };
    let _ = stream.write_all(b"welcome").await;
    let _ = stream.finish();
    let _ = conn.handshaken().await;
}

/// Opens a stream as soon as it may, and writes a megabyte to it.
async fn flood(conn: Conn) {
    let Ok(mut stream) = RawStream::open(&conn).await else { return };
    let _ = stream.write_all(&vec![7; 1_000_000]).await;
    let _ = stream.finish();
    conn.ended().await;
}

/// Returns the bytes that a client gets of a server that floods it, within a minute.
fn flooded(lost_by_client: fn(usize) -> bool, lost: fn(usize) -> bool) -> (usize, Pair) {
    flooded_with(QuicSettings::default(), lost_by_client, lost)
}

fn flooded_with(
    settings: QuicSettings,
    lost_by_client: fn(usize) -> bool,
    lost: fn(usize) -> bool,
) -> (usize, Pair) {
    let (mut pair, config) = pair_with(Clock::new(), settings, |conn| Box::pin(flood(conn)));
    (pair.lost_by_client, pair.lost) = (lost_by_client, lost);
    let received = Arc::new(Mutex::new(0));
    let counted = received.clone();
    let app = move |conn: Conn| -> Task {
        Box::pin(async move {
            let Ok(mut stream) = RawStream::accept(&conn).await else { return };
            while let Ok(Some(data)) = stream.read().await {
                *counted.lock().unwrap() += data.len();
            }
        })
    };
    let attached = Attachments::default();
    pair.client.connect(pair.now, config, SERVER.into(), "server.test", attached, app).unwrap();
    pair.run(Time::from_secs(20));
    let received = *received.lock().unwrap();
    (received, pair)
}

#[test]
fn a_lost_second_flight_of_the_client_does_not_stall_a_server_whose_window_is_full() {
    // All that acknowledges the server's first flight; what follows are probes with the rest of
    // the handshake.
    for lost in [|number| (2..=2).contains(&number), |number| (2..=4).contains(&number)] {
        let (received, _) = flooded(lost, |_| false);
        assert_eq!(received, 1_000_000);
    }
}

/// A client that sends 30 kB at once, of which the end of its handshake and the datagram `number`
/// are lost. Returns true if all of it has come back within a minute.
fn asked(number: usize) -> bool {
    static LOST: AtomicUsize = AtomicUsize::new(0);
    LOST.store(number, Ordering::Relaxed);
    let settings = QuicSettings { initial_window: 21, ..QuicSettings::default() };
    let (mut pair, config) = pair_with(Clock::new(), settings, |conn| Box::pin(echo(conn)));
    pair.lost_by_client = |sent| sent == 2 || sent == LOST.load(Ordering::Relaxed);
    let (_, answer) = ask(&mut pair, config, vec![7; 30_000], None);
    pair.run(Time::from_secs(60));
    let answer = answer.lock().unwrap();
    answer.as_ref().is_some_and(|answer| answer.len() == 30_000)
}

#[test]
fn a_client_that_loses_the_end_of_its_handshake_and_a_probe_for_it_does_not_stall() {
    for number in 3..40 {
        assert!(asked(number), "datagram {number} is lost, too");
    }
}

#[test]
fn data_that_arrives_before_its_keys_is_kept() {
    // The server's first datagram has its hello; data follows.
    let (received, kept) = flooded(|_| false, |number| number == 1);
    assert_eq!(received, 1_000_000);
    let (_, all) = flooded(|_| false, |_| false);
    // The first flight of data was not sent again.
    assert!(kept.sent < all.sent + 8, "{} and {} datagrams", kept.sent, all.sent);
}

#[test]
fn packets_that_are_paced_at_a_high_rate_leave_several_at_once() {
    // A window of 800 kB over 40 ms: a packet every 70 us.
    let settings = QuicSettings { initial_window: 550, ..QuicSettings::default() };
    let (received, pair) = flooded_with(settings, |_| false, |_| false);
    assert_eq!(received, 1_000_000);
    assert_eq!(pair.shortest_wait, Span::from_micros(100));
}

/// A client that offers so many protocols that its hello takes two packets, as those of browsers
/// do.
fn talkative(identity: &Identity) -> ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(identity.certificates[0].clone()).unwrap();
    let mut tls = rustls::ClientConfig::builder_with_provider(tls::provider(Randomness::System))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = (0..8).map(|protocol| vec![b'a' + protocol; 200]).collect();
    tls.alpn_protocols.push(tls::ALPN_RAW.to_vec());
    ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()))
}

#[test]
fn a_server_opens_streams_in_its_first_flight_though_the_hello_takes_two_packets() {
    let (mut pair, config) =
        pair_with(Clock::new(), QuicSettings::default(), |conn| Box::pin(greet(conn)));
    for (begin, config) in
        [(0, config), (1000, talkative(&Identity::self_signed("server.test", [1; 32]).unwrap()))]
    {
        let heard = Arc::new(Mutex::new(None));
        let hears = heard.clone();
        pair.now = Time::from_millis(begin);
        let app = move |conn| -> Task {
            Box::pin(async move {
                let mut stream = RawStream::accept(&conn).await.unwrap();
                *hears.lock().unwrap() = stream.read().await.unwrap();
            })
        };
        let attached = Attachments::default();
        let conn = pair
            .client
            .connect(pair.now, config, SERVER.into(), "server.test", attached, app)
            .unwrap();
        let mut until = pair.now;
        while conn.connected_at().is_none() && pair.now < Time::from_millis(begin + 500) {
            until += Span::from_millis(1);
            pair.run(until);
        }
        // What completes the handshake for the client is the server's first flight.
        assert!(conn.connected_at().is_some());
        assert_eq!(heard.lock().unwrap().as_deref(), Some(&b"welcome"[..]), "begun at {begin} ms");
        pair.run(Time::from_millis(begin + 900));
    }
}

#[test]
fn a_server_ignores_a_retry_which_nobody_has_authenticated() {
    let (mut pair, config) = pair(Clock::new());
    let (conn, answer) = ask(&mut pair, config, b"question".to_vec(), None);
    // The client's second flight is on the wire.
    pair.run(Time::ZERO + DELAY + DELAY);
    let forged: Vec<_> = pair
        .wire
        .iter()
        .filter(|(_, to_server, data)| *to_server && data[0] & 0x80 != 0)
        .map(|(time, _, data)| {
            let mut retry = data.clone();
            retry[0] |= 0x30;
            (*time, true, retry)
        })
        .collect();
    assert!(!forged.is_empty());
    pair.wire.splice(0..0, forged);
    pair.run(Time::ZERO + Span::from_secs(2));
    assert_eq!(conn.closed(), None);
    assert_eq!(answer.lock().unwrap().as_deref(), Some(&b"question"[..]));
}

#[test]
fn a_closed_connection_is_forgotten_by_both_ends() {
    let (mut pair, config) = pair(Clock::new());
    let (conn, _) = ask(&mut pair, config, vec![1], None);
    pair.run(Time::from_millis(200));
    conn.close(0, b"done");
    pair.client.wake(pair.now);
    pair.run(Time::from_secs(30));
    assert_eq!((pair.client.open_connections(), pair.server.open_connections()), (0, 0));
    assert_eq!(pair.client.next_timeout(), None);
}

#[test]
fn a_silent_server_ends_in_a_timeout_not_in_waiting() {
    let (mut pair, config) = pair(Clock::new());
    pair.server = Endpoint::new(EndpointConfig::default(), Clock::new(), None, NonZeroUsize::MIN);
    let (conn, answer) = ask(&mut pair, config, vec![1], None);
    pair.run(Time::from_secs(120));
    assert!(conn.closed().is_some());
    assert_eq!(*answer.lock().unwrap(), None);
}

/// Something outside that a task waits for.
#[derive(Default)]
struct Flag(Mutex<(bool, Option<Waker>)>);

impl Flag {
    fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let mut flag = self.0.lock().unwrap();
        flag.1 = Some(cx.waker().clone());
        if flag.0 { Poll::Ready(()) } else { Poll::Pending }
    }

    fn set(&self) {
        let mut flag = self.0.lock().unwrap();
        flag.0 = true;
        flag.1.take().unwrap().wake();
    }
}

/// What a driver is woken by, counted.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_task_that_waits_for_something_outside_wakes_the_driver_and_is_run_on() {
    let (mut pair, config) = pair(Clock::new());
    let wakes = Arc::new(Wakes::default());
    pair.client.set_waker(wakes.clone().into());
    let (conn, _) = ask(&mut pair, config, vec![1], None);
    pair.run(Time::from_millis(200));
    assert_eq!(wakes.0.load(Ordering::SeqCst), 0, "what happens inside needs nobody from outside");

    let flag = Arc::new(Flag::default());
    let woken = poll_fn({
        let flag = flag.clone();
        move |cx| flag.poll(cx)
    });
    let done = Arc::new(AtomicUsize::new(0));
    let seen = done.clone();
    conn.spawn(async move {
        woken.await;
        seen.store(1, Ordering::SeqCst);
    });
    pair.client.wake(pair.now);
    pair.client.run_woken(pair.now);
    assert_eq!((wakes.0.load(Ordering::SeqCst), done.load(Ordering::SeqCst)), (0, 0), "it waits");
    std::thread::spawn(move || flag.set()).join().unwrap();
    assert_eq!(
        (wakes.0.load(Ordering::SeqCst), done.load(Ordering::SeqCst)),
        (1, 0),
        "woken, and not run by itself"
    );
    pair.client.run_woken(pair.now);
    assert_eq!(done.load(Ordering::SeqCst), 1);
}

#[test]
fn a_reader_that_is_busy_elsewhere_while_packets_are_missing_still_gets_everything() {
    const BYTES: usize = 8_000_000;
    let window = Size::new(2 * BYTES as u64);
    let settings = QuicSettings {
        stream_window: window,
        connection_window: window,
        send_buffer: window,
        // All at once: thousands of packets before the first acknowledgement.
        initial_window: 10_000,
        pacing: false,
        ..QuicSettings::default()
    };
    let (mut pair, config) = pair_with(Clock::new(), settings, |conn| {
        Box::pin(async move {
            let Ok(mut stream) = RawStream::accept(&conn).await else { return };
            let _ = stream.write_all(&vec![7; BYTES]).await;
            let _ = stream.finish();
        })
    });
    pair.lost = |number| (100..5000).contains(&number) && number % 2 == 0;
    let (flag, answer) = (Arc::new(Flag::default()), Arc::new(Mutex::new(0)));
    let (gate, answered) = (flag.clone(), answer.clone());
    let app = move |conn: Conn| {
        Box::pin(async move {
            let Ok(mut stream) = RawStream::open(&conn).await else { return };
            stream.write_all(&[1]).await.unwrap();
            let mut bytes = stream.read().await.unwrap().unwrap().len();
            poll_fn(|cx| gate.poll(cx)).await;
            while let Ok(Some(data)) = stream.read().await {
                bytes += data.len();
            }
            *answered.lock().unwrap() = bytes;
        }) as Task
    };
    let conn = pair
        .client
        .connect(pair.now, config, SERVER.into(), "server.test", Attachments::default(), app)
        .unwrap();
    pair.run(Time::from_secs(5));
    assert_eq!((conn.closed(), *answer.lock().unwrap()), (None, 0));
    flag.set();
    pair.client.wake(pair.now);
    pair.run(Time::from_secs(10));
    assert_eq!((conn.closed(), *answer.lock().unwrap()), (None, BYTES));
}

#[test]
fn a_task_that_panics_ends_its_connection_and_no_other() {
    // Echoes streams, unless one begins with a zero.
    async fn fragile(conn: Conn) {
        while let Ok(mut stream) = RawStream::accept(&conn).await {
            while let Ok(Some(data)) = stream.read().await {
                assert!(data[0] != 0, "a zero");
                let _ = stream.write_all(&data).await;
            }
            let _ = stream.finish();
        }
    }
    let (mut pair, config) =
        pair_with(Clock::new(), QuicSettings::default(), |conn| Box::pin(fragile(conn)));
    let reported = Arc::new(Mutex::new(Vec::new()));
    let received = reported.clone();
    pair.server.set_panic_handler(Box::new(move |remote, message| {
        received.lock().unwrap().push((remote, message.to_owned()));
    }));
    let (bad, unanswered) = ask(&mut pair, config.clone(), vec![0; 10], None);
    let (_, answer) = ask(&mut pair, config, vec![1; 10], None);
    pair.run(Time::from_millis(500));
    assert_eq!(*answer.lock().unwrap(), Some(vec![1; 10]));
    assert_eq!(*unanswered.lock().unwrap(), Some(vec![]), "nothing came back");
    match bad.closed() {
        Some(ConnectionError::ApplicationClosed(close)) => {
            assert_eq!(close.error_code.into_inner(), 0x102)
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(*reported.lock().unwrap(), [(Some(CLIENT.into()), "a zero".to_owned())]);
}

#[test]
fn a_gatekeeper_has_addresses_shown_and_turns_connections_away() {
    for (admission, answered, connected_ms) in [
        (Admission::Admit, true, 40),
        (Admission::Retry, true, 80),
        (Admission::Refuse, false, 0),
        (Admission::Ignore, false, 0),
    ] {
        let (mut pair, config) = pair(Clock::new());
        pair.server.set_gatekeeper(Box::new(move |remote, validated| {
            assert_eq!(remote, CLIENT.into());
            if validated { Admission::Admit } else { admission }
        }));
        let (conn, answer) = ask(&mut pair, config, vec![7; 100], None);
        pair.run(Time::from_millis(400));
        assert_eq!(answer.lock().unwrap().is_some(), answered, "{admission:?}");
        assert_eq!(
            conn.connected_at(),
            answered.then(|| Time::from_millis(connected_ms)),
            "{admission:?}"
        );
        assert_eq!(pair.server.open_connections(), usize::from(answered), "{admission:?}");
        let refused = matches!(conn.closed(), Some(ConnectionError::ConnectionClosed(_)));
        assert_eq!(refused, admission == Admission::Refuse, "{:?}", conn.closed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_datagram_makes_an_endpoint_panic(
        datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..1500), 1..20),
    ) {
        let (mut pair, config) = pair(Clock::new());
        let (_, answer) = ask(&mut pair, config, vec![7; 100], None);
        for (index, datagram) in datagrams.into_iter().enumerate() {
            pair.run(Time::from_millis(5 * index as u64));
            let datagram = BytesMut::from(&datagram[..]);
            pair.server.handle_datagram(pair.now, CLIENT.into(), None, datagram.clone());
            pair.client.handle_datagram(pair.now, SERVER.into(), None, datagram);
        }
        pair.run(Time::from_secs(5));
        prop_assert_eq!(answer.lock().unwrap().clone(), Some(vec![7; 100]));
    }

    #[test]
    fn a_damaged_first_flight_is_ignored_and_repaired(position in 0usize..1200, bit in 0u8..8) {
        let (mut pair, config) = pair(Clock::new());
        let (_, answer) = ask(&mut pair, config, vec![7; 100], None);
        pair.send();
        for (_, _, datagram) in &mut pair.wire {
            let position = position % datagram.len();
            datagram[position] ^= 1 << bit;
        }
        pair.run(Time::from_secs(20));
        prop_assert_eq!(answer.lock().unwrap().clone(), Some(vec![7; 100]));
    }
}
