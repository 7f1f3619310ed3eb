//! The adapter that lets noq-proto use our congestion controllers: it maps packet numbers to the
//! order of sending, callbacks to acknowledgements and losses, and a probe timeout to an event.
//!
//! noq-proto 1.4 does not report some things that the controllers need:
//! - packet numbers of the three spaces collide, and their space is not reported:
//!   [`PacketNumberMap`] distinguishes packets by number, size and time, and [`LostPackets`] those
//!   that are lost together;
//! - a new port of the peer's address (NAT rebinding) copies the controller, and packets sent
//!   before are no longer reported as acknowledged: the copy forgets them;
//! - packets of discarded keys and lost MTU probes are removed without a report: bytes in flight
//!   are taken from noq-proto at each ACK, and packets much older than the newest acknowledged one
//!   are discarded;
//! - what stops it from sending is not reported, except a full window: it asks for the window only
//!   if it has something to send; whether a lack of data is the application's is reported by
//!   [`ConnectionSignals`], which [`crate::Endpoint`] sets;
//! - a probe timeout is not reported, and the stack keeps its length and the RTT variation private:
//!   a packet sent after a pause of that length is a probe (RFC 9002 §6.2.1);
//! - its RTT samples are private, and its smoothed RTT deducts the peer's ACK delay: ours comes
//!   from `SentPackets`, as for TCP, without that deduction;
//! - `on_cwnd_limited` says that the window was full at some time of a flight: controllers get
//!   `app_limited` with each ACK, and the bytes in flight of each packet, which tell that per
//!   packet.

use super::loss_log::LossLog;
use super::lost_packets::LostPackets;
use super::packet_number_map::{Entry, PacketNumberMap};
use crate::clock::Clock;
use crate::observer::PacketObserver;
use bentpipe_congestion as cc;
use bentpipe_congestion::metrics::SenderMetrics;
use bentpipe_congestion::pacing::{INITIAL_BURST_INTERVAL, pacing_rate};
use bentpipe_units::{Bytes, Rate, Span, Time};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use web_time::Instant;

/// Highest pacing rate set in the stack, a byte per nanosecond: the stack's pacer rounds its waits
/// to nanoseconds, and beyond this rate a wait may round to zero for ever. It is also the rate
/// without pacing, since the stack paces by the window if it gets no rate.
const MAX_RATE: Rate = Rate::from_mbps(8_000);

/// Makes the controller of a connection.
pub type MakeController =
    Arc<dyn Fn(&cc::ControllerConfig) -> Box<dyn cc::Controller> + Send + Sync>;

/// Tells a controller what the stack does not report of its connection. Clones are of the same
/// connection.
#[derive(Debug, Clone, Default)]
pub struct ConnectionSignals(Arc<Signals>);

#[derive(Debug, Default)]
struct Signals {
    /// Time at which the handshake was complete.
    handshake_complete: OnceLock<Time>,
    handshake_confirmed: AtomicBool,
    writers_blocked: AtomicBool,
}

impl ConnectionSignals {
    /// Sets that the handshake is complete since `at`. Later calls change nothing.
    pub(crate) fn set_handshake_complete(&self, at: Time) {
        self.0.handshake_complete.get_or_init(|| at);
    }

    /// Sets that the handshake is confirmed (RFC 9001 §4.1.2).
    pub(crate) fn set_handshake_confirmed(&self) {
        self.0.handshake_confirmed.store(true, Ordering::Relaxed);
    }

    /// Sets whether flow control or the send buffer blocks a writer.
    pub(crate) fn set_writers_blocked(&self, blocked: bool) {
        self.0.writers_blocked.store(blocked, Ordering::Relaxed);
    }

    fn handshake_complete(&self) -> Option<Time> {
        self.0.handshake_complete.get().copied()
    }

    fn is_handshake_confirmed(&self) -> bool {
        self.0.handshake_confirmed.load(Ordering::Relaxed)
    }

    fn are_writers_blocked(&self) -> bool {
        self.0.writers_blocked.load(Ordering::Relaxed)
    }
}

/// What records a connection's sender, and what observes its packets.
#[derive(Debug, Clone, Default)]
pub struct SenderReports {
    /// Records the sender.
    pub metrics: Option<SenderMetrics>,
    /// Writes lost packets to the connection's trace.
    pub log: Option<LossLog>,
    /// Counts the packets that the peer reports as marked.
    pub observer: Option<PacketObserver>,
}

/// Returns a factory for noq-proto's transport configuration, whose controllers `make` makes.
///
/// `initial_window` is in datagrams, limited as in RFC 9002 §7.2. Without `pacing` the whole window
/// leaves at once. `signals` are those of the connection. `reports` record its sender.
pub fn controller_factory(
    clock: Clock,
    initial_window: u32,
    pacing: bool,
    signals: ConnectionSignals,
    reports: SenderReports,
    make: MakeController,
) -> Arc<dyn ControllerFactory + Send + Sync> {
    Arc::new(Factory { clock, initial_window, pacing, signals, reports, make })
}

struct Factory {
    clock: Clock,
    initial_window: u32,
    pacing: bool,
    signals: ConnectionSignals,
    reports: SenderReports,
    make: MakeController,
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let now = self.clock.time(now);
        // RFC 9002 §7.2: datagrams times their size, limited to the larger of 14,720 bytes and two
        // datagrams at ten of them.
        let datagrams = u64::from(self.initial_window);
        let mtu = u64::from(current_mtu);
        let initial_window = (datagrams * mtu).min(datagrams * 1472).max(2 * mtu);
        let config = cc::ControllerConfig {
            now,
            mtu: Bytes::new(mtu),
            initial_window: Bytes::new(initial_window),
            distance_m: None,
            rtt: None,
        };
        if let Some(log) = &self.reports.log {
            log.begin(now, &config);
        }
        let controller = (self.make)(&config);
        Box::new(Adapter {
            control: controller.send_control(),
            controller,
            sent_packets: cc::SentPackets::new(),
            packet_numbers: PacketNumberMap::default(),
            newest_acked: None,
            lost: LostPackets::default(),
            clock: self.clock,
            signals: self.signals.clone(),
            metrics: self.reports.metrics.clone(),
            log: self.reports.log.clone(),
            observer: self.reports.observer.clone(),
            marked: self.reports.observer.as_ref().map_or(0, PacketObserver::marked),
            initial_window,
            pacing: self.pacing,
            last_sent: None,
            last_ack_at: now,
            confirming_until: None,
            has_lost: false,
            mtu,
            rtt_variation: Span::ZERO,
            now,
        })
    }
}

#[derive(Debug)]
struct Adapter {
    controller: Box<dyn cc::Controller>,
    /// The controller's limits after the last event, since the stack reads them several times per
    /// packet.
    control: cc::SendControl,
    sent_packets: cc::SentPackets,
    packet_numbers: PacketNumberMap,
    /// The newest packet of the last acknowledgement, which may have left the map.
    newest_acked: Option<Entry>,
    lost: LostPackets,
    clock: Clock,
    signals: ConnectionSignals,
    metrics: Option<SenderMetrics>,
    log: Option<LossLog>,
    observer: Option<PacketObserver>,
    /// Packets with a CE mark that were reported before.
    marked: u64,
    initial_window: u64,
    pacing: bool,
    /// Time at which the last ack-eliciting packet was sent.
    last_sent: Option<Time>,
    /// Time at which the last acknowledgement arrived.
    last_ack_at: Time,
    /// End of the RTT after the first acknowledgement.
    confirming_until: Option<Time>,
    /// True if packets were declared lost and nothing has been sent since.
    has_lost: bool,
    mtu: u64,
    /// Variation of the RTT (rttvar, RFC 9002 §5.3).
    rtt_variation: Span,
    now: Time,
}

impl Adapter {
    /// Returns the probe timeout (RFC 9002 §6.2.1), with the default max_ack_delay, since the
    /// peer's is not known here.
    fn probe_timeout(&self) -> Span {
        let variation = (self.rtt_variation * 4).max(Span::from_millis(1));
        self.sent_packets.smoothed_rtt() + variation + Span::from_millis(25)
    }

    fn update_metrics(&self) {
        if let Some(metrics) = &self.metrics {
            metrics.on_state(self.now, &self.control, self.sent_packets.bytes_in_flight());
            metrics.on_controller(self.now, &*self.controller);
        }
    }
}

impl Controller for Adapter {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let now = self.clock.time(now);
        self.now = now;
        let idle_since = self.last_sent.max(Some(self.last_ack_at)).unwrap_or(self.last_ack_at);
        let waiting = !self.sent_packets.bytes_in_flight().is_zero()
            && !self.sent_packets.smoothed_rtt().is_zero();
        if waiting && now.since(idle_since) >= self.probe_timeout() {
            self.controller.on_timeout(now);
            if let Some(metrics) = &self.metrics {
                metrics.on_timeout(now);
            }
        }
        self.last_sent = Some(now);
        self.has_lost = false;
        let packet = self.sent_packets.on_sent(now, Bytes::new(u64::from(bytes)));
        let entry = Entry { pn, number: packet.number, sent_at: now };
        self.packet_numbers.push(entry);
        self.controller.on_packet_sent(&packet);
        self.control = self.controller.send_control();
        if let Some(metrics) = &self.metrics {
            metrics.on_packet_sent(now, &packet);
        }
        if let Some(log) = &mut self.log {
            log.on_packet_sent(packet.number);
        }
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        _: bool,
        _: &RttEstimator,
    ) {
        let (now, sent) = (self.clock.time(now), self.clock.time(sent));
        let found = self.packet_numbers.find((pn, Bytes::new(bytes)), sent, &self.sent_packets);
        if let Some(entry) = found
            && self.sent_packets.on_acked(now, entry.number)
            && self.newest_acked.is_none_or(|newest| newest.number < entry.number)
        {
            self.newest_acked = Some(entry);
        }
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let now = self.clock.time(now);
        self.now = now;
        self.last_ack_at = now;
        self.sent_packets.set_bytes_in_flight(Bytes::new(in_flight));
        let Self { sent_packets, controller, metrics, rtt_variation, .. } = self;
        let before = sent_packets.smoothed_rtt();
        let mut newest = None;
        sent_packets.report_ack(now, app_limited, |ack| {
            controller.on_ack(ack);
            newest = Some((ack.newest().sent_at, ack.rtt));
            if let Some(metrics) = metrics {
                metrics.on_ack(ack);
            }
        });
        if let Some((sent_at, rtt)) = newest {
            self.confirming_until.get_or_insert(now + rtt);
            let deviation = if rtt > before { rtt - before } else { before - rtt };
            *rtt_variation =
                if before.is_zero() { rtt / 2 } else { (*rtt_variation * 3 + deviation) / 4 };
            // Far longer than reordering and loss detection take (9/8 of an RTT).
            let limit = self.sent_packets.smoothed_rtt() * 4 + Span::from_secs(1);
            self.sent_packets.discard_sent_before(sent_at.since_start().saturating_sub(limit));
            self.packet_numbers.discard_before(self.sent_packets.first_number());
        }
        self.control = self.controller.send_control();
        // To the stack, a full send buffer and the peer's windows are a lack of data.
        if app_limited && !self.signals.are_writers_blocked() {
            self.sent_packets.set_app_limited();
        }
        if let Some(metrics) = &self.metrics {
            metrics.on_ack_end(now, app_limited);
        }
        self.update_metrics();
    }

    fn on_packet_lost(&mut self, bytes: u16, pn: u64, now: Instant) {
        // The space follows with the congestion event, from the time of sending of the newest.
        self.lost.push(self.clock.time(now), pn, Bytes::new(u64::from(bytes)));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        _: u64,
        largest_pn: u64,
    ) {
        let (now, sent) = (self.clock.time(now), self.clock.time(sent));
        self.now = now;
        let Self { sent_packets, packet_numbers, controller, .. } = self;
        if is_ecn {
            let acked = self.newest_acked.filter(|one| (one.pn, one.sent_at) == (largest_pn, sent));
            let newest = acked
                .or_else(|| packet_numbers.all(largest_pn).find(|one| one.sent_at == sent))
                .map(|one| one.number)
                .unwrap_or_else(|| sent_packets.next_number().saturating_sub(1));
            let marked = self.observer.as_ref().map(PacketObserver::marked);
            // None if the mark was of a handshake packet, which the observer does not count.
            let more =
                marked.map(|marked| marked.saturating_sub(self.marked)).filter(|more| *more > 0);
            self.marked = marked.unwrap_or_default();
            controller.on_ecn_ce(&cc::EcnCe {
                now,
                newest,
                bytes_in_flight: sent_packets.bytes_in_flight(),
                next_number: sent_packets.next_number(),
                marked: more,
            });
        } else {
            for lost in self.lost.take(now, (largest_pn, sent), packet_numbers, sent_packets) {
                let Some(packet) = sent_packets.get(lost.number).copied() else { continue };
                sent_packets.on_lost(lost.number);
                if let Some(metrics) = &self.metrics {
                    metrics.on_packet_lost(now, &packet);
                }
                if let Some(log) = &self.log {
                    log.on_packet_lost(now, lost.pn, lost.number);
                }
            }
            self.has_lost = true;
            sent_packets
                .report_loss(now, is_persistent_congestion, |loss| controller.on_loss(loss));
        }
        self.control = self.controller.send_control();
        if let Some(metrics) = &self.metrics {
            metrics.on_congestion_event();
            if is_persistent_congestion {
                metrics.on_timeout_restart();
            }
        }
        self.update_metrics();
    }

    fn on_cwnd_limited(&mut self) {
        if let Some(metrics) = &self.metrics {
            metrics.on_window_full();
        }
    }

    fn on_spurious_congestion_event(&mut self) {
        self.controller.on_spurious_loss(self.now);
        self.control = self.controller.send_control();
        if let Some(metrics) = &self.metrics {
            metrics.on_spurious_loss();
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = u64::from(new_mtu);
        self.controller.on_mtu_update(Bytes::new(self.mtu));
        self.control = self.controller.send_control();
    }

    /// Returns the controller's window, and one packet more in the RTT after the first
    /// acknowledgement, which is of the handshake, and after the handshake if that came without
    /// one. If the first flight of data fills the window, the stack would otherwise neither send
    /// HANDSHAKE_DONE nor start a probe timer for that data, and a loss in it, or of the
    /// acknowledgement, could stall the connection for good. The first packet after the handshake
    /// may leave whatever is in flight, which probes have made more than the window if the
    /// handshake ended late.
    ///
    /// So may the first packet after a loss until the handshake is confirmed. A client that has
    /// lost the end of its handshake has to send that again, while the window is full of data that
    /// the server cannot read yet, and no timer runs (RFC 9002 §6.2.1). One packet at the start of
    /// a recovery period may exceed the window (RFC 9002 §7.3.2).
    fn window(&self) -> u64 {
        if let Some(metrics) = &self.metrics {
            metrics.on_window_asked();
        }
        let window = self.control.cwnd.get().max(1);
        let complete = self.signals.handshake_complete();
        let is_first = |at| self.last_sent.is_none_or(|sent| sent < at);
        let again = self.has_lost && !self.signals.is_handshake_confirmed();
        if complete.is_some_and(|at| again || is_first(at)) {
            return window.max(self.sent_packets.bytes_in_flight().get()) + self.mtu;
        }
        let confirming = match self.confirming_until {
            Some(until) => self.now < until,
            None => complete.is_some(),
        };
        if confirming { window + self.mtu } else { window }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.control.cwnd.get().max(1);
        metrics.ssthresh = self.control.ssthresh.map(Bytes::get);
        let rate = pacing_rate(&self.control, self.sent_packets.smoothed_rtt());
        // RFC 9002 §7.7: an initial window may leave at once. The stack also paces
        // acknowledgements: a receiver, with almost nothing in flight, would otherwise delay them.
        let initial_window = Bytes::new(self.initial_window);
        let burst = self.sent_packets.bytes_in_flight() < initial_window;
        let rate = if !self.pacing {
            MAX_RATE
        } else if burst {
            rate.max(Rate::over(initial_window, INITIAL_BURST_INTERVAL))
        } else {
            rate
        };
        metrics.pacing_rate = Some(rate.min(MAX_RATE).as_bps() / 8);
        metrics.send_quantum = self.control.send_quantum.map(Bytes::get);
        metrics
    }

    /// Returns the controller for another port of the peer's address: the stack copies it for
    /// nothing else. The path is taken for the same, as RFC 9000 §9.4 allows, except by Careful
    /// Resume, which does not continue with a jump whose packets it cannot follow (RFC 9959 §3.3).
    fn clone_box(&self) -> Box<dyn Controller> {
        let mut controller = self.controller.clone_box();
        let same_length = Some(Span::ZERO);
        controller.on_path_change(&cc::PathChange {
            rtt_increase: same_length,
            ..cc::PathChange::unknown(self.now)
        });
        // The stack no longer reports what is acknowledged of the packets in flight.
        let mut sent_packets = self.sent_packets.clone();
        sent_packets.discard_all();
        Box::new(Self {
            control: controller.send_control(),
            controller,
            sent_packets,
            packet_numbers: PacketNumberMap::default(),
            lost: LostPackets::default(),
            signals: self.signals.clone(),
            metrics: self.metrics.clone(),
            log: self.log.clone(),
            observer: self.observer.clone(),
            ..*self
        })
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
