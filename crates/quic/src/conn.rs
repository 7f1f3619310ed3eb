//! A connection that several tasks share: the protocol state, and who waits for which of its
//! events.

use crate::arrivals::Arrivals;
use crate::clock::Clock;
use crate::credit::{FlowControl, FlowControlReport};
use crate::endpoint::Task;
use crate::settings::FlowControlRule;
use crate::stream::overflow::OverflowBuffer;
use crate::token::Tokens;
use bentpipe_congestion::SavedParameters;
use bentpipe_congestion::resume::ResumeState;
use bentpipe_units::{Bytes as Size, Span, Time};
use bytes::Bytes;
use noq_proto::{
    Connection, ConnectionError, Dir, Event, PathId, StreamEvent, StreamId, VarInt, WriteError,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A handle on one connection. Clones are handles on the same one.
///
/// Applications (HTTP/3 among them) use it from futures; the endpoint that owns the connection
/// drives it. The lock is never held across an await, and never contended under the virtual clock.
#[derive(Clone)]
pub struct Conn(Arc<Mutex<State>>);

/// What tasks and the endpoint see of a connection.
pub(crate) struct State {
    pub quic: Connection,
    pub now: Time,
    clock: Clock,
    streams: BTreeMap<StreamId, StreamWaiters>,
    /// Streams that the peer wants no more of and whose writers do not all know it, with its code.
    stopped: BTreeMap<StreamId, u64>,
    /// Streams that are finished instead of reset if they are dropped: see [`FinishWhenDropped`].
    finished_when_dropped: BTreeSet<StreamId>,
    /// Streams that are read, and what is set aside of them.
    pub overflow: BTreeMap<StreamId, OverflowBuffer>,
    /// Waiters for streams the peer opens, by direction.
    accept: [Vec<Waker>; 2],
    /// Waiters for permission to open a stream, by direction.
    open: [Vec<Waker>; 2],
    closed: Option<ConnectionError>,
    connected: Option<Time>,
    /// Streams whose application has more to write than windows and send buffer admit.
    blocked_writers: usize,
    /// The send buffer's size, where it was given: the high-water mark.
    send_window: Option<u64>,
    /// Tasks that applications started and the endpoint has not yet taken over.
    pub spawned: Vec<Task>,
    /// The peer's address is its own (RFC 9000 §8).
    validated: bool,
    /// Waiters for that.
    validation: Vec<Waker>,
    /// Waiters for the next turn in the connection's life: the handshake is complete, or it has
    /// ended.
    state_changes: Vec<Waker>,
    /// What is known of the path, where the connection has notes of it.
    resume_state: ResumeState,
    /// Who waits for more.
    learning: Option<Waker>,
    /// What this side does with path tokens, and whether the peer's stream of them was seen.
    tokens: Option<(Tokens, bool)>,
    arrivals: Arrivals,
    pub credit: FlowControl,
}

/// Room that a full send buffer must have before it is filled again, bytes; at most an eighth of
/// the buffer.
const REFILL: u64 = 1024 * 1024;

#[derive(Clone, Copy)]
enum Watermark {
    /// The whole buffer may be filled.
    High,
    /// Writers wait for room.
    Low,
}

#[derive(Default)]
struct StreamWaiters {
    read: Option<Waker>,
    write: Option<Waker>,
    /// Waits for the last acknowledgement.
    acknowledged: Option<Waker>,
}

/// What a read found.
#[derive(Debug)]
pub(crate) enum Read {
    /// Pieces were handed to the sink; more may come later.
    More,
    /// The stream has ended: everything was handed over.
    Finished,
    /// The peer gave the stream up with this code.
    Reset(u64),
}

impl std::fmt::Debug for Conn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conn").finish_non_exhaustive()
    }
}

impl Conn {
    pub(crate) fn new(quic: Connection, now: Time, clock: Clock) -> Self {
        Self(Arc::new(Mutex::new(State {
            quic,
            now,
            clock,
            streams: BTreeMap::new(),
            stopped: BTreeMap::new(),
            finished_when_dropped: BTreeSet::new(),
            overflow: BTreeMap::new(),
            accept: [Vec::new(), Vec::new()],
            open: [Vec::new(), Vec::new()],
            closed: None,
            connected: None,
            blocked_writers: 0,
            send_window: None,
            spawned: Vec::new(),
            validated: false,
            validation: Vec::new(),
            state_changes: Vec::new(),
            resume_state: ResumeState::default(),
            learning: None,
            tokens: None,
            arrivals: Arrivals::default(),
            credit: FlowControl::default(),
        })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while holding the lock leaves counters, not protocol state, half-written; the
        // panic itself is reported.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of the event being handled.
    pub fn now(&self) -> Time {
        self.lock().now
    }

    /// When the handshake completed on this side.
    pub fn connected_at(&self) -> Option<Time> {
        self.lock().connected
    }

    /// Why the connection ended, where it has.
    pub fn closed(&self) -> Option<ConnectionError> {
        self.lock().closed.clone()
    }

    /// Whether early data was accepted by the server (RFC 9001 §4.6.2); meaningful once connected.
    pub fn accepted_0rtt(&self) -> bool {
        self.lock().quic.accepted_0rtt()
    }

    /// Whether keys for early data were there when the connection began.
    pub fn has_0rtt(&self) -> bool {
        self.lock().quic.has_0rtt()
    }

    /// Counters of the transport.
    pub fn stats(&self) -> noq_proto::ConnectionStats {
        self.lock().quic.stats()
    }

    /// Runs `task` beside the connection's other tasks, until it ends or the connection is
    /// forgotten.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.lock().spawned.push(Box::pin(task));
    }

    /// Tells the size of the send buffer, at first the one that the connection was configured with
    /// ([`crate::Settings::send_window`]): writers that have filled it then wait for room worth
    /// waking up for. A smaller size than before takes back nothing.
    pub fn set_send_buffer(&self, send_window: u64) {
        let mut state = self.lock();
        state.send_window = Some(send_window);
        let mark = if state.writers_blocked() { Watermark::Low } else { Watermark::High };
        state.set_watermark(mark);
    }

    /// What arrived in the best round trip so far, the receiver's view of what the path carries:
    /// see [`crate::Endpoint::handle_datagram`]. None before a round trip has passed.
    pub fn received_view(&self) -> Option<SavedParameters> {
        self.lock().arrivals.best()
    }

    /// Lets the peer send up to `window` on all streams together before it hears from us again. A
    /// smaller window than the `present` one changes nothing; a stream's own window stays what it
    /// was, since QUIC's stack has no way to change it.
    pub(crate) fn raise_receive_window(&self, window: Size, present: Size) {
        if window > present {
            let State { credit, quic, .. } = &mut *self.lock();
            credit.raise(window, quic);
        }
    }

    /// Tells the flow-control window that the connection was configured with, and how credit is to
    /// grow from there ([`crate::credit`]). Bytes that wait behind a hole are read from the stack
    /// at once (the [`Reassembler`](crate::Reassembler) says why), and the stack takes that for
    /// consumed; from now on they are withheld from the connection's window until they are in
    /// order, as a receiver that reads in order would do. A stream's own window cannot be steered
    /// so.
    pub fn set_flow_control(&self, connection_window: Size, rule: &FlowControlRule) {
        self.lock().credit.govern(connection_window, rule);
    }

    /// The largest flow-control window that the connection may come to, where it was told.
    pub(crate) fn receive_window(&self) -> u64 {
        self.lock().credit.bound()
    }

    /// A reader that had `told` of bytes behind a hole holds `waiting` of them now.
    pub(crate) fn waits(&self, told: &mut u64, waiting: u64) {
        if *told != waiting {
            let State { credit, quic, .. } = &mut *self.lock();
            credit.waits(told, waiting, quic);
        }
    }

    /// A reader that kept `before` bytes of an incomplete frame from its application keeps `now` of
    /// them.
    pub(crate) fn withhold(&self, before: u64, now: u64) {
        if before != now {
            let State { credit, quic, .. } = &mut *self.lock();
            credit.withhold(before, now, quic);
        }
    }

    /// Nobody reads the stream any more; `held` bytes that were read of it are not taken.
    pub(crate) fn unsubscribe(&self, id: StreamId, held: u64) {
        self.lock().forget_overflow(id);
        self.consumed(held);
    }

    /// An application has taken `bytes` in order, or will never take them.
    pub(crate) fn consumed(&self, bytes: u64) {
        if bytes > 0 {
            self.lock().credit.consumed(bytes);
        }
    }

    /// The peer's address as it is now, where the connection has one.
    pub(crate) fn remote_ip(&self) -> Option<IpAddr> {
        self.lock().quic.network_path(PathId::ZERO).ok().map(|path| path.remote().ip())
    }

    /// Waits until the peer's address is validated: a token of the stack's proved it, or the
    /// handshake is complete (RFC 9000 §8.1).
    pub(crate) fn poll_validated(&self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        let mut state = self.lock();
        match &state.closed {
            _ if state.validated => Poll::Ready(Ok(())),
            Some(error) => Poll::Ready(Err(error.clone())),
            None => {
                wait(&mut state.validation, cx);
                Poll::Pending
            }
        }
    }

    /// Waits until the handshake is complete or the connection has ended, whatever comes next.
    pub(crate) fn poll_state_change(
        &self,
        turned: impl Fn(&State) -> bool,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let mut state = self.lock();
        if turned(&state) {
            return Poll::Ready(());
        }
        wait(&mut state.state_changes, cx);
        Poll::Pending
    }

    /// Waits until what is known of the path is something that `wanted` wants. One task at a time.
    pub(crate) fn poll_knowledge<T>(
        &self,
        wanted: impl Fn(&ResumeState) -> Option<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, ConnectionError>> {
        let mut state = self.lock();
        if let Some(error) = &state.closed {
            return Poll::Ready(Err(error.clone()));
        }
        match wanted(&state.resume_state) {
            Some(found) => Poll::Ready(Ok(found)),
            None => {
                state.learning = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Whether this side has to do with path tokens.
    pub(crate) fn has_tokens(&self) -> bool {
        self.lock().tokens.is_some()
    }

    /// What this side does with the peer's stream of tokens: something once, nothing for further
    /// ones.
    pub(crate) fn tokens_once(&self) -> Option<Tokens> {
        let mut state = self.lock();
        let (tokens, seen) = state.tokens.as_mut()?;
        (!std::mem::replace(seen, true)).then(|| tokens.clone())
    }

    /// Ends the connection with an application error code; `reason` is shown to the peer.
    pub fn close(&self, code: u64, reason: &[u8]) {
        let mut state = self.lock();
        let at = state.clock.instant(state.now);
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        state.quic.close(at, code, Bytes::copy_from_slice(reason));
        state.end(ConnectionError::LocallyClosed);
    }

    pub(crate) fn poll_accept(
        &self,
        dir: Dir,
        cx: &mut Context<'_>,
    ) -> Poll<Result<StreamId, ConnectionError>> {
        let mut state = self.lock();
        if let Some(id) = state.quic.streams().accept(dir) {
            return Poll::Ready(Ok(id));
        }
        if let Some(error) = &state.closed {
            return Poll::Ready(Err(error.clone()));
        }
        wait(&mut state.accept[dir as usize], cx);
        Poll::Pending
    }

    pub(crate) fn poll_open(
        &self,
        dir: Dir,
        cx: &mut Context<'_>,
    ) -> Poll<Result<StreamId, ConnectionError>> {
        let mut state = self.lock();
        if let Some(error) = &state.closed {
            return Poll::Ready(Err(error.clone()));
        }
        if let Some(id) = state.quic.streams().open(dir) {
            return Poll::Ready(Ok(id));
        }
        wait(&mut state.open[dir as usize], cx);
        Poll::Pending
    }

    /// Writes as much of `data` as windows admit; waits where they admit nothing.
    pub(crate) fn poll_write(
        &self,
        id: StreamId,
        data: &[u8],
        cx: &mut Context<'_>,
    ) -> Poll<Result<usize, StreamFailure>> {
        let mut state = self.lock();
        if let Some(error) = &state.closed {
            return Poll::Ready(Err(StreamFailure::Connection(error.clone())));
        }
        if let Some(code) = state.stopped.get(&id) {
            return Poll::Ready(Err(StreamFailure::Terminated(*code)));
        }
        match state.quic.send_stream(id).write(data) {
            Ok(written) => Poll::Ready(Ok(written)),
            Err(WriteError::Blocked) => {
                state.set_watermark(Watermark::Low);
                let waiters = state.streams.entry(id).or_default();
                if waiters.write.replace(cx.waker().clone()).is_none() {
                    state.blocked_writers += 1;
                }
                Poll::Pending
            }
            Err(WriteError::Stopped(code)) => {
                Poll::Ready(Err(StreamFailure::Terminated(code.into_inner())))
            }
            Err(WriteError::ClosedStream) => Poll::Ready(Err(StreamFailure::Closed)),
        }
    }

    /// Hands every piece that has arrived to `sink(offset, bytes)`, in the order of arrival, at
    /// most `limit` bytes. Waits where nothing is there.
    pub(crate) fn poll_read(
        &self,
        id: StreamId,
        limit: u64,
        cx: &mut Context<'_>,
        mut sink: impl FnMut(u64, Bytes),
    ) -> Poll<Result<Read, StreamFailure>> {
        use noq_proto::ReadError;
        let mut state = self.lock();
        if let Some(read) = state.take_overflow(id, &mut sink) {
            return Poll::Ready(Ok(read));
        }
        let room = {
            let State { credit, quic, now, .. } = &mut *state;
            credit.room(*now, quic)
        };
        if room == 0 {
            return Poll::Ready(Err(StreamFailure::Overfull));
        }
        let (limit, mut taken) = (limit.min(room), 0u64);
        let outcome = {
            let mut stream = state.quic.recv_stream(id);
            let Ok(mut chunks) = stream.read(false) else {
                return Poll::Ready(Err(StreamFailure::Closed));
            };
            loop {
                if taken >= limit {
                    break Some(Ok(Read::More));
                }
                match chunks.next(usize::try_from(limit - taken).unwrap_or(usize::MAX)) {
                    Ok(Some(chunk)) => {
                        taken += chunk.bytes.len() as u64;
                        sink(chunk.offset, chunk.bytes);
                    }
                    Ok(None) => break Some(Ok(Read::Finished)),
                    Err(ReadError::Blocked) if taken > 0 => break Some(Ok(Read::More)),
                    Err(ReadError::Blocked) => break None,
                    Err(ReadError::Reset(code)) => break Some(Ok(Read::Reset(code.into_inner()))),
                }
            }
        };
        state.credit.read(taken);
        match outcome {
            Some(result) => Poll::Ready(result),
            None => {
                if let Some(error) = &state.closed {
                    return Poll::Ready(Err(StreamFailure::Connection(error.clone())));
                }
                state.streams.entry(id).or_default().read = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// The next bytes in order, at most `most`; none at the stream's end or after a reset. A stream
    /// that was read in order may be read out of order from then on, but not the other way round.
    pub(crate) fn poll_read_ordered(
        &self,
        id: StreamId,
        most: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Bytes>> {
        let mut state = self.lock();
        let found = {
            let mut stream = state.quic.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { return Poll::Ready(None) };
            match chunks.next(most) {
                Ok(chunk) => Some(chunk.map(|chunk| chunk.bytes)),
                Err(noq_proto::ReadError::Blocked) => None,
                Err(noq_proto::ReadError::Reset(_)) => Some(None),
            }
        };
        match found {
            Some(bytes) => {
                let taken = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
                state.credit.read(taken);
                state.credit.consumed(taken);
                Poll::Ready(bytes)
            }
            None if state.closed.is_some() => Poll::Ready(None),
            None => {
                state.streams.entry(id).or_default().read = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    pub(crate) fn finish(&self, id: StreamId) -> Result<(), StreamFailure> {
        use noq_proto::FinishError;
        let mut state = self.lock();
        if let Some(code) = state.stopped.get(&id) {
            return Err(StreamFailure::Terminated(*code));
        }
        match state.quic.send_stream(id).finish() {
            Ok(()) => Ok(()),
            Err(FinishError::Stopped(code)) => Err(StreamFailure::Terminated(code.into_inner())),
            Err(FinishError::ClosedStream) => Err(StreamFailure::Closed),
        }
    }

    /// Waits until the peer has acknowledged all that was written, or wants no more of it, or the
    /// connection has ended.
    pub(crate) fn poll_acknowledged(&self, id: StreamId, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        // The stack forgets the stream with its last acknowledgement.
        if state.is_closed() || !matches!(state.quic.send_stream(id).stopped(), Ok(None)) {
            return Poll::Ready(());
        }
        state.streams.entry(id).or_default().acknowledged = Some(cx.waker().clone());
        Poll::Pending
    }

    pub(crate) fn reset(&self, id: StreamId, code: u64) {
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        // A stream that is closed already needs no reset.
        let _ = self.lock().quic.send_stream(id).reset(code);
    }

    pub(crate) fn stop(&self, id: StreamId, code: u64) {
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        // A stream that has ended already needs no stop.
        let _ = self.lock().quic.recv_stream(id).stop(code);
    }

    /// Nobody writes to the stream any more.
    pub(crate) fn release_send(&self, id: StreamId) {
        self.lock().stopped.remove(&id);
    }

    /// Nobody writes to the stream any more, which was neither finished nor reset: it is reset with
    /// `code`.
    pub(crate) fn abandon_send(&self, id: StreamId, code: u64) {
        let mut state = self.lock();
        let finish = state.finished_when_dropped.contains(&id);
        // A stream that the peer stopped is reset already.
        if state.stopped.remove(&id).is_none()
            && !(finish && state.quic.send_stream(id).finish().is_ok())
        {
            let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
            let _ = state.quic.send_stream(id).reset(code);
        }
    }

    /// Nobody reads the stream any more, which has not ended: if this side opened it, the peer is
    /// told to stop with `code`.
    pub(crate) fn cancel_own(&self, id: StreamId, code: u64) {
        if id.dir() == Dir::Bi && id.initiator() == self.lock().quic.side() {
            self.stop(id, code);
        }
    }

    /// Has a request stream finished, not reset, if it is dropped while the result is kept: for
    /// responses of `h3` itself (431), which leave their stream unfinished.
    pub fn finish_when_dropped(&self, stream: h3::quic::StreamId) -> FinishWhenDropped {
        let id = VarInt::from_u64(stream.into_inner())
            .map_or(StreamId::from(VarInt::MAX), StreamId::from);
        self.lock().finished_when_dropped.insert(id);
        FinishWhenDropped { conn: self.clone(), id }
    }
}

/// What [`Conn::finish_when_dropped`] returns.
#[derive(Debug)]
#[must_use]
pub struct FinishWhenDropped {
    conn: Conn,
    id: StreamId,
}

impl Drop for FinishWhenDropped {
    fn drop(&mut self) {
        self.conn.lock().finished_when_dropped.remove(&self.id);
    }
}

/// Why a stream cannot go on.
#[derive(Debug, Clone)]
pub(crate) enum StreamFailure {
    /// The connection ended.
    Connection(ConnectionError),
    /// The peer stopped or reset the stream with this code.
    Terminated(u64),
    /// The stream was finished, stopped or reset on this side.
    Closed,
    /// More waits behind holes than the peer was ever allowed to send at a time.
    Overfull,
}

fn wait(waiters: &mut Vec<Waker>, cx: &Context<'_>) {
    if !waiters.iter().any(|waker| waker.will_wake(cx.waker())) {
        waiters.push(cx.waker().clone());
    }
}

impl State {
    /// Turns the transport's events into wake-ups. Called by the endpoint after every input.
    pub fn dispatch_events(&mut self) {
        while let Some(event) = self.quic.poll() {
            match event {
                Event::Stream(StreamEvent::Readable { id }) => {
                    match self.take_waiter(id, |waiters| waiters.read.take()) {
                        Some(waker) => waker.wake(),
                        None => self.unread(id),
                    }
                }
                Event::Stream(
                    event @ (StreamEvent::Writable { id }
                    | StreamEvent::Stopped { id, .. }
                    | StreamEvent::Finished { id }),
                ) => {
                    if let StreamEvent::Stopped { error_code, .. } = event {
                        self.reset_stopped(id, error_code);
                    }
                    if !matches!(event, StreamEvent::Writable { .. })
                        && let Some(waker) =
                            self.take_waiter(id, |waiters| waiters.acknowledged.take())
                    {
                        waker.wake();
                    }
                    if let Some(waker) = self.take_waiter(id, |waiters| waiters.write.take()) {
                        self.set_watermark(Watermark::High);
                        self.blocked_writers -= 1;
                        waker.wake();
                    }
                }
                Event::Stream(StreamEvent::Opened { dir }) => {
                    wake_all(&mut self.accept[dir as usize])
                }
                Event::Stream(StreamEvent::Available { dir }) => {
                    wake_all(&mut self.open[dir as usize])
                }
                // Stream limits come with the peer's transport parameters, without an event of
                // their own. A server has them with the client's hello, which may take several
                // packets, those of browsers do: the connection, and what wants to open streams,
                // begin with the first. A client has them with the handshake.
                Event::HandshakeDataReady => self.open.iter_mut().for_each(wake_all),
                Event::Connected => {
                    self.connected = Some(self.now);
                    self.set_validated();
                    wake_all(&mut self.state_changes);
                    self.open.iter_mut().for_each(wake_all);
                }
                Event::ConnectionLost { reason } => self.end(reason),
                _ => {}
            }
        }
    }

    /// The peer wants no more of the stream: it is reset at once with the peer's code, whatever its
    /// writer does at present (RFC 9000 §3.5). Otherwise neither side would free it.
    fn reset_stopped(&mut self, id: StreamId, code: VarInt) {
        // A stream that has ended already needs no reset.
        if self.quic.send_stream(id).reset(code).is_ok() && id.dir() == Dir::Bi {
            self.stopped.insert(id, code.into_inner());
        }
    }

    /// A send buffer that is full is filled again only once it has room for a good piece.
    ///
    /// Otherwise each ACK would let a writer add a few kilobytes, and the stack, which searches its
    /// buffer's pieces one by one for what to send next, would spend half of all processor time
    /// there on a long fast path.
    fn set_watermark(&mut self, mark: Watermark) {
        let Some(high) = self.send_window else { return };
        let window = match mark {
            Watermark::High => high,
            Watermark::Low => high - (high / 8).min(REFILL),
        };
        self.quic.set_send_window(window);
    }

    /// Takes one of a stream's waiters, and forgets the stream where none is left.
    fn take_waiter(
        &mut self,
        id: StreamId,
        take: impl Fn(&mut StreamWaiters) -> Option<Waker>,
    ) -> Option<Waker> {
        let waiters = self.streams.get_mut(&id)?;
        let waker = take(waiters);
        if waiters.read.is_none() && waiters.write.is_none() && waiters.acknowledged.is_none() {
            self.streams.remove(&id);
        }
        waker
    }

    /// Whether an application has more to write than windows and send buffer admit.
    pub fn writers_blocked(&self) -> bool {
        self.blocked_writers > 0
    }

    /// When the handshake completed, where it did.
    pub fn connected(&self) -> Option<Time> {
        self.connected
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// The peer's address is its own.
    pub fn set_validated(&mut self) {
        self.validated = true;
        wake_all(&mut self.validation);
    }

    /// What this side does with path tokens.
    pub fn set_tokens(&mut self, tokens: Tokens) {
        self.tokens = Some((tokens, false));
    }

    /// What is known of the path now.
    pub fn learn(&mut self, resume_state: ResumeState) {
        if self.resume_state != resume_state {
            self.resume_state = resume_state;
            self.learning.take().into_iter().for_each(Waker::wake);
        }
    }

    /// The smoothed round trip as this side knows it, once it is more than a guess.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.connected?;
        self.quic.rtt(PathId::ZERO).map(Span::from)
    }

    /// What comes of the credit that is given is noted there.
    pub fn watch_credit(&mut self, report: FlowControlReport) {
        self.credit.watch(report);
    }

    /// Has the stack announce the credit that is due. To be called before anything is sent.
    pub fn settle_credit(&mut self) {
        self.credit.settle(self.now, &mut self.quic);
    }

    /// When that is due, if nothing happens before.
    pub fn credit_due(&self) -> Option<Time> {
        self.credit.due()
    }

    /// A datagram of `bytes` has arrived.
    pub fn arrived(&mut self, bytes: u64) {
        if let Some(rtt) = self.smoothed_rtt() {
            self.arrivals.on_datagram(self.now, bytes, rtt);
            self.credit.arrived(self.now, bytes, rtt);
        }
    }

    fn end(&mut self, reason: ConnectionError) {
        self.closed.get_or_insert(reason);
        self.validation
            .drain(..)
            .chain(self.state_changes.drain(..))
            .chain(self.learning.take())
            .for_each(Waker::wake);
        self.accept.iter_mut().chain(&mut self.open).for_each(wake_all);
        for waiters in std::mem::take(&mut self.streams).into_values() {
            waiters
                .read
                .into_iter()
                .chain(waiters.write)
                .chain(waiters.acknowledged)
                .for_each(Waker::wake);
        }
        self.blocked_writers = 0;
    }
}

fn wake_all(waiters: &mut Vec<Waker>) {
    waiters.drain(..).for_each(Waker::wake);
}
