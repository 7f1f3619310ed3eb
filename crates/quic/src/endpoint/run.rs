//! Running the connections of an endpoint: their tasks, their timers, and what they send.

use super::sans_io::Endpoint;
use super::transmit::Transmit;
use crate::connection::State;
use crate::path_memory::token::Tokens;
use bentpipe_units::{Span, Time};
use futures_util::stream::Stream;
use noq_proto::ConnectionHandle;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Resolution of the stack's timers. Its pacer rounds the bytes earned and the time to wait down,
/// so that at the exact nanosecond it is often a byte short and waits once more. A microsecond pays
/// for a byte from 8 Mbps on.
const RESOLUTION: Span = Span::from_micros(1);

/// Shortest wait for a timer of the stack. From 118 Mbps on, its pacer would wake the connection
/// sooner, for each packet: no host wakes that precisely, and packets that leave together need a
/// single call (decision 56).
const SHORTEST_WAIT: Span = Span::from_micros(100);

impl Endpoint {
    /// Returns when [`Endpoint::handle_timeout`] is due.
    pub fn next_timeout(&self) -> Option<Time> {
        self.timeouts.first().map(|&(time, _)| time)
    }

    /// Handles every timer that is due by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(&(time, key)) = self.timeouts.first() {
            if time > now {
                break;
            }
            self.timeouts.remove(&(time, key));
            let Some(entry) = self.connections.get_mut(&key) else { continue };
            entry.timeout = None;
            let mut state = entry.conn.lock();
            state.set_now(now);
            state.quic.handle_timeout(self.clock.instant(now));
            drop(state);
            self.run(key, now);
        }
    }

    /// Runs every connection, after [`crate::Conn::close`] or [`crate::Conn::spawn`] were called
    /// from outside.
    pub fn wake(&mut self, now: Time) {
        let keys: Vec<usize> = self.connections.keys().copied().collect();
        for key in keys {
            self.run(key, now);
        }
    }

    /// Closes every connection with an application error code: see [`crate::Conn::close`].
    pub fn close_all(&mut self, now: Time, code: u64) {
        for entry in self.connections.values() {
            let mut state = entry.conn.lock();
            state.set_now(now);
            drop(state);
            entry.conn.close(code, b"");
        }
        self.wake(now);
    }

    /// Runs the connections whose tasks were woken from outside since the last call: see
    /// [`Endpoint::set_waker`].
    pub fn run_woken(&mut self, now: Time) {
        let mut keys = Vec::new();
        self.outside.take(&mut keys);
        for key in keys {
            self.run(key, now);
        }
    }

    /// Moves the connection that transmits now behind those that wait to transmit. A busy driver
    /// does this now and then, so that one fast connection does not block the others.
    pub fn next_in_turn(&mut self) {
        if let Some(key) = self.ready.pop_front() {
            self.ready.push_back(key);
        }
    }

    /// Runs the tasks of a connection after an event, and removes it if it is over.
    pub(super) fn run(&mut self, key: usize, now: Time) {
        let Some(entry) = self.connections.get_mut(&key) else { return };
        entry.waker.begin();
        let remote = entry.conn.remote_address();
        entry.follow(remote, now);
        let (over, drained) = loop {
            let mut state = entry.conn.lock();
            state.set_now(now);
            if entry.ack_scheduler.on_received(now, || state.smoothed_rtt()) {
                state.quic.ping();
            }
            exchange_events(&mut self.noq, key, &mut state);
            state.dispatch_events();
            if let Some(at) = state.connected() {
                entry.attachments.signals.set_handshake_complete(at);
            }
            if state.is_confirmed() {
                entry.attachments.signals.set_handshake_confirmed();
            }
            if state.may_send_freely() && !std::mem::replace(&mut entry.address_confirmed, true) {
                entry.attachments.confirm_address(now);
            }
            if state.connected().is_some() && !entry.early.is_empty() {
                for event in std::mem::take(&mut entry.early) {
                    state.quic.handle_event(event);
                }
                entry.ack_scheduler.on_early();
                continue;
            }
            if let Some(resume_state) =
                entry.attachments.tokens.as_ref().and_then(Tokens::resume_state)
            {
                state.set_resume_state(resume_state);
            }
            if !state.spawned.is_empty() {
                let spawned = std::mem::take(&mut state.spawned);
                drop(state);
                entry.tasks.extend(spawned);
            } else if !entry.waker.again() {
                break (state.is_closed(), state.quic.is_drained());
            } else {
                drop(state);
            }
            let waker = Waker::from(entry.waker.clone());
            let mut cx = Context::from_waker(&waker);
            // The set polls only the tasks that were woken. If it returns before it has polled them
            // all, it wakes itself.
            let tasks = &mut entry.tasks;
            let mut run =
                || while let Poll::Ready(Some(())) = Pin::new(&mut *tasks).poll_next(&mut cx) {};
            match &mut self.panic_handler {
                None => run(),
                Some(handler) => {
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
                        entry.end_after_panic(&*panic, handler);
                    }
                }
            }
        };
        entry.flush(now, over);
        if drained {
            if let Some(timeout) = entry.timeout {
                self.timeouts.remove(&(timeout, key));
            }
            self.connections.remove(&key);
            return;
        }
        if !entry.queued {
            entry.queued = true;
            self.ready.push_back(key);
        }
    }

    /// Appends the next transmission to `buffer`. Call until `None`.
    pub fn poll_transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let transmit = self.next_transmit(now, buffer)?;
        Some(Transmit { ecn: self.ecn.sent(transmit.ecn), ..transmit })
    }

    fn next_transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if self.responses.yield_turn()
            && let Some(transmit) = self.next_of_connections(now, buffer)
        {
            return Some(transmit);
        }
        self.responses.pop(buffer).or_else(|| self.next_of_connections(now, buffer))
    }

    fn next_of_connections(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let instant = self.clock.instant(now);
        while let Some(&key) = self.ready.front() {
            let Some(entry) = self.connections.get_mut(&key) else {
                self.ready.pop_front();
                continue;
            };
            let mut state = entry.conn.lock();
            state.set_now(now);
            state.update_flow_control();
            let start = buffer.len();
            if let Some(transmit) = entry.send_limit.release(buffer) {
                return Some(transmit);
            }
            loop {
                let one = entry.send_limit.begin_transmit(&mut state);
                let most = if one { NonZeroUsize::MIN } else { self.max_segments };
                let most = entry.batches.largest(most);
                let Some(transmit) = state.quic.poll_transmit(instant, most, buffer) else { break };
                let transmit = entry.send_limit.end_transmit(Transmit::from(&transmit), buffer);
                entry.batches.made(transmit.segment_size);
                let passed = entry.ack_scheduler.pass(now, transmit, start, buffer);
                let passed =
                    passed.and_then(|transmit| entry.send_limit.pass(transmit, start, buffer));
                if passed.is_some() {
                    return passed;
                }
            }
            // Last: a new packet of the stack replaces the held one.
            let released = entry.ack_scheduler.release(now, buffer);
            let released =
                released.and_then(|transmit| entry.send_limit.pass(transmit, start, buffer));
            if released.is_some() {
                return released;
            }
            self.ready.pop_front();
            entry.queued = false;
            let (blocked, validated) = (state.writers_blocked(), state.may_send_freely());
            let stack = state.quic.poll_timeout().map(|at| round_up(self.clock.time(at)));
            let timeout = stack
                .map(|at| at.max(now + SHORTEST_WAIT))
                .into_iter()
                .chain(entry.ack_scheduler.due())
                .chain(state.flow_control_due())
                .chain(entry.silent_at(state.smoothed_rtt()))
                .min()
                .map(|at| at.max(now));
            // Sending may produce events for the endpoint.
            exchange_events(&mut self.noq, key, &mut state);
            drop(state);
            entry.attachments.signals.set_writers_blocked(blocked);
            if let Some(metrics) = &entry.attachments.metrics {
                metrics.on_writers_blocked(blocked, validated, now);
            }
            if entry.timeout != timeout {
                if let Some(old) = entry.timeout {
                    self.timeouts.remove(&(old, key));
                }
                if let Some(new) = timeout {
                    self.timeouts.insert((new, key));
                }
                entry.timeout = timeout;
            }
        }
        None
    }
}

/// Rounds a deadline of the stack up to the next [`RESOLUTION`].
fn round_up(at: Time) -> Time {
    let resolution = RESOLUTION.as_nanos();
    Time::from_nanos(at.as_nanos().div_ceil(resolution).saturating_mul(resolution))
}

/// Passes a connection's events to the endpoint, and the answers back.
fn exchange_events(noq: &mut noq_proto::Endpoint, key: usize, state: &mut State) {
    while let Some(event) = state.quic.poll_endpoint_events() {
        if let Some(answer) = noq.handle_event(ConnectionHandle(key), event) {
            state.quic.handle_event(answer);
        }
    }
}
