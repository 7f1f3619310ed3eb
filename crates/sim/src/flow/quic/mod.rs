//! QUIC flows: two endpoints, and a connection per visit.

mod batch;
mod call;
mod connection;
mod endpoints;
mod frame_queue;
mod name_queries;
mod origins;
mod probing;
mod recording;

use super::current_visit::VisitStart;
use super::progress::FlowProgress;
use super::report::VisitReport;
use super::shared::Shared;
use super::transport::{Outbox, Outgoing, Transport};
use crate::app;
use crate::datagram::{Body, Datagram, PathDirection, Role, ecn_from_link, ecn_to_link};
use crate::error::SimError;
use crate::outcome::{PathOutcome, ReverseBytes};
use crate::packet_arena::PacketId;
use crate::visit_progress::VisitProgress;
use batch::Batch;
use bentpipe_link::{Ecn, Packet};
use bentpipe_quic::congestion::ResumeHandle;
use bentpipe_quic::path_memory::token::{TokenOutcome, Tokens};
use bentpipe_quic::{
    Accept, Conn, ConnectionConfig, EpochClock, Handshake, IP_HEADER, IP_UDP_HEADER, QuicSettings,
    UDP_HEADER,
};
use bentpipe_units::{Span, Time};
use bytes::BytesMut;
use call::Ends;
pub use call::QuicCall;
use connection::configure;
use endpoints::{ClientParts, Endpoints};
pub use name_queries::NameQueries;
use origins::Origins;
use probing::Probing;
use recording::Recording;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// QUIC between a client and a server.
pub struct QuicTransport {
    settings: QuicSettings,
    /// The call that it carries instead of objects.
    call: Option<QuicCall>,
    /// Connections that the active visit has besides its first one.
    others: u16,
    endpoints: Endpoints,
    /// The addresses of the client in each visit, and of the server.
    clients: Vec<SocketAddr>,
    server_address: SocketAddr,
    visit: Option<ActiveVisit>,
    /// The server's node.
    last_node: u16,
    epoch: EpochClock,
    batch: Option<Batch>,
    /// Memory for payloads that arrive, during a visit.
    received: BytesMut,
}

/// The active visit.
struct ActiveVisit {
    data_direction: PathDirection,
    progress: VisitProgress,
    recording: Recording,
    /// Its call, if it carries one.
    call: Option<Ends>,
    /// Its test of responsiveness, if it is one, and what its other connections have.
    test: Option<(Probing, ConnectionConfig)>,
    /// Connections to the other origins of its page.
    origins: Origins,
    /// Its packets with an acknowledgement of the data that have been passed on.
    acks: u64,
    client: ClientSide,
    server: ServerSide,
}

/// The client's side of the connection of a visit.
struct ClientSide {
    conn: Conn,
    /// What it knows about the path, if it remembers paths.
    resume_handle: Option<ResumeHandle>,
}

/// The server's side of the connection of a visit.
struct ServerSide {
    /// The connection, once it exists.
    conn: Arc<Mutex<Option<Conn>>>,
    /// What it knows about the path, if it remembers paths.
    resume_handle: Option<ResumeHandle>,
    /// Outcome of the client's token, if tokens are exchanged.
    token_outcome: Option<TokenOutcome>,
}

impl ActiveVisit {
    /// Returns the knowledge of both ends about the path.
    fn path(&self) -> PathOutcome {
        let (handle, receiver) = match self.data_direction.source() {
            Role::Server => (&self.server.resume_handle, self.client.conn.received_view()),
            Role::Client => {
                let conn = self.server.conn.lock().unwrap_or_else(PoisonError::into_inner);
                (&self.client.resume_handle, conn.as_ref().and_then(Conn::received_view))
            }
        };
        let known = handle.as_ref().map(ResumeHandle::resume_state).unwrap_or_default();
        PathOutcome {
            saved: known.offered,
            observed: known.observed,
            receiver,
            retreated: known.offered.map(|_| known.retreated),
            token: self.server.token_outcome.as_ref().map(TokenOutcome::name),
        }
    }

    /// Returns the bytes sent, if `toward` is the direction of the data and its series are
    /// recorded.
    fn position(&self, toward: PathDirection) -> f64 {
        if self.data_direction != toward {
            return 0.0;
        }
        let stats = self.recording.metrics().stats();
        if stats.series.is_some() { stats.bytes_sent as f64 } else { 0.0 }
    }
}

impl QuicTransport {
    /// Creates the transport of a flow that has not started. It carries a `call`, if there is one,
    /// or objects.
    pub fn new(
        settings: QuicSettings,
        call: Option<QuicCall>,
        progress: &FlowProgress,
        shared: &Shared,
    ) -> Result<Self, SimError> {
        Ok(Self {
            endpoints: Endpoints::new(&progress.spec, &settings, shared)?,
            settings,
            call,
            others: 0,
            clients: (1..=progress.spec.visits.len())
                .map(|visit| progress.address_in(visit, Role::Client))
                .collect(),
            server_address: progress.address(Role::Server),
            visit: None,
            last_node: shared.last_node,
            epoch: shared.epoch.clone(),
            batch: None,
            received: BytesMut::new(),
        })
    }

    /// Returns the client's address in a visit, by its number from 1.
    fn client_in(&self, visit: u32) -> SocketAddr {
        let index = (visit as usize).saturating_sub(1);
        // Packets belong to visits that there are.
        self.clients.get(index).copied().unwrap_or(self.server_address)
    }

    /// Returns `config` with what the call needs, if there is one.
    fn with_call(&self, config: ConnectionConfig) -> ConnectionConfig {
        match &self.call {
            Some(call) => call.configure(config),
            None => config,
        }
    }

    /// Makes the server expect the connection of a visit.
    fn listen(
        &self,
        start: &VisitStart,
        progress: &FlowProgress,
        recording: &Recording,
        call: Option<&Ends>,
        shared: &Shared,
    ) -> Result<ServerSide, SimError> {
        let place = (Role::Server, 0);
        let config = configure(place, &self.settings, start, progress, recording, shared)?;
        let config = self.with_call(config);
        let call = call.cloned();
        let resume_handle = config.resume_handle();
        let (config, attachments) = config.server(&self.endpoints.server_config);
        let token_outcome = attachments.tokens.as_ref().and_then(Tokens::outcome).cloned();
        let conn = Arc::<Mutex<Option<Conn>>>::default();
        let slot = conn.clone();
        let (settings, visit_progress) = (self.settings.clone(), start.progress.clone());
        self.endpoints.accept_next(Accept {
            config,
            attachments,
            app: Box::new(move |conn| {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(conn.clone());
                match call {
                    Some(call) => call.run(conn, Role::Server),
                    None => app::server(conn, &settings, visit_progress),
                }
            }),
        });
        Ok(ServerSide { conn, resume_handle, token_outcome })
    }

    /// Opens the connection of a visit at the client.
    fn connect(
        &mut self,
        start: &VisitStart,
        progress: &FlowProgress,
        recording: &Recording,
        (call, test): (Option<&Ends>, Option<&Probing>),
        shared: &Shared,
    ) -> Result<ClientSide, SimError> {
        let place = (Role::Client, 0);
        let config = configure(place, &self.settings, start, progress, recording, shared)?;
        let config = self.with_call(config);
        let call = call.cloned();
        let resume_handle = config.resume_handle();
        let handshake = start.visit.handshake;
        let own = self.endpoints.own();
        let ClientParts { crypto, initial_cids } = own.parts(handshake);
        let (mut config, attachments) = config.client(crypto.clone());
        config.initial_dst_cid_provider(initial_cids.clone()).token_store(own.tokens.clone());
        let (settings, visit_progress) = (self.settings.clone(), start.progress.clone());
        let remote = self.server_address;
        let test = test.cloned();
        let app = move |conn| match (call, test) {
            (Some(call), _) => call.run(conn, Role::Client),
            (None, Some(test)) => test.first(conn),
            (None, None) => app::client(conn, &settings, visit_progress, 0),
        };
        let conn = self
            .endpoints
            .client
            .connect(start.now, config, remote, app::SERVER_NAME, attachments, app)
            .map_err(|error| SimError::Connect {
                flow: progress.spec.name.clone(),
                reason: error.to_string(),
            })?;
        if handshake == Handshake::ZeroRtt && !conn.has_0rtt() {
            start.progress.failed(
                "0-RTT was requested, but there is no ticket from an earlier visit".to_owned(),
            );
        }
        Ok(ClientSide { conn, resume_handle })
    }

    /// Returns the test of a visit, if it is one.
    fn test(
        &self,
        start: &VisitStart,
        progress: &FlowProgress,
        shared: &Shared,
    ) -> Result<Option<(Probing, ConnectionConfig)>, SimError> {
        let Some(plan) = start.visit.test else { return Ok(None) };
        let times = (start.now, start.ends.unwrap_or(start.now));
        let direction = start.visit.direction;
        let test = Probing::new(plan, times, direction, start.progress.clone());
        let flow = progress.spec.name.clone();
        let config = ConnectionConfig::new(self.settings.clone(), shared.clock)
            .map_err(|source| SimError::Settings { flow, source })?;
        Ok(Some((test, config)))
    }

    /// Begins the probes that are due, and the connections that join the load.
    fn probe(&mut self, now: Time) {
        let Some(ActiveVisit { test: Some((test, config)), progress, .. }) = &self.visit else {
            return;
        };
        for action in test.poll(now) {
            self.others = self.others.wrapping_add(1);
            let mut remote = self.server_address;
            remote.set_port(remote.port().wrapping_add(self.others));
            let (config, settings) = (config.clone(), self.settings.clone());
            let visit_progress = progress.clone();
            let (server, attachments) = config.clone().server(&self.endpoints.server_config);
            let app = move |conn| app::server(conn, &settings, visit_progress);
            self.endpoints.accept_also(Accept { config: server, attachments, app: Box::new(app) });
            let ClientParts { crypto, initial_cids } =
                self.endpoints.own().parts(Handshake::OneRtt);
            let (mut client_config, attachments) = config.client(crypto.clone());
            client_config.initial_dst_cid_provider(initial_cids.clone());
            let test = test.clone();
            let app = move |conn| test.other(conn, action);
            let client = &mut self.endpoints.client;
            let name = app::SERVER_NAME;
            if let Err(error) = client.connect(now, client_config, remote, name, attachments, app) {
                progress.failed(format!("a probe cannot connect: {error}"));
            }
        }
        self.endpoints.client.wake(now);
    }

    /// Returns the next datagrams of `node` towards `toward`.
    fn next_batch(&mut self, toward: PathDirection, outbox: &mut Outbox<'_>) -> Option<Batch> {
        let (now, node) = (outbox.now, outbox.node);
        let buffer = outbox.scratch();
        buffer.clear();
        let transmit = self.endpoints.at(node).poll_transmit(now, buffer)?;
        let (mut position, mut answers) = (0.0, false);
        if let Some(visit) = &mut self.visit {
            position = visit.position(toward);
            if toward != visit.data_direction {
                let acks = visit.recording.acks();
                answers = std::mem::replace(&mut visit.acks, acks) != acks;
            }
        }
        Some(Batch::new(std::mem::take(buffer), transmit, position, answers))
    }
}

impl Transport for QuicTransport {
    fn begin(
        &mut self,
        start: &VisitStart,
        progress: &mut FlowProgress,
        shared: &Shared,
    ) -> Result<(), SimError> {
        let recording =
            Recording::new(&progress.spec.name, start, 0, self.settings.connection_window);
        let call = self.call.as_ref().map(|call| call.begin(&progress.spec.name, start, shared));
        let server = self.listen(start, progress, &recording, call.as_ref(), shared)?;
        let test = self.test(start, progress, shared)?;
        self.others = 0;
        let probing = test.as_ref().map(|(test, _)| test);
        let apps = (call.as_ref(), probing);
        let client = self.connect(start, progress, &recording, apps, shared)?;
        if let Some(limits) = progress.limits() {
            recording.metrics().report_limits(limits, 0);
        }
        start.progress.state().page.as_mut().map(|page| page.opened(0, start.now));
        let (settings, endpoints) = (&self.settings, &self.endpoints);
        let origins = Origins::new(settings, endpoints, start, progress, &recording, shared)?;
        self.visit = Some(ActiveVisit {
            data_direction: start.data_direction,
            progress: start.progress.clone(),
            recording,
            call,
            test,
            origins,
            acks: 0,
            client,
            server,
        });
        Ok(())
    }

    fn report(&mut self, now: Time, progress: &FlowProgress) -> Option<VisitReport> {
        let visit = self.visit.as_ref()?;
        let recording = &visit.recording;
        let mut qlog = recording.take_qlog();
        qlog.extend(visit.origins.report(recording, &visit.progress));
        let handshake = visit.client.conn.connected_at();
        if let (Some(at), Some(page)) = (handshake, &mut visit.progress.state().page) {
            page.connected(0, 0, at);
        }
        let duplicate_bytes = progress.spuriously_lost_bytes(&recording.metrics().stats());
        let (call, delays) = visit.call.as_ref().map(|call| call.finish(now)).unwrap_or_default();
        let mut reverse = recording.take_reverse();
        reverse.series.extend(delays);
        Some(VisitReport {
            call,
            test: visit.test.as_ref().map(|(test, _)| test.finish(now)),
            connections: 1 + visit.origins.connections(),
            handshake,
            duplicate_bytes,
            path: visit.path(),
            reverse,
            flow_control: Some(recording.flow_control.clone()),
            qlog,
            ..VisitReport::new(recording.metrics().clone())
        })
    }

    fn end(&mut self, now: Time, timed: bool) {
        let Some(visit) = self.visit.take() else { return };
        self.received = BytesMut::new();
        visit.client.conn.close(app::NO_ERROR, b"");
        self.endpoints.client.wake(now);
        if visit.test.is_some() || visit.origins.any() {
            self.endpoints.client.close_all(now, app::NO_ERROR);
        }
        if visit.test.is_some() {
            self.endpoints.server.close_all(now, app::NO_ERROR);
        }
        if timed {
            // The visit ends at both ends at once. Packets in flight have no receiver.
            if let Some(conn) =
                visit.server.conn.lock().unwrap_or_else(PoisonError::into_inner).take()
            {
                conn.close(app::NO_ERROR, b"");
            }
            self.endpoints.server.wake(now);
        }
    }

    fn outlives_visits(&self) -> bool {
        true
    }

    fn deliver(&mut self, now: Time, node: u16, ecn: Ecn, datagram: &mut Datagram) {
        let Body::Udp(payload) = &mut datagram.body else { return };
        let data = payload.take(&mut self.received);
        let mut source = match node {
            0 => self.server_address,
            _ => self.client_in(datagram.visit),
        };
        source.set_port(source.port().wrapping_add(datagram.connection));
        self.epoch.set(now);
        self.endpoints.at(node).handle_datagram(now, source, ecn_from_link(ecn), data);
        if self.visit.is_none() {
            // Packets of a connection that closes. Thousands of flows that are over would keep it.
            self.received = BytesMut::new();
        }
    }

    fn wake(&mut self, now: Time, node: u16) {
        self.epoch.set(now);
        self.endpoints.at(node).handle_timeout(now);
    }

    fn next_timeout(&self, node: u16) -> Option<Time> {
        match node {
            0 => self.endpoints.client.next_timeout(),
            node if node == self.last_node => self.endpoints.server.next_timeout(),
            _ => None,
        }
    }

    fn poll_transmit(&mut self, outbox: &mut Outbox<'_>) -> Option<Packet<PacketId>> {
        let (toward, to) = if outbox.node == 0 {
            (PathDirection::ToServer, self.last_node)
        } else {
            (PathDirection::ToClient, 0)
        };
        if self.batch.is_none() {
            self.batch = self.next_batch(toward, outbox);
        }
        // A client keeps its port in all visits.
        let receiver = match outbox.node {
            0 => self.server_address.port(),
            _ => self.client_in(1).port(),
        };
        let batch = self.batch.as_mut()?;
        let ecn = ecn_to_link(batch.transmit.ecn);
        let connection = batch.transmit.destination.port().wrapping_sub(receiver);
        let next = batch.next();
        if next.is_last
            && let Some(batch) = self.batch.take()
        {
            *outbox.scratch() = batch.into_buffer();
        }
        let bytes = next.size as u32 + IP_UDP_HEADER;
        let (position, body) = (next.position, Body::Udp(next.payload));
        let (answers, held) = (next.answers, Span::ZERO);
        let packet = Outgoing { toward, to, connection, bytes, ecn, position, answers, held, body };
        Some(outbox.send(packet, || ReverseBytes {
            ip: u64::from(IP_HEADER),
            udp: u64::from(UDP_HEADER),
            quic: next.size as u64,
            total: u64::from(bytes),
            ..ReverseBytes::default()
        }))
    }

    fn release(&mut self, now: Time) {
        self.probe(now);
        let Some(visit) = &mut self.visit else { return };
        if visit.origins.any() {
            let server = (&self.settings, self.server_address);
            visit.origins.open(now, server, &mut self.endpoints, &visit.progress);
            self.endpoints.client.wake(now);
        }
        let call = visit.call.as_ref().is_some_and(|call| call.release(now));
        let objects = visit.progress.release(now);
        if objects || call {
            self.endpoints.client.wake(now);
        }
        let at_server = visit.origins.servers_wait() || visit.progress.writes_pieces();
        if call || (objects && at_server) {
            self.endpoints.server.wake(now);
        }
    }

    fn next_release(&self) -> Option<Time> {
        let visit = self.visit.as_ref()?;
        match (&visit.call, &visit.test) {
            (Some(call), _) => call.next_release(),
            (None, Some((test, _))) => test.due(),
            (None, None) => visit.progress.next_release(),
        }
    }
}
