//! One end of a connection: handshake, sender and receiver.

use crate::receiver::Receiver;
use crate::segment::{Flags, Segment};
use crate::sender::{Counts, Opening, Outgoing, Sender};
use crate::settings::{EcnSupport, MakeController, TcpSettings};
use bentpipe_congestion::SenderMetrics;
use bentpipe_link::Ecn;
use bentpipe_units::{Span, Time};
use std::sync::Arc;

/// A segment to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// Both sides have sent and acknowledged all data and FINs.
    Closed,
    /// This side or the peer reset the connection.
    Reset,
    /// The peer did not answer before the retransmission limit.
    TimedOut,
}

/// Counters of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndpointStats {
    /// Segments with payload sent, retransmissions included.
    pub data_segments: u64,
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Received segments of which some bytes had arrived before.
    pub duplicates: u64,
}

/// State of the handshake (RFC 9293 §3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waiting for a SYN.
    Listen,
    /// Has sent a SYN, or will at the next poll.
    SynSent,
    /// Has answered a SYN, or will at the next poll.
    SynReceived,
    /// Data may be sent.
    Open,
}

/// The SYN of this side.
#[derive(Debug, Clone, Copy, Default)]
struct Syn {
    /// True if it must be sent at the next poll.
    wanted: bool,
    /// Time of the first transmission, and of the latest.
    first_at: Time,
    sent_at: Time,
    /// Number of transmissions.
    sent: u32,
    /// Time of the next retransmission.
    due: Option<Time>,
}

/// One end of a connection.
///
/// # Order of calls
/// * [`Endpoint::connect`] or [`Endpoint::listen`] creates it. Time never runs backwards between
///   calls.
/// * After [`Endpoint::handle_segment`], [`Endpoint::handle_timeout`], [`Endpoint::write`],
///   [`Endpoint::consume`], [`Endpoint::finish`] and [`Endpoint::reset`], call
///   [`Endpoint::poll_transmit`] until it returns `None`, then [`Endpoint::next_timeout`].
///
/// TIME-WAIT is not modelled: an endpoint that is [`CloseReason::Closed`] has no more timeouts, and
/// still acknowledges a retransmitted FIN.
pub struct Endpoint {
    settings: Arc<TcpSettings>,
    make: MakeController,
    metrics: Option<SenderMetrics>,
    state: State,
    syn: Syn,
    sender: Option<Box<Sender>>,
    receiver: Receiver,
    /// ECN that was negotiated, as far as known.
    ecn: EcnSupport,
    written: u64,
    finishing: bool,
    /// True if an acknowledgement must be sent regardless of the receiver's policy.
    ack_wanted: bool,
    /// True if that acknowledgement must be sent on its own, before any data.
    ack_first: bool,
    reset_wanted: bool,
    end: Option<CloseReason>,
    now: Time,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { state, syn, sender, receiver, written, finishing, end, .. } = self;
        f.debug_struct("Endpoint")
            .field("state", state)
            .field("syn", syn)
            .field("sender", sender)
            .field("receiver", receiver)
            .field("written", written)
            .field("finishing", finishing)
            .field("end", end)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Creates the active opener. Its SYN is sent at the first poll. `probe` records the sender's
    /// state.
    pub fn connect(
        now: Time,
        settings: Arc<TcpSettings>,
        make: MakeController,
        metrics: Option<SenderMetrics>,
    ) -> Self {
        let mut endpoint = Self::listen(now, settings, make, metrics);
        endpoint.state = State::SynSent;
        endpoint.syn.wanted = true;
        endpoint
    }

    /// Creates the passive opener, which answers the first SYN it receives.
    pub fn listen(
        now: Time,
        settings: Arc<TcpSettings>,
        make: MakeController,
        metrics: Option<SenderMetrics>,
    ) -> Self {
        let receiver = Receiver::new(&settings);
        let ecn = settings.ecn;
        Self {
            settings,
            make,
            metrics,
            state: State::Listen,
            syn: Syn::default(),
            sender: None,
            receiver,
            ecn,
            written: 0,
            finishing: false,
            ack_wanted: false,
            ack_first: false,
            reset_wanted: false,
            end: None,
            now,
        }
    }

    /// Processes a received segment, with the ECN field of its packet.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        self.now = self.now.max(now);
        let now = self.now;
        if segment.flags.rst {
            // No endpoint waits for a response before its SYN was sent.
            if self.state != State::Listen && self.end.is_none() {
                self.end = Some(CloseReason::Reset);
            }
            return;
        }
        if matches!(self.end, Some(CloseReason::Reset | CloseReason::TimedOut)) {
            self.reset_wanted = true;
            return;
        }
        match self.state {
            State::Listen => self.on_syn(segment),
            State::SynSent => self.on_syn_ack(now, segment),
            State::SynReceived => {
                if segment.flags.syn {
                    self.syn.wanted = true;
                } else if segment.flags.ack && segment.ack >= 1 {
                    self.open(now, segment);
                    self.on_established(now, segment, ecn);
                }
            }
            State::Open => self.on_established(now, segment, ecn),
        }
    }

    /// Handles timers that expired by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = self.now.max(now);
        let now = self.now;
        if self.end.is_some_and(|end| end != CloseReason::Closed) {
            return;
        }
        if self.syn.due.is_some_and(|due| due <= now) {
            self.syn.due = None;
            if self.syn.sent > self.settings.syn_retries {
                self.end = Some(CloseReason::TimedOut);
                return;
            }
            self.syn.wanted = true;
        }
        if let Some(sender) = &mut self.sender {
            sender.handle_timeout(now);
            if sender.gave_up() {
                self.end = Some(CloseReason::TimedOut);
            }
        }
        self.receiver.handle_timeout(now);
    }

    /// Returns true if [`Self::poll_transmit`] is known to return `None` at `now`, at less cost
    /// than polling. False if only polling can tell.
    #[inline]
    pub fn is_quiet(&self, now: Time) -> bool {
        let wanted = self.reset_wanted || self.syn.wanted || self.ack_wanted;
        !wanted
            && self
                .sender
                .as_ref()
                .is_none_or(|sender| sender.is_settled() && !self.receiver.wants_ack(now))
    }

    /// Returns the next segment to send.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let mut segment = Segment::default();
        let ecn = self.poll_segment(now, &mut segment)?;
        Some(Transmit { segment, ecn })
    }

    /// Writes the next segment to send to `segment`. Returns the ECN field of its packet, or `None`
    /// if there is no segment to send.
    ///
    /// This saves copies of the segment, which cost more than it takes to create it.
    pub fn poll_segment(&mut self, now: Time, segment: &mut Segment) -> Option<Ecn> {
        self.now = self.now.max(now);
        let now = self.now;
        if std::mem::take(&mut self.reset_wanted) {
            *segment = self.reset_segment(now);
            return Some(Ecn::NotEct);
        }
        if matches!(self.end, Some(CloseReason::Reset | CloseReason::TimedOut)) {
            return None;
        }
        if std::mem::take(&mut self.syn.wanted) {
            *segment = self.syn_segment(now);
            return Some(Ecn::NotEct);
        }
        let sender = self.sender.as_mut()?;
        let data = if self.ack_first { None } else { sender.poll(now) };
        let outgoing = match data {
            Some(outgoing) => outgoing,
            None if self.ack_wanted || self.receiver.wants_ack(now) => {
                Outgoing { seq: sender.nxt(), len: 0, fin: false, cwr: false, ecn_capable: false }
            }
            None => return None,
        };
        Some(self.data(now, outgoing, segment))
    }

    /// Returns when to call [`Self::handle_timeout`]. `None` if no timer is running.
    pub fn next_timeout(&self) -> Option<Time> {
        if matches!(self.end, Some(CloseReason::Reset | CloseReason::TimedOut)) {
            return None;
        }
        // Called at each event of a simulation, so that only a few comparisons are affordable.
        let next = match &self.sender {
            None => self.syn.due.unwrap_or(Time::MAX),
            Some(sender) => {
                sender.next_timeout(self.now).min(self.receiver.next_timeout().unwrap_or(Time::MAX))
            }
        };
        (next < Time::MAX).then_some(next)
    }

    /// Returns true if the handshake is complete on this side, so that data can be sent.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Returns how the connection ended. `None` while it has not.
    pub fn end(&self) -> Option<CloseReason> {
        self.end
    }

    /// Returns the free space of the send buffer, in bytes.
    pub fn room(&self) -> u64 {
        if !self.takes_data() {
            return 0;
        }
        let used = self.sender.as_ref().map_or(self.written, |sender| sender.buffer_used());
        self.settings.send_buffer.get().saturating_sub(used)
    }

    /// Returns true if the connection still takes data, as soon as the send buffer has room.
    #[inline]
    pub fn takes_data(&self) -> bool {
        !self.finishing && self.end.is_none()
    }

    /// Writes `bytes` to the send buffer, also before the connection is open. Returns the bytes
    /// accepted.
    pub fn write(&mut self, now: Time, bytes: u64) -> u64 {
        self.now = self.now.max(now);
        let taken = bytes.min(self.room());
        self.written += taken;
        self.notify_written();
        taken
    }

    /// Returns the bytes accepted by [`Self::write`] so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the bytes acknowledged by the peer, in order.
    pub fn acknowledged(&self) -> u64 {
        // The SYN has position 0, and the FIN can be acknowledged as well.
        self.sender.as_ref().map_or(0, |sender| (sender.una() - 1).min(self.written))
    }

    /// Closes this direction: a FIN follows the data.
    pub fn finish(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.finishing = true;
        self.notify_written();
    }

    /// Resets the connection: a RST is sent at the next poll.
    pub fn reset(&mut self, now: Time) {
        self.now = self.now.max(now);
        if self.end.is_none() {
            self.end = Some(CloseReason::Reset);
            self.reset_wanted = self.state != State::Listen;
        }
    }

    /// Returns the bytes received in order so far.
    pub fn received(&self) -> u64 {
        self.receiver.received()
    }

    /// Returns the bytes that the application has read.
    pub fn consumed(&self) -> u64 {
        self.receiver.consumed()
    }

    /// Lets the application read `bytes`, at most those received, which reopens the window.
    pub fn consume(&mut self, now: Time, bytes: u64) {
        self.now = self.now.max(now);
        self.receiver.consume(self.now, bytes);
    }

    /// Returns true if everything up to the peer's FIN has arrived.
    pub fn peer_finished(&self) -> bool {
        self.receiver.finished()
    }

    /// Returns the counters.
    pub fn record(&self) -> EndpointStats {
        let counts = self.sender.as_ref().map_or(Counts::default(), |sender| sender.counts());
        let Counts { data_segments, retransmitted, timeouts } = counts;
        EndpointStats {
            data_segments,
            retransmitted,
            timeouts,
            duplicates: self.receiver.duplicates(),
        }
    }

    fn notify_written(&mut self) {
        if let Some(sender) = &mut self.sender {
            sender.written(self.written, self.finishing);
        }
    }

    fn on_syn(&mut self, segment: &Segment) {
        let Flags { syn, ack, ece, cwr, .. } = segment.flags;
        if syn && !ack {
            self.state = State::SynReceived;
            self.syn.wanted = true;
            self.receiver.on_timestamp(segment);
            self.ecn = self.ecn.after_syn(ece && cwr, segment.ce_packets != 0);
        }
    }

    fn on_syn_ack(&mut self, now: Time, segment: &Segment) {
        let Flags { syn, ack, ece, cwr, .. } = segment.flags;
        if syn && ack && segment.ack == 1 {
            self.receiver.on_timestamp(segment);
            self.ecn = self.ecn.after_syn_ack(ece, cwr);
            self.open(now, segment);
            // The application waits for the connection before it writes, so that its first data is
            // a separate packet (Linux, `tcp_rcv_synsent_state_process`). Data written earlier
            // waits in the same way.
            self.ack_wanted = true;
            self.ack_first = true;
        }
    }

    /// Completes the handshake on this side with `segment`.
    fn open(&mut self, now: Time, segment: &Segment) {
        self.state = State::Open;
        self.syn.wanted = false;
        self.syn.due = None;
        // Only a SYN sent once, or an echoed timestamp, is a valid RTT sample (RFC 6298 §3).
        let rtt = if segment.echo > Time::ZERO && segment.echo <= now {
            Some(now.since(segment.echo))
        } else {
            (self.syn.sent == 1).then(|| now.since(self.syn.sent_at))
        };
        let opening = Opening {
            rtt,
            window: segment.window,
            seq: segment.seq,
            ecn: self.ecn,
            // The first one arrived, only late, if its timestamp is echoed: Linux,
            // `tcp_try_undo_spurious_syn`.
            repeated: if segment.echo == self.syn.first_at && segment.echo > Time::ZERO {
                0
            } else {
                self.syn.sent.saturating_sub(1)
            },
        };
        self.sender = Some(Box::new(Sender::new(
            now,
            &self.settings,
            &self.make,
            self.metrics.take(),
            &opening,
        )));
        self.receiver.set_ecn(self.ecn);
        self.receiver.open(now);
        if let Some(rtt) = rtt {
            self.receiver.on_rtt(rtt);
        }
        self.notify_written();
    }

    fn on_established(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let Some(sender) = &mut self.sender else { return };
        if segment.flags.syn {
            // The acknowledgement of the SYN-ACK was lost.
            self.ack_wanted = true;
            return;
        }
        if segment.flags.ack {
            let before = sender.una();
            if !sender.on_ack(now, segment) {
                // RFC 9293 §3.10.7.4: the segment acknowledges data that was never sent.
                self.ack_wanted = true;
                return;
            }
            if let Some(srtt) = sender.srtt().filter(|_| sender.una() > before) {
                self.receiver.on_rtt(srtt);
            }
        }
        if segment.flags.cwr {
            self.receiver.on_cwr();
        }
        if segment.len > 0 || segment.flags.fin {
            self.receiver.on_data(now, segment, ecn);
        } else if segment.seq >= self.receiver.next_expected() {
            self.receiver.on_timestamp(segment);
        } else {
            // Unacceptable, and therefore answered (RFC 9293 §3.10.7.4): this is how the peer
            // probes the window.
            self.ack_wanted = true;
        }
        if self.end.is_none() && self.receiver.finished() && sender.is_finished() {
            self.end = Some(CloseReason::Closed);
        }
    }

    fn syn_segment(&mut self, now: Time) -> Segment {
        let answer = self.state == State::SynReceived;
        let mut segment = Segment {
            timestamp: now,
            flags: Flags {
                syn: true,
                ack: answer,
                ece: if answer { self.ecn == EcnSupport::Classic } else { self.ecn.is_on() },
                cwr: if answer { self.ecn.is_accurate() } else { self.ecn.is_on() },
                ..Flags::default()
            },
            // AE of a SYN-ACK would say that the SYN arrived with CE (RFC 9768 §3.1.1).
            ce_packets: u16::from(!answer && self.ecn.is_accurate()),
            ..Segment::default()
        };
        self.receiver.fill(now, &mut segment);
        segment.ack = u64::from(answer);
        if self.syn.sent == 0 {
            self.syn.first_at = now;
        }
        self.syn.sent_at = now;
        let backoff: Span = self.settings.initial_rto * (1 << self.syn.sent.min(20));
        self.syn.due = Some(now + backoff.min(self.settings.max_rto));
        self.syn.sent += 1;
        segment
    }

    /// Writes a segment of data or a pure acknowledgement. Returns the ECN field of its packet.
    fn data(&mut self, now: Time, outgoing: Outgoing, segment: &mut Segment) -> Ecn {
        let Outgoing { seq, len, fin, cwr, ecn_capable } = outgoing;
        let flags = Flags { ack: true, fin, cwr, ..Flags::default() };
        *segment = Segment { seq, len, timestamp: now, flags, ..Segment::default() };
        self.receiver.fill(now, segment);
        self.ack_wanted = false;
        self.ack_first = false;
        match self.ecn {
            _ if !ecn_capable => Ecn::NotEct,
            EcnSupport::Accurate { l4s: true } => Ecn::Ect1,
            _ => Ecn::Ect0,
        }
    }

    fn reset_segment(&self, now: Time) -> Segment {
        let seq = self.sender.as_ref().map_or(u64::from(self.syn.sent > 0), |sender| sender.nxt());
        let flags = Flags { rst: true, ack: true, ..Flags::default() };
        Segment {
            seq,
            ack: self.receiver.next_expected(),
            timestamp: now,
            flags,
            ..Segment::default()
        }
    }
}
