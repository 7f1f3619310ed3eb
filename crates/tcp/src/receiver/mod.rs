//! The receiver of a connection: reassembly, acknowledgements and the receive window.

mod ack_timing;
mod linux_window;
mod reassembly;
mod window;
mod window_model;

use crate::segment::Segment;
use crate::settings::{EcnSupport, TcpSettings};
use ack_timing::AckTiming;
use bentpipe_link::Ecn;
use bentpipe_units::{Span, Time};
use reassembly::{Arrival, Reassembly};
use window_model::{FIRST, WindowModel};

/// Minimum number of out-of-order ranges kept, however small the buffer.
const RANGES: u64 = 64;

/// The receiving end of one direction.
///
/// Call order: [`Self::open`] after the handshake; then for each segment [`Self::on_timestamp`],
/// [`Self::on_cwr`] if it has CWR, and [`Self::on_data`] if it has payload or FIN; [`Self::fill`]
/// for each segment sent.
#[derive(Debug)]
pub(crate) struct Receiver {
    open: bool,
    data: Reassembly,
    ack_timing: AckTiming,
    window: WindowModel,
    consumed: u64,
    /// ECN that was negotiated; before, what this side has.
    ecn: EcnSupport,
    /// True if a CE mark is still to be echoed.
    marked: bool,
    /// AccECN: the count of CE packets, those since the last acknowledgement, and whether the last
    /// packet was one.
    ce_packets: u16,
    unreported: u32,
    last_is_ce: bool,
    /// TS.Recent and Last.ACK.sent (RFC 7323 §4.3).
    recent: Time,
    last_ack: u64,
    /// The last echo used as an RTT sample; each is used once.
    last_echo: Time,
    /// Minimum retransmission timeout assumed of the sender.
    min_rto: Span,
    initial_rto: Span,
}

impl Receiver {
    /// Creates a receiver before the handshake.
    pub(crate) fn new(settings: &TcpSettings) -> Self {
        let window = WindowModel::new(settings);
        let segment = u64::from(settings.segment).max(1);
        let most = (window.largest_limit() / segment).max(RANGES);
        Self {
            open: false,
            data: Reassembly::new(FIRST, usize::try_from(most).unwrap_or(usize::MAX)),
            ack_timing: AckTiming::new(settings.ack, segment),
            window,
            consumed: 0,
            ecn: settings.ecn,
            marked: false,
            ce_packets: Segment::FIRST_CE_PACKETS,
            unreported: 0,
            last_is_ce: false,
            recent: Time::ZERO,
            last_ack: 0,
            last_echo: Time::ZERO,
            min_rto: settings.min_rto,
            initial_rto: settings.initial_rto,
        }
    }

    /// Returns the window scale for the largest buffer, as in Linux.
    pub(crate) fn window_scale(settings: &TcpSettings) -> u8 {
        window::scale(settings)
    }

    /// Completes the handshake. Data starts at position 1.
    pub(crate) fn open(&mut self, now: Time) {
        if !self.open {
            self.open = true;
            self.last_ack = FIRST;
            self.window.open(now);
        }
    }

    /// Records the timestamp to echo. Called for every acceptable segment, including SYNs and pure
    /// acknowledgements, since both sides measure RTTs with these echoes.
    pub(crate) fn on_timestamp(&mut self, segment: &Segment) {
        // RFC 7323 §4.3 (2): the oldest segment that the next acknowledgement covers counts.
        if segment.seq <= self.last_ack && segment.timestamp >= self.recent {
            self.recent = segment.timestamp;
        }
    }

    /// Handles a segment with payload or FIN.
    pub(crate) fn on_data(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        if !self.open || (segment.len == 0 && !segment.flags.fin) {
            return;
        }
        self.on_timestamp(segment);
        self.measure(now, segment);
        self.on_ecn(ecn == Ecn::Ce);
        let bytes = u64::from(segment.len);
        let idle = self.idle();
        let (had_gap, repeated) = (self.data.has_gap(), self.data.repeated());
        let edge = self.window.accepts_before();
        let arrival = self.data.take(segment.seq, bytes, segment.flags.fin, edge);
        let duplicate = self.data.repeated() > repeated;
        if duplicate {
            // The sender has retransmitted, and gets quick acknowledgements for a while, as in
            // Linux.
            self.ack_timing.enter_quick_ack(self.max_quick());
        }
        self.grow_window(segment.seq, bytes, arrival);
        let max_quick = self.max_quick();
        if arrival == Arrival::InOrder && !segment.flags.fin && !had_gap && !duplicate {
            self.ack_timing.on_arrival(now, bytes, idle, max_quick);
        } else {
            self.ack_timing.on_urgent(now, bytes, idle, max_quick);
        }
    }

    /// Handles the ECN field of a data segment.
    fn on_ecn(&mut self, is_ce: bool) {
        match self.ecn {
            EcnSupport::Off => {}
            EcnSupport::Classic => {
                if is_ce && !self.marked {
                    self.marked = true;
                    self.ack_timing.ack_now();
                }
            }
            EcnSupport::Accurate { .. } => {
                if is_ce {
                    self.ce_packets = Segment::next_ce_packets(self.ce_packets);
                    self.unreported += 1;
                    // RFC 9768 §3.2.2.5.1: at the first of a run, and at every second.
                    if !self.last_is_ce || self.unreported >= 2 {
                        self.ack_timing.ack_now();
                    }
                }
                self.last_is_ce = is_ce;
            }
        }
    }

    /// Sets what was negotiated.
    pub(crate) fn set_ecn(&mut self, ecn: EcnSupport) {
        self.ecn = ecn;
    }

    /// Lets the window grow with a segment, as in Linux, which acknowledges every segment
    /// meanwhile.
    fn grow_window(&mut self, start: u64, bytes: u64, arrival: Arrival) {
        let WindowModel::Linux(window) = &mut self.window else { return };
        let grows = match arrival {
            Arrival::InOrder | Arrival::FilledGap => window.on_in_order(start, bytes),
            Arrival::BeyondGap => {
                window.on_beyond_gap(start, bytes, self.data.next(), self.data.last())
            }
            Arrival::Duplicate | Arrival::Refused => false,
        };
        if grows {
            self.ack_timing.on_window_growth();
        }
    }

    /// Returns the maximum number of quick acknowledgements that start now.
    fn max_quick(&self) -> u32 {
        match &self.window {
            WindowModel::Payload(_) => u32::MAX,
            WindowModel::Linux(window) => window.max_quick(),
        }
    }

    /// Sets the smoothed RTT of this side's sender, if it has one. It is used until an echo has
    /// given a sample: a side that only receives has no sample other than that of the handshake,
    /// which queueing soon makes too short.
    pub(crate) fn on_rtt(&mut self, rtt: Span) {
        if self.last_echo == Time::ZERO {
            self.window.seed_rtt(rtt);
        }
    }

    /// Handles that the peer has reduced its congestion window, which acknowledges earlier CE marks
    /// (RFC 3168 §6.1.3). Call it before [`Self::on_data`] of the same segment, which may carry a
    /// new mark.
    pub(crate) fn on_cwr(&mut self) {
        self.marked = false;
    }

    /// Returns RCV.NXT, the next expected position; 0 before [`Self::open`].
    pub(crate) fn next_expected(&self) -> u64 {
        if self.open { self.data.next() } else { 0 }
    }

    /// Returns the bytes received in order.
    pub(crate) fn received(&self) -> u64 {
        self.data.next() - FIRST - u64::from(self.data.finished())
    }

    /// Returns the bytes that the application has read.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Lets the application read `bytes`, at most those available.
    pub(crate) fn consume(&mut self, now: Time, bytes: u64) {
        let bytes = bytes.min(self.received() - self.consumed);
        if bytes == 0 {
            return;
        }
        self.consumed += bytes;
        let unread = self.received() - self.consumed;
        self.window.on_consumed(now, self.consumed, unread);
        if !self.data.finished() && self.window.wants_update(self.data.next(), self.consumed) {
            self.ack_timing.ack_now();
        }
    }

    /// Returns true if everything up to the peer's FIN has arrived.
    pub(crate) fn finished(&self) -> bool {
        self.data.finished()
    }

    /// Returns the number of segments of which some bytes had arrived before.
    pub(crate) fn duplicates(&self) -> u64 {
        self.data.repeated()
    }

    /// Returns true if an acknowledgement is due now.
    pub(crate) fn wants_ack(&self, now: Time) -> bool {
        self.ack_timing.is_due(now)
    }

    /// Returns when to call [`Self::handle_timeout`].
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.ack_timing.next_timeout()
    }

    /// Handles timers that expired by `now`.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.ack_timing.handle_timeout(now);
    }

    /// Writes acknowledgement, window, echo, SACK blocks and ECE into a segment to be sent, which
    /// counts as the acknowledgement. Before [`Self::open`], only the unscaled window and the echo,
    /// if any, since the endpoint handles the handshake.
    pub(crate) fn fill(&mut self, _now: Time, segment: &mut Segment) {
        if self.recent > Time::ZERO {
            segment.echo = self.recent;
        }
        if !self.open || segment.flags.syn {
            segment.window = self.window.unscaled();
            return;
        }
        segment.ack = self.data.next();
        let (window, tight) = self.window.advertise(segment.ack, self.consumed);
        segment.window = window;
        if tight {
            self.ack_timing.leave_quick_ack();
        }
        segment.flags.ece |= self.marked;
        if self.ecn.is_accurate() {
            segment.ce_packets = self.ce_packets;
            self.unreported = 0;
        }
        self.data.tell(&mut segment.sack);
        self.last_ack = segment.ack;
        self.ack_timing.on_acknowledged();
    }

    /// Returns the pause after which a sender may have restarted: its retransmission timeout. In
    /// Linux it is the RTT plus its minimum if RTTs vary little.
    fn idle(&self) -> Span {
        self.window.rtt().map_or(self.initial_rto, |rtt| rtt + self.min_rto)
    }

    /// Measures the RTT from echoes of full segments. A short one may have waited for its
    /// application.
    fn measure(&mut self, now: Time, segment: &Segment) {
        let full = u64::from(segment.len) >= self.ack_timing.full();
        if full
            && segment.echo > Time::ZERO
            && segment.echo != self.last_echo
            && segment.echo <= now
        {
            self.last_echo = segment.echo;
            let all_read = self.consumed == self.received();
            self.window.on_rtt(now.since(segment.echo), all_read);
        }
    }
}

#[cfg(test)]
mod tests;
