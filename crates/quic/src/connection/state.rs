//! The state of a connection that its tasks and its endpoint share.

use super::priorities::Priorities;
use super::task::Task;
use super::waiters::{StreamWaiters, wake_all};
use super::write_turns::WriteTurns;
use crate::ack::Arrivals;
use crate::clock::Clock;
use crate::flow_control::{FlowControl, FlowControlReport, GapChunks};
use crate::observer::SmallFrames;
use crate::path_memory::token::Tokens;
use crate::stream::overflow::OverflowBuffer;
use bentpipe_congestion::resume::ResumeState;
use bentpipe_qlog::QlogSink;
use bentpipe_units::{Span, Time};
use noq_proto::{Connection, ConnectionError, Dir, PathId, StreamId};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::task::Waker;

/// Free space that a full send buffer must have before writers are woken, in bytes; at most an
/// eighth of the buffer.
const REFILL: u64 = 1024 * 1024;

/// Returns the free space that a full send buffer of `high` bytes must have before writers are
/// woken.
fn refill(high: u64) -> u64 {
    (high / 8).min(REFILL)
}

/// How far writers may fill the send buffer.
#[derive(Clone, Copy)]
pub(super) enum Watermark {
    /// The whole buffer.
    High,
    /// Less than the whole buffer: writers wait for space.
    Low,
    /// More than the whole buffer: for a stream that is to be sent before all that wait for space,
    /// and whose data therefore leaves first.
    Reserve,
}

/// The state of a connection that its tasks and its endpoint share.
pub(crate) struct State {
    pub quic: Connection,
    pub now: Time,
    pub(super) clock: Clock,
    pub(super) streams: BTreeMap<StreamId, StreamWaiters>,
    /// Bidirectional streams that have a writer, or will have one once they are accepted, with the
    /// code of the peer's STOP_SENDING.
    pub(super) writers: BTreeMap<StreamId, Option<u64>>,
    /// Number of bidirectional streams of the peer that were accepted.
    pub(super) accepted: u64,
    /// Streams that are finished, not reset, when dropped: see [`super::FinishWhenDropped`].
    pub(super) finished_when_dropped: BTreeSet<StreamId>,
    /// Streams that are read out of order, with the bytes collected while their reader was busy.
    pub(super) overflow: BTreeMap<StreamId, OverflowBuffer>,
    /// The stream of which all was read since the last event of the stack, and the window that the
    /// stack had then: until one of them changes, reading it again would find and change nothing.
    pub(super) read_empty: Option<(StreamId, u64)>,
    /// Stream data that the stack may lose.
    pub(super) small_frames: SmallFrames,
    /// Tasks that wait for streams opened by the peer, by direction.
    pub(super) accept: [Vec<Waker>; 2],
    /// Tasks that wait until the peer allows another stream, by direction.
    pub(super) open: [Vec<Waker>; 2],
    /// Tasks that wait for a datagram.
    pub(super) datagrams: Vec<Waker>,
    /// Reason and time of the end and of the handshake: the stack gives only flags.
    pub(super) closed: Option<ConnectionError>,
    pub(super) connected: Option<Time>,
    /// True once the handshake is confirmed (RFC 9001 §4.1.2).
    pub(super) confirmed: bool,
    /// Writers that flow control or the send buffer blocks.
    pub(super) blocked_writers: usize,
    /// Turns of the writers.
    pub(super) write_turns: WriteTurns,
    /// Priorities of the responses, at a server.
    pub(super) priorities: Priorities,
    /// Size of the send buffer, if it was set: the high-water mark.
    pub(super) send_window: Option<u64>,
    /// Tasks that applications spawned and the endpoint has not yet taken over.
    pub spawned: Vec<Task>,
    /// True once the peer's address is validated (RFC 9000 §8), which the stack keeps private.
    pub(super) validated: bool,
    /// The peer's address on the last path that was validated, at a server.
    pub(super) validated_address: Option<SocketAddr>,
    /// Tasks that wait for `validated`.
    pub(super) validation: Vec<Waker>,
    /// Tasks that wait for the end of the handshake or of the connection.
    pub(super) state_changes: Vec<Waker>,
    /// What the connection knows about its path.
    pub(super) resume_state: ResumeState,
    /// The task that waits for a change of `resume_state`.
    pub(super) resume_waiter: Option<Waker>,
    /// This side's part in the exchange of path tokens, and whether the peer's stream of them was
    /// seen.
    pub(super) tokens: Option<(Tokens, bool)>,
    pub(super) arrivals: Arrivals,
    pub(super) flow_control: FlowControl,
    /// Chunks that wait behind gaps, in all streams.
    pub(super) gap_chunks: GapChunks,
    /// Receives its events.
    qlog: Option<QlogSink>,
}

impl State {
    pub(super) fn new(quic: Connection, now: Time, clock: Clock) -> Self {
        Self {
            quic,
            now,
            clock,
            streams: BTreeMap::new(),
            writers: BTreeMap::new(),
            accepted: 0,
            finished_when_dropped: BTreeSet::new(),
            overflow: BTreeMap::new(),
            read_empty: None,
            small_frames: SmallFrames::default(),
            accept: [Vec::new(), Vec::new()],
            open: [Vec::new(), Vec::new()],
            datagrams: Vec::new(),
            closed: None,
            connected: None,
            confirmed: false,
            blocked_writers: 0,
            write_turns: WriteTurns::default(),
            priorities: Priorities::default(),
            send_window: None,
            spawned: Vec::new(),
            validated: false,
            validated_address: None,
            validation: Vec::new(),
            state_changes: Vec::new(),
            resume_state: ResumeState::default(),
            resume_waiter: None,
            tokens: None,
            arrivals: Arrivals::default(),
            flow_control: FlowControl::default(),
            gap_chunks: GapChunks::default(),
            qlog: None,
        }
    }

    /// Sets the current time, which never goes back.
    #[inline]
    pub fn set_now(&mut self, now: Time) {
        self.now = now;
        if let Some(qlog) = &self.qlog {
            qlog.set_now(now);
        }
    }

    /// Sets what keeps the stream data that the stack may lose.
    pub fn set_small_frames(&mut self, small_frames: SmallFrames) {
        self.small_frames = small_frames;
    }

    /// Writes the connection's events to `qlog`.
    pub fn set_qlog(&mut self, qlog: QlogSink) {
        self.qlog = Some(qlog);
    }

    /// Returns what receives the connection's events.
    pub fn qlog(&self) -> Option<&QlogSink> {
        self.qlog.as_ref()
    }

    /// Returns the time at which the handshake completed.
    pub fn connected(&self) -> Option<Time> {
        self.connected
    }

    /// Returns true once the handshake is confirmed: both ends know that it is complete.
    pub fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// Returns true if the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Returns true if flow control or the send buffer blocks a writer.
    pub fn writers_blocked(&self) -> bool {
        self.blocked_writers > 0
    }

    /// Returns the stack's smoothed RTT. `None` before the handshake completes, when it is only the
    /// configured initial RTT.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.connected?;
        self.quic.rtt(PathId::ZERO).map(Span::from)
    }

    /// Returns the peer's current address and port while the connection has a path.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.quic.network_path(PathId::ZERO).ok().map(|path| path.remote())
    }

    /// Notes where the peer has shown to receive, on its current path or the last one before.
    pub fn set_validated_address(&mut self, address: SocketAddr) {
        self.validated_address = Some(address);
    }

    /// Marks the peer's address as validated.
    pub fn set_validated(&mut self) {
        self.validated = true;
        wake_all(&mut self.validation);
    }

    /// Returns true unless this is a server that must not send more than three times what it has
    /// received (RFC 9000 §8.1).
    pub fn may_send_freely(&self) -> bool {
        self.validated || self.connected.is_some() || self.quic.side().is_client()
    }

    /// Sets this side's part in the exchange of path tokens.
    pub fn set_tokens(&mut self, tokens: Tokens) {
        self.tokens = Some((tokens, false));
    }

    /// Updates what the connection knows about its path.
    pub fn set_resume_state(&mut self, resume_state: ResumeState) {
        if self.resume_state != resume_state {
            self.resume_state = resume_state;
            self.resume_waiter.take().into_iter().for_each(Waker::wake);
        }
    }

    /// Sets the size of the send buffer, in bytes.
    pub(super) fn set_send_buffer(&mut self, send_window: u64) {
        self.send_window = Some(send_window);
        let mark = if self.writers_blocked() { Watermark::Low } else { Watermark::High };
        self.set_watermark(mark);
    }

    /// Sets how far writers may fill the send buffer. A buffer that was full is refilled only once
    /// it has a good amount of free space.
    ///
    /// Otherwise each ACK would let a writer add a few kilobytes, and the stack, which searches the
    /// chunks of its buffer one by one for what to send next, would spend half of all CPU time
    /// there on a fast long path.
    pub(super) fn set_watermark(&mut self, mark: Watermark) {
        let Some(high) = self.send_window else { return };
        let window = match mark {
            Watermark::High => high,
            Watermark::Low => high - refill(high),
            Watermark::Reserve => high + refill(high),
        };
        self.quic.set_send_window(window);
    }

    /// Returns how many bytes `id` may write now. `None` if its turn is over.
    pub(super) fn take_turn(&mut self, id: StreamId) -> Option<u64> {
        // Unidirectional streams have little to write: settings and instructions.
        if id.dir() == Dir::Uni {
            return Some(u64::MAX);
        }
        let Some(high) = self.send_window else { return Some(u64::MAX) };
        self.write_turns.take(id, self.writers.len(), refill(high))
    }

    /// Reports flow control of the bytes received to `report`.
    pub fn report_flow_control(&mut self, report: FlowControlReport) {
        self.flow_control.report_to(report);
    }

    /// Makes the stack announce the flow-control limits that are due. Call before sending.
    pub fn update_flow_control(&mut self) {
        self.flow_control.update(self.now, &mut self.quic);
    }

    /// Returns when [`State::update_flow_control`] is due, if nothing happens before.
    pub fn flow_control_due(&self) -> Option<Time> {
        self.flow_control.due()
    }

    /// Counts a datagram of `bytes` that has arrived.
    pub fn on_datagram(&mut self, bytes: u64) {
        if let Some(rtt) = self.smoothed_rtt() {
            self.arrivals.on_datagram(self.now, bytes, rtt);
            self.flow_control.on_arrival(self.now, bytes, rtt);
        }
    }
}
