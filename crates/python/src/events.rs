//! What controllers written in Python receive: configuration and events, as immutable objects.
//!
//! Sizes are in bytes and rates in bit/s, both integers. Times are integers in nanoseconds, and
//! their names end in `_ns`: the same numbers that built-in controllers compute with.

use bentpipe_congestion as engine;
use bentpipe_units::{Bytes, Rate, Span, Time};
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// Declares a class whose attributes are read from a value of the engine.
macro_rules! class {
    (
        $(#[doc = $about:literal])+
        $class:ident($inner:ty);
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty = |$from:ident| $read:expr;)+
    ) => {
        $(#[doc = $about])+
        #[pyclass(frozen, module = "bentpipe")]
        #[derive(Debug)]
        pub struct $class(pub $inner);

        #[pymethods]
        impl $class {
            $(
                $(#[doc = $doc])+
                #[getter]
                fn $field(&self) -> $type {
                    let $from = &self.0;
                    $read
                }
            )+

            fn __repr__(&self) -> String {
                let fields = [$(format!("{}={:?}", stringify!($field), self.$field())),+];
                format!("{}({})", stringify!($class), fields.join(", "))
            }

            /// Returns this object, which never changes.
            fn __copy__(object: Py<Self>) -> Py<Self> {
                object
            }

            /// Returns this object, which never changes.
            fn __deepcopy__(object: Py<Self>, _memo: Py<PyAny>) -> Py<Self> {
                object
            }
        }
    };
}

fn bytes(bytes: Option<Bytes>) -> Option<u64> {
    bytes.map(Bytes::get)
}

fn bps(rate: Option<Rate>) -> Option<u64> {
    rate.map(Rate::as_bps)
}

fn ns(span: Option<Span>) -> Option<u64> {
    span.map(Span::as_nanos)
}

/// The configuration of a controller with the values of its parameters.
#[derive(Debug)]
pub struct Config {
    pub config: engine::ControllerConfig,
    pub parameters: BTreeMap<&'static str, f64>,
}

class! {
    /// Configuration of a controller at the start of its connection.
    ControllerConfig(Config);
    /// Start of the connection.
    now_ns: u64 = |own| own.config.now.as_nanos();
    /// Maximum packet size: the UDP payload for QUIC, the segment payload for TCP.
    mtu: u64 = |own| own.config.mtu.get();
    /// Initial congestion window.
    initial_cwnd: u64 = |own| own.config.initial_window.get();
    /// Great-circle distance between the endpoints in metres; `None` if unknown.
    distance_m: Option<u64> = |own| own.config.distance_m;
    /// RTT measured during the handshake; `None` for QUIC, whose controller observes the packets
    /// of the handshake.
    rtt_ns: Option<u64> = |own| ns(own.config.rtt);
    /// Values of the parameters that the class declares.
    parameters: BTreeMap<&'static str, f64> = |own| own.parameters.clone();
}

class! {
    /// A packet in flight, with the state of its connection when it was sent.
    SentPacket(engine::SentPacket);
    /// Position in the order of sending, from 0.
    number: u64 = |own| own.number;
    /// Size.
    bytes: u64 = |own| own.bytes.get();
    /// Time of sending.
    sent_at_ns: u64 = |own| own.sent_at.as_nanos();
    /// Bytes sent so far, this packet included.
    position: u64 = |own| own.position.get();
    /// Bytes in flight, this packet included.
    in_flight: u64 = |own| own.in_flight.get();
    /// Bytes delivered before it was sent.
    delivered: u64 = |own| own.delivered.get();
    /// Time of the last delivery before it was sent.
    delivered_at_ns: u64 = |own| own.delivered_at.as_nanos();
    /// Time of sending of the first packet of its flight.
    first_sent_at_ns: u64 = |own| own.first_sent_at.as_nanos();
    /// Bytes declared lost before it was sent.
    lost: u64 = |own| own.lost.get();
    /// True if the sender was application-limited when it sent this packet.
    app_limited: bool = |own| own.app_limited;
}

class! {
    /// A delivery-rate sample (draft-ietf-ccwg-bbr §4.1.1.2.3).
    RateSample(engine::RateSample);
    /// Delivered bytes over the longer of the send interval and the ACK interval, in bit/s; `None`
    /// if that is shorter than the minimum RTT.
    rate: Option<u64> = |own| bps(own.rate);
    /// Bytes delivered during the interval.
    delivered: u64 = |own| own.delivered.get();
    /// Bytes declared lost during the interval.
    lost: u64 = |own| own.lost.get();
    /// Bytes in flight when the newest acknowledged packet was sent.
    in_flight: u64 = |own| own.in_flight.get();
    /// Bytes delivered before that packet was sent.
    prior_delivered: u64 = |own| own.prior_delivered.get();
    /// True if that packet was sent while the sender was application-limited.
    app_limited: bool = |own| own.app_limited;
}

/// An acknowledgement that outlives its call.
#[derive(Debug)]
pub struct OwnedAck {
    packets: Vec<engine::SentPacket>,
    now: Time,
    bytes: Bytes,
    rtt: Span,
    min_rtt: Span,
    smoothed_rtt: Span,
    bytes_in_flight: Bytes,
    delivered: Bytes,
    next_number: u64,
    round_start: bool,
    round: u64,
    app_limited: bool,
    sample: engine::RateSample,
}

impl From<&engine::Ack<'_>> for Ack {
    fn from(ack: &engine::Ack<'_>) -> Self {
        Self(OwnedAck {
            packets: ack.packets.to_vec(),
            now: ack.now,
            bytes: ack.bytes,
            rtt: ack.rtt,
            min_rtt: ack.min_rtt,
            smoothed_rtt: ack.smoothed_rtt,
            bytes_in_flight: ack.bytes_in_flight,
            delivered: ack.delivered,
            next_number: ack.next_number,
            round_start: ack.round_start,
            round: ack.round,
            app_limited: ack.app_limited,
            sample: ack.sample,
        })
    }
}

class! {
    /// An acknowledgement, with all packets that it newly acknowledges.
    Ack(OwnedAck);
    /// Time of arrival.
    now_ns: u64 = |own| own.now.as_nanos();
    /// Newly acknowledged packets in the order of sending; never empty.
    packets: Vec<SentPacket> = |own| own.packets.iter().copied().map(SentPacket).collect();
    /// Number of the newest of them.
    newest: u64 = |own| own.packets.last().map_or(0, |packet| packet.number);
    /// Sum of their sizes.
    bytes: u64 = |own| own.bytes.get();
    /// RTT of the newest of them, including the peer's ACK delay.
    rtt_ns: u64 = |own| own.rtt.as_nanos();
    /// Minimum RTT of the connection, this sample included.
    min_rtt_ns: u64 = |own| own.min_rtt.as_nanos();
    /// Smoothed RTT (RFC 9002 §5.3), this sample included.
    smoothed_rtt_ns: u64 = |own| own.smoothed_rtt.as_nanos();
    /// Bytes still in flight.
    bytes_in_flight: u64 = |own| own.bytes_in_flight.get();
    /// Bytes delivered since the connection started, these included.
    delivered: u64 = |own| own.delivered.get();
    /// Number that the next packet sent will get.
    next_number: u64 = |own| own.next_number;
    /// True if this ACK starts a round trip.
    round_start: bool = |own| own.round_start;
    /// Round trips so far, this one included.
    round: u64 = |own| own.round;
    /// True if the application or flow control, rather than cwnd, limited the sender. The window
    /// must not grow then (RFC 9002 §7.8).
    app_limited: bool = |own| own.app_limited;
    /// Delivery-rate sample.
    sample: RateSample = |own| RateSample(own.sample);
}

/// A loss that outlives its call.
#[derive(Debug)]
pub struct OwnedLoss {
    packets: Vec<engine::SentPacket>,
    now: Time,
    bytes: Bytes,
    bytes_in_flight: Bytes,
    delivered: Bytes,
    lost: Bytes,
    next_number: u64,
    min_rtt: Span,
    smoothed_rtt: Span,
    persistent: bool,
}

impl From<&engine::Loss<'_>> for Loss {
    fn from(loss: &engine::Loss<'_>) -> Self {
        Self(OwnedLoss {
            packets: loss.packets.to_vec(),
            now: loss.now,
            bytes: loss.bytes,
            bytes_in_flight: loss.bytes_in_flight,
            delivered: loss.delivered,
            lost: loss.lost,
            next_number: loss.next_number,
            min_rtt: loss.min_rtt,
            smoothed_rtt: loss.smoothed_rtt,
            persistent: loss.persistent,
        })
    }
}

class! {
    /// Packets that were declared lost at the same time.
    Loss(OwnedLoss);
    /// Time of the declaration.
    now_ns: u64 = |own| own.now.as_nanos();
    /// Lost packets in the order of sending; never empty.
    packets: Vec<SentPacket> = |own| own.packets.iter().copied().map(SentPacket).collect();
    /// Number of the newest of them.
    newest: u64 = |own| own.packets.last().map_or(0, |packet| packet.number);
    /// Sum of their sizes.
    bytes: u64 = |own| own.bytes.get();
    /// Bytes still in flight.
    bytes_in_flight: u64 = |own| own.bytes_in_flight.get();
    /// Bytes delivered since the connection started.
    delivered: u64 = |own| own.delivered.get();
    /// Bytes declared lost since the connection started, these included.
    lost: u64 = |own| own.lost.get();
    /// Number that the next packet sent will get.
    next_number: u64 = |own| own.next_number;
    /// Minimum RTT of the connection.
    min_rtt_ns: u64 = |own| own.min_rtt.as_nanos();
    /// Smoothed RTT.
    smoothed_rtt_ns: u64 = |own| own.smoothed_rtt.as_nanos();
    /// True for persistent congestion (RFC 9002 §7.6).
    persistent: bool = |own| own.persistent;
}

class! {
    /// A report of packets that arrived with the ECN-CE codepoint (RFC 3168).
    EcnCe(engine::EcnCe);
    /// Time of the report.
    now_ns: u64 = |own| own.now.as_nanos();
    /// Number of the newest packet that the report covers.
    newest: u64 = |own| own.newest;
    /// Bytes still in flight.
    bytes_in_flight: u64 = |own| own.bytes_in_flight.get();
    /// Number that the next packet sent will get.
    next_number: u64 = |own| own.next_number;
    /// Number of packets that the report adds to those reported as marked; `None` if nobody counts
    /// them, as over TCP.
    marked: Option<u64> = |own| own.marked;
}

class! {
    /// A new starting point that a layer or the sender sets for a controller.
    Restart(engine::Restart);
    /// Time of the restart.
    now_ns: u64 = |own| own.now.as_nanos();
    /// Congestion window.
    cwnd: u64 = |own| own.window.get();
    /// Slow-start threshold; `None` keeps the current one.
    ssthresh: Option<u64> = |own| bytes(own.ssthresh);
    /// Bottleneck rate; `None` if it was not measured.
    rate: Option<u64> = |own| bps(own.rate);
    /// Minimum RTT; `None` if unknown.
    min_rtt_ns: Option<u64> = |own| ns(own.min_rtt);
    /// Losses and ECN-CE of packets with smaller numbers cause no further reduction (RFC 9002
    /// §7.3.2).
    recovery_start: u64 = |own| own.recovery_start;
}

class! {
    /// A change of the path that packets take.
    PathChange(engine::PathChange);
    /// Time of the report.
    now_ns: u64 = |own| own.now.as_nanos();
    /// Time from which packets take the new path.
    since_ns: u64 = |own| own.since.as_nanos();
    /// Increase of the propagation RTT; `None` if nothing is known about the new path.
    rtt_increase_ns: Option<u64> = |own| ns(own.rtt_increase);
}
