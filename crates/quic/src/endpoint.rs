//! One socket's worth of QUIC, without a socket.

use crate::account::TrafficStats;
use crate::ack::{AckScheduler, Acknowledger};
use crate::clock::Clock;
use crate::conn::{Conn, State};
use crate::credit::FlowControlReport;
use crate::packets::PacketObserver;
use crate::qlog::QlogSink;
use crate::remember::PathLease;
use crate::start_limiter::StartLease;
use crate::token::{Tokens, exchange};
use crate::wake::{Outside, Woken};
use bentpipe_congestion::SenderMetrics;
use bentpipe_units::{Span, Time};
use bytes::BytesMut;
use futures_util::stream::{FuturesUnordered, Stream};
use noq_proto::{
    ClientConfig, ConnectError, ConnectionHandle, DatagramEvent, EcnCodepoint, EndpointConfig,
    FourTuple, Incoming, ServerConfig,
};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What an application does with a connection: a future that ends when it has done so.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a server does with a connection that begins: the configuration it gets, the probe that
/// watches its sender, and the application that serves it. `None` ignores it.
pub type Acceptor = Box<dyn FnMut(SocketAddr) -> Option<Accept> + Send>;

/// A server's answer to a connection that begins.
pub struct Accept {
    /// Configuration of this connection; settled before its first flight.
    pub config: Arc<ServerConfig>,
    /// What goes with it.
    pub attached: Attached,
    /// Makes the application.
    pub app: Box<dyn FnOnce(Conn) -> Task + Send>,
}

/// What becomes of a connection that a peer wants to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It goes to the acceptor.
    Admit,
    /// The peer is asked to show that its address is its own, by coming again with a token (RFC
    /// 9000 §8.1.2). Where it has shown that, or cannot be asked, it is refused.
    Retry,
    /// It is told that the server does not want it (CONNECTION_REFUSED, RFC 9000 §20.1).
    Refuse,
    /// Nothing is answered.
    Ignore,
}

/// Says what becomes of a connection from that address, and whether the address is known to be the
/// peer's own.
pub type Gatekeeper = Box<dyn FnMut(SocketAddr, bool) -> Admission + Send>;

/// Learns of a task that panicked: the peer of its connection, and the panic's message.
pub type PanicHandler = Box<dyn FnMut(Option<SocketAddr>, &str) + Send>;

/// What goes with a connection besides its application.
#[derive(Default)]
pub struct Attached {
    /// Watches the connection's sender, where its transport configuration carries the same probe.
    pub metrics: Option<SenderMetrics>,
    /// What its controller has to do with the memory of paths, where its transport configuration
    /// carries the same notes.
    pub remembered: Option<PathLease>,
    /// Where that writes its events, where its transport configuration writes there, too.
    pub qlog: Option<QlogSink>,
    /// Its part in the exchange of path tokens. HTTP/3 over the connection then keeps their streams
    /// to itself; other applications run [`crate::take_tokens`] beside theirs.
    pub tokens: Option<Tokens>,
    /// Its ticket for a fast start, given back when it ends.
    pub starting: Option<StartLease>,
    /// Sees its packets, where its cryptography is wrapped by the same watch. What follows needs
    /// one.
    pub watch: Option<PacketObserver>,
    /// Decides when its acknowledgements leave; otherwise the stack does.
    pub acknowledger: Option<Acknowledger>,
    /// Counts its packets.
    pub account: Option<TrafficStats>,
    /// Notes the credit that it gives.
    pub credit: Option<FlowControlReport>,
    /// Notes the credit that it gets.
    pub credit_heard: Option<FlowControlReport>,
}

/// How often the memory of paths learns what a connection has observed.
const SETTLE_EVERY: Span = Span::from_secs(1);

/// Datagrams in one buffer, as segmentation offload wants them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// Where they go.
    pub destination: SocketAddr,
    /// The address that they leave from, where datagrams of the peer said which of ours they came
    /// to.
    pub source: Option<IpAddr>,
    /// The ECN code point they carry (RFC 3168).
    pub ecn: Option<EcnCodepoint>,
    /// Bytes of each datagram but the last, which may be shorter.
    pub segment_size: usize,
}

/// Several connections of one address, sans-IO.
///
/// Call order: after [`Endpoint::connect`], [`Endpoint::handle_datagram`] or
/// [`Endpoint::handle_timeout`], call [`Endpoint::poll_transmit`] until it returns `None`, then
/// wait for a datagram or for [`Endpoint::next_timeout`]. `now` never goes back. Applications run
/// inside these calls.
pub struct Endpoint {
    noq: noq_proto::Endpoint,
    clock: Clock,
    connections: BTreeMap<usize, Entry>,
    /// Next timeout of each connection that has one.
    timeouts: BTreeSet<(Time, usize)>,
    /// Connections that may have something to transmit.
    ready: VecDeque<usize>,
    /// Datagrams that the endpoint itself answers with: version negotiation, stateless reset,
    /// retry.
    responses: VecDeque<(Transmit, Vec<u8>)>,
    acceptor: Option<Acceptor>,
    gatekeeper: Option<Gatekeeper>,
    panic_handler: Option<PanicHandler>,
    outside: Arc<Outside>,
    scratch: Vec<u8>,
    max_segments: NonZeroUsize,
}

struct Entry {
    conn: Conn,
    tasks: FuturesUnordered<Task>,
    timeout: Option<Time>,
    queued: bool,
    attached: Attached,
    settled: Time,
    woken: Arc<Woken>,
    outlet: AckScheduler,
}

impl Entry {
    /// Keeps the memory of paths, the trace and the gate of starts up to date. A store that fails
    /// is no reason to end a connection.
    fn settle_memory(&mut self, now: Time, over: bool) {
        if let Some(ticket) = self.attached.starting.take_if(|_| over) {
            ticket.leave();
        }
        let Some(remembered) = &self.attached.remembered else { return };
        if let Some(qlog) = &self.attached.qlog {
            remembered
                .notes()
                .take_transitions()
                .iter()
                .for_each(|transition| qlog.careful_resume(transition));
        }
        if over || now.since(self.settled) >= SETTLE_EVERY {
            self.settled = now;
            if let Err(error) = remembered.settle(over) {
                tracing::warn!(%error, "memory of paths");
            }
        }
    }
}

/// What a panic says, as `panic!` and `assert!` leave it.
pub fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

impl Entry {
    /// Ends the connection of a task that panicked, and its other tasks with it: what they share
    /// may be half done.
    fn end_after_panic(&mut self, panic: &(dyn Any + Send), handler: &mut PanicHandler) {
        handler(self.conn.remote_address(), panic_message(panic));
        self.conn.close(h3::error::Code::H3_INTERNAL_ERROR.value(), b"internal error");
        let tasks = std::mem::take(&mut self.tasks);
        self.conn.lock().spawned.clear();
        // What a task leaves behind when it is dropped may panic as well; it is gone in any case.
        if catch_unwind(AssertUnwindSafe(|| drop(tasks))).is_err() {
            handler(self.conn.remote_address(), "a task panicked when it was dropped");
        }
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("connections", &self.connections.len())
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// An endpoint that only begins connections, or, with an `acceptor`, answers them too.
    ///
    /// `max_segments`: how many datagrams one [`Transmit`] may hold.
    pub fn new(
        config: EndpointConfig,
        clock: Clock,
        server: Option<(Arc<ServerConfig>, Acceptor)>,
        max_segments: NonZeroUsize,
    ) -> Self {
        let (server_config, acceptor) = server.unzip();
        Self {
            noq: noq_proto::Endpoint::new(Arc::new(config), server_config, true),
            clock,
            connections: BTreeMap::new(),
            timeouts: BTreeSet::new(),
            ready: VecDeque::new(),
            responses: VecDeque::new(),
            acceptor,
            gatekeeper: None,
            panic_handler: None,
            outside: Arc::default(),
            scratch: Vec::new(),
            max_segments,
        }
    }

    /// Asks `gatekeeper` before each connection that a peer begins; without one, all are admitted.
    pub fn set_gatekeeper(&mut self, gatekeeper: Gatekeeper) {
        self.gatekeeper = Some(gatekeeper);
    }

    /// Lets a task that panics end its own connection and no other (H3_INTERNAL_ERROR), and tells
    /// `handler` of it. Without one, the panic goes on to whoever called the endpoint, as tests and
    /// simulations want it.
    pub fn set_panic_handler(&mut self, handler: PanicHandler) {
        self.panic_handler = Some(handler);
    }

    /// Whether panics of tasks go to a handler.
    pub fn handles_panics(&self) -> bool {
        self.panic_handler.is_some()
    }

    /// Wakes `driver` when a task of a connection is woken from outside the calls to this endpoint:
    /// by a file that was read, a channel, a timer. The driver answers with
    /// [`Endpoint::run_woken`].
    pub fn set_waker(&mut self, driver: Waker) {
        self.outside.set_driver(driver);
    }

    /// Begins a connection to `remote`, certified as `server_name`, and runs `app` on it.
    ///
    /// # Errors
    /// The address or the name is impossible, or no connection identifiers are left.
    pub fn connect(
        &mut self,
        now: Time,
        config: ClientConfig,
        remote: SocketAddr,
        server_name: &str,
        attached: Attached,
        app: impl FnOnce(Conn) -> Task,
    ) -> Result<Conn, ConnectError> {
        let (handle, connection) =
            self.noq.connect(self.clock.instant(now), config, remote, server_name)?;
        let conn = Conn::new(connection, now, self.clock);
        self.adopt(handle.0, conn.clone(), app, attached, now);
        Ok(conn)
    }

    fn adopt(
        &mut self,
        key: usize,
        conn: Conn,
        app: impl FnOnce(Conn) -> Task,
        mut attached: Attached,
        now: Time,
    ) {
        let outlet = AckScheduler::new(&mut attached);
        if let Some(credit) = &attached.credit {
            conn.lock().watch_credit(credit.clone());
        }
        let tasks = FuturesUnordered::new();
        if let Some(tokens) = &attached.tokens {
            conn.lock().set_tokens(tokens.clone());
            // Before the application: a client's token is to arrive with the request, not after it.
            tasks.push(Box::pin(exchange(conn.clone(), tokens.clone())) as Task);
        }
        tasks.push(app(conn.clone()));
        let woken = Arc::new(Woken::new(key, self.outside.clone()));
        self.connections.insert(
            key,
            Entry {
                conn,
                tasks,
                timeout: None,
                queued: false,
                attached,
                settled: now,
                woken,
                outlet,
            },
        );
        self.run(key, now);
    }

    /// Connections that are not yet forgotten.
    pub fn open_connections(&self) -> usize {
        self.connections.len()
    }

    /// Takes a datagram that arrived from `remote`. Its bytes count for [`Conn::received_view`]
    /// once the handshake is complete.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        remote: SocketAddr,
        ecn: Option<EcnCodepoint>,
        data: BytesMut,
    ) {
        self.handle_datagram_at(now, remote, None, ecn, data);
    }

    /// The same, for a datagram that came to `local`: what answers it leaves from there.
    pub fn handle_datagram_at(
        &mut self,
        now: Time,
        remote: SocketAddr,
        local: Option<IpAddr>,
        ecn: Option<EcnCodepoint>,
        data: BytesMut,
    ) {
        let instant = self.clock.instant(now);
        let path = FourTuple::new(remote, local);
        let bytes = data.len() as u64;
        self.scratch.clear();
        match self.noq.handle(instant, path, ecn, data, &mut self.scratch) {
            Some(DatagramEvent::ConnectionEvent(ConnectionHandle(key), event)) => {
                if let Some(entry) = self.connections.get_mut(&key) {
                    entry.outlet.arrives(ecn == Some(EcnCodepoint::Ce));
                    let mut state = entry.conn.lock();
                    state.now = now;
                    state.quic.handle_event(event);
                    state.arrived(bytes);
                    drop(state);
                    self.run(key, now);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(now, incoming),
            Some(DatagramEvent::Response(transmit)) => self.respond(transmit),
            None => {}
        }
    }

    fn accept(&mut self, now: Time, incoming: Incoming) {
        let (remote, validated) = (incoming.remote_address(), incoming.remote_address_validated());
        let admission = self
            .gatekeeper
            .as_mut()
            .map_or(Admission::Admit, |gatekeeper| gatekeeper(remote, validated));
        self.scratch.clear();
        match admission {
            Admission::Admit => {}
            Admission::Retry if !validated && incoming.may_retry() => {
                if let Ok(transmit) = self.noq.retry(incoming, &mut self.scratch) {
                    self.respond(transmit);
                }
                return;
            }
            Admission::Retry | Admission::Refuse => {
                let transmit = self.noq.refuse(incoming, &mut self.scratch);
                return self.respond(transmit);
            }
            Admission::Ignore => return self.noq.ignore(incoming),
        }
        let accept = self.acceptor.as_mut().and_then(|acceptor| acceptor(remote));
        let Some(Accept { config, attached, app }) = accept else {
            self.noq.ignore(incoming);
            return;
        };
        match self.noq.accept(incoming, self.clock.instant(now), &mut self.scratch, Some(config)) {
            Ok((handle, connection)) => {
                let conn = Conn::new(connection, now, self.clock);
                if validated {
                    conn.lock().set_validated();
                }
                self.adopt(handle.0, conn, app, attached, now);
            }
            Err(error) => {
                if let Some(transmit) = error.response {
                    self.respond(transmit);
                }
            }
        }
    }

    fn respond(&mut self, transmit: noq_proto::Transmit) {
        let datagram = self.scratch[..transmit.size].to_vec();
        self.responses.push_back((convert(&transmit), datagram));
        self.scratch.clear();
    }

    /// When [`Endpoint::handle_timeout`] is due.
    pub fn next_timeout(&self) -> Option<Time> {
        self.timeouts.first().map(|&(time, _)| time)
    }

    /// Lets every timer that is due by `now` expire.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(&(time, key)) = self.timeouts.first() {
            if time > now {
                break;
            }
            self.timeouts.remove(&(time, key));
            let Some(entry) = self.connections.get_mut(&key) else { continue };
            entry.timeout = None;
            let mut state = entry.conn.lock();
            state.now = now;
            state.quic.handle_timeout(self.clock.instant(now));
            drop(state);
            self.run(key, now);
        }
    }

    /// Lets every connection act on what was done to it from outside: [`Conn::close`],
    /// [`Conn::spawn`].
    pub fn wake(&mut self, now: Time) {
        let keys: Vec<usize> = self.connections.keys().copied().collect();
        for key in keys {
            self.run(key, now);
        }
    }

    /// Ends every connection with an application error code: see [`Conn::close`].
    pub fn close_all(&mut self, now: Time, code: u64) {
        for entry in self.connections.values() {
            let mut state = entry.conn.lock();
            state.now = now;
            drop(state);
            entry.conn.close(code, b"");
        }
        self.wake(now);
    }

    /// Lets those connections act whose tasks were woken from outside since the last call: see
    /// [`Endpoint::set_waker`].
    pub fn run_woken(&mut self, now: Time) {
        let mut keys = Vec::new();
        self.outside.take(&mut keys);
        for key in keys {
            self.run(key, now);
        }
    }

    /// Puts the connection that transmits at present behind those that wait to. A driver that
    /// transmits a lot does this now and then, so that one fast connection does not hold up the
    /// others.
    pub fn next_in_turn(&mut self) {
        if let Some(key) = self.ready.pop_front() {
            self.ready.push_back(key);
        }
    }

    /// Lets a connection's applications act on what has happened, and forgets it where it is over.
    fn run(&mut self, key: usize, now: Time) {
        let Some(entry) = self.connections.get_mut(&key) else { return };
        let waker = Waker::from(entry.woken.clone());
        let mut cx = Context::from_waker(&waker);
        entry.woken.begin();
        loop {
            let mut state = entry.conn.lock();
            state.now = now;
            if entry.outlet.received(now, || state.smoothed_rtt()) {
                state.quic.ping();
            }
            settle(&mut self.noq, key, &mut state);
            state.dispatch_events();
            if let Some(resume_state) =
                entry.attached.tokens.as_ref().and_then(Tokens::resume_state)
            {
                state.learn(resume_state);
            }
            if !state.spawned.is_empty() {
                let spawned = std::mem::take(&mut state.spawned);
                drop(state);
                entry.tasks.extend(spawned);
            } else if !entry.woken.again() {
                break;
            } else {
                drop(state);
            }
            // The set polls only those of its tasks that were woken. It may return before it has
            // polled them all, and then wakes itself.
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
        }
        let state = entry.conn.lock();
        let (over, drained) = (state.is_closed(), state.quic.is_drained());
        drop(state);
        entry.settle_memory(now, over);
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

    /// Appends what is to be sent next to `buffer`. Call until `None`.
    pub fn poll_transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if let Some((transmit, datagram)) = self.responses.pop_front() {
            buffer.extend_from_slice(&datagram);
            return Some(transmit);
        }
        let instant = self.clock.instant(now);
        while let Some(&key) = self.ready.front() {
            let Some(entry) = self.connections.get_mut(&key) else {
                self.ready.pop_front();
                continue;
            };
            let mut state = entry.conn.lock();
            state.now = now;
            state.settle_credit();
            let start = buffer.len();
            while let Some(transmit) = state.quic.poll_transmit(instant, self.max_segments, buffer)
            {
                if let Some(transmit) = entry.outlet.pass(now, convert(&transmit), start, buffer) {
                    return Some(transmit);
                }
            }
            // Last: what the stack has made replaces what was held.
            if let Some(transmit) = entry.outlet.release(now, buffer) {
                return Some(transmit);
            }
            self.ready.pop_front();
            entry.queued = false;
            let blocked = state.writers_blocked();
            let timeout = state.quic.poll_timeout().map(|at| self.clock.time(at));
            let timeout = timeout
                .into_iter()
                .chain(entry.outlet.due())
                .chain(state.credit_due())
                .min()
                .map(|at| at.max(now));
            // Sending may have produced events for the endpoint.
            settle(&mut self.noq, key, &mut state);
            drop(state);
            if let Some(metrics) = &entry.attached.metrics {
                metrics.on_writers_blocked(blocked, now);
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

/// Passes on what a connection has to say to its endpoint, and the answers.
fn settle(noq: &mut noq_proto::Endpoint, key: usize, state: &mut State) {
    while let Some(event) = state.quic.poll_endpoint_events() {
        if let Some(answer) = noq.handle_event(ConnectionHandle(key), event) {
            state.quic.handle_event(answer);
        }
    }
}

fn convert(transmit: &noq_proto::Transmit) -> Transmit {
    Transmit {
        destination: transmit.destination,
        source: transmit.src_ip,
        ecn: transmit.ecn,
        segment_size: transmit.segment_size.unwrap_or(transmit.size),
    }
}
