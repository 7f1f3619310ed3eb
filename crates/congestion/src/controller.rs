//! What a congestion controller is told, and what it answers.

use bentpipe_units::{Bytes, Rate, Span, Time};
use std::fmt::Debug;

/// What a controller knows when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// When the connection begins.
    pub now: Time,
    /// Largest packet: a UDP payload for QUIC, a segment's payload for TCP.
    pub mtu: Bytes,
    /// Initial window (RFC 9002 §7.2, RFC 6928).
    pub initial_window: Bytes,
    /// Great-circle distance between the endpoints in metres, where someone knows it.
    pub distance_m: Option<u64>,
    /// The round trip of a handshake that is over. TCP knows it; for QUIC the controller sees the handshake itself, and there is none.
    pub rtt: Option<Span>,
}

/// A packet as its sender remembers it. The state at sending serves delivery-rate samples
/// (draft-ietf-ccwg-bbr §4.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Its place in the order of sending, from 0, whatever numbers the protocol gives.
    pub number: u64,
    /// Its size.
    pub bytes: Bytes,
    /// When it was sent.
    pub sent_at: Time,
    /// Bytes in flight once it was sent, itself included.
    pub in_flight: Bytes,
    /// Bytes delivered until then.
    pub delivered: Bytes,
    /// When the last of those were.
    pub delivered_at: Time,
    /// When the first packet of its flight was sent.
    pub first_sent_at: Time,
    /// Bytes declared lost until then.
    pub lost: Bytes,
    /// Whether the application had run dry when it was sent.
    pub app_limited: bool,
}

/// A delivery-rate sample (draft-ietf-ccwg-bbr §4.1.1.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered over the longer of the intervals of sending and of acknowledgement. `None` where the interval is
    /// shorter than the smallest round trip, which no honest path can do.
    pub rate: Option<Rate>,
    /// Bytes delivered during the interval.
    pub delivered: Bytes,
    /// Bytes declared lost during the interval.
    pub lost: Bytes,
    /// Bytes in flight when the newest acknowledged packet had been sent.
    pub in_flight: Bytes,
    /// Bytes that had been delivered when that packet was sent.
    pub prior_delivered: Bytes,
    /// Whether the application had run dry when that packet was sent: the sample is then a lower bound.
    pub app_limited: bool,
}

/// One acknowledgement: every packet that it newly covers.
#[derive(Debug, Clone, Copy)]
pub struct Ack<'a> {
    /// When it arrived.
    pub now: Time,
    /// The packets, in order of sending; never empty.
    pub packets: &'a [Packet],
    /// Their bytes.
    pub bytes: Bytes,
    /// Round trip of the newest of them, acknowledgement delay included.
    pub rtt: Span,
    /// Smallest round trip of the connection, this one included.
    pub min_rtt: Span,
    /// Smoothed round trip (RFC 9002 §5.3), this one included.
    pub smoothed_rtt: Span,
    /// Bytes still in flight.
    pub bytes_in_flight: Bytes,
    /// Bytes delivered since the connection began, these included.
    pub delivered: Bytes,
    /// Number that the next packet sent will have.
    pub next_number: u64,
    /// Whether a round trip has passed: a packet sent after the previous round's end is acknowledged.
    pub round_start: bool,
    /// Rounds so far, this one included.
    pub round: u64,
    /// Whether something other than the window held the sender back: the application ran dry, or the peer's credit did.
    /// The window must not grow then (RFC 9002 §7.8).
    pub app_limited: bool,
    /// The delivery rate.
    pub sample: RateSample,
}

impl Ack<'_> {
    /// The newest packet that is acknowledged.
    pub fn newest(&self) -> &Packet {
        &self.packets[self.packets.len() - 1]
    }
}

/// Packets declared lost at one time.
#[derive(Debug, Clone, Copy)]
pub struct Loss<'a> {
    /// When they were.
    pub now: Time,
    /// The packets, in order of sending; never empty.
    pub packets: &'a [Packet],
    /// Their bytes.
    pub bytes: Bytes,
    /// Bytes still in flight.
    pub bytes_in_flight: Bytes,
    /// Bytes delivered since the connection began.
    pub delivered: Bytes,
    /// Bytes declared lost since the connection began, these included.
    pub lost: Bytes,
    /// Number that the next packet sent will have.
    pub next_number: u64,
    /// Smallest round trip of the connection.
    pub min_rtt: Span,
    /// Smoothed round trip.
    pub smoothed_rtt: Span,
    /// Persistent congestion (RFC 9002 §7.6).
    pub persistent: bool,
}

impl Loss<'_> {
    /// The newest packet that is lost.
    pub fn newest(&self) -> &Packet {
        &self.packets[self.packets.len() - 1]
    }
}

/// Packets that came through marked with congestion experienced (RFC 3168).
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    /// When the marks were reported.
    pub now: Time,
    /// The newest packet that the report covers.
    pub newest: u64,
    /// Bytes still in flight.
    pub bytes_in_flight: Bytes,
    /// Number that the next packet sent will have.
    pub next_number: u64,
}

/// Where a layer wants its controller to go on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adjust {
    /// When.
    pub now: Time,
    /// The window.
    pub window: Bytes,
    /// The slow-start threshold; `None` leaves it. At or below `window`: slow start is over, the path's capacity is known.
    pub ssthresh: Option<Bytes>,
    /// The bottleneck's rate, where the layer has measured it.
    pub rate: Option<Rate>,
    /// The smallest round trip, where known.
    pub min_rtt: Option<Span>,
    /// Losses and marks of packets before this number have been answered: they are no reason to reduce again.
    pub answered: u64,
}

/// Packets take another path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathChange {
    /// When the controller is told.
    pub now: Time,
    /// Packets sent from then on take the new path, `now` at the latest: round trips of earlier ones are another path's.
    pub since: Time,
    /// What the empty path's round trip has become longer by, where somebody knows. The smallest round trip is then what it was and so much more,
    /// until a sample is smaller; otherwise nothing of it is known.
    pub longer_by: Option<Span>,
}

impl PathChange {
    /// From `now` on packets take a path of which nothing is known, as after a migration (RFC 9000 §9).
    pub const fn unknown(now: Time) -> Self {
        Self { now, since: now, longer_by: None }
    }

    /// What the smallest round trip is on the new path before the first sample, from what it `was`. None where that is not known.
    pub fn shifted(&self, was: Option<Span>) -> Option<Span> {
        Some(was? + self.longer_by?)
    }
}

/// A congestion controller.
///
/// Call order: [`Controller::on_packet_sent`] for each packet that counts as in flight; for each acknowledgement
/// [`Controller::on_ack`], then [`Controller::on_mark`] and [`Controller::on_loss`] where it reports marks or lets packets be
/// declared lost. `now` never goes back. The answers hold until the next call.
pub trait Controller: Debug + Send + Sync {
    /// A packet was sent.
    fn on_packet_sent(&mut self, packet: &Packet) {
        let _ = packet;
    }

    /// Packets were acknowledged.
    fn on_ack(&mut self, ack: &Ack<'_>);

    /// Packets were declared lost.
    fn on_loss(&mut self, loss: &Loss<'_>);

    /// Packets came through with congestion experienced.
    fn on_mark(&mut self, mark: &Mark);

    /// The probe timeout expired (RFC 9002 §6.2): nothing was heard for long. Says nothing about loss yet.
    fn on_timeout(&mut self, now: Time) {
        let _ = now;
    }

    /// Everything that the last reduction was for has arrived after all.
    fn on_spurious_loss(&mut self, now: Time) {
        let _ = now;
    }

    /// The local end has learned that packets take another path. Only what filters of the old path would get wrong is to change: the smallest
    /// round trip. Window and rate stay, since the bottleneck may be the same; the usual signs tell where it is not.
    fn on_path_change(&mut self, change: &PathChange) {
        let _ = change;
    }

    /// The largest packet has another size now.
    fn on_mtu(&mut self, mtu: Bytes) {
        let _ = mtu;
    }

    /// A layer in front of the controller sets where it goes on from.
    fn adjust(&mut self, to: &Adjust);

    /// Bytes that may be in flight. Never zero.
    fn window(&self) -> Bytes;

    /// Window at which slow start ends, once there is one.
    fn ssthresh(&self) -> Option<Bytes> {
        None
    }

    /// How fast to send. `None` leaves it to the sender: RFC 9002 §7.7 has 1.25 windows a smoothed round trip.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Most bytes to hand over to the network at once.
    fn send_quantum(&self) -> Option<Bytes> {
        None
    }

    /// Whether it still looks for the path's capacity.
    fn in_slow_start(&self) -> bool;

    /// What it is doing, in a word or two, for people.
    fn phase(&self) -> &'static str;

    /// Share of what is sent that may be lost by chance, to the controller's mind, without being a sign of congestion. Zero for
    /// controllers that take every loss for one.
    fn loss_tolerance(&self) -> f64 {
        0.0
    }

    /// The controller as one that Careful Resume tells a rate instead of a window, where it is such a one.
    fn rate_based(&mut self) -> Option<&mut dyn RateBased> {
        None
    }

    /// A copy of its state, for a path that is probably the same.
    fn clone_box(&self) -> Box<dyn Controller>;
}

/// What Careful Resume asks of a controller that models rate and round trip (RFC 9959 appendix C).
pub trait RateBased {
    /// The rate that the controller considers safe so far: its own estimate of the bottleneck.
    fn bandwidth(&self) -> Option<Rate>;

    /// Whether it is in Startup, where alone a rate may be probed.
    fn in_startup(&self) -> bool;

    /// Whether it is in Drain. Careful Resume takes a retreat as over when this and the unvalidated packets are.
    fn in_drain(&self) -> bool {
        false
    }

    /// While `Some`, Startup sends at least at this rate, with a window to match; `None` ends it.
    fn set_probing_rate(&mut self, rate: Option<Rate>);

    /// The probe met congestion: leave Startup for Drain, and take no delivery-rate sample before the Drain is over.
    fn retreat(&mut self, now: Time);
}
