//! Watching a sender from inside: counters and, where asked, series of all that its congestion controller is told and says.

use crate::controller::{Ack, Controller, Packet};
use bentpipe_units::{Bytes, Rate, Span, Time};
use hdrhistogram::Histogram;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counters and series of one sender. Clones share them.
#[derive(Clone)]
pub struct Probe {
    state: Arc<Mutex<Record>>,
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Probe")
    }
}

/// What a [`Probe`] has seen.
pub struct Record {
    /// Packets handed to the controller: all that count towards the congestion window.
    pub packets_sent: u64,
    /// Bytes of those packets (QUIC packets, without UDP and IP; payload of TCP segments).
    pub bytes_sent: u64,
    /// Packets declared lost.
    pub packets_declared_lost: u64,
    /// Loss or ECN events that the controller was told of.
    pub congestion_events: u64,
    /// Events found spurious later.
    pub spurious_events: u64,
    /// Round trips of the newest packet of each ACK, in nanoseconds.
    pub rtt: Histogram<u64>,
    /// Sum of those samples, for an exact mean.
    rtt_sum: u128,
    /// Smallest of those samples.
    rtt_min: u64,
    /// Time during which the sender had nothing left to send while its application was held up by flow control or
    /// the send buffer.
    pub window_blocked: Span,
    blocked_since: Option<Time>,
    smoothed_rtt: Span,
    /// Position, in bytes sent, of each packet by its place in the order of sending. Only filled while recording.
    positions: Vec<u64>,
    /// The series, where the probe records.
    pub series: Option<SenderSeries>,
}

/// Time series of a sender: points of (time, value).
#[derive(Debug, Default)]
pub struct SenderSeries {
    /// Each packet sent, at its position: the bytes sent up to and including it.
    pub sent: Vec<(Time, f64)>,
    /// Each ACK that arrived, at the position of the newest packet it acknowledged.
    pub acked: Vec<(Time, f64)>,
    /// Each packet declared lost, when it was, at its position.
    pub lost: Vec<(Time, f64)>,
    /// Congestion window, bytes.
    pub cwnd: Vec<(Time, f64)>,
    /// Slow-start threshold, bytes, once there is one.
    pub ssthresh: Vec<(Time, f64)>,
    /// Bytes in flight.
    pub bytes_in_flight: Vec<(Time, f64)>,
    /// Pacing rate, Mbps.
    pub pacing_rate: Vec<(Time, f64)>,
    /// Round trip of the newest packet of each ACK, ms.
    pub rtt: Vec<(Time, f64)>,
    /// Smoothed round trip (RFC 9002 §5.3), ms.
    pub smoothed_rtt: Vec<(Time, f64)>,
    /// What the controller was doing, from each point in time on.
    pub phases: Vec<(Time, &'static str)>,
}

impl Record {
    fn new(record_series: bool) -> Self {
        Self {
            packets_sent: 0,
            bytes_sent: 0,
            packets_declared_lost: 0,
            congestion_events: 0,
            spurious_events: 0,
            // 1 us to one hour at two significant digits: a few kilobytes, and an error below 1 %.
            rtt: Histogram::new_with_bounds(1_000, 3_600_000_000_000, 2)
                .unwrap_or_else(|error| unreachable!("fixed bounds are valid: {error}")),
            rtt_sum: 0,
            rtt_min: u64::MAX,
            window_blocked: Span::ZERO,
            blocked_since: None,
            smoothed_rtt: Span::ZERO,
            positions: Vec::new(),
            series: record_series.then(SenderSeries::default),
        }
    }

    /// Smallest round trip sampled.
    pub fn rtt_min(&self) -> Option<Span> {
        (!self.rtt.is_empty()).then(|| Span::from_nanos(self.rtt_min))
    }

    /// Mean of the round trips sampled, one sample an ACK.
    pub fn rtt_mean(&self) -> Option<Span> {
        let mean = self.rtt_sum.checked_div(u128::from(self.rtt.len()))?;
        Some(Span::from_nanos(mean as u64))
    }

    /// 99th percentile of the round trips sampled, to 1 %.
    pub fn rtt_p99(&self) -> Option<Span> {
        (!self.rtt.is_empty()).then(|| Span::from_nanos(self.rtt.value_at_quantile(0.99)))
    }

    /// Adds what another sender of the same transfer has counted; series stay as they are.
    pub fn absorb(&mut self, other: &Self) {
        self.packets_sent += other.packets_sent;
        self.bytes_sent += other.bytes_sent;
        self.packets_declared_lost += other.packets_declared_lost;
        self.congestion_events += other.congestion_events;
        self.spurious_events += other.spurious_events;
        // Bounds are the same everywhere, so that nothing can be out of them.
        let _ = self.rtt.add(&other.rtt);
        self.rtt_sum += other.rtt_sum;
        self.rtt_min = self.rtt_min.min(other.rtt_min);
        self.window_blocked += other.window_blocked;
    }

    /// A round trip was measured: of an acknowledgement's newest packet, or of an echo.
    pub fn sample(&mut self, now: Time, rtt: Span) {
        let nanos = rtt.as_nanos();
        self.rtt.saturating_record(nanos.max(1_000));
        self.rtt_sum += u128::from(nanos);
        self.rtt_min = self.rtt_min.min(nanos);
        if let Some(series) = &mut self.series {
            series.rtt.push((now, nanos as f64 / 1e6));
        }
    }

    fn position(&self, number: u64) -> f64 {
        self.positions.get(number as usize).copied().unwrap_or(self.bytes_sent) as f64
    }
}

impl Probe {
    /// A probe that counts and, where `record_series`, keeps every point.
    pub fn new(record_series: bool) -> Self {
        Self { state: Arc::new(Mutex::new(Record::new(record_series))) }
    }

    /// What was seen so far.
    pub fn record(&self) -> MutexGuard<'_, Record> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Told after each round of sending whether an application has more to write than its windows admit.
    pub fn writers_blocked(&self, blocked: bool, now: Time) {
        let mut record = self.record();
        match (blocked, record.blocked_since) {
            (true, None) => record.blocked_since = Some(now),
            (false, Some(_)) => record.blocked_since = None,
            _ => {}
        }
    }

    /// Told whenever it changes whether the peer's window, and nothing else, holds back data that waits.
    pub fn held_back(&self, blocked: bool, now: Time) {
        let mut record = self.record();
        if let Some(since) = record.blocked_since.take() {
            record.window_blocked += now.since(since);
        }
        record.blocked_since = blocked.then_some(now);
    }

    /// A packet was sent.
    pub fn sent(&self, now: Time, packet: &Packet) {
        let mut record = self.record();
        record.packets_sent += 1;
        record.bytes_sent += packet.bytes.get();
        let position = record.bytes_sent;
        if let Some(series) = &mut record.series {
            series.sent.push((now, position as f64));
            record.positions.push(position);
        }
    }

    /// Packets were acknowledged.
    pub fn acknowledged(&self, ack: &Ack<'_>) {
        let mut record = self.record();
        record.sample(ack.now, ack.rtt);
        record.smoothed_rtt = ack.smoothed_rtt;
        let position = record.position(ack.newest().number);
        if let Some(series) = &mut record.series {
            series.acked.push((ack.now, position));
            push_change(&mut series.smoothed_rtt, ack.now, ack.smoothed_rtt.as_millis_f64());
        }
    }

    /// All that an acknowledgement covers was told; `app_limited` says whether sending last ended for want of data.
    pub fn acknowledgement_ended(&self, now: Time, app_limited: bool) {
        let mut record = self.record();
        if let Some(since) = record.blocked_since {
            // That nothing was left to send was the windows' doing, not the application's: `blocked_since` says so.
            if app_limited {
                record.window_blocked += now.since(since);
            }
            record.blocked_since = Some(now);
        }
    }

    /// A packet was declared lost.
    pub fn lost(&self, now: Time, packet: &Packet) {
        let mut record = self.record();
        record.packets_declared_lost += 1;
        let position = record.position(packet.number);
        if let Some(series) = &mut record.series {
            series.lost.push((now, position));
        }
    }

    /// The controller was told of losses or marks.
    pub fn congestion_event(&self) {
        self.record().congestion_events += 1;
    }

    /// The controller was told that a loss was none.
    pub fn spurious_event(&self) {
        self.record().spurious_events += 1;
    }

    /// What the controller says now.
    pub fn state(&self, now: Time, controller: &dyn Controller, in_flight: Bytes) {
        let mut record = self.record();
        let smoothed_rtt = record.smoothed_rtt;
        let Some(series) = &mut record.series else { return };
        push_change(&mut series.cwnd, now, controller.window().get() as f64);
        if let Some(ssthresh) = controller.ssthresh().filter(|&threshold| threshold < Bytes::MAX) {
            push_change(&mut series.ssthresh, now, ssthresh.get() as f64);
        }
        push_change(&mut series.pacing_rate, now, pacing_rate(controller, smoothed_rtt).as_mbps_f64());
        push_change(&mut series.bytes_in_flight, now, in_flight.get() as f64);
        let phase = controller.phase();
        if series.phases.last().is_none_or(|&(_, last)| last != phase) {
            series.phases.push((now, phase));
        }
    }
}

fn push_change(series: &mut Vec<(Time, f64)>, time: Time, value: f64) {
    if series.last().is_none_or(|&(_, last)| last != value) {
        series.push((time, value));
    }
}

/// RFC 9002 §7.7: pacing a little above one window a round trip keeps the window the limit.
const PACING_GAIN: f64 = 1.25;
/// The initial window may leave at once (RFC 9002 §7.7): within this time.
pub const UNPACED: Span = Span::from_millis(1);

/// The controller's pacing rate, or what RFC 9002 §7.7 recommends where it leaves that to the sender.
pub fn pacing_rate(controller: &dyn Controller, smoothed_rtt: Span) -> Rate {
    let span = if smoothed_rtt.is_zero() { UNPACED } else { smoothed_rtt };
    controller.pacing_rate().unwrap_or_else(|| Rate::over(controller.window(), span).mul_f64(PACING_GAIN))
}
