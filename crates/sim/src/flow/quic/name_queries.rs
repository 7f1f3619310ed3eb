//! Questions for names over HTTP/3 (RFC 8484): a connection to a resolver, which stays open between
//! the visits of a flow until it has been idle for too long.

use super::batch::Batch;
use super::endpoints::{ClientParts, Endpoints};
use crate::app;
use crate::datagram::{Body, Datagram, Role, ecn_from_link, ecn_to_link};
use crate::error::SimError;
use crate::flow::progress::FlowProgress;
use crate::flow::shared::Shared;
use crate::flow::transport::{Aside, Outbox};
use crate::spec::{FlowSpec, Object, Stack, Visit};
use crate::visit_progress::VisitProgress;
use bentpipe_link::Ecn;
use bentpipe_quic::{
    Accept, Clock, Conn, ConnectionConfig, EpochClock, Handshake, IP_UDP_HEADER, QuicSettings,
};
use bentpipe_units::{Bytes, Time};
use bytes::BytesMut;
use std::net::SocketAddr;

/// Content of an answer: the same message as over UDP.
const ANSWER: Bytes = Bytes::new(172);
/// UDP payload that every path carries (RFC 9000 §14).
const PAYLOAD: u16 = 1200;
/// Number of the connection among those of the flow, so that it has ports of its own.
const CONNECTION: u16 = u16::MAX;

/// The client of a resolver, and that resolver.
pub struct NameQueries {
    endpoints: Endpoints,
    settings: QuicSettings,
    clock: Clock,
    epoch: EpochClock,
    /// Addresses of client and resolver.
    addresses: [SocketAddr; 2],
    /// All names of the flow's pages: an object of the connection each.
    names: Vec<String>,
    /// What has been asked on the current connection.
    progress: Option<VisitProgress>,
    /// Numbers of the names without an answer.
    open: Vec<usize>,
    batch: Option<Batch>,
    received: BytesMut,
}

impl NameQueries {
    /// Creates the client of a flow that has asked nothing.
    ///
    /// # Errors
    /// TLS cannot be configured.
    pub fn new(progress: &FlowProgress, shared: &Shared) -> Result<Self, SimError> {
        let settings =
            QuicSettings { initial_mtu: PAYLOAD, max_mtu: PAYLOAD, ..QuicSettings::default() };
        let name = format!("{}/resolver", progress.spec.name);
        let spec = FlowSpec::new(&name, Stack::quic(settings.clone()), Vec::new());
        let pages = progress.spec.visits.iter().filter_map(|visit| visit.page.as_ref());
        let mut names: Vec<String> = Vec::new();
        for name in pages.flat_map(|page| &page.origins) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Ok(Self {
            endpoints: Endpoints::new(&spec, &settings, shared)?,
            settings,
            clock: shared.clock,
            epoch: shared.epoch.clone(),
            addresses: [Role::Client, Role::Server].map(|side| progress.address(side)),
            names,
            progress: None,
            open: Vec::new(),
            batch: None,
            received: BytesMut::new(),
        })
    }

    /// Returns true if a question is asked on a connection that exists.
    pub fn is_connected(&self) -> bool {
        self.progress.as_ref().is_some_and(|progress| progress.state().error.is_none())
    }

    /// Asks for a name, and opens the connection if there is none.
    ///
    /// # Errors
    /// Why the connection cannot be opened.
    pub fn ask(&mut self, now: Time, name: &str) -> Result<(), String> {
        let Some(number) = self.names.iter().position(|one| one == name) else { return Ok(()) };
        if !self.is_connected() {
            self.connect(now)?;
        }
        if let Some(progress) = &self.progress {
            progress.request(number, now);
        }
        if !self.open.contains(&number) {
            self.open.push(number);
        }
        self.endpoints.client.wake(now);
        Ok(())
    }

    fn connect(&mut self, now: Time) -> Result<(), String> {
        // A name is asked for once a page needs it: until then its object waits for itself.
        let objects = self.names.iter().enumerate().map(|(number, name)| Object {
            after: vec![number],
            ..Object::new(name.clone(), ANSWER)
        });
        let visit = Visit { objects: objects.collect(), ..Visit::default() };
        let progress = VisitProgress::new(&visit, now, None);
        let config = ConnectionConfig::new(self.settings.clone(), self.clock)
            .map_err(|error| error.to_string())?;
        let (server, attachments) = config.clone().server(&self.endpoints.server_config);
        let (settings, own) = (self.settings.clone(), progress.clone());
        let app = move |conn: Conn| app::server(conn, &settings, own);
        self.endpoints.accept_next(Accept { config: server, attachments, app: Box::new(app) });
        let state = self.endpoints.own();
        let ClientParts { crypto, initial_cids } = state.parts(Handshake::OneRtt);
        let (mut config, attachments) = config.client(crypto.clone());
        config.initial_dst_cid_provider(initial_cids.clone()).token_store(state.tokens.clone());
        let (settings, own) = (self.settings.clone(), progress.clone());
        let app = move |conn| app::client(conn, &settings, own, 0);
        let [_, remote] = self.addresses;
        self.endpoints
            .client
            .connect(now, config, remote, app::SERVER_NAME, attachments, app)
            .map_err(|error| error.to_string())?;
        self.progress = Some(progress);
        Ok(())
    }

    /// Takes the names that have been answered since the last call.
    ///
    /// # Errors
    /// Why the connection has ended before it answered.
    pub fn answered(&mut self) -> Result<Vec<String>, String> {
        let (Some(progress), false) = (&self.progress, self.open.is_empty()) else {
            return Ok(Vec::new());
        };
        let state = progress.state();
        if let Some(error) = &state.error {
            self.open.clear();
            return Err(error.clone());
        }
        let is_open = |number: usize| {
            state.objects.get(number).is_none_or(|object| object.completion.is_none())
        };
        let (open, done): (Vec<usize>, Vec<usize>) =
            std::mem::take(&mut self.open).into_iter().partition(|&number| is_open(number));
        self.open = open;
        Ok(done.into_iter().map(|number| self.names[number].clone()).collect())
    }

    /// Delivers a packet to the end at `node`.
    pub fn deliver(&mut self, now: Time, node: u16, ecn: Ecn, datagram: &mut Datagram) {
        let Body::Udp(payload) = &mut datagram.body else { return };
        let data = payload.take(&mut self.received);
        let [client, resolver] = self.addresses;
        let source = if node == 0 { resolver } else { client };
        self.epoch.set(now);
        self.endpoints.at(node).handle_datagram(now, source, ecn_from_link(ecn), data);
    }

    /// Handles timers that are due at `node`.
    pub fn wake(&mut self, now: Time, node: u16) {
        self.epoch.set(now);
        self.endpoints.at(node).handle_timeout(now);
    }

    /// Returns the time at which to call [`Self::wake`] for an end.
    pub fn next_timeout(&self, side: Role) -> Option<Time> {
        match side {
            Role::Client => self.endpoints.client.next_timeout(),
            Role::Server => self.endpoints.server.next_timeout(),
        }
    }

    /// Returns the next packet of the node of `outbox`, an end.
    pub fn next_packet(&mut self, outbox: &mut Outbox<'_>) -> Option<Aside> {
        if self.batch.is_none() {
            let (now, node) = (outbox.now, outbox.node);
            let buffer = outbox.scratch();
            buffer.clear();
            let transmit = self.endpoints.at(node).poll_transmit(now, buffer)?;
            self.batch = Some(Batch::new(std::mem::take(buffer), transmit, 0.0, false));
        }
        let batch = self.batch.as_mut()?;
        let ecn = ecn_to_link(batch.transmit.ecn);
        let next = batch.next();
        if next.is_last
            && let Some(batch) = self.batch.take()
        {
            *outbox.scratch() = batch.into_buffer();
        }
        let bytes = next.size as u32 + IP_UDP_HEADER;
        Some(Aside { bytes, ecn, connection: CONNECTION, body: Body::Udp(next.payload) })
    }
}
