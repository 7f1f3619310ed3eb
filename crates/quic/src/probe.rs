//! Watching a sender from inside: a layer around any congestion controller that counts and, where asked, records.
//!
//! The controller is the one hook through which noq-proto tells of every packet sent, acknowledged and declared lost.
//! The probe passes each call on and changes nothing.

use crate::clock::Clock;
use bentpipe_units::{Span, Time};
use hdrhistogram::Histogram;
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counters and series of one sender. Clones share them.
#[derive(Clone)]
pub struct Probe {
    state: Arc<Mutex<Record>>,
    clock: Clock,
}

/// What a [`Probe`] has seen.
pub struct Record {
    /// Packets handed to the controller: all that count towards the congestion window.
    pub packets_sent: u64,
    /// Bytes of those packets (QUIC packets, without UDP and IP).
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
    newest_in_batch: Option<Instant>,
    /// Position, in bytes sent, of each packet by its number. Only filled while recording.
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
    /// Pacing rate in Mbps where the controller sets one.
    pub pacing_rate: Vec<(Time, f64)>,
    /// Round trip of the newest packet of each ACK, ms.
    pub rtt: Vec<(Time, f64)>,
    /// Smoothed round trip (RFC 9002 §5.3), ms.
    pub smoothed_rtt: Vec<(Time, f64)>,
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
            newest_in_batch: None,
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

    fn position(&self, pn: u64) -> f64 {
        self.positions.get(pn as usize).copied().unwrap_or(self.bytes_sent) as f64
    }
}

impl Probe {
    /// A probe that counts and, where `record_series`, keeps every point.
    pub fn new(clock: Clock, record_series: bool) -> Self {
        Self { state: Arc::new(Mutex::new(Record::new(record_series))), clock }
    }

    /// What was seen so far.
    pub fn record(&self) -> MutexGuard<'_, Record> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `factory`'s controllers with this probe around each.
    pub fn around(
        &self,
        factory: Arc<dyn ControllerFactory + Send + Sync>,
    ) -> Arc<dyn ControllerFactory + Send + Sync> {
        Arc::new(ProbedFactory { factory, probe: self.clone() })
    }

    /// Told after each round of sending whether an application has more to write than its windows admit.
    pub(crate) fn writers_blocked(&self, blocked: bool, now: Time) {
        let mut record = self.record();
        match (blocked, record.blocked_since) {
            (true, None) => record.blocked_since = Some(now),
            (false, Some(_)) => record.blocked_since = None,
            _ => {}
        }
    }
}

struct ProbedFactory {
    factory: Arc<dyn ControllerFactory + Send + Sync>,
    probe: Probe,
}

impl ControllerFactory for ProbedFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = self.factory.clone().build(now, current_mtu);
        Box::new(Probed { inner, probe: self.probe.clone() })
    }
}

struct Probed {
    inner: Box<dyn Controller>,
    probe: Probe,
}

impl std::fmt::Debug for Probed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Probed").field(&self.inner).finish()
    }
}

impl Probed {
    fn record_state(&self, record: &mut Record, now: Instant, in_flight: Option<u64>) {
        let Some(series) = &mut record.series else { return };
        let time = self.probe.clock.time(now);
        let metrics = self.inner.metrics();
        push_change(&mut series.cwnd, time, metrics.congestion_window as f64);
        if let Some(ssthresh) = metrics.ssthresh.filter(|&threshold| threshold < u64::MAX) {
            push_change(&mut series.ssthresh, time, ssthresh as f64);
        }
        if let Some(rate) = metrics.pacing_rate {
            push_change(&mut series.pacing_rate, time, rate as f64 * 8e-6);
        }
        if let Some(in_flight) = in_flight {
            push_change(&mut series.bytes_in_flight, time, in_flight as f64);
        }
    }
}

fn push_change(series: &mut Vec<(Time, f64)>, time: Time, value: f64) {
    if series.last().is_none_or(|&(_, last)| last != value) {
        series.push((time, value));
    }
}

impl Controller for Probed {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        self.inner.on_sent(now, bytes, largest_pn);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let mut record = self.probe.record();
        record.packets_sent += 1;
        record.bytes_sent += u64::from(bytes);
        let position = record.bytes_sent;
        if let Some(series) = &mut record.series {
            series.sent.push((self.probe.clock.time(now), position as f64));
            // Numbers begin anew in each of the three packet number spaces (RFC 9000 §12.3); the handshake's few are
            // overwritten by those of the data that follows.
            let index = pn as usize;
            if record.positions.len() <= index {
                record.positions.resize(index + 1, position);
            }
            record.positions[index] = position;
        }
        drop(record);
        self.inner.on_packet_sent(now, bytes, pn);
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, app_limited: bool, rtt: &RttEstimator) {
        let mut record = self.probe.record();
        record.newest_in_batch = record.newest_in_batch.max(Some(sent));
        // The estimator is handed over before this ACK's sample went in: before the first it holds the assumed round trip.
        let sampled = !record.rtt.is_empty();
        if let Some(series) = record.series.as_mut().filter(|_| sampled) {
            let time = self.probe.clock.time(now);
            push_change(&mut series.smoothed_rtt, time, rtt.get().as_secs_f64() * 1e3);
        }
        drop(record);
        self.inner.on_ack(now, sent, bytes, pn, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_packet_num_acked: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
        let mut record = self.probe.record();
        let time = self.probe.clock.time(now);
        if let Some(sent) = record.newest_in_batch.take() {
            let sample = Span::from(now.saturating_duration_since(sent)).as_nanos();
            record.rtt.saturating_record(sample.max(1_000));
            record.rtt_sum += u128::from(sample);
            record.rtt_min = record.rtt_min.min(sample);
            if let Some(pn) = largest_packet_num_acked {
                let position = record.position(pn);
                if let Some(series) = &mut record.series {
                    series.acked.push((time, position));
                    series.rtt.push((time, sample as f64 / 1e6));
                }
            }
        }
        if let Some(since) = record.blocked_since {
            // `app_limited` says how the last round of sending ended: with nothing left to send. That this was the
            // windows' doing, not the application's, is what `blocked_since` says.
            if app_limited {
                record.window_blocked += time.since(since);
            }
            record.blocked_since = Some(time);
        }
        self.record_state(&mut record, now, Some(in_flight));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, is_ecn, lost_bytes, largest_lost_pn);
        let mut record = self.probe.record();
        record.congestion_events += 1;
        self.record_state(&mut record, now, None);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        let mut record = self.probe.record();
        record.packets_declared_lost += 1;
        let position = record.position(pn);
        if let Some(series) = &mut record.series {
            series.lost.push((self.probe.clock.time(now), position));
        }
        drop(record);
        self.inner.on_packet_lost(lost_bytes, pn, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.probe.record().spurious_events += 1;
        self.inner.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn on_ack_frequency_update(&mut self, ack_eliciting_threshold: u64, requested_max_ack_delay: Duration) {
        self.inner.on_ack_frequency_update(ack_eliciting_threshold, requested_max_ack_delay);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), probe: self.probe.clone() })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}
