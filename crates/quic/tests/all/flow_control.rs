//! Credit between two endpoints on a wire of 20 ms each way and no end of capacity: what is
//! announced, and what a peer can make a receiver hold.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_quic::noq_proto::{EndpointConfig, ServerConfig};
use bentpipe_quic::tls::{self, Client, Identity, Randomness};
use bentpipe_quic::{
    Accept, Clock, Conn, ConnectionConfig, Endpoint, EpochClock, FlowControlReport,
    FlowControlRule, QuicSettings, RawStream, Task,
};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Ratio, Span, Time};
use bytes::BytesMut;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

const CLIENT: ([u8; 4], u16) = ([192, 0, 2, 1], 40_000);
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 2], 443);
const DELAY: Span = Span::from_millis(20);
/// What a server sends on a stream before it ends it: more than any test lets through.
const PIECES: usize = 50_000;
const PIECE: [u8; 1000] = [7; 1000];

/// A client that reads what it is permitted to, and a server that writes as much as it can.
struct Pair {
    client: Endpoint,
    server: Endpoint,
    wire: Vec<(Time, bool, Vec<u8>)>,
    now: Time,
    conn: Conn,
    report: FlowControlReport,
    /// Bytes that the server's stack took.
    written: Arc<AtomicU64>,
    reader: Arc<Reader>,
}

#[derive(Default)]
struct Reader {
    permitted: AtomicU64,
    taken: AtomicU64,
    waker: Mutex<Vec<Waker>>,
}

impl Reader {
    fn permit(&self, pieces: u64) {
        self.permitted.fetch_add(pieces, Ordering::Relaxed);
        self.waker.lock().unwrap().drain(..).for_each(Waker::wake);
    }

    async fn read(self: Arc<Self>, conn: Conn) {
        let Ok(mut stream) = RawStream::open(&conn).await else { return };
        stream.write_all(b"?").await.unwrap();
        stream.finish().unwrap();
        loop {
            poll_fn(|cx| {
                if self.permitted.load(Ordering::Relaxed) > 0 {
                    return Poll::Ready(());
                }
                self.waker.lock().unwrap().push(cx.waker().clone());
                Poll::Pending
            })
            .await;
            let Ok(Some(data)) = stream.read().await else { return };
            self.permitted.fetch_sub(1, Ordering::Relaxed);
            self.taken.fetch_add(data.len() as u64, Ordering::Relaxed);
        }
    }
}

async fn answer(conn: Conn, written: Arc<AtomicU64>) {
    while let Ok(mut stream) = RawStream::accept(&conn).await {
        let written = written.clone();
        conn.spawn(async move {
            for _ in 0..PIECES {
                if stream.write_all(&PIECE).await.is_err() {
                    return;
                }
                written.fetch_add(PIECE.len() as u64, Ordering::Relaxed);
            }
        });
    }
}

fn pair(window: u64, rule: FlowControlRule, streams: usize) -> Pair {
    let (clock, epoch) = (Clock::new(), EpochClock::new(1_767_225_600));
    let identity = Identity::self_signed("server.test", [1; 32]).unwrap();
    let client_tls =
        Client::new(&identity, tls::ALPN_RAW, Randomness::System, epoch.clone()).unwrap();
    let server_tls =
        tls::server(&identity, tls::ALPN_RAW, Randomness::System, epoch, None).unwrap();
    let window = Bytes::new(window);
    let settings = QuicSettings {
        connection_window: window,
        stream_window: rule.max_window,
        flow_control: rule,
        ..QuicSettings::default()
    };
    let config = ConnectionConfig::new(settings, clock).unwrap();
    let server_config = Arc::new(ServerConfig::with_crypto(Arc::new(server_tls)));
    let (base, accepts) = (server_config.clone(), config.clone());
    let written = Arc::<AtomicU64>::default();
    let count = written.clone();
    let acceptor = Box::new(move |_: SocketAddr| {
        let count = count.clone();
        let app = Box::new(|conn: Conn| Box::pin(answer(conn, count)) as Task);
        let (config, attachments) = accepts.clone().server(&base);
        Some(Accept { config, attachments, app })
    });
    let segments = NonZeroUsize::new(4).unwrap();
    let mut client = Endpoint::new(EndpointConfig::default(), clock, None, segments);
    let server =
        Endpoint::new(EndpointConfig::default(), clock, Some((server_config, acceptor)), segments);
    let report = FlowControlReport::new(window, Some(SeriesLimit::DEFAULT));
    let (client_config, attachments) = config
        .with_flow_control_reports(Some(report.clone()), None)
        .client(Arc::new(client_tls.quic(false).unwrap()));
    let reader = Arc::<Reader>::default();
    let app = {
        let reader = reader.clone();
        move |conn: Conn| {
            for _ in 1..streams {
                conn.spawn(reader.clone().read(conn.clone()));
            }
            Box::pin(reader.read(conn)) as Task
        }
    };
    let conn = client
        .connect(Time::ZERO, client_config, SERVER.into(), "server.test", attachments, app)
        .unwrap();
    Pair { client, server, wire: Vec::new(), now: Time::ZERO, conn, report, written, reader }
}

impl Pair {
    fn send(&mut self) {
        for (endpoint, to_server) in [(&mut self.client, true), (&mut self.server, false)] {
            let mut buffer = Vec::new();
            while let Some(transmit) = endpoint.poll_transmit(self.now, &mut buffer) {
                for segment in buffer.chunks(transmit.segment_size) {
                    self.wire.push((self.now + DELAY, to_server, segment.to_vec()));
                }
                buffer.clear();
            }
        }
    }

    fn run(&mut self, limit: Time) {
        self.client.wake(self.now);
        self.send();
        loop {
            let arrival = self.wire.iter().map(|(time, ..)| *time).min();
            let timeout =
                self.client.next_timeout().into_iter().chain(self.server.next_timeout()).min();
            let Some(next) = arrival.into_iter().chain(timeout).min().filter(|&next| next <= limit)
            else {
                break;
            };
            self.now = self.now.max(next);
            let now = self.now;
            let (due, rest): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.wire).into_iter().partition(|(at, ..)| *at <= now);
            self.wire = rest;
            for (_, to_server, data) in due {
                let data = BytesMut::from(&data[..]);
                let (endpoint, source) =
                    if to_server { (&mut self.server, CLIENT) } else { (&mut self.client, SERVER) };
                endpoint.handle_datagram(now, source.into(), None, data);
            }
            self.client.handle_timeout(now);
            self.server.handle_timeout(now);
            self.send();
        }
        self.now = limit;
    }

    /// What the peer's stack took and the application has not: in flight, in the stack, and held.
    fn ahead(&self) -> u64 {
        self.written
            .load(Ordering::Relaxed)
            .saturating_sub(self.reader.taken.load(Ordering::Relaxed))
    }
}

fn fixed(after: f64, every: Option<Span>) -> FlowControlRule {
    FlowControlRule {
        update_fraction: Ratio::new(after).unwrap(),
        update_interval: every,
        ..FlowControlRule::default()
    }
}

#[test]
fn updates_say_no_more_than_the_window_and_leave_at_their_share_and_the_stack_adds_none() {
    let mut pair = pair(200_000, fixed(0.5, None), 1);
    pair.reader.permit(u64::MAX / 2);
    pair.run(Time::from_secs(1));
    let sent = pair.conn.stats().frame_tx.max_data;
    let series = pair.report.take_series().unwrap();
    assert!(sent > 10 && sent == series.announced.iter().count() as u64, "{sent} frames");
    let mut last = 200_000.0;
    for ((_, limit), (_, consumed)) in series.announced.iter().zip(series.consumed.iter()) {
        // Decided before the last of a burst was read, at most.
        assert!(
            limit <= consumed + 200_000.0 && limit >= consumed + 150_000.0,
            "{limit} with {consumed} consumed"
        );
        assert!(limit - last >= 100_000.0, "{limit} after {last}");
        last = limit;
    }
}

#[test]
fn updates_that_only_wait_for_time_keep_it() {
    let every = Span::from_millis(100);
    let mut pair = pair(200_000, fixed(1.0, Some(every)), 1);
    pair.reader.permit(u64::MAX / 2);
    pair.run(Time::from_secs(3));
    let announced: Vec<_> = pair.report.take_series().unwrap().announced.iter().collect();
    assert!(announced.len() > 20, "{} updates", announced.len());
    for pair in announced.windows(2) {
        // A whole window that was consumed leaves before its time; here that takes a round trip of
        // 40 ms.
        let (gap, grown) = (pair[1].0.since(pair[0].0), pair[1].1 - pair[0].1);
        assert!(gap >= every || grown >= 199_990.0, "{grown} bytes after {gap}");
    }
}

#[test]
fn an_application_that_reads_slowly_holds_no_more_than_its_window() {
    let most = 1_000_000;
    for rule in [
        fixed(0.25, None),
        FlowControlRule { max_window: Bytes::new(most), ..FlowControlRule::tuned() },
    ] {
        let window = if rule.tuned { most } else { 100_000 };
        let mut pair = pair(100_000, rule, 1);
        for tenth in 0..100 {
            pair.reader.permit(1);
            pair.run(Time::from_millis(100 * tenth));
            assert!(pair.ahead() <= window, "{} bytes ahead of the reader", pair.ahead());
        }
        let figures = pair.report.stats();
        // Once all is used up, the stack announces the eight bytes by itself that it is left with
        // between updates.
        assert!(
            figures.max_window.get() <= window + 8 && figures.max_held.get() <= window,
            "{figures:?}"
        );
        assert!(pair.reader.taken.load(Ordering::Relaxed) > 0);
    }
}

#[test]
fn many_streams_that_nobody_reads_share_one_window() {
    let most = 1_000_000;
    let mut pair = pair(
        100_000,
        FlowControlRule { max_window: Bytes::new(most), ..FlowControlRule::tuned() },
        50,
    );
    pair.run(Time::from_secs(20));
    assert!(pair.ahead() <= most && pair.conn.closed().is_none(), "{}", pair.ahead());
    pair.reader.permit(u64::MAX / 2);
    pair.run(Time::from_secs(21));
    assert!(pair.reader.taken.load(Ordering::Relaxed) > 2 * most, "it goes on when they are read");
}

#[test]
fn a_tuned_window_grows_with_what_arrives() {
    let mut pair = pair(64_000, FlowControlRule::tuned(), 1);
    pair.reader.permit(u64::MAX / 2);
    pair.run(Time::from_secs(1));
    let figures = pair.report.stats();
    assert!(
        figures.max_window.get() > 1_000_000
            && figures.max_window <= FlowControlRule::tuned().max_window,
        "{figures:?}"
    );
}
