//! QUIC flows: two endpoints, and a connection per visit.

use super::interface::Flow;
use super::progress::{FlowProgress, FlowResults, ReverseReport, VisitReport};
use super::shared::Shared;
use crate::app;
use crate::datagram::{Body, Datagram, PathDirection, Role, ecn_from_link, ecn_to_link, socket};
use crate::error::SimError;
use crate::outcome::{Acknowledgements, PathOutcome, QlogFile, ReverseBytes};
use crate::packet_arena::{PacketArena, PacketId};
use crate::spec::{Direction, FlowSpec};
use crate::udp_payload::UdpPayload;
use bentpipe_link::{Ecn, Packet};
use bentpipe_quic::congestion::ResumeHandle;
use bentpipe_quic::noq_proto::{
    ConnectionId, EndpointConfig, ServerConfig, TokenMemoryCache, ValidationTokenConfig, crypto,
};
use bentpipe_quic::observer::{PerAck, TrafficSeries, TrafficStats};
use bentpipe_quic::path_memory::Holder;
use bentpipe_quic::path_memory::token::{ClientWindows, TokenOutcome, Tokens};
use bentpipe_quic::qlog::{Form, QlogSink};
use bentpipe_quic::tls::{self, Identity, Randomness};
use bentpipe_quic::{
    Accept, Conn, ConnectionConfig, Endpoint, FlowControlReport, Handshake, Http, IP_HEADER,
    IP_UDP_HEADER, PathLease, ResumeVia, SenderMetrics, Settings, Transmit, UDP_HEADER, seeded,
};
use bentpipe_timeseries::{BoundedSeries, Points, Series, SeriesLimit};
use bentpipe_units::Time;
use bytes::BytesMut;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of datagrams per call: the limit of segmentation offload (64 kB).
const MAX_SEGMENTS: NonZeroUsize = NonZeroUsize::new(44).expect("44 is not zero");
/// H3_NO_ERROR (RFC 9114 §8.1), with which a client closes after its last object.
const NO_ERROR: u64 = 0x100;

/// A flow over QUIC.
pub struct QuicFlow {
    progress: FlowProgress,
    settings: Settings,
    client: Endpoint,
    server: Endpoint,
    /// Client configurations without and with early data. They share their tickets.
    clients: [Client; 2],
    /// The client's tokens.
    client_tokens: Arc<TokenMemoryCache>,
    server_config: ServerConfig,
    /// What the server does with the next connection.
    next_accept: Arc<Mutex<Option<Accept>>>,
    running: Option<Running>,
    /// The server's node.
    last_node: u16,
    epoch: bentpipe_quic::EpochClock,
    /// Datagrams that the stack returned together and that are not yet sent.
    batch: Option<Batch>,
    /// Memory for payloads that arrive, during a visit.
    received: BytesMut,
}

/// Parts of a client configuration.
struct Client {
    crypto: Arc<dyn crypto::ClientConfig>,
    initial_cids: Arc<dyn Fn() -> ConnectionId + Send + Sync>,
}

/// The connection of the active visit.
struct Running {
    conn: Conn,
    /// Records the data's sender.
    metrics: SenderMetrics,
    /// Knowledge of the data's sender about the path, if it remembers paths.
    notes: Option<ResumeHandle>,
    /// Outcome of the client's token, if tokens are exchanged.
    verdict: Option<TokenOutcome>,
    /// Flow-control record of the data.
    flow_control: FlowControlReport,
    /// The server's connection, once it exists.
    server_conn: Arc<Mutex<Option<Conn>>>,
    sinks: Option<(QlogSink, QlogSink)>,
    accounts: ConnectionTraffic,
}

/// Packet statistics of a connection.
struct ConnectionTraffic {
    receiver: TrafficStats,
    /// Those of the data's sender, if time series are recorded.
    sender: Option<TrafficStats>,
}

/// Datagrams in one buffer.
struct Batch {
    /// The buffer, which is [`PacketArena::scratch`] again afterwards.
    data: Vec<u8>,
    /// Start of the datagrams that are not yet sent.
    from: usize,
    transmit: Transmit,
    /// Bytes that the connection had sent with the last of them.
    position: f64,
}

impl Running {
    /// Returns the knowledge of both ends about the path.
    fn path(&self, direction: Direction) -> PathOutcome {
        let known = self.notes.as_ref().map(ResumeHandle::resume_state).unwrap_or_default();
        let receiver = match direction {
            Direction::Download => self.conn.received_view(),
            Direction::Upload => {
                let server = self.server_conn.lock().unwrap_or_else(PoisonError::into_inner);
                server.as_ref().and_then(Conn::received_view)
            }
        };
        PathOutcome {
            saved: known.offered,
            observed: known.observed,
            receiver,
            retreated: known.offered.map(|_| known.retreated),
            token: self.verdict.as_ref().map(TokenOutcome::name),
        }
    }
}

impl ConnectionTraffic {
    fn new(series: Option<SeriesLimit>) -> Self {
        let receiver = series.map_or(TrafficSeries::Totals, TrafficSeries::Acknowledgements);
        Self {
            receiver: TrafficStats::new(receiver),
            sender: series.map(|limit| TrafficStats::new(TrafficSeries::Numbers(limit))),
        }
    }

    /// Counters of the reverse direction.
    fn reverse(&self) -> ReverseReport {
        let books = self.receiver.take();
        let mut series = Vec::new();
        let mut add = |name, unit, points: Option<Points>| {
            series.extend(points.map(|points| Series::new(name, unit, points)));
        };
        if let Some(numbers) = self.sender.as_ref().and_then(|sender| sender.take().numbers) {
            add("packet_number_sent", "packets", Some(numbers.sent.into_points()));
            add("packet_number_acked", "packets", Some(numbers.acknowledged.into_points()));
        }
        add("data_per_ack", "packets", books.per_ack.map(PerAck::into_points));
        add("ack_frame_bytes", "bytes", books.ack_frame_bytes.map(BoundedSeries::into_points));
        ReverseReport {
            acknowledgements: Some(Acknowledgements {
                packets: books.acks,
                only: books.acks_only,
                data: books.data_received,
                sizes: books.ack_frames,
            }),
            layers: Some(books.sent),
            series,
        }
    }
}

impl QuicFlow {
    /// Creates a flow that has not started. `index` determines its addresses and random streams.
    pub fn new(
        spec: FlowSpec,
        settings: Settings,
        index: usize,
        shared: &Shared,
    ) -> Result<Self, SimError> {
        let seed = |purpose: &str| shared.seed_bytes(&format!("flow/{}/{purpose}", spec.name));
        let alpn = match settings.http {
            Http::H3 => tls::ALPN_H3,
            Http::Raw => tls::ALPN_RAW,
        };
        let identity = Identity::self_signed(app::SERVER_NAME, seed("identity"))?;
        let client_tls =
            tls::Client::new(&identity, alpn, Randomness::Seeded, shared.epoch.clone())?;
        let client_tokens = Arc::new(TokenMemoryCache::default());
        let client = |early_data| {
            let crypto: Arc<dyn crypto::ClientConfig> = Arc::new(client_tls.quic(early_data)?);
            let crypto = if shared.encrypt { crypto } else { tls::null_client(crypto) };
            let initial_cids =
                seeded::initial_cids(half(seed(&format!("initial cid {early_data}"))));
            Ok::<_, SimError>(Client { crypto, initial_cids })
        };
        let clients = [client(false)?, client(true)?];
        let server_tls = tls::server(
            &identity,
            alpn,
            Randomness::Seeded,
            shared.epoch.clone(),
            shared.secrets.clone(),
        )?;

        let server_tls: Arc<dyn crypto::ServerConfig> = Arc::new(server_tls);
        let server_tls = if shared.encrypt { server_tls } else { tls::null_server(server_tls) };
        let mut server_config = ServerConfig::with_crypto(server_tls);
        let mut validation = ValidationTokenConfig::default();
        validation.sent(2).log(Arc::new(seeded::ExactTokenLog::default()));
        server_config
            .validation_token_config(validation)
            .time_source(Arc::new(shared.epoch.clone()));

        let endpoint_config = |side: &str| {
            let cid_seed = half(seed(&format!("{side} cid")));
            let reset_key = seeded::reset_key(seed(&format!("{side} reset")));
            let mut config = EndpointConfig::new(reset_key);
            config
                .rng_seed(Some(seed(side)))
                // A randomly cleared fixed bit (RFC 9287) would be an unnecessary difference
                // between runs.
                .grease_quic_bit(false)
                .cid_generator(Arc::new(move || Box::new(seeded::SeededCids::new(cid_seed))));
            let payload = settings.max_mtu.max(settings.initial_mtu);
            config.max_udp_payload_size(payload).map_err(|_| SimError::Settings {
                flow: spec.name.clone(),
                source: bentpipe_quic::SettingsError::Mtu { name: "max_mtu", value: payload },
            })?;
            Ok::<_, SimError>(config)
        };
        let next_accept: Arc<Mutex<Option<Accept>>> = Arc::default();
        let slot = next_accept.clone();
        let acceptor =
            Box::new(move |_| slot.lock().unwrap_or_else(PoisonError::into_inner).take());
        let client = Endpoint::new(endpoint_config("client")?, shared.clock, None, MAX_SEGMENTS);
        let server = Endpoint::new(
            endpoint_config("server")?,
            shared.clock,
            Some((Arc::new(server_config.clone()), acceptor)),
            MAX_SEGMENTS,
        );
        Ok(Self {
            client,
            server,
            clients,
            client_tokens,
            server_config,
            next_accept,
            running: None,
            last_node: shared.last_node,
            epoch: shared.epoch.clone(),
            batch: None,
            received: BytesMut::new(),
            settings,
            progress: FlowProgress::new(spec, index),
        })
    }

    fn socket(&self, side: Role) -> std::net::SocketAddr {
        socket(self.progress.index, side, self.progress.terminal())
    }

    fn side(&self, node: u16) -> Role {
        if node == 0 { Role::Client } else { Role::Server }
    }

    /// Returns the endpoint at `node`, one of the two nodes that have one.
    fn endpoint(&mut self, node: u16) -> &mut Endpoint {
        if node == 0 { &mut self.client } else { &mut self.server }
    }

    /// Returns the name of the qlog of one end of a visit.
    fn qlog_name(&self, visit: u32, side: &str) -> String {
        format!("{}-visit{visit}-{side}", self.progress.spec.name)
    }

    /// Returns the configuration of the connection at `side`.
    fn connection_config(
        &self,
        side: Role,
        (metrics, report): (&SenderMetrics, &FlowControlReport),
        sink: Option<&QlogSink>,
        accounts: &ConnectionTraffic,
        now: Time,
        shared: &Shared,
    ) -> Result<ConnectionConfig, SimError> {
        let fail = |source| SimError::Settings { flow: self.progress.spec.name.clone(), source };
        let settings = &self.settings;
        let mut config = ConnectionConfig::new(settings.clone(), shared.clock).map_err(fail)?;
        let sends = self.progress.data_direction().is_some_and(|toward| toward.source() == side);
        let receives = self.progress.data_direction().is_some_and(|toward| toward.source() != side);
        if sends {
            config = config.with_path_changes(self.progress.path_changes.clone());
        }
        let peer = self.socket(side.peer()).ip();
        let host = shared.hosts.get(match side {
            Role::Server => &self.progress.spec.server,
            Role::Client => &self.progress.spec.name,
        })?;
        let resumes = config.controller().resumes();
        let by_token = resumes && settings.resume_via == ResumeVia::Token;
        let path_lease = resumes
            .then(|| {
                // Unique in the run: flow, visit and side.
                let holder = Holder(
                    (self.progress.index as u64) << 32
                        | u64::from(self.progress.visit()) << 1
                        | side as u64,
                );
                match side {
                    Role::Server if by_token => Ok(PathLease::without_store()),
                    _ => host.memory.begin(peer, holder, now),
                }
            })
            .transpose()
            .map_err(|error| SimError::Spec(error.to_string()))?;
        let tokens = match (side, &path_lease) {
            (Role::Server, Some(lease)) if by_token => {
                Some(Tokens::server(&host.token_server, lease.resume_handle()))
            }
            (Role::Client, _) if by_token => {
                let windows = ClientWindows {
                    present: settings.connection_window,
                    max: settings.flow_control.max_window,
                };
                Some(Tokens::client(&host.token_client, &self.progress.spec.server, windows))
            }
            _ => None,
        };
        // A sending client does not know other clients behind its address.
        let start_lease = (side == Role::Server && config.controller().needs_start_slot())
            .then(|| host.start_lease(peer));
        // Only series record the flow control of the data sent.
        let observed = receives || accounts.sender.is_some();
        config = config
            .with_path_lease(path_lease)
            .with_tokens(tokens)
            .with_start_lease(start_lease)
            .with_metrics(metrics.clone())
            .with_qlog(sink.cloned())
            .with_traffic(if receives {
                Some(accounts.receiver.clone())
            } else {
                accounts.sender.clone()
            })
            .with_flow_control_reports(
                receives.then(|| report.clone()),
                (observed && !receives).then(|| report.clone()),
            );
        Ok(if receives { config.with_acknowledger() } else { config })
    }

    /// Position of the data's sender, if `toward` is its direction and its series are recorded.
    fn position(&self, toward: PathDirection) -> f64 {
        match &self.running {
            Some(running) if self.progress.data_direction() == Some(toward) => {
                let stats = running.metrics.stats();
                if stats.series.is_some() { stats.bytes_sent as f64 } else { 0.0 }
            }
            _ => 0.0,
        }
    }
}

impl Flow for QuicFlow {
    fn progress(&self) -> &FlowProgress {
        &self.progress
    }

    fn progress_mut(&mut self) -> &mut FlowProgress {
        &mut self.progress
    }

    fn begin_visit(&mut self, now: Time, shared: &Shared) -> Result<(), SimError> {
        let (visit, progress) = self.progress.begin(now, shared);
        let number = self.progress.visit();
        let series = shared.series_of(self.progress.recorded(), &visit);
        let record =
            |direction| SenderMetrics::new(series.filter(|_| visit.direction == direction));
        let (server_probe, client_probe) = (record(Direction::Download), record(Direction::Upload));
        let flow_control = FlowControlReport::new(self.settings.connection_window, series);
        let writes = visit.measured && !self.progress.in_population();
        let sinks = (shared.qlog.any() && writes).then(|| {
            let sink = |side| QlogSink::new(&self.qlog_name(number, side), shared.qlog);
            (sink("client"), sink("server"))
        });
        let accounts = ConnectionTraffic::new(series);
        let (server_settings, client_settings) = (self.settings.clone(), self.settings.clone());

        let config = self.connection_config(
            Role::Server,
            (&server_probe, &flow_control),
            sinks.as_ref().map(|sinks| &sinks.1),
            &accounts,
            now,
            shared,
        )?;
        let server_notes = config.resume_handle();
        let (config, attachments) = config.server(&self.server_config);
        let verdict = attachments.tokens.as_ref().and_then(Tokens::outcome).cloned();
        let server_progress = progress.clone();
        let server_conn = Arc::<Mutex<Option<Conn>>>::default();
        let slot = server_conn.clone();
        *self.next_accept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Accept {
            config,
            attachments,
            app: Box::new(move |conn| {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(conn.clone());
                app::server(conn, &server_settings, server_progress)
            }),
        });

        let config = self.connection_config(
            Role::Client,
            (&client_probe, &flow_control),
            sinks.as_ref().map(|sinks| &sinks.0),
            &accounts,
            now,
            shared,
        )?;
        let client_notes = config.resume_handle();
        let Client { crypto, initial_cids } =
            &self.clients[usize::from(visit.handshake == Handshake::ZeroRtt)];
        let (mut config, attachments) = config.client(crypto.clone());
        config
            .initial_dst_cid_provider(initial_cids.clone())
            .token_store(self.client_tokens.clone());
        let client_progress = progress.clone();
        let remote = self.socket(Role::Server);
        let conn = self
            .client
            .connect(now, config, remote, app::SERVER_NAME, attachments, move |conn| {
                app::client(conn, &client_settings, client_progress)
            })
            .map_err(|error| SimError::Connect {
                flow: self.progress.spec.name.clone(),
                reason: error.to_string(),
            })?;
        if visit.handshake == Handshake::ZeroRtt && !conn.has_0rtt() {
            progress.failed(
                "0-RTT was requested, but there is no ticket from an earlier visit".to_owned(),
            );
        }
        let (metrics, notes) = match visit.direction {
            Direction::Download => (server_probe, server_notes),
            Direction::Upload => (client_probe, client_notes),
        };
        if let Some(limits) = self.progress.limits() {
            metrics.report_limits(limits, 0);
        }
        self.running = Some(Running {
            conn,
            metrics,
            notes,
            verdict,
            flow_control,
            server_conn,
            sinks,
            accounts,
        });
        Ok(())
    }

    fn end_visit(&mut self, now: Time, shared: &Shared) {
        let Some(running) = self.running.take() else { return };
        let mut qlog = Vec::new();
        if let Some((client, server)) = &running.sinks {
            for (side, sink) in [("client", client), ("server", server)] {
                qlog.push(QlogFile {
                    name: self.qlog_name(self.progress.visit(), side),
                    current: sink.take(Form::Current),
                    qvis: sink.take(Form::Qvis),
                });
            }
        }
        let direction =
            self.progress.current_visit().map_or(Direction::Download, |visit| visit.direction);
        let duration = self.progress.ends().is_some();
        let duplicate_bytes = self.progress.spuriously_lost_bytes(&running.metrics.stats());
        let report = VisitReport {
            transport: "quic",
            connections: 1,
            handshake: running.conn.connected_at(),
            record: &mut running.metrics.stats(),
            duplicate_bytes,
            path: running.path(direction),
            pep: None,
            reverse: running.accounts.reverse(),
            flow_control: Some(running.flow_control.clone()),
            qlog,
        };
        self.progress.end(now, shared, report);
        self.received = BytesMut::new();
        running.conn.close(NO_ERROR, b"");
        self.client.wake(now);
        if duration {
            // The visit ends at both ends at once. Packets in flight have no receiver.
            if let Some(conn) = &*running.server_conn.lock().unwrap_or_else(PoisonError::into_inner)
            {
                conn.close(NO_ERROR, b"");
            }
            self.server.wake(now);
        }
    }

    fn release(&mut self, now: Time) {
        if self.progress.progress().is_some_and(|progress| progress.release(now)) {
            self.client.wake(now);
        }
    }

    fn deliver(&mut self, now: Time, node: u16, ecn: Ecn, datagram: &mut Datagram) {
        let Body::Udp(payload) = &mut datagram.body else { return };
        let data = payload.take(&mut self.received);
        let source = self.socket(self.side(node).peer());
        self.epoch.set(now);
        self.endpoint(node).handle_datagram(now, source, ecn_from_link(ecn), data);
    }

    fn wake(&mut self, now: Time, node: u16) {
        self.epoch.set(now);
        self.endpoint(node).handle_timeout(now);
    }

    fn next_timeout(&self, node: u16) -> Option<Time> {
        match node {
            0 => self.client.next_timeout(),
            node if node == self.last_node => self.server.next_timeout(),
            _ => None,
        }
    }

    fn next_deadline(&self) -> Option<Time> {
        let pending =
            self.progress.progress().and_then(crate::visit_progress::VisitProgress::next_release);
        [self.progress.next_deadline(), pending].into_iter().flatten().min()
    }

    fn poll_transmit(
        &mut self,
        now: Time,
        node: u16,
        packet_arena: &mut PacketArena,
    ) -> Option<Packet<PacketId>> {
        let (toward, to) = if node == 0 {
            (PathDirection::ToServer, self.last_node)
        } else {
            (PathDirection::ToClient, 0)
        };
        if self.batch.is_none() {
            let buffer = &mut packet_arena.scratch;
            buffer.clear();
            let transmit = self.endpoint(node).poll_transmit(now, buffer);
            let batch = transmit.map(|transmit| Batch {
                data: std::mem::take(buffer),
                from: 0,
                transmit,
                position: self.position(toward),
            });
            self.batch = batch;
        }
        let batch = self.batch.as_mut()?;
        let unsent = &batch.data[batch.from..];
        let segment = &unsent[..batch.transmit.segment_size.min(unsent.len())];
        let (size, left) = (segment.len(), unsent.len() - segment.len());
        let segment = UdpPayload::new(segment);
        let (ecn, position) = (ecn_to_link(batch.transmit.ecn), batch.position - left as f64);
        batch.from += size;
        if left == 0
            && let Some(batch) = self.batch.take()
        {
            packet_arena.scratch = batch.data;
        }
        let quic = size as u64;
        let bytes = size as u32 + IP_UDP_HEADER;
        self.progress.count_sent(now, toward, bytes, || ReverseBytes {
            ip: u64::from(IP_HEADER),
            udp: u64::from(UDP_HEADER),
            quic,
            total: u64::from(bytes),
            ..ReverseBytes::default()
        });
        let (flow, visit) = (self.progress.index as u32, self.progress.visit());
        let trip = self.progress.trip(now, node);
        let datagram =
            Datagram { flow, visit, toward, to, position, trip, body: Body::Udp(segment) };
        Some(packet_arena.send(bytes, ecn, datagram))
    }

    fn into_results(self: Box<Self>) -> FlowResults {
        self.progress.into_results()
    }
}

fn half(seed: [u8; 32]) -> [u8; 16] {
    std::array::from_fn(|index| seed[index])
}
