//! The server of measurements.

use super::admission::{MeasureAdmission, MeasureGuard};
use super::transfer::{Bounds, MESSAGE_TIME, read_message, receive, rest, send, used};
use super::wire::{Answer, Message, Ping};
use super::{ALPN, connection};
use crate::admission::control::{
    AdmissionControl, ConnectionGuard, HandshakeLimits, SECRET_HANDSHAKE_TIME, SECRET_HANDSHAKES,
};
use crate::admission::quic::QuicGate;
use crate::clock::RealClock;
use crate::driver::Driver;
use crate::pep::Secret;
use crate::socket::Socket;
use bentpipe_quic::noq_proto::ServerConfig;
use bentpipe_quic::{Accept, Conn, RawStream, Task};
use bentpipe_units::{Bytes, Span, Time};
use bytes::Bytes as Piece;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, sleep_until, timeout};

/// Most pings that are answered in a second.
pub const MAX_ANSWERS: u32 = 250;
/// Connections at once of clients with the token: one measures, the others are told to wait.
const MAX_CONNECTIONS: usize = 16;
/// Connections of one client.
const MAX_PER_CLIENT: usize = 4;
/// Interval at which the bytes of a measurement are counted.
const CHECK: Span = Span::from_millis(20);
/// Time for the last message to arrive.
const LINGER: Span = Span::from_secs(5);
/// Code with which a measurement is closed that exceeds what it was granted.
const EXCEEDED: u64 = 1;

/// What a server grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasureLimits {
    /// Bytes of UDP payload of a measurement, in both directions together.
    pub bytes: Bytes,
    /// Time of a measurement.
    pub time: Span,
    /// Time after which a network may measure again.
    pub interval: Span,
}

impl Default for MeasureLimits {
    /// 100 MB and 3 min, every 10 min.
    fn default() -> Self {
        Self {
            bytes: Bytes::from_mb(100),
            time: Span::from_secs(180),
            interval: Span::from_secs(600),
        }
    }
}

/// A server that measures paths with clients that have its token. Once dropped, it ends with its
/// last connection.
#[derive(Debug)]
pub struct MeasureServer {
    address: SocketAddr,
    driver: Driver,
    task: JoinHandle<io::Result<()>>,
}

#[derive(Debug)]
struct Shared {
    limits: MeasureLimits,
    admission: MeasureAdmission,
    clock: RealClock,
}

impl MeasureServer {
    /// Listens on `address` over UDP. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The address is in use, or the system lacks something.
    pub fn start(
        address: SocketAddr,
        token: &Secret,
        limits: MeasureLimits,
        clock: &RealClock,
    ) -> io::Result<Self> {
        let admission = MeasureAdmission::new(limits.interval);
        let shared = Arc::new(Shared { limits, admission, clock: clock.clone() });
        Self::listen(address, token, clock, move |conn, remote, guard| {
            let shared = shared.clone();
            Box::pin(async move { serve(conn, &shared, remote, guard).await })
        })
    }

    /// Listens on `address`, and serves each connection with `app`.
    pub(super) fn listen(
        address: SocketAddr,
        token: &Secret,
        clock: &RealClock,
        app: impl Fn(Conn, SocketAddr, ConnectionGuard) -> Task + Clone + Send + 'static,
    ) -> io::Result<Self> {
        let socket = Socket::bind(address)?;
        let address = socket.local_addr()?;
        let tls = token.server(ALPN).map_err(io::Error::other)?;
        let config = Arc::new(ServerConfig::with_crypto(Arc::new(tls)));
        let control = AdmissionControl::behind_secret(MAX_CONNECTIONS, MAX_PER_CLIENT);
        // Every address is validated first: a forged one gets a Retry, which is shorter than what
        // caused it.
        let handshakes = HandshakeLimits { retry_from: 0, refuse_from: SECRET_HANDSHAKES };
        let gate = QuicGate::new(control, handshakes);
        let transport = connection(clock.base()).map_err(io::Error::other)?;
        let accepted = config.clone();
        let accept = move |remote: SocketAddr, guard: ConnectionGuard| {
            let (config, attachments) = transport.clone().server(&accepted);
            let app = app.clone();
            Accept { config, attachments, app: Box::new(move |conn| app(conn, remote, guard)) }
        };
        let at = (socket, clock.clone());
        let (driver, task) =
            Driver::for_server(config, gate, at, accept).map_err(io::Error::other)?;
        Ok(Self { address, driver, task })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all measurements at once.
    pub async fn stop(self) {
        self.driver.close_all(0).await;
        self.task.abort();
    }
}

/// Serves a connection.
async fn serve(conn: Conn, shared: &Shared, remote: SocketAddr, mut guard: ConnectionGuard) {
    let handshake = timeout(SECRET_HANDSHAKE_TIME.into(), conn.handshaken()).await;
    if !matches!(handshake, Ok(Ok(()))) {
        return conn.close(0, b"");
    }
    if guard.handshake_complete().is_err() {
        return conn.close(0, b"too many clients are connected; again in a minute");
    }
    let code = match timeout(MESSAGE_TIME.into(), RawStream::accept(&conn)).await {
        Ok(Ok(mut stream)) => match begin(&mut stream, shared, remote).await {
            Some((grant, _guard)) => measure(&conn, shared, grant).await,
            None => {
                // The refusal has to arrive.
                let _ = timeout(LINGER.into(), conn.ended()).await;
                0
            }
        },
        _ => 0,
    };
    conn.close(code, b"");
}

/// Answers what the client wants. Returns what was granted, until the guard is dropped; `None` if
/// nothing was.
async fn begin(
    stream: &mut RawStream,
    shared: &Shared,
    remote: SocketAddr,
) -> Option<(Bounds, MeasureGuard)> {
    let Ok((Message::Begin { time, bytes }, _)) = read_message(stream).await else { return None };
    let now = shared.clock.now();
    let (answer, granted) = match shared.admission.begin(remote.ip(), now) {
        Err(wait) => (Message::Later { time: wait }, None),
        Ok(guard) => {
            let time = time.min(shared.limits.time);
            let bytes = bytes.min(shared.limits.bytes.get());
            let end = now + time;
            (Message::Granted { time, bytes }, Some((Bounds { bytes, end }, guard)))
        }
    };
    // A client whose flow control admits no answer must not keep the others waiting.
    let answer = answer.encode();
    timeout(MESSAGE_TIME.into(), stream.write_all(&answer)).await.ok()?.ok()?;
    stream.finish().ok()?;
    granted
}

/// Measures within `grant`. Returns the code to close the connection with.
async fn measure(conn: &Conn, shared: &Shared, grant: Bounds) -> u64 {
    let exceeded = async {
        while used(conn) <= grant.bytes {
            sleep(CHECK.into()).await;
        }
    };
    tokio::select! {
        () = answers(conn, &shared.clock) => 0,
        () = transfers(conn, shared, grant) => 0,
        () = conn.ended() => 0,
        () = exceeded => EXCEEDED,
        () = sleep_until(shared.clock.instant(grant.end).into()) => EXCEEDED,
    }
}

/// Answers pings, each with one datagram of the same size, until the connection ends.
async fn answers(conn: &Conn, clock: &RealClock) {
    let (mut second, mut answered) = (Time::ZERO, 0);
    let mut arrivals = Arrivals::default();
    while let Ok(datagram) = poll_fn(|cx| conn.poll_datagram(cx)).await {
        let received = clock.now();
        let Ok(ping) = Ping::decode(&datagram) else { continue };
        let arrived = arrivals.add(ping.number);
        if received.since(second) >= Span::from_secs(1) {
            (second, answered) = (received, 0);
        }
        if answered >= MAX_ANSWERS {
            continue;
        }
        answered += 1;
        let answer = Answer {
            ping,
            received: received.as_nanos(),
            answered: clock.now().as_nanos(),
            arrived,
        };
        // One that cannot be sent counts as lost.
        let _ = conn.send_datagram(Piece::copy_from_slice(&answer.encode()));
    }
}

/// Which pings have arrived of the latest ones.
#[derive(Debug, Default)]
struct Arrivals {
    /// Highest number so far, and a bit for each of the 64 before it.
    highest: Option<u32>,
    before: u64,
}

impl Arrivals {
    /// Adds a ping. Returns which of the 64 before it have arrived.
    fn add(&mut self, number: u32) -> u64 {
        let Some(highest) = self.highest else {
            self.highest = Some(number);
            return 0;
        };
        if number > highest {
            let shift = number - highest;
            let shifted = self.before.checked_shl(shift).unwrap_or(0);
            self.before = shifted | 1u64.checked_shl(shift - 1).unwrap_or(0);
            self.highest = Some(number);
            return self.before;
        }
        let back = highest - number;
        if (1..=64).contains(&back) {
            self.before |= 1 << (back - 1);
        }
        self.before.checked_shr(back).unwrap_or(0)
    }
}

/// Serves transfers, one after the other.
async fn transfers(conn: &Conn, shared: &Shared, grant: Bounds) {
    let clock = &shared.clock;
    while let Ok(mut stream) = RawStream::accept(conn).await {
        // What a client does not know: bytes that were lost on the way to it.
        let left = rest(grant.bytes, conn);
        let bounds = |time: Span, bytes: u64| Bounds {
            bytes: bytes.min(left),
            end: (clock.now() + time).min(grant.end),
        };
        match read_message(&mut stream).await {
            Ok((Message::Download { time, bytes }, _)) => {
                if !send(&mut stream, bounds(time, bytes), clock).await {
                    stream.abandon(0);
                }
            }
            Ok((Message::Upload { time, bytes }, _)) => {
                let bounds = bounds(time, bytes);
                let granted = Message::Granted { time, bytes: bounds.bytes };
                if stream.write_all(&granted.encode()).await.is_err() {
                    return;
                }
                let bins = receive(conn, &mut stream, bounds, clock).await;
                let mut report = Message::Bins { count: bins.len() as u64 }.encode().to_vec();
                report.extend(bins.into_iter().flat_map(u64::to_be_bytes));
                if stream.write_all(&report).await.is_ok() {
                    let _ = stream.finish();
                }
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_which_pings_before_it_have_arrived() {
        let mut arrivals = Arrivals::default();
        let seen: Vec<u64> = [0, 1, 3, 2, 4].map(|number| arrivals.add(number)).to_vec();
        assert_eq!(seen, [0, 0b1, 0b110, 0b11, 0b1111]);
        assert_eq!(arrivals.add(104), 0, "too far to know");
        assert_eq!(arrivals.add(u32::MAX), 0);
        assert_eq!(arrivals.add(u32::MAX - 1), 0);
        assert_eq!(arrivals.add(0), 0);
    }
}
