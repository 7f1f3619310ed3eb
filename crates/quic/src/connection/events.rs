//! Events of the stack, passed on to the tasks that wait for them.

use super::end_log::log_end;
use super::state::{State, Watermark};
use super::waiters::{StreamWaiters, wake_all};
use super::write_turns::WriteTurns;
use bytes::Bytes;
use noq_proto::{ConnectionError, Dir, Event, StreamEvent, StreamId, VarInt};
use std::task::Waker;

impl State {
    /// Wakes the tasks that wait for the stack's events. The endpoint calls it after every input.
    pub fn dispatch_events(&mut self) {
        self.read_empty = None;
        self.keep_small_frames();
        while let Some(event) = self.quic.poll() {
            match event {
                Event::Stream(event) => self.dispatch_stream_event(event),
                // Stream limits come with the peer's transport parameters, without an event of
                // their own. A server has them with the ClientHello, which may take several packets
                // (those of browsers do), while the connection and its tasks begin with the first.
                // A client has them with the handshake.
                Event::HandshakeDataReady => self.open.iter_mut().for_each(wake_all),
                Event::Connected => {
                    self.connected = Some(self.now);
                    self.set_validated();
                    wake_all(&mut self.state_changes);
                    self.open.iter_mut().for_each(wake_all);
                    self.wake_refused();
                }
                Event::DatagramReceived => wake_all(&mut self.datagrams),
                Event::HandshakeConfirmed => self.confirmed = true,
                Event::ConnectionLost { reason } => self.end(reason, None),
                _ => {}
            }
        }
        self.wake_writers();
    }

    /// Wakes the writers that may write again.
    pub(super) fn wake_writers(&mut self) {
        for id in self.write_turns.next() {
            self.wake_writer(id);
        }
    }

    fn dispatch_stream_event(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Readable { id } => {
                match self.take_waiter(id, |waiters| waiters.read.take()) {
                    Some(waker) => waker.wake(),
                    None => self.on_unread(id),
                }
            }
            StreamEvent::Writable { id } => self.write_turns.set_writable(id),
            StreamEvent::Stopped { id, error_code } => {
                self.reset_stopped(id, error_code);
                self.wake_acknowledged(id);
                self.wake_writer(id);
            }
            StreamEvent::Finished { id } => {
                self.wake_acknowledged(id);
                self.wake_writer(id);
            }
            StreamEvent::Opened { dir } => wake_all(&mut self.accept[dir as usize]),
            StreamEvent::Available { dir } => wake_all(&mut self.open[dir as usize]),
        }
    }

    fn wake_acknowledged(&mut self, id: StreamId) {
        if let Some(waker) = self.take_waiter(id, |waiters| waiters.acknowledged.take()) {
            waker.wake();
        }
    }

    fn wake_writer(&mut self, id: StreamId) {
        if let Some(waker) = self.take_waiter(id, |waiters| waiters.write.take()) {
            self.set_watermark(Watermark::High);
            self.blocked_writers -= 1;
            waker.wake();
        }
    }

    /// Resets a stream that the peer stopped, with the peer's code, whatever its writer is doing
    /// (RFC 9000 §3.5). Otherwise neither side would free it.
    fn reset_stopped(&mut self, id: StreamId, code: VarInt) {
        // A stream that has ended already needs no reset.
        if self.quic.send_stream(id).reset(code).is_err() || id.dir() == Dir::Uni {
            return;
        }
        // A writer that is gone needs no code, and nobody would remove it.
        let unaccepted = id.initiator() != self.quic.side() && id.index() >= self.accepted;
        if unaccepted || self.writers.contains_key(&id) {
            self.writers.insert(id, Some(code.into_inner()));
        }
    }

    /// Takes one of a stream's waiters, and removes the stream's entry if none is left.
    pub(super) fn take_waiter(
        &mut self,
        id: StreamId,
        take: impl Fn(&mut StreamWaiters) -> Option<Waker>,
    ) -> Option<Waker> {
        let waiters = self.streams.get_mut(&id)?;
        let waker = take(waiters);
        if waiters.is_empty() {
            self.streams.remove(&id);
        }
        waker
    }

    /// Ends the connection for `reason` and wakes all tasks that wait. `local`: code and reason of
    /// an application that closes it here.
    /// Ends the connection with an application error code; the peer receives `reason`.
    pub(super) fn close(&mut self, code: u64, reason: &[u8]) {
        let at = self.clock.instant(self.now);
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        self.quic.close(at, code, Bytes::copy_from_slice(reason));
        self.end(ConnectionError::LocallyClosed, Some((code.into_inner(), reason)));
    }

    pub(super) fn end(&mut self, reason: ConnectionError, local: Option<(u64, &[u8])>) {
        if self.closed.is_none() {
            if let Some(qlog) = self.qlog() {
                log_end(qlog, &reason, local);
            }
            self.closed = Some(reason);
        }
        wake_all(&mut self.validation);
        wake_all(&mut self.state_changes);
        wake_all(&mut self.datagrams);
        self.resume_waiter.take().into_iter().for_each(Waker::wake);
        self.accept.iter_mut().chain(&mut self.open).for_each(wake_all);
        std::mem::take(&mut self.streams).into_values().for_each(StreamWaiters::wake_all);
        self.blocked_writers = 0;
        self.write_turns = WriteTurns::default();
    }
}
