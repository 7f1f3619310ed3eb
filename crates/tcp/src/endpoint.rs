//! One end of a connection: handshake, sender and receiver joined.

use crate::segment::Segment;
use crate::settings::Settings;
use bentpipe_congestion as cc;
use bentpipe_congestion::Probe;
use bentpipe_link::Ecn;
use bentpipe_units::Time;
use std::sync::Arc;

/// Makes the controller of a connection that begins.
pub type MakeController = Arc<dyn Fn(&cc::Setup) -> Box<dyn cc::Controller> + Send + Sync>;

/// A segment to put on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Both sides have sent and acknowledged everything, FINs included.
    Closed,
    /// The peer, or this side, broke it off.
    Reset,
    /// The peer has not answered for too long.
    TimedOut,
}

/// What an endpoint has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record {
    /// Segments with payload sent, again or not.
    pub data_segments: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Segments that the receiver got twice.
    pub duplicates: u64,
}

/// One end of a connection.
///
/// # Order of calls
/// * [`Endpoint::connect`] or [`Endpoint::listen`] makes it; time never runs backwards between calls.
/// * After [`Endpoint::handle_segment`], [`Endpoint::handle_timeout`], [`Endpoint::write`], [`Endpoint::consume`],
///   [`Endpoint::finish`] and [`Endpoint::reset`], call [`Endpoint::poll_transmit`] until it returns `None`, and then ask
///   [`Endpoint::next_timeout`].
#[derive(Debug)]
pub struct Endpoint {}

#[allow(unused_variables, clippy::todo, reason = "the seam stands before what is behind it")]
impl Endpoint {
    /// The end that opens: its SYN waits to be polled. `probe` watches its sender.
    pub fn connect(now: Time, settings: Arc<Settings>, make: MakeController, probe: Option<Probe>) -> Self {
        todo!()
    }

    /// The end that answers the first SYN it is handed.
    pub fn listen(now: Time, settings: Arc<Settings>, make: MakeController, probe: Option<Probe>) -> Self {
        todo!()
    }

    /// Takes a segment that arrived, with the ECN field of its packet.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        todo!()
    }

    /// Does what is due by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        todo!()
    }

    /// The next segment to send.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        todo!()
    }

    /// When to call [`Self::handle_timeout`]; `None` while only a segment can change anything.
    pub fn next_timeout(&self) -> Option<Time> {
        todo!()
    }

    /// Whether the handshake is complete on this side, so that data may be sent.
    pub fn is_open(&self) -> bool {
        todo!()
    }

    /// How it ended, once it has.
    pub fn end(&self) -> Option<End> {
        todo!()
    }

    /// Bytes that [`Self::write`] takes now.
    pub fn room(&self) -> u64 {
        todo!()
    }

    /// The application writes; also before the connection is open. Returns how many bytes the send buffer took.
    pub fn write(&mut self, now: Time, bytes: u64) -> u64 {
        todo!()
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        todo!()
    }

    /// Bytes of those that the peer has acknowledged, in order.
    pub fn acknowledged(&self) -> u64 {
        todo!()
    }

    /// Nothing more will be written: a FIN follows the data.
    pub fn finish(&mut self, now: Time) {
        todo!()
    }

    /// Breaks the connection off: a RST waits to be polled.
    pub fn reset(&mut self, now: Time) {
        todo!()
    }

    /// Bytes that have arrived in order so far.
    pub fn received(&self) -> u64 {
        todo!()
    }

    /// Bytes of those that the application has taken.
    pub fn consumed(&self) -> u64 {
        todo!()
    }

    /// The application takes `bytes` of what has arrived, no more than there are: the window opens again.
    pub fn consume(&mut self, now: Time, bytes: u64) {
        todo!()
    }

    /// Whether everything up to the peer's FIN has arrived.
    pub fn peer_finished(&self) -> bool {
        todo!()
    }

    /// What was counted.
    pub fn record(&self) -> Record {
        todo!()
    }
}
