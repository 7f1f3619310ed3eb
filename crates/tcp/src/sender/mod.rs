//! The sender of a connection: transmission, loss recovery and timers.
//!
//! - `send`: the next segment, and the limits of transmission;
//! - `ack`: processing of acknowledgements;
//! - `recovery`, `recovery_state`: losses, timeouts, and undoing spurious recoveries;
//! - `scoreboard`, `ranges`: outstanding segments;
//! - `memory`: the memory of the send buffer;
//! - `rack`, `tlp`, `prr`, `rto`, `pacing`: one mechanism each.

mod ack;
mod memory;
mod pacing;
mod prr;
mod rack;
mod ranges;
mod recovery;
mod recovery_state;
mod rto;
mod scoreboard;
mod send;
mod tlp;

use crate::segment::Segment;
use crate::settings::{EcnSupport, MakeController, TcpSettings};
use bentpipe_congestion::qlog::{Event, RecoveryParameters};
use bentpipe_congestion::{Controller, ControllerConfig, SenderMetrics, SentPackets};
use bentpipe_units::{Bytes, Span, Time};
use pacing::Pacer;
use prr::Prr;
use rack::Rack;
use recovery_state::{Recovery, Undo};
use rto::Rto;
use scoreboard::{Scoreboard, Sent};
use std::sync::Arc;
use tlp::Tlp;

/// The part of a segment that the sender decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Position of the first byte, or of the FIN.
    pub(crate) seq: u64,
    /// Payload in bytes.
    pub(crate) len: u32,
    /// The FIN.
    pub(crate) fin: bool,
    /// Congestion window reduced.
    pub(crate) cwr: bool,
    /// True if a queue may mark it: new data with ECN negotiated (RFC 3168 §6.1.5).
    pub(crate) ecn_capable: bool,
}

/// The limit that stops transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SendLimit {
    /// The congestion window.
    Congestion,
    /// The pacer.
    Pacing,
    /// No data is left to send: the application has none, or the send buffer takes no more.
    Application,
    /// The peer's window.
    Peer,
}

impl From<SendLimit> for bentpipe_congestion::SendLimit {
    fn from(limit: SendLimit) -> Self {
        match limit {
            SendLimit::Congestion => Self::CongestionWindow,
            SendLimit::Pacing => Self::Pacing,
            SendLimit::Application => Self::Application,
            SendLimit::Peer => Self::FlowControl,
        }
    }
}

/// Counters of a sender.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Segments with payload sent, retransmissions included.
    pub(crate) data_segments: u64,
    /// Segments retransmitted.
    pub(crate) retransmitted: u64,
    /// Retransmission timeouts.
    pub(crate) timeouts: u64,
}

/// The sending end of one direction.
#[derive(Debug)]
pub(crate) struct Sender {
    settings: Arc<TcpSettings>,
    controller: Box<dyn Controller>,
    metrics: Option<SenderMetrics>,
    sent_packets: SentPackets,
    board: Scoreboard,
    rto: Rto,
    rack: Rack,
    tlp: Tlp,
    prr: Option<Prr>,
    pacer: Pacer,
    recovery: Option<Recovery>,
    undo: Option<Undo>,
    /// SND.UNA and SND.NXT.
    una: u64,
    nxt: u64,
    /// SND.WND, beyond `una`; its maximum; and the segment that reported it (SND.WL1).
    window: u64,
    largest_window: u64,
    window_from: u64,
    /// Position after the last byte written.
    end: u64,
    /// True if a FIN follows.
    finishing: bool,
    limit: SendLimit,
    /// True if, at the last report to the probe, only the peer's window blocked data.
    held_back: bool,
    /// True if a segment was sent or acknowledged since sending last stopped.
    changed: bool,
    /// True if no event since then could allow more.
    settled: bool,
    /// Time of the latest transmission or retransmission of data.
    last_sent: Option<Time>,
    /// Expiry of the retransmission timer.
    rto_due: Option<Time>,
    /// Expiry of the persist timer (RFC 9293 §3.8.6.1).
    persist_due: Option<Time>,
    /// Number of consecutive expirations.
    persist_backoff: u32,
    /// Window probes without a response.
    window_probes: u32,
    /// True if a window probe must be sent.
    window_probe: bool,
    /// ECN that was negotiated.
    ecn: EcnSupport,
    /// AccECN: the peer's count of CE packets.
    ce_packets: u16,
    /// True if the peer must be notified of the reduced window.
    cwr: bool,
    /// The sender has responded to marks of transmissions before this number.
    marked: u64,
    gave_up: bool,
    /// The timer has expired, and the first segment leaves whatever is in flight.
    repeats_first: bool,
    counts: Counts,
    /// Buffer kept to avoid allocation.
    newly: Vec<(u64, Sent)>,
}

/// State of a connection when it opens.
#[derive(Debug)]
pub(crate) struct Opening {
    /// RTT of the handshake, if known.
    pub(crate) rtt: Option<Span>,
    /// The peer's window in the segment that opened the connection.
    pub(crate) window: u64,
    /// Position of that segment.
    pub(crate) seq: u64,
    /// ECN that was negotiated.
    pub(crate) ecn: EcnSupport,
    /// How often the SYN or SYN-ACK of this side was sent again.
    pub(crate) repeated: u32,
}

impl Sender {
    /// Creates the sender of a connection that opens now.
    pub(crate) fn new(
        now: Time,
        settings: &Arc<TcpSettings>,
        make: &MakeController,
        metrics: Option<SenderMetrics>,
        opening: &Opening,
    ) -> Self {
        let mtu = Bytes::new(u64::from(settings.segment.max(1)));
        // RFC 6928 §2 excuses one SYN that was lost; after more, RFC 5681 §3.1 has one segment.
        let segments = if opening.repeated > 1 { 1 } else { settings.initial_window.max(1) };
        let initial_window = Bytes::new(mtu.get() * u64::from(segments));
        let controller = make(&ControllerConfig {
            now,
            mtu,
            initial_window,
            distance_m: None,
            rtt: opening.rtt,
        });
        let mut rto = Rto::new(settings);
        if let Some(rtt) = opening.rtt {
            rto.sample(now, rtt, 1, 1);
        }
        let sender = Self {
            settings: Arc::clone(settings),
            controller,
            metrics,
            sent_packets: SentPackets::new(),
            board: Scoreboard::default(),
            rto,
            rack: Rack::new(),
            tlp: Tlp::default(),
            prr: None,
            pacer: Pacer::new(settings.initial_window),
            recovery: None,
            undo: None,
            una: 1,
            nxt: 1,
            window: opening.window,
            largest_window: opening.window,
            window_from: opening.seq,
            end: 1,
            finishing: false,
            limit: SendLimit::Application,
            held_back: false,
            changed: false,
            settled: false,
            last_sent: None,
            rto_due: None,
            persist_due: None,
            persist_backoff: 0,
            window_probes: 0,
            window_probe: false,
            ecn: opening.ecn,
            ce_packets: Segment::FIRST_CE_PACKETS,
            cwr: false,
            marked: 0,
            gave_up: false,
            repeats_first: false,
            counts: Counts::default(),
            newly: Vec::new(),
        };
        if let Some(metrics) = &sender.metrics {
            let parameters = RecoveryParameters {
                timer_granularity: 1,
                max_datagram_size: Some(mtu.get()),
                initial_congestion_window: Some(initial_window.get()),
                ..RecoveryParameters::default()
            };
            metrics.log(now, &Event::RecoveryParametersSet(parameters));
        }
        sender.report(now);
        sender
    }

    /// Records that `bytes` in total were written, and that the FIN follows if `finishing`.
    pub(crate) fn written(&mut self, bytes: u64, finishing: bool) {
        self.end = bytes.saturating_add(1);
        self.finishing = finishing;
        self.settled = false;
    }

    /// Returns the position that the peer expects next (SND.UNA): everything before it is
    /// acknowledged.
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    /// Returns the position of the next new byte (SND.NXT).
    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Returns true if no segment can be sent until another event.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Returns true if the FIN was sent and acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.finishing && self.una > self.end
    }

    /// Returns true if the retransmission limit is reached.
    pub(crate) fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Returns the smoothed RTT, once measured.
    pub(crate) fn srtt(&self) -> Option<Span> {
        self.rto.srtt()
    }

    /// Returns the counters.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    fn in_flight(&self) -> Bytes {
        self.sent_packets.bytes_in_flight()
    }

    /// Reports the current state to the probe.
    fn report(&self, now: Time) {
        if let Some(metrics) = &self.metrics {
            metrics.on_state(now, &self.controller.send_control(), self.in_flight());
            metrics.on_controller(now, &*self.controller);
        }
    }
}
