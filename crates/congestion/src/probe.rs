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
    /// The longest of that at a stretch, with nothing sent in between.
    pub window_blocked_longest: Span,
    /// Since when the application is held up, as far as it is not yet judged.
    blocked_since: Option<Time>,
    /// When the present stretch of standing still began, where one is known.
    standing_since: Option<Time>,
    last_sent: Time,
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
            window_blocked_longest: Span::ZERO,
            blocked_since: None,
            standing_since: None,
            last_sent: Time::ZERO,
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
        self.window_blocked_longest = self.window_blocked_longest.max(other.window_blocked_longest);
    }

    /// The sender has stood still until `now`, since it last sent and its application was held up.
    fn stood_still(&mut self, now: Time) {
        let Some(since) = self.blocked_since else { return };
        let since = since.max(self.last_sent);
        let began = *self.standing_since.get_or_insert(since);
        self.window_blocked += now.since(since);
        self.window_blocked_longest = self.window_blocked_longest.max(now.since(began));
        self.blocked_since = Some(now);
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
            (false, Some(_)) => (record.blocked_since, record.standing_since) = (None, None),
            _ => {}
        }
    }

    /// Told whenever it changes whether the peer's window, and nothing else, holds back data that waits.
    pub fn held_back(&self, blocked: bool, now: Time) {
        let mut record = self.record();
        if let Some(since) = record.blocked_since.take() {
            record.window_blocked += now.since(since);
            record.window_blocked_longest = record.window_blocked_longest.max(now.since(since));
        }
        record.blocked_since = blocked.then_some(now);
    }

    /// A packet was sent.
    pub fn sent(&self, now: Time, packet: &Packet) {
        let mut record = self.record();
        if record.standing_since.is_some() {
            record.stood_still(now);
            record.standing_since = None;
        }
        record.last_sent = now;
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
        if app_limited {
            // That nothing was left to send was the windows' doing, not the application's: `blocked_since` says so. Until the last packet
            // left there was something; acknowledgements may be far between.
            record.stood_still(now);
        } else {
            record.standing_since = None;
            record.blocked_since = record.blocked_since.map(|_| now);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn send(probe: &Probe, ms: u64) {
        let now = at(ms);
        probe.sent(now, &crate::Ledger::new().send(now, Bytes::new(1000)));
    }

    fn figures(probe: &Probe) -> (Span, Span) {
        let record = probe.record();
        (record.window_blocked, record.window_blocked_longest)
    }

    #[test]
    fn a_sender_stands_still_from_its_last_packet_until_its_next() {
        let probe = Probe::new(false);
        send(&probe, 0);
        probe.writers_blocked(true, at(0));
        send(&probe, 70);
        for ms in [100, 150] {
            probe.acknowledgement_ended(at(ms), true);
        }
        assert_eq!(figures(&probe), (Span::from_millis(80), Span::from_millis(80)));
        send(&probe, 180);
        probe.acknowledgement_ended(at(200), true);
        assert_eq!(figures(&probe), (Span::from_millis(130), Span::from_millis(110)));
    }

    #[test]
    fn a_sender_that_paces_or_waits_for_its_congestion_window_does_not_stand_still_for_credit() {
        let probe = Probe::new(false);
        probe.writers_blocked(true, at(0));
        send(&probe, 10);
        probe.acknowledgement_ended(at(60), false);
        send(&probe, 60);
        assert_eq!(figures(&probe), (Span::ZERO, Span::ZERO));
    }

    #[test]
    fn an_application_without_more_to_write_is_not_held_up() {
        let probe = Probe::new(false);
        send(&probe, 0);
        probe.writers_blocked(true, at(0));
        probe.writers_blocked(false, at(0));
        probe.acknowledgement_ended(at(100), true);
        assert_eq!(figures(&probe), (Span::ZERO, Span::ZERO));
    }

    #[test]
    fn stretches_of_a_peers_window_are_told_apart() {
        let probe = Probe::new(false);
        for (ms, blocked) in [(0, true), (30, false), (40, true), (90, false)] {
            probe.held_back(blocked, at(ms));
        }
        assert_eq!(figures(&probe), (Span::from_millis(80), Span::from_millis(50)));
    }
}
