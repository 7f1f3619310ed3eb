//! The client of measurements.

use super::transfer::{Bounds, read_message, read_to, receive, rest, send, sent, used};
use super::wire::{Answer, Message, Ping, bins};
use super::{ALPN, connection};
use crate::clock::RealClock;
use crate::driver::Driver;
use crate::pep::{EXIT_NAME, Secret};
use bentpipe_quic::{Conn, RawStream, Task};
use bentpipe_units::{Bytes, Span, Time};
use bytes::{Bytes as Piece, BytesMut};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, sleep_until, timeout};

/// Interval of pings.
pub const PING_INTERVAL: Span = Span::from_millis(10);
/// Time for the answers to the last pings.
const LAST_ANSWERS: Span = Span::from_secs(2);
/// Window, in pings, whose loss ends a measurement, and the loss: 5 % in 5 s.
const LOSS_WINDOW: usize = 500;
const MAX_LOST: usize = 25;
/// Pause between transfers, in which queues drain.
const PAUSE: Span = Span::from_secs(2);
/// Rest of the granted time in which nothing begins: the server ends the connection with it, and
/// the last answers and the report of an upload have to arrive before.
const RESERVE: Span = Span::from_secs(8);
/// Shortest time of a measurement: a second of pings and of each transfer, as its best second is
/// the rate, what is between them, and the reserve at the end.
pub const SHORTEST: Span = Span::from_secs(15);
/// Time limit of a handshake.
const HANDSHAKE_TIME: Span = Span::from_secs(15);

/// Returns when transfers may begin, for the pings so far: after an instant of a path that
/// reconfigures. `None` for at once.
pub type Start = Box<dyn FnOnce(&[Sample]) -> Option<Time> + Send>;

/// What to measure.
pub struct Measurement {
    /// The server.
    pub server: SocketAddr,
    /// Its token.
    pub token: Secret,
    /// Most bytes of UDP payload, in both directions together.
    pub bytes: Bytes,
    /// Longest time: [`SHORTEST`] or more.
    pub time: Span,
    /// Time of the pings: shorter if both transfers would not have theirs.
    pub pings: Span,
    /// Longest time of each transfer, and its most bytes.
    pub transfer: (Span, Bytes),
    /// When transfers begin.
    pub start: Start,
}

impl std::fmt::Debug for Measurement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measurement").field("server", &self.server).finish_non_exhaustive()
    }
}

/// What a measurement is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The server has granted bytes and time, of which the last is for pings.
    Granted(Bytes, Span, Span),
    /// It waits for the beginning of a transfer.
    Waiting(Span),
    /// The download has begun.
    Download,
    /// The upload has begun.
    Upload,
}

/// The fate of a ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Time at which it was sent.
    pub sent: Time,
    /// Delays in nanoseconds, up and down, on two clocks: only their sum and their changes mean
    /// something. `None` if it was lost.
    pub delays: Option<(i64, i64)>,
    /// If it was lost: true if the server had received it, so that its answer was lost; `None` if
    /// nobody knows.
    pub arrived: Option<bool>,
}

impl Sample {
    /// Returns the RTT without the server's time.
    pub fn rtt(&self) -> Option<Span> {
        let (up, down) = self.delays?;
        u64::try_from(up + down).ok().map(Span::from_nanos)
    }
}

/// A transfer: bytes of IP packets in each 100 ms at the receiver, and the longest smoothed RTT of
/// the client meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The bins.
    pub bins: Vec<u64>,
    /// Longest smoothed RTT.
    pub rtt: Option<Span>,
}

/// What was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The pings, in order.
    pub samples: Vec<Sample>,
    /// The download and the upload.
    pub transfers: [Loaded; 2],
    /// Bytes of UDP payload that were used, in both directions together, as this end counts them.
    pub used: Bytes,
    /// Time from the beginning of the connection to its end.
    pub took: Span,
    /// Why it ended before all transfers were measured, if it did.
    pub ended: Option<String>,
}

/// What was measured so far: it outlives the connection.
type Parts = Arc<Mutex<Outcome>>;

fn change<T>(parts: &Parts, change: impl FnOnce(&mut Outcome) -> T) -> T {
    change(&mut parts.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Measurement {
    /// Measures. `progress` gets what it is doing. If it ends early, the outcome is what was
    /// measured before.
    ///
    /// # Errors
    /// Why it could not be done, as text with a remedy.
    pub async fn run(
        self,
        clock: &RealClock,
        progress: mpsc::Sender<Progress>,
    ) -> Result<Outcome, String> {
        let server = self.server;
        let driver = Driver::for_client(server, clock).map_err(|error| error.to_string())?;
        let tls = self.token.client(ALPN).map_err(|error| error.to_string())?;
        let config = connection(clock.base())?.with_acknowledger();
        let (config, attachments) = config.client(Arc::new(tls));
        let (done, ended) = oneshot::channel();
        let (begin, begun) = oneshot::channel::<()>();
        let own = clock.clone();
        let parts = Parts::default();
        let measured = parts.clone();
        let app = move |conn: Conn| {
            Box::pin(async move {
                if begun.await.is_ok() {
                    let time = self.time;
                    // Whatever the server does or leaves out.
                    let ended =
                        timeout(time.into(), measure(&conn, self, &own, &progress, &measured))
                            .await
                            .unwrap_or_else(|_| Err(format!("it did not end within {time}")));
                    conn.close(0, b"");
                    // The caller may be gone.
                    let _ = done.send(ended);
                }
            }) as Task
        };
        let name = EXIT_NAME.to_owned();
        let (conn, started) = driver.connect(config, server, name, attachments, app).await?;
        let refused = |reason: String| {
            let hint = if reason.contains("certificate") || reason.contains("cryptographic") {
                "; the token is another one: both ends need the same file"
            } else {
                ""
            };
            format!("{server} does not measure: {reason}{hint}")
        };
        driver.handshake(&conn, HANDSHAKE_TIME).await.map_err(refused)?;
        let _ = begin.send(());
        let ended = match ended.await {
            Ok(result) => result.err(),
            Err(_) => Some("the connection ended".to_owned()),
        };
        let took = clock.now().since(started);
        let closed = conn.closed().map(|error| error.to_string());
        driver.close_all(0).await;
        let mut outcome =
            std::mem::take(&mut *parts.lock().unwrap_or_else(PoisonError::into_inner));
        match (ended, closed) {
            // The connection knows better why a stream has ended.
            (Some(_), Some(closed)) if closed.contains("certificate") => Err(refused(closed)),
            (Some(reason), _) if outcome.samples.is_empty() => Err(reason),
            (ended, _) => {
                outcome.used = Bytes::new(used(&conn));
                outcome.took = took;
                outcome.ended = ended;
                Ok(outcome)
            }
        }
    }
}

async fn measure(
    conn: &Conn,
    plan: Measurement,
    clock: &RealClock,
    progress: &mpsc::Sender<Progress>,
    parts: &Parts,
) -> Result<(), String> {
    let began = clock.now();
    let (bytes, time) = begin(conn, plan.bytes, plan.time).await?;
    let end = began + time.saturating_sub(RESERVE);
    let pings = ping_time(end.since(clock.now()), plan.pings, plan.transfer.0);
    // The caller may not want to know.
    let _ = progress.send(Progress::Granted(Bytes::new(bytes), time, pings)).await;
    ping(conn, clock, clock.now() + pings, parts).await?;
    let samples = change(parts, |outcome| outcome.samples.clone());
    let now = clock.now();
    let both = plan.transfer.0 * 2 + PAUSE;
    if let Some(at) = (plan.start)(&samples).filter(|at| *at > now && *at + both <= end) {
        let _ = progress.send(Progress::Waiting(at.since(now))).await;
        sleep_until(clock.instant(at).into()).await;
    }
    for (index, step) in [Progress::Download, Progress::Upload].into_iter().enumerate() {
        if index > 0 {
            sleep(PAUSE.into()).await;
        }
        if clock.now() >= end {
            break;
        }
        let rest = rest(bytes, conn);
        // The first leaves half of the rest for the second.
        let share = if index == 0 { rest / 2 } else { rest };
        let left = end.since(clock.now());
        let time = if index == 0 { left.saturating_sub(PAUSE) / 2 } else { left };
        let bounds = Bounds {
            bytes: plan.transfer.1.get().min(share),
            end: clock.now() + plan.transfer.0.min(time),
        };
        let _ = progress.send(step).await;
        let loaded = transfer(conn, clock, bounds, step).await?;
        change(parts, |outcome| outcome.transfers[index] = loaded);
    }
    Ok(())
}

/// Returns the time of the pings if there are `left` for all: what was asked for, or less so that
/// two transfers have their time, too, or a third if that would leave nothing.
fn ping_time(left: Span, pings: Span, transfer: Span) -> Span {
    let left = left.saturating_sub(LAST_ANSWERS + PAUSE);
    pings.min(left.saturating_sub(transfer * 2).max(left / 3))
}

/// Asks for bytes and time. Returns what was granted.
async fn begin(conn: &Conn, bytes: Bytes, time: Span) -> Result<(u64, Span), String> {
    let mut stream = RawStream::open(conn).await?;
    let asked = bytes.get();
    let asking = Message::Begin { time, bytes: asked };
    stream.write_all(&asking.encode()).await?;
    match read_message(&mut stream).await? {
        (Message::Granted { time: granted, bytes }, _) => {
            // The server's bounds hold; less than asked for is possible, more is not.
            let granted = granted.min(time);
            if granted < SHORTEST {
                return Err(format!(
                    "the time granted is {granted}; allowed: {SHORTEST} or more, for pings, a \
                     download, an upload and {RESERVE} of reserve (`--measure-time` of the server)"
                ));
            }
            Ok((bytes.min(asked), granted))
        }
        (Message::Later { time: wait }, _) => Err(format!(
            "the server measures with others or has measured with this network lately; allowed: \
             again in {wait}"
        )),
        (other, _) => Err(format!("the server answered with {other:?}")),
    }
}

/// Sends a ping at each interval until `end`, and collects the answers.
async fn ping(conn: &Conn, clock: &RealClock, end: Time, parts: &Parts) -> Result<(), String> {
    let mut number = 0;
    let mut due = clock.now();
    let last = end + LAST_ANSWERS;
    loop {
        let next = if due < end { due } else { last };
        tokio::select! {
            datagram = poll_fn(|cx| conn.poll_datagram(cx)) => {
                let datagram = datagram.map_err(|error| error.to_string())?;
                if let Ok(answer) = Answer::decode(&datagram) {
                    let now = clock.now();
                    change(parts, |outcome| take(&mut outcome.samples, answer, now));
                }
            }
            () = sleep_until(clock.instant(next).into()) => {
                if due >= end {
                    return Ok(());
                }
                let sent = clock.now();
                let ping = Ping { number, sent: sent.as_nanos() };
                conn.send_datagram(Piece::copy_from_slice(&ping.encode()))?;
                number += 1;
                due += PING_INTERVAL;
                change(parts, |Outcome { samples, .. }| {
                    samples.push(Sample { sent, delays: None, arrived: None });
                    bearable(samples)
                })?;
            }
        }
    }
}

/// Takes an answer: its ping's delays, and what the server has seen of those before.
fn take(samples: &mut [Sample], answer: Answer, now: Time) {
    let number = answer.ping.number as usize;
    let signed = |nanos: u64| i64::try_from(nanos).unwrap_or(i64::MAX);
    let Some(sample) = samples.get_mut(number) else { return };
    // What the server says of the time is not trusted, but for its own clock.
    let sent = sample.sent.as_nanos();
    if answer.ping.sent != sent || answer.answered < answer.received {
        return;
    }
    let up = signed(answer.received).saturating_sub(signed(sent));
    let down = signed(now.as_nanos()).saturating_sub(signed(answer.answered));
    sample.delays = sample.delays.or(Some((up, down)));
    for back in 1..=64.min(number) {
        let before = &mut samples[number - back];
        let arrived = answer.arrived >> (back - 1) & 1 == 1;
        if before.delays.is_none() {
            before.arrived = Some(arrived || before.arrived == Some(true));
        }
    }
}

/// Returns an error if the path loses more than a measurement may add to.
fn bearable(samples: &[Sample]) -> Result<(), String> {
    // Those of the last two seconds may still be answered.
    let settled = samples.len().saturating_sub(200);
    let window = &samples[settled.saturating_sub(LOSS_WINDOW)..settled];
    let lost = window.iter().filter(|sample| sample.delays.is_none()).count();
    if window.len() == LOSS_WINDOW && lost > MAX_LOST {
        return Err(format!(
            "the path lost {lost} of {LOSS_WINDOW} pings in 5 s: stopped, as more load would harm \
             others; allowed: 5 %"
        ));
    }
    Ok(())
}

/// Downloads or uploads within `bounds`, and watches the RTT.
async fn transfer(
    conn: &Conn,
    clock: &RealClock,
    bounds: Bounds,
    step: Progress,
) -> Result<Loaded, String> {
    let mut rtt = None;
    let watch = async {
        while conn.closed().is_none() {
            sleep(super::BIN.into()).await;
            rtt = rtt.max(conn.smoothed_rtt());
        }
    };
    let bins = tokio::select! {
        bins = transferred(conn, clock, bounds, step) => bins,
        () = watch => Err("the connection ended in a transfer".to_owned()),
    };
    bins.map(|bins| Loaded { bins, rtt })
}

/// Downloads or uploads within `bounds`. Returns what arrived at the other end.
async fn transferred(
    conn: &Conn,
    clock: &RealClock,
    bounds: Bounds,
    step: Progress,
) -> Result<Vec<u64>, String> {
    let (time, bytes) = (bounds.end.since(clock.now()), bounds.bytes);
    let mut stream = RawStream::open(conn).await?;
    if step == Progress::Download {
        stream.write_all(&Message::Download { time, bytes }.encode()).await?;
        return Ok(receive(conn, &mut stream, bounds, clock).await);
    }
    stream.write_all(&Message::Upload { time, bytes }.encode()).await?;
    let (Message::Granted { bytes: granted, .. }, _) = read_message(&mut stream).await? else {
        return Err("the server does not take the upload".to_owned());
    };
    let bounds = Bounds { bytes: bytes.min(granted), ..bounds };
    // At the end of the time the server stops the stream, and reports.
    send(&mut stream, bounds, clock).await;
    let bins = report(&mut stream).await?;
    let sent = sent(conn);
    let arrived = bins.iter().try_fold(0, |sum: u64, bin| sum.checked_add(*bin));
    // Networks may deliver a packet twice.
    if arrived.is_none_or(|bytes| bytes > 2 * sent) {
        return Err(format!(
            "the server reports more than the {} that were sent",
            Bytes::new(sent)
        ));
    }
    Ok(bins)
}

/// Reads what the server received.
async fn report(stream: &mut RawStream) -> Result<Vec<u64>, String> {
    let (message, rest) = read_message(stream).await?;
    let Message::Bins { count } = message else {
        return Err(format!("the server answered with {message:?}"));
    };
    // `Message::decode` bounds the count.
    let length = usize::try_from(count).unwrap_or_default() * 8;
    let mut bytes = BytesMut::from(&rest[..]);
    read_to(stream, &mut bytes, length).await?;
    Ok(bins(&bytes[..length]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_say_in_which_direction_a_probe_was_lost() {
        let sample =
            |millis| Sample { sent: Time::from_millis(millis), delays: None, arrived: None };
        let mut samples: Vec<Sample> = (0..4).map(|number| sample(10 * number)).collect();
        let sent = samples[3].sent.as_nanos();
        let ping = Ping { number: 3, sent };
        // The second and the first of the three before it have arrived.
        let answer = Answer { ping, received: 7, answered: 9, arrived: 0b110 };
        take(&mut samples, answer, Time::from_nanos(sent + 100));
        assert_eq!(samples[3].rtt(), Some(Span::from_nanos(98)));
        let arrived: Vec<_> = samples.iter().map(|sample| sample.arrived).collect();
        assert_eq!(arrived, [Some(true), Some(true), Some(false), None]);
        let forged = Answer { ping: Ping { number: 2, sent: 1 }, ..answer };
        take(&mut samples, forged, Time::from_nanos(sent + 100));
        assert_eq!(samples[2].delays, None);
        take(&mut samples, Answer { ping: Ping { number: 9, sent }, ..answer }, Time::ZERO);
    }

    #[test]
    fn pings_leave_time_for_both_transfers() {
        let secs = Span::from_secs;
        for (left, pings) in [(172, 62), (92, 62), (90, 62), (52, 24), (30, 8), (7, 1)] {
            let found = ping_time(secs(left), secs(62), secs(12));
            assert_eq!(found.as_secs_f64().floor() as u64, pings, "{left} s");
        }
        assert_eq!(SHORTEST, secs(3) + LAST_ANSWERS + PAUSE + RESERVE);
    }

    #[test]
    fn loss_above_5_percent_ends_a_measurement() {
        let sample = |lost: bool| Sample {
            sent: Time::ZERO,
            delays: (!lost).then_some((1, 1)),
            arrived: None,
        };
        let with = |every: usize| -> Vec<Sample> {
            (0..LOSS_WINDOW + 200).map(|number| sample(number % every == 0)).collect()
        };
        assert_eq!(bearable(&with(20)), Ok(()));
        assert!(bearable(&with(10)).is_err_and(|reason| reason.contains("50 of 500")));
        assert_eq!(bearable(&with(10)[..600]), Ok(()), "too early to tell");
    }
}
