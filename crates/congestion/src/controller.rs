//! The congestion controller: the events that a sender reports, and the limits that it receives.

use crate::controller_state::StateField;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::fmt::Debug;

/// Configuration of a controller at the start of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControllerConfig {
    /// Start of the connection.
    pub now: Time,
    /// Maximum packet size: the UDP payload for QUIC, the segment payload for TCP.
    pub mtu: Bytes,
    /// Initial congestion window (RFC 9002 §7.2, RFC 6928).
    pub initial_window: Bytes,
    /// Great-circle distance between the endpoints in metres. `None` if unknown.
    pub distance_m: Option<u64>,
    /// RTT measured during the handshake. `None` for QUIC, whose controller observes the handshake
    /// packets itself.
    pub rtt: Option<Span>,
}

/// A packet in flight, with the state of its connection when it was sent (draft-ietf-ccwg-bbr
/// §4.1.1). Delivery-rate samples are computed from this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentPacket {
    /// Position in the order of sending, from 0, independent of the protocol's packet numbers.
    pub number: u64,
    /// Size.
    pub bytes: Bytes,
    /// Time of sending.
    pub sent_at: Time,
    /// Bytes sent so far, this packet included.
    pub position: Bytes,
    /// Bytes in flight, this packet included.
    pub in_flight: Bytes,
    /// Bytes delivered before it was sent.
    pub delivered: Bytes,
    /// Time of the last delivery before it was sent.
    pub delivered_at: Time,
    /// Time of sending of the first packet of its flight.
    pub first_sent_at: Time,
    /// Bytes declared lost before it was sent.
    pub lost: Bytes,
    /// True if the sender was application-limited when it sent this packet: part of the flight was
    /// missing because the application had no data, not because a window or the send buffer was
    /// full (draft-ietf-ccwg-bbr §4.1.2.4).
    pub app_limited: bool,
}

/// A delivery-rate sample (draft-ietf-ccwg-bbr §4.1.1.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSample {
    /// Delivered bytes over the longer of the send interval and the ACK interval. `None` if that is
    /// shorter than the minimum RTT, which can only result from a misleading ACK.
    pub rate: Option<Rate>,
    /// Bytes delivered during the interval.
    pub delivered: Bytes,
    /// Bytes declared lost during the interval.
    pub lost: Bytes,
    /// Bytes in flight when the newest acknowledged packet was sent.
    pub in_flight: Bytes,
    /// Bytes delivered before that packet was sent.
    pub prior_delivered: Bytes,
    /// True if that packet was sent while the sender was application-limited: the rate is then a
    /// lower bound.
    pub app_limited: bool,
}

/// An acknowledgement, with all packets that it newly acknowledges.
#[derive(Debug, Clone, Copy)]
pub struct Ack<'a> {
    /// Time of arrival.
    pub now: Time,
    /// Newly acknowledged packets in the order of sending; never empty.
    pub packets: &'a [SentPacket],
    /// Sum of their sizes.
    pub bytes: Bytes,
    /// RTT of the newest of them, including the peer's ACK delay.
    pub rtt: Span,
    /// Minimum RTT of the connection, this sample included.
    pub min_rtt: Span,
    /// Smoothed RTT (RFC 9002 §5.3), this sample included.
    pub smoothed_rtt: Span,
    /// Bytes still in flight.
    pub bytes_in_flight: Bytes,
    /// Bytes delivered since the connection started, these included.
    pub delivered: Bytes,
    /// Number that the next packet sent will get.
    pub next_number: u64,
    /// True if this ACK starts a round trip: it acknowledges a packet sent after the previous round
    /// started (draft-ietf-ccwg-bbr §5.5.1).
    pub round_start: bool,
    /// Round trips so far, this one included.
    pub round: u64,
    /// True if the congestion window is underutilized: the application, flow control or the send
    /// buffer, rather than cwnd, limited the sender. The window must not grow then (RFC 9002 §7.8).
    /// Unlike [`RateSample::app_limited`], it does not say that the application had no data.
    pub app_limited: bool,
    /// True while the transport still repairs losses, for transports with a recovery of their own:
    /// TCP, until all that was sent before it and all that was lost is acknowledged (RFC 6675 §5).
    /// False for QUIC, whose recovery ends with the first packet sent in it (RFC 9002 §7.3.2).
    pub repairing: bool,
    /// Delivery-rate sample.
    pub sample: RateSample,
}

impl Ack<'_> {
    /// Returns the newest packet that is acknowledged.
    pub fn newest(&self) -> &SentPacket {
        &self.packets[self.packets.len() - 1]
    }
}

/// Packets that were declared lost at the same time.
#[derive(Debug, Clone, Copy)]
pub struct Loss<'a> {
    /// Time of the declaration.
    pub now: Time,
    /// Lost packets in the order of sending; never empty.
    pub packets: &'a [SentPacket],
    /// Sum of their sizes.
    pub bytes: Bytes,
    /// Bytes still in flight.
    pub bytes_in_flight: Bytes,
    /// Bytes delivered since the connection started.
    pub delivered: Bytes,
    /// Bytes declared lost since the connection started, these included.
    pub lost: Bytes,
    /// Number that the next packet sent will get.
    pub next_number: u64,
    /// Minimum RTT of the connection.
    pub min_rtt: Span,
    /// Smoothed RTT.
    pub smoothed_rtt: Span,
    /// True for persistent congestion (RFC 9002 §7.6).
    pub persistent: bool,
}

impl Loss<'_> {
    /// Returns the newest packet that is lost.
    pub fn newest(&self) -> &SentPacket {
        &self.packets[self.packets.len() - 1]
    }
}

/// A report of packets that arrived with the ECN-CE codepoint (RFC 3168).
#[derive(Debug, Clone, Copy)]
pub struct EcnCe {
    /// Time of the report.
    pub now: Time,
    /// Number of the newest packet that the report covers.
    pub newest: u64,
    /// Bytes still in flight.
    pub bytes_in_flight: Bytes,
    /// Number that the next packet sent will get.
    pub next_number: u64,
    /// Number of packets that the report adds to those reported as marked, as a controller needs
    /// that answers by their fraction (DCTCP, RFC 8257). Each report of a QUIC peer counts; `None`
    /// if nobody counts: the echo of TCP without AccECN (RFC 3168) is a single bit, reported once
    /// per RTT, and a QUIC sender counts only if its packets are observed, as in every simulation.
    pub marked: Option<u64>,
}

/// A new starting point that a layer or the sender sets for a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// Time of the restart.
    pub now: Time,
    /// Congestion window.
    pub window: Bytes,
    /// Slow-start threshold; `None` keeps the current one. If it is at or below `window`, slow
    /// start is over and the path's capacity is known.
    pub ssthresh: Option<Bytes>,
    /// Bottleneck rate. `None` if it was not measured.
    pub rate: Option<Rate>,
    /// Minimum RTT. `None` if unknown.
    pub min_rtt: Option<Span>,
    /// Start of the recovery period (RFC 9002 §7.3.2): losses and ECN-CE of packets with smaller
    /// numbers cause no further reduction.
    pub recovery_start: u64,
}

/// A change of the path that packets take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathChange {
    /// Time of the report to the controller.
    pub now: Time,
    /// Time from which packets take the new path, at the latest `now`. RTT samples of packets sent
    /// earlier belong to the old path.
    pub since: Time,
    /// Increase of the propagation RTT. The minimum RTT shifts by it until a smaller sample
    /// arrives. `None` if nothing is known about the new path's RTT.
    pub rtt_increase: Option<Span>,
}

impl PathChange {
    /// Returns a change at `now` to a path about which nothing is known, as after a connection
    /// migration (RFC 9000 §9).
    pub const fn unknown(now: Time) -> Self {
        Self { now, since: now, rtt_increase: None }
    }

    /// Returns the minimum RTT of the new path before its first sample, given that of the old path.
    /// `None` if it is unknown.
    pub fn shifted(&self, old: Option<Span>) -> Option<Span> {
        Some(old? + self.rtt_increase?)
    }
}

/// What a controller measures again at a change of the path that is announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeProbe {
    /// Nothing.
    #[default]
    None,
    /// The minimum RTT, at the change instead of some other time.
    MinRtt,
    /// The minimum RTT and the rate: both belong to the old path.
    Model,
}

impl ChangeProbe {
    /// Returns the time before the change at which the controller is notified: 50 ms in the code
    /// of SatPipe, which probes the minimum RTT, and 100 ms in that of LeoCC, which starts again.
    pub const fn lead(self) -> Span {
        match self {
            Self::None => Span::ZERO,
            Self::MinRtt => Span::from_millis(50),
            Self::Model => Span::from_millis(100),
        }
    }
}

/// The limits that a controller sets for its sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SendControl {
    /// Congestion window: bytes that may be in flight. Never zero.
    pub cwnd: Bytes,
    /// Slow-start threshold. `None` before the first one is set.
    pub ssthresh: Option<Bytes>,
    /// Pacing rate. `None` leaves it to the sender: 1.25 cwnd per smoothed RTT (RFC 9002 §7.7).
    pub pacing_rate: Option<Rate>,
    /// Largest burst to pass to the network at once. `None` leaves it to the sender.
    pub send_quantum: Option<Bytes>,
    /// True while the controller searches for the path's capacity.
    pub in_slow_start: bool,
    /// True if a configured maximum limits the window.
    pub at_max_window: bool,
    /// Name of the current phase, for traces.
    pub phase: &'static str,
    /// Fraction of sent packets whose loss this controller does not take as congestion; 0 if it
    /// reduces on every loss.
    pub loss_tolerance: f64,
}

impl SendControl {
    /// Creates the limits of a window-based controller without a threshold that takes every loss as
    /// congestion.
    pub const fn window(cwnd: Bytes, in_slow_start: bool, phase: &'static str) -> Self {
        Self {
            cwnd,
            ssthresh: None,
            pacing_rate: None,
            send_quantum: None,
            in_slow_start,
            at_max_window: false,
            phase,
            loss_tolerance: 0.0,
        }
    }
}

/// Returns the minimum congestion window: two packets (RFC 9002 §7.2, kMinimumWindow), never zero.
pub fn minimum_window(mtu: Bytes) -> Bytes {
    (mtu + mtu).max(Bytes::new(2))
}

/// A congestion controller.
///
/// Call order: [`Controller::on_packet_sent`] for each packet that counts as in flight; for each
/// ACK frame or segment [`Controller::on_ack`], then [`Controller::on_ecn_ce`] and
/// [`Controller::on_loss`] if it reports ECN-CE or causes losses to be declared. `now` never
/// decreases. The limits of [`Controller::send_control`] hold until the next call.
pub trait Controller: Debug + Send + Sync {
    /// Handles a packet that was sent.
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        let _ = packet;
    }

    /// Handles newly acknowledged packets.
    fn on_ack(&mut self, ack: &Ack<'_>);

    /// Handles packets that were declared lost.
    fn on_loss(&mut self, loss: &Loss<'_>);

    /// Handles packets that arrived with ECN-CE.
    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe);

    /// Handles an expired probe timeout (RFC 9002 §6.2), which is not yet a sign of loss.
    fn on_timeout(&mut self, now: Time) {
        let _ = now;
    }

    /// Handles the report that all losses of the last reduction were spurious.
    fn on_spurious_loss(&mut self, now: Time) {
        let _ = now;
    }

    /// Handles a path change that the local endpoint has learned of.
    ///
    /// Only filters that the old path would mislead may change, above all the minimum RTT. Window
    /// and rate stay, since the bottleneck may be the same; if it is not, the usual signals show
    /// it.
    fn on_path_change(&mut self, change: &PathChange) {
        let _ = change;
    }

    /// Handles the announcement that the path is about to change. A controller with a model of the
    /// path may measure what `probe` names again; others do nothing.
    fn on_upcoming_path_change(&mut self, probe: ChangeProbe) {
        let _ = probe;
    }

    /// Handles a change of the maximum packet size.
    fn on_mtu_update(&mut self, mtu: Bytes) {
        let _ = mtu;
    }

    /// Continues from the window, threshold and estimates that a layer or the sender sets.
    fn restart(&mut self, to: &Restart);

    /// Restarts after losses that may have been chance: a slow start that passes over such losses,
    /// in front of the controller or its own, continues, whatever the threshold.
    fn restart_after_chance(&mut self, to: &Restart) {
        self.restart(to);
    }

    /// Returns true while a slow start in front of the controller measures the capacity of the path
    /// by its first packets, and needs no RTTs to find it.
    fn start_measures_path(&self) -> bool {
        false
    }

    /// Returns the current limits.
    fn send_control(&self) -> SendControl;

    /// Reports its own variables, by the names of its document, for series and traces. They are the
    /// same each time, as far as they have values; a controller need not report any.
    fn report_state(&self, report: &mut dyn FnMut(StateField)) {
        let _ = report;
    }

    /// Returns true if it models rate and RTT, whatever stands in front of it at present.
    fn is_rate_based(&self) -> bool {
        false
    }

    /// Returns the interface for Careful Resume of a rate-based controller, `None` for a
    /// window-based one, and while a slow start in front of it decides.
    fn rate_based(&mut self) -> Option<&mut dyn RateBased> {
        None
    }

    /// Returns a copy of the controller and its state.
    fn clone_box(&self) -> Box<dyn Controller>;
}

/// Interface for Careful Resume of a controller that models rate and RTT (RFC 9959 appendix C).
pub trait RateBased {
    /// Returns the controller's own estimate of the bottleneck rate. `None` before the first
    /// sample.
    fn bandwidth(&self) -> Option<Rate>;

    /// Returns true in Startup, the only state in which a rate may be probed.
    fn in_startup(&self) -> bool;

    /// Returns true in Drain. Careful Resume ends its Safe Retreat when Drain has ended and all
    /// unvalidated packets are accounted for.
    fn in_drain(&self) -> bool {
        false
    }

    /// Makes Startup send at no less than `rate`, with a matching window. `None` ends the probe.
    fn set_probing_rate(&mut self, rate: Option<Rate>);

    /// Leaves Startup for Drain after the probe met congestion, and ignores delivery-rate samples
    /// until Drain ends.
    fn retreat(&mut self, now: Time);
}

/// Implements the named methods of [`Controller`] by forwarding to a field.
macro_rules! forward_to {
    ($field:ident: $($method:ident),+ $(,)?) => {
        $($crate::controller::forward_to!(@ $field $method);)+
    };
    (@ $field:ident on_packet_sent) => {
        fn on_packet_sent(&mut self, packet: &$crate::controller::SentPacket) {
            self.$field.on_packet_sent(packet);
        }
    };
    (@ $field:ident on_ack) => {
        fn on_ack(&mut self, ack: &$crate::controller::Ack<'_>) {
            self.$field.on_ack(ack);
        }
    };
    (@ $field:ident on_loss) => {
        fn on_loss(&mut self, loss: &$crate::controller::Loss<'_>) {
            self.$field.on_loss(loss);
        }
    };
    (@ $field:ident on_ecn_ce) => {
        fn on_ecn_ce(&mut self, ecn_ce: &$crate::controller::EcnCe) {
            self.$field.on_ecn_ce(ecn_ce);
        }
    };
    (@ $field:ident on_timeout) => {
        fn on_timeout(&mut self, now: ::bentpipe_units::Time) {
            self.$field.on_timeout(now);
        }
    };
    (@ $field:ident on_spurious_loss) => {
        fn on_spurious_loss(&mut self, now: ::bentpipe_units::Time) {
            self.$field.on_spurious_loss(now);
        }
    };
    (@ $field:ident on_path_change) => {
        fn on_path_change(&mut self, change: &$crate::controller::PathChange) {
            self.$field.on_path_change(change);
        }
    };
    (@ $field:ident on_upcoming_path_change) => {
        fn on_upcoming_path_change(&mut self, probe: $crate::controller::ChangeProbe) {
            self.$field.on_upcoming_path_change(probe);
        }
    };
    (@ $field:ident on_mtu_update) => {
        fn on_mtu_update(&mut self, mtu: ::bentpipe_units::Bytes) {
            self.$field.on_mtu_update(mtu);
        }
    };
    (@ $field:ident restart) => {
        fn restart(&mut self, to: &$crate::controller::Restart) {
            self.$field.restart(to);
        }
    };
    (@ $field:ident restart_after_chance) => {
        fn restart_after_chance(&mut self, to: &$crate::controller::Restart) {
            self.$field.restart_after_chance(to);
        }
    };
    (@ $field:ident start_measures_path) => {
        fn start_measures_path(&self) -> bool {
            self.$field.start_measures_path()
        }
    };
    (@ $field:ident send_control) => {
        fn send_control(&self) -> $crate::controller::SendControl {
            self.$field.send_control()
        }
    };
    (@ $field:ident report_state) => {
        fn report_state(&self, report: &mut dyn FnMut($crate::controller_state::StateField)) {
            self.$field.report_state(report);
        }
    };
    (@ $field:ident is_rate_based) => {
        fn is_rate_based(&self) -> bool {
            self.$field.is_rate_based()
        }
    };
    (@ $field:ident rate_based) => {
        fn rate_based(&mut self) -> Option<&mut dyn $crate::controller::RateBased> {
            self.$field.rate_based()
        }
    };
}

pub(crate) use forward_to;
