//! An endpoint: its connections, and the datagrams that arrive for them.

use super::accept::{Accept, Acceptor, Admission, Gatekeeper, PanicHandler};
use super::address_limit::SendLimit;
use super::attachments::Attachments;
use super::batches::Batches;
use super::entry::{Entry, receive};
use super::responses::Responses;
use super::retry_packets;
use super::transmit::Transmit;
use super::version_negotiation::VersionNegotiation;
use super::wake::{ConnectionWaker, WokenConnections};
use crate::ack::AckScheduler;
use crate::clock::Clock;
use crate::config::EcnMode;
use crate::connection::{Conn, Task};
use crate::observer::FirstPacket;
use crate::path_memory::token::exchange;
use bentpipe_qlog::Event;
use bentpipe_units::Time;
use bytes::BytesMut;
use futures_util::stream::FuturesUnordered;
use noq_proto::{
    ClientConfig, ConnectError, ConnectionHandle, DatagramEvent, EcnCodepoint, EndpointConfig,
    FourTuple, Incoming, ServerConfig,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::task::Waker;

/// The QUIC connections of one address, sans-IO.
///
/// Call order: after [`Endpoint::connect`], [`Endpoint::handle_datagram`] or
/// [`Endpoint::handle_timeout`], call [`Endpoint::poll_transmit`] until it returns `None`, then
/// wait for a datagram or for [`Endpoint::next_timeout`]. `now` never goes back. Applications run
/// inside these calls.
pub struct Endpoint {
    pub(super) noq: noq_proto::Endpoint,
    pub(super) clock: Clock,
    /// Boxed, since the map has room for eleven entries as soon as it has one: many endpoints have
    /// a single connection.
    pub(super) connections: BTreeMap<usize, Box<Entry>>,
    /// Next timeout of each connection that has one.
    pub(super) timeouts: BTreeSet<(Time, usize)>,
    /// Connections that may have something to send.
    pub(super) ready: VecDeque<usize>,
    pub(super) responses: Responses,
    acceptor: Option<Acceptor>,
    gatekeeper: Option<Gatekeeper>,
    pub(super) panic_handler: Option<PanicHandler>,
    pub(super) outside: Arc<WokenConnections>,
    /// Passes the first packet of a connection to its trace.
    first_packet: FirstPacket,
    version_negotiation: VersionNegotiation,
    scratch: Vec<u8>,
    pub(super) max_segments: NonZeroUsize,
    pub(super) ecn: EcnMode,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("connections", &self.connections.len())
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// An endpoint that begins connections or, with a `server`, accepts them. One that accepts
    /// ignores Retry packets, so connections that it begins to a server that sends one fail.
    ///
    /// `max_segments`: most datagrams in one [`Transmit`].
    pub fn new(
        config: EndpointConfig,
        clock: Clock,
        server: Option<(Arc<ServerConfig>, Acceptor)>,
        max_segments: NonZeroUsize,
    ) -> Self {
        let (server_config, acceptor) = server.unzip();
        let first_packet = FirstPacket::default();
        let server_config = server_config.map(|config: Arc<ServerConfig>| {
            let mut config = (*config).clone();
            config.crypto = first_packet.wrap(config.crypto);
            Arc::new(config)
        });
        Self {
            noq: noq_proto::Endpoint::new(Arc::new(config), server_config, true),
            clock,
            connections: BTreeMap::new(),
            timeouts: BTreeSet::new(),
            ready: VecDeque::new(),
            responses: Responses::default(),
            acceptor,
            gatekeeper: None,
            panic_handler: None,
            outside: Arc::default(),
            first_packet,
            version_negotiation: VersionNegotiation::default(),
            scratch: Vec::new(),
            max_segments,
            ecn: EcnMode::default(),
        }
    }

    /// Sets the ECN field of the packets that are sent from now on.
    pub fn set_ecn(&mut self, ecn: EcnMode) {
        self.ecn = ecn;
    }

    /// Asks `gatekeeper` about each connection that a peer begins. Without one, all are admitted.
    pub fn set_gatekeeper(&mut self, gatekeeper: Gatekeeper) {
        self.gatekeeper = Some(gatekeeper);
    }

    /// Lets a task that panics end only its own connection (H3_INTERNAL_ERROR), and reports the
    /// panic to `handler`. Without one, the panic unwinds to the caller of the endpoint, as in
    /// tests and simulations.
    pub fn set_panic_handler(&mut self, handler: PanicHandler) {
        self.panic_handler = Some(handler);
    }

    /// Returns true if panics of tasks go to a handler.
    pub fn handles_panics(&self) -> bool {
        self.panic_handler.is_some()
    }

    /// Wakes `driver` when a task of a connection is woken outside the calls to this endpoint, by a
    /// file, a channel or a timer. The driver then calls [`Endpoint::run_woken`].
    pub fn set_waker(&mut self, driver: Waker) {
        self.outside.set_driver(driver);
    }

    /// Begins a connection to `remote`, whose certificate must be for `server_name`, and runs `app`
    /// on it.
    ///
    /// # Errors
    /// The address or the name is invalid, or no connection IDs are left.
    pub fn connect(
        &mut self,
        now: Time,
        config: ClientConfig,
        remote: SocketAddr,
        server_name: &str,
        attachments: Attachments,
        app: impl FnOnce(Conn) -> Task,
    ) -> Result<Conn, ConnectError> {
        begin_trace(&attachments, now, remote);
        let (handle, connection) =
            self.noq.connect(self.clock.instant(now), config, remote, server_name)?;
        let conn = Conn::new(connection, now, self.clock);
        self.adopt(handle.0, conn.clone(), app, attachments, now);
        Ok(conn)
    }

    fn adopt(
        &mut self,
        key: usize,
        conn: Conn,
        app: impl FnOnce(Conn) -> Task,
        mut attachments: Attachments,
        now: Time,
    ) {
        conn.lock().set_small_frames(attachments.small_frames.clone());
        if let Some(qlog) = &attachments.qlog {
            conn.lock().set_qlog(qlog.clone());
        }
        let ack_scheduler = AckScheduler::new(&mut attachments);
        let send_limit = SendLimit::new(attachments.address_limit.take());
        if let Some(report) = &attachments.flow_control_received {
            conn.lock().report_flow_control(report.clone());
        }
        if let Some(send_buffer) = attachments.send_buffer {
            conn.set_send_buffer(send_buffer.get());
        }
        if let Some((window, rule)) = &attachments.flow_control {
            conn.set_flow_control(*window, rule);
        }
        let tasks = FuturesUnordered::new();
        if let Some(tokens) = &attachments.tokens {
            conn.lock().set_tokens(tokens.clone());
            // Before the application: a client's token must arrive with the request, not after it.
            tasks.push(Box::pin(exchange(conn.clone(), tokens.clone())) as Task);
        }
        tasks.push(app(conn.clone()));
        let waker = Arc::new(ConnectionWaker::new(key, self.outside.clone()));
        self.connections.insert(
            key,
            Box::new(Entry {
                remote: conn.remote_address(),
                conn,
                early: Vec::new(),
                tasks,
                timeout: None,
                queued: false,
                batches: Batches::default(),
                attachments,
                address_confirmed: false,
                flushed: now,
                heard: now,
                waker,
                ack_scheduler,
                send_limit,
            }),
        );
        self.run(key, now);
    }

    /// Returns the number of connections, including those that are closing.
    pub fn open_connections(&self) -> usize {
        self.connections.len()
    }

    /// Handles a datagram that arrived from `remote`. Its bytes count for [`Conn::received_view`]
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

    /// Handles a datagram that arrived at the address `local`; its answers leave from there.
    pub fn handle_datagram_at(
        &mut self,
        now: Time,
        remote: SocketAddr,
        local: Option<IpAddr>,
        ecn: Option<EcnCodepoint>,
        mut data: BytesMut,
    ) {
        let instant = self.clock.instant(now);
        let ecn = self.ecn.received(ecn);
        let path = FourTuple::new(remote, local);
        let bytes = data.len() as u64;
        if self.acceptor.is_some()
            && let Some(begin) = retry_packets::position(&data)
        {
            if begin == 0 {
                return;
            }
            data.truncate(begin);
        }
        // RFC 9000 §17.3: the most significant bit.
        let short_header = data.first().is_some_and(|first| first & 0x80 == 0);
        self.scratch.clear();
        match self.noq.handle(instant, path, ecn, data, &mut self.scratch) {
            Some(DatagramEvent::ConnectionEvent(ConnectionHandle(key), event)) => {
                if let Some(entry) = self.connections.get_mut(&key) {
                    entry.heard = now;
                    entry.ack_scheduler.on_datagram(ecn == Some(EcnCodepoint::Ce));
                    if let Some(limit) = entry.send_limit.limit() {
                        limit.on_datagram(remote, bytes);
                    }
                    let mut state = entry.conn.lock();
                    state.set_now(now);
                    receive(&mut state, &mut entry.early, event, short_header);
                    state.on_datagram(bytes);
                    let limit = entry.send_limit.limit();
                    let validated = limit.and_then(|limit| limit.validated(state.remote_address()));
                    validated.into_iter().for_each(|address| state.set_validated_address(address));
                    drop(state);
                    self.run(key, now);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(now, incoming, bytes),
            Some(DatagramEvent::Response(transmit)) => {
                let answer = &self.scratch[..transmit.size];
                if self.version_negotiation.admits(now, bytes, answer) {
                    self.respond(transmit);
                }
            }
            None => {}
        }
    }

    /// Handles the first datagram of a connection, of `bytes`.
    fn accept(&mut self, now: Time, incoming: Incoming, bytes: u64) {
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
        let Some(Accept { config, attachments, app }) = accept else {
            self.noq.ignore(incoming);
            return;
        };
        if let Some(limit) = &attachments.address_limit {
            limit.on_datagram(remote, bytes);
            if validated {
                limit.validate(remote);
            }
        }
        begin_trace(&attachments, now, remote);
        self.first_packet.set(attachments.observer.clone());
        let instant = self.clock.instant(now);
        let accepted = self.noq.accept(incoming, instant, &mut self.scratch, Some(config));
        self.first_packet.set(None);
        match accepted {
            Ok((handle, connection)) => {
                let conn = Conn::new(connection, now, self.clock);
                if validated {
                    let mut state = conn.lock();
                    state.set_validated_address(remote);
                    state.set_validated();
                }
                self.adopt(handle.0, conn, app, attachments, now);
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
        self.responses.push(Transmit::from(&transmit), datagram);
        self.scratch.clear();
    }
}

/// Writes the start of a connection to its trace.
fn begin_trace(attachments: &Attachments, now: Time, remote: SocketAddr) {
    if let Some(qlog) = &attachments.qlog {
        qlog.set_now(now);
        qlog.add(now, &Event::ConnectionStarted { remote });
    }
}
