//! Metrics of a sender: counters and, on request, time series of its packets and congestion
//! control.

use crate::controller::{Ack, Controller, SendControl, SentPacket};
use crate::controller_state::{StateField, StateSeries};
use crate::pacing::pacing_rate;
use crate::send_limits::{LimitReporter, SendLimit, SendLimits, SenderNumber};
use crate::sender_log::SenderLog;
use bentpipe_qlog::{Event, QlogSink};
use bentpipe_timeseries::{BoundedSeries, SeriesLimit, SpanHistogram};
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Collects the metrics of one sender. Clones share them.
#[derive(Clone)]
pub struct SenderMetrics(Arc<Shared>);

/// What clones share. Taking the lock is among the most expensive steps of a packet, so that what
/// is needed several times per packet is outside.
struct Shared {
    stats: Mutex<SenderStats>,
    /// True if a sender that has data asked for the window and has sent nothing since.
    wants_to_send: AtomicBool,
    /// [`SenderStats::bytes_sent`].
    bytes_sent: AtomicU64,
    /// True if the controller's own variables are recorded.
    records_state: AtomicBool,
}

impl std::fmt::Debug for SenderMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SenderMetrics")
    }
}

/// The metrics that [`SenderMetrics`] has collected.
pub struct SenderStats {
    /// Packets sent that count as in flight.
    pub packets_sent: u64,
    /// Bytes of those packets: QUIC packets without UDP and IP headers, payload of TCP segments.
    pub bytes_sent: u64,
    /// Most of them that were in flight at a time.
    pub max_in_flight: Bytes,
    /// Packets declared lost.
    pub packets_declared_lost: u64,
    /// Loss and ECN-CE events reported to the controller.
    pub congestion_events: u64,
    /// Loss events that proved spurious.
    pub spurious_events: u64,
    /// RTT samples, of the newest packet of each ACK.
    pub rtt: SpanHistogram,
    /// The largest of them.
    rtt_max: Span,
    /// Largest congestion window.
    cwnd_max: Bytes,
    /// Time during which the sender had nothing to send because flow control or the send buffer
    /// blocked its application.
    pub window_blocked: Span,
    /// Longest such period without a packet sent.
    pub window_blocked_longest: Span,
    /// Start of the blocked time that is not counted yet.
    blocked_since: Option<Time>,
    /// Start of the current period without a packet sent.
    idle_since: Option<Time>,
    last_sent: Time,
    smoothed_rtt: Span,
    /// Time series, if they are recorded.
    pub series: Option<SenderSeries>,
    /// Writes events, if there is a trace.
    log: Option<Box<SenderLog>>,
    /// Reports what limits the sender, if someone wants to know.
    limits: Option<Box<LimitReporter>>,
}

/// Time series of a sender.
#[derive(Debug)]
pub struct SenderSeries {
    /// Packets sent; the value is the bytes sent so far, the packet included.
    pub sent: BoundedSeries,
    /// ACKs; the value is that of the newest acknowledged packet in `sent`.
    pub acked: BoundedSeries,
    /// Packets declared lost, at the time of the declaration; the value is that of the packet in
    /// `sent`.
    pub lost: BoundedSeries,
    /// Numbers of the packets, if recorded.
    pub numbers: Option<NumberSeries>,
    /// Congestion window in bytes.
    pub cwnd: BoundedSeries,
    /// Slow-start threshold in bytes, once it is set.
    pub ssthresh: BoundedSeries,
    /// Bytes in flight.
    pub bytes_in_flight: BoundedSeries,
    /// Pacing rate in Mbps.
    pub pacing_rate: BoundedSeries,
    /// RTT of the newest packet of each ACK, in ms.
    pub rtt: BoundedSeries,
    /// Smoothed RTT (RFC 9002 §5.3) in ms.
    pub smoothed_rtt: BoundedSeries,
    /// Phases of the controller, each with its start; at most [`MAX_PHASES`].
    pub phases: Vec<(Time, &'static str)>,
    /// The controller's own variables; none unless they are recorded
    /// ([`SenderMetrics::record_state`]).
    pub state: StateSeries,
    /// Inputs of the last value of `pacing_rate`.
    paced: Option<(Bytes, Option<Rate>, Span)>,
}

/// Numbers of packets in the order of sending, from 0: [`SentPacket::number`].
#[derive(Debug)]
pub struct NumberSeries {
    /// Packets sent.
    pub sent: BoundedSeries,
    /// The newest packet that each ACK acknowledged.
    pub acked: BoundedSeries,
}

/// Maximum number of recorded phases. The last one is [`PHASES_END`].
pub const MAX_PHASES: usize = 4096;
/// Label from the time on from which phases are not recorded.
pub const PHASES_END: &str = "not recorded";

impl SenderSeries {
    /// Creates empty series of at most `limit` points each.
    pub fn new(limit: SeriesLimit) -> Self {
        let empty = || BoundedSeries::new(limit);
        Self {
            sent: empty(),
            acked: empty(),
            lost: empty(),
            numbers: None,
            cwnd: empty(),
            ssthresh: empty(),
            bytes_in_flight: empty(),
            pacing_rate: empty(),
            rtt: empty(),
            smoothed_rtt: empty(),
            phases: Vec::new(),
            state: StateSeries::new(limit),
            paced: None,
        }
    }

    fn on_phase(&mut self, now: Time, phase: &'static str) {
        let repeated = self.phases.last().is_some_and(|&(_, last)| last == phase);
        if repeated || self.phases.len() == MAX_PHASES {
            return;
        }
        let label = if self.phases.len() + 1 == MAX_PHASES { PHASES_END } else { phase };
        self.phases.push((now, label));
    }
}

impl SenderStats {
    fn new(limit: Option<SeriesLimit>) -> Self {
        Self {
            packets_sent: 0,
            bytes_sent: 0,
            max_in_flight: Bytes::ZERO,
            packets_declared_lost: 0,
            congestion_events: 0,
            spurious_events: 0,
            rtt: SpanHistogram::default(),
            rtt_max: Span::ZERO,
            cwnd_max: Bytes::ZERO,
            window_blocked: Span::ZERO,
            window_blocked_longest: Span::ZERO,
            blocked_since: None,
            idle_since: None,
            last_sent: Time::ZERO,
            smoothed_rtt: Span::ZERO,
            series: limit.map(SenderSeries::new),
            log: None,
            limits: None,
        }
    }

    /// Returns the minimum RTT. `None` before the first sample.
    pub fn rtt_min(&self) -> Option<Span> {
        self.rtt.min()
    }

    /// Returns the mean RTT over all ACKs. `None` before the first sample.
    pub fn rtt_mean(&self) -> Option<Span> {
        self.rtt.mean()
    }

    /// Returns the 99th percentile of the RTT, accurate to 1 %. `None` before the first sample.
    pub fn rtt_p99(&self) -> Option<Span> {
        (!self.rtt.is_empty()).then(|| self.rtt.quantile(0.99))
    }

    /// Returns the largest RTT sample. `None` before the first one.
    pub fn rtt_max(&self) -> Option<Span> {
        (!self.rtt.is_empty()).then_some(self.rtt_max)
    }

    /// Returns the largest congestion window. `None` without congestion control.
    pub fn cwnd_max(&self) -> Option<Bytes> {
        (!self.cwnd_max.is_zero()).then_some(self.cwnd_max)
    }

    /// Adds the counters of another sender of the same transfer. Time series stay unchanged.
    pub fn absorb(&mut self, other: &Self) {
        self.packets_sent += other.packets_sent;
        self.bytes_sent += other.bytes_sent;
        self.max_in_flight = self.max_in_flight.max(other.max_in_flight);
        self.packets_declared_lost += other.packets_declared_lost;
        self.congestion_events += other.congestion_events;
        self.spurious_events += other.spurious_events;
        self.rtt.add(&other.rtt);
        self.rtt_max = self.rtt_max.max(other.rtt_max);
        self.cwnd_max = self.cwnd_max.max(other.cwnd_max);
        self.window_blocked += other.window_blocked;
        self.window_blocked_longest = self.window_blocked_longest.max(other.window_blocked_longest);
    }

    /// Counts the time without a packet sent until `now`, while the application was blocked.
    fn count_blocked(&mut self, now: Time) {
        let Some(since) = self.blocked_since else { return };
        let since = since.max(self.last_sent);
        let began = *self.idle_since.get_or_insert(since);
        self.window_blocked += now.since(since);
        self.window_blocked_longest = self.window_blocked_longest.max(now.since(began));
        self.blocked_since = Some(now);
    }

    /// Records variables of the controller, those that have changed.
    fn on_fields(&mut self, now: Time, fields: &[StateField]) {
        if let Some(log) = &mut self.log {
            log.on_fields(now, fields);
        }
        if let Some(series) = &mut self.series {
            series.state.record(now, fields);
        }
    }

    /// Reports why an attempt to send ended.
    pub fn on_send_stopped(&mut self, now: Time, stop: SendLimit) {
        if let Some(limits) = &mut self.limits {
            limits.stopped(now, stop);
        }
    }

    /// Reports a change of whether only the peer's receive window blocks data that is ready to
    /// send.
    pub fn on_peer_window_blocked(&mut self, blocked: bool, now: Time) {
        if let Some(since) = self.blocked_since.take() {
            self.window_blocked += now.since(since);
            self.window_blocked_longest = self.window_blocked_longest.max(now.since(since));
        }
        self.blocked_since = blocked.then_some(now);
    }

    /// Returns [`Self::window_blocked`] as of `now`, of a sender that reports its peer's window.
    pub fn blocked_by(&self, now: Time) -> Span {
        self.window_blocked + self.blocked_since.map_or(Span::ZERO, |since| now.since(since))
    }

    /// Records the controller's limits and the bytes in flight, if series or a trace are recorded.
    pub fn on_state(&mut self, now: Time, control: &SendControl, in_flight: Bytes) {
        let smoothed_rtt = self.smoothed_rtt;
        self.cwnd_max = self.cwnd_max.max(control.cwnd);
        if let Some(limits) = &mut self.limits {
            let searches = control.in_slow_start && !control.at_max_window;
            limits.set_state(searches, control.pacing_rate.is_some());
        }
        if let Some(log) = &mut self.log {
            log.on_state(now, control, in_flight);
        }
        let Some(series) = &mut self.series else { return };
        series.cwnd.push_change(now, control.cwnd.get() as f64);
        if let Some(ssthresh) = control.ssthresh.filter(|&threshold| threshold < Bytes::MAX) {
            series.ssthresh.push_change(now, ssthresh.get() as f64);
        }
        let inputs = Some((control.cwnd, control.pacing_rate, smoothed_rtt));
        if series.paced != inputs {
            series.paced = inputs;
            series.pacing_rate.push_change(now, pacing_rate(control, smoothed_rtt).as_mbps_f64());
        }
        series.bytes_in_flight.push_change(now, in_flight.get() as f64);
        series.on_phase(now, control.phase);
    }

    /// Adds an RTT sample.
    pub fn sample(&mut self, now: Time, rtt: Span) {
        self.rtt.record(rtt);
        self.rtt_max = self.rtt_max.max(rtt);
        if let Some(series) = &mut self.series {
            series.rtt.push(now, rtt.as_nanos() as f64 / 1e6);
        }
    }
}

impl SenderMetrics {
    /// Creates empty metrics. With a limit, they include time series.
    pub fn new(limit: Option<SeriesLimit>) -> Self {
        Self(Arc::new(Shared {
            stats: Mutex::new(SenderStats::new(limit)),
            wants_to_send: AtomicBool::default(),
            bytes_sent: AtomicU64::default(),
            records_state: AtomicBool::default(),
        }))
    }

    /// Records the controller's own variables ([`Controller::report_state`]) from now on, in the
    /// series and the trace, if there are any.
    pub fn record_state(&self) {
        self.0.records_state.store(true, Ordering::Relaxed);
    }

    /// Creates metrics like [`SenderMetrics::new`] whose series include the numbers of packets.
    pub fn with_numbers(limit: Option<SeriesLimit>) -> Self {
        let metrics = Self::new(limit);
        if let (Some(limit), Some(series)) = (limit, &mut metrics.stats().series) {
            let empty = || BoundedSeries::new(limit);
            series.numbers = Some(NumberSeries { sent: empty(), acked: empty() });
        }
        metrics
    }

    /// Writes the sender's metrics to `sink` when they change.
    pub fn set_qlog(&self, sink: QlogSink) {
        self.stats().log = Some(Box::new(SenderLog::new(sink)));
    }

    /// Reports to `limits` what limits the sender, which is connection `sender` of its flow.
    pub fn report_limits(&self, limits: SendLimits, sender: SenderNumber) {
        self.stats().limits = Some(Box::new(LimitReporter::new(limits, sender)));
    }

    /// Reports that the congestion window holds data back.
    pub fn on_window_full(&self) {
        if let Some(limits) = &mut self.stats().limits {
            limits.window_full();
        }
    }

    /// Reports that the sender has data and asks whether the window has room for it.
    #[inline]
    pub fn on_window_asked(&self) {
        self.0.wants_to_send.store(true, Ordering::Relaxed);
    }

    /// Reports a probe or retransmission timeout, before it has an effect.
    pub fn on_timeout(&self, now: Time) {
        if let Some(limits) = &mut self.stats().limits {
            limits.timed_out(now);
        }
    }

    /// Writes an event of the sender to its trace, if there is one.
    pub fn log(&self, now: Time, event: &Event<'_>) {
        if let Some(log) = &self.stats().log {
            log.add(now, event);
        }
    }

    /// Locks and returns the metrics so far.
    pub fn stats(&self) -> MutexGuard<'_, SenderStats> {
        self.0.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns [`SenderStats::bytes_sent`], as counted by [`SenderMetrics::on_packet_sent`].
    pub fn bytes_sent(&self) -> u64 {
        self.0.bytes_sent.load(Ordering::Relaxed)
    }

    /// Reports after each attempt to send whether flow control or the send buffer blocks a writer,
    /// and whether the peer's address is validated.
    ///
    /// A sender that had data ([`SenderMetrics::on_window_asked`]) for which the window had room
    /// ([`SenderMetrics::on_window_full`]) waits for the pacer.
    pub fn on_writers_blocked(&self, blocked: bool, validated: bool, now: Time) {
        let mut stats = self.stats();
        if let Some(limits) = &mut stats.limits {
            let stop = match (self.0.wants_to_send.load(Ordering::Relaxed), blocked, validated) {
                (true, ..) => SendLimit::Pacing,
                (false, _, false) => SendLimit::AddressValidation,
                (false, true, true) => SendLimit::FlowControl,
                (false, false, true) => SendLimit::Application,
            };
            limits.stopped(now, stop);
        }
        match (blocked, stats.blocked_since) {
            (true, None) => stats.blocked_since = Some(now),
            (false, Some(_)) => (stats.blocked_since, stats.idle_since) = (None, None),
            _ => {}
        }
    }

    /// Counts a sent packet.
    pub fn on_packet_sent(&self, now: Time, packet: &SentPacket) {
        let mut stats = self.stats();
        if stats.idle_since.is_some() {
            stats.count_blocked(now);
            stats.idle_since = None;
        }
        stats.last_sent = now;
        stats.packets_sent += 1;
        stats.bytes_sent += packet.bytes.get();
        stats.max_in_flight = stats.max_in_flight.max(packet.in_flight);
        self.0.wants_to_send.store(false, Ordering::Relaxed);
        self.0.bytes_sent.store(stats.bytes_sent, Ordering::Relaxed);
        if let Some(limits) = &mut stats.limits {
            limits.sent(now);
        }
        if let Some(log) = &mut stats.log {
            log.on_packet_sent(packet);
        }
        if let Some(series) = &mut stats.series {
            series.sent.push(now, packet.position.get() as f64);
            if let Some(numbers) = &mut series.numbers {
                numbers.sent.push(now, packet.number as f64);
            }
        }
    }

    /// Counts an acknowledgement.
    pub fn on_ack(&self, ack: &Ack<'_>) {
        let mut stats = self.stats();
        stats.sample(ack.now, ack.rtt);
        stats.smoothed_rtt = ack.smoothed_rtt;
        if let Some(limits) = &mut stats.limits {
            limits.acked(ack.now);
        }
        if let Some(log) = &mut stats.log {
            log.on_ack(ack);
        }
        if let Some(series) = &mut stats.series {
            let newest = ack.newest();
            series.acked.push(ack.now, newest.position.get() as f64);
            if let Some(numbers) = &mut series.numbers {
                numbers.acked.push(ack.now, newest.number as f64);
            }
            series.smoothed_rtt.push_change(ack.now, ack.smoothed_rtt.as_millis_f64());
        }
        if self.0.records_state.load(Ordering::Relaxed) {
            stats.on_fields(ack.now, &Self::sample_fields(ack));
        }
    }

    /// Ends the processing of an ACK. `app_limited` is true if sending last stopped for lack of
    /// data.
    pub fn on_ack_end(&self, now: Time, app_limited: bool) {
        let mut stats = self.stats();
        if app_limited {
            // `blocked_since` shows that flow control, not the application, caused the lack of
            // data. There was data until the last packet left, although ACKs may be far apart.
            stats.count_blocked(now);
        } else {
            stats.idle_since = None;
            stats.blocked_since = stats.blocked_since.map(|_| now);
        }
    }

    /// Counts a packet declared lost.
    pub fn on_packet_lost(&self, now: Time, packet: &SentPacket) {
        let mut stats = self.stats();
        stats.packets_declared_lost += 1;
        if let Some(limits) = &mut stats.limits {
            limits.lost(now);
        }
        if let Some(series) = &mut stats.series {
            series.lost.push(now, packet.position.get() as f64);
        }
    }

    /// Counts a loss or ECN-CE event.
    pub fn on_congestion_event(&self) {
        self.stats().congestion_events += 1;
    }

    /// Reports that the controller has learnt of a retransmission timeout or of persistent
    /// congestion, after which it starts again.
    pub fn on_timeout_restart(&self) {
        if let Some(limits) = &mut self.stats().limits {
            limits.collapsed();
        }
    }

    /// Counts a spurious loss event.
    pub fn on_spurious_loss(&self) {
        let mut stats = self.stats();
        stats.spurious_events += 1;
        if let Some(limits) = &mut stats.limits {
            limits.restored();
        }
    }

    /// Records the variables of `controller` after an event, if someone has asked for them.
    #[inline]
    pub fn on_controller(&self, now: Time, controller: &dyn Controller) {
        if self.0.records_state.load(Ordering::Relaxed) {
            let mut fields = Vec::new();
            controller.report_state(&mut |field| fields.push(field));
            self.stats().on_fields(now, &fields);
        }
    }

    /// Returns the delivery-rate sample of an ACK as variables.
    fn sample_fields(ack: &Ack<'_>) -> [StateField; 2] {
        [
            StateField::rate("delivery_rate", ack.sample.rate.unwrap_or_default()),
            StateField::flag("is_app_limited", ack.sample.app_limited),
        ]
    }

    /// Calls [`SenderStats::on_state`].
    pub fn on_state(&self, now: Time, control: &SendControl, in_flight: Bytes) {
        self.stats().on_state(now, control, in_flight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn send(metrics: &SenderMetrics, ms: u64) {
        let now = at(ms);
        metrics.on_packet_sent(now, &crate::SentPackets::new().on_sent(now, Bytes::new(1000)));
    }

    fn blocked(metrics: &SenderMetrics) -> (Span, Span) {
        let stats = metrics.stats();
        (stats.window_blocked, stats.window_blocked_longest)
    }

    #[test]
    fn the_largest_rtt_and_window_are_kept() {
        let metrics = SenderMetrics::new(None);
        let largest = |stats: &SenderStats| (stats.rtt_max(), stats.cwnd_max());
        assert_eq!(largest(&metrics.stats()), (None, None));
        for (ms, cwnd) in [(40, 20_000), (90, 50_000), (60, 30_000)] {
            metrics.stats().sample(at(ms), Span::from_millis(ms));
            let control = SendControl::window(Bytes::new(cwnd), false, "test");
            metrics.on_state(at(ms), &control, Bytes::ZERO);
        }
        let mut other = SenderStats::new(None);
        other.absorb(&metrics.stats());
        let expected = (Some(Span::from_millis(90)), Some(Bytes::new(50_000)));
        assert_eq!(largest(&other), expected);
    }

    #[test]
    fn blocked_time_runs_from_one_packet_to_the_next() {
        let metrics = SenderMetrics::new(None);
        send(&metrics, 0);
        metrics.on_writers_blocked(true, true, at(0));
        send(&metrics, 70);
        for ms in [100, 150] {
            metrics.on_ack_end(at(ms), true);
        }
        assert_eq!(blocked(&metrics), (Span::from_millis(80), Span::from_millis(80)));
        send(&metrics, 180);
        metrics.on_ack_end(at(200), true);
        assert_eq!(blocked(&metrics), (Span::from_millis(130), Span::from_millis(110)));
    }

    #[test]
    fn pacing_and_the_congestion_window_do_not_count_as_blocked() {
        let metrics = SenderMetrics::new(None);
        metrics.on_writers_blocked(true, true, at(0));
        send(&metrics, 10);
        metrics.on_ack_end(at(60), false);
        send(&metrics, 60);
        assert_eq!(blocked(&metrics), (Span::ZERO, Span::ZERO));
    }

    #[test]
    fn an_application_without_data_does_not_count_as_blocked() {
        let metrics = SenderMetrics::new(None);
        send(&metrics, 0);
        metrics.on_writers_blocked(true, true, at(0));
        metrics.on_writers_blocked(false, true, at(0));
        metrics.on_ack_end(at(100), true);
        assert_eq!(blocked(&metrics), (Span::ZERO, Span::ZERO));
    }

    #[test]
    fn periods_blocked_by_the_peers_window_are_counted_separately() {
        let metrics = SenderMetrics::new(None);
        for (ms, blocked) in [(0, true), (30, false), (40, true), (90, false)] {
            metrics.stats().on_peer_window_blocked(blocked, at(ms));
        }
        assert_eq!(blocked(&metrics), (Span::from_millis(80), Span::from_millis(50)));
    }
}
