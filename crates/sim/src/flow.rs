//! One client, its server, and their connections one after the other.

use crate::app;
use crate::datagram::{Address, Side};
use crate::error::SimError;
use crate::hosts::Hosts;
use crate::outcome::{FlowOutcome, FlowTrace, ObjectOutcome, QlogFile};
use crate::progress::Progress;
use crate::running::{Counts, Running};
use crate::spec::{Direction, FlowSpec, Visit};
use bentpipe_link::{DropCause, random};
use bentpipe_quic::congestion::FastStart;
use bentpipe_quic::memory::Holder;
use bentpipe_quic::noq_proto::{
    ClientConfig, EndpointConfig, ServerConfig, TokenMemoryCache, TransportConfig, ValidationTokenConfig,
};
use bentpipe_quic::qlog::QlogSink;
use bentpipe_quic::tls::{self, Identity, Randomness, SecretLog};
use bentpipe_quic::token::{ClientWindows, Tokens};
use bentpipe_quic::{
    Accept, Attached, Clock, Conn, Endpoint, EpochClock, Handshake, Http, IP_HEADER, MakeController, Probe, Remembered,
    ResumeVia, UDP_HEADER, controller_factory, seeded,
};
use bentpipe_units::{Span, Time};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// Datagrams that one call for transmission may return: what segmentation offload takes at once (64 kB).
const MAX_SEGMENTS: NonZeroUsize = NonZeroUsize::new(44).expect("44 is not zero");
/// H3_NO_ERROR (RFC 9114 §8.1): how a client that has all it wanted leaves.
const NO_ERROR: u64 = 0x100;

/// What all flows of a run share.
pub struct Shared {
    /// Maps time to the stack's instants.
    pub clock: Clock,
    /// Wall time of the simulated world.
    pub epoch: EpochClock,
    /// Whether series are recorded.
    pub trace: bool,
    /// Whether qlog is written.
    pub qlog: bool,
    /// Where TLS secrets go, for a capture.
    pub secrets: Option<SecretLog>,
    /// Seed and number of the run.
    pub seed: (u64, u64),
    /// Time after which a visit is given up.
    pub time_limit: Span,
    /// What hosts know of each other.
    pub hosts: Hosts,
}

/// A flow at work.
pub struct Flow {
    spec: FlowSpec,
    pub client: Endpoint,
    pub server: Endpoint,
    /// The client without and with early data; both keep the same tickets and tokens.
    client_configs: [ClientConfig; 2],
    server_config: ServerConfig,
    /// What the server does with the next connection.
    next_accept: Arc<Mutex<Option<Accept>>>,
    index: usize,
    running: Option<Running>,
    next_visit: usize,
    /// When the next visit begins.
    begins: Option<Time>,
    pub results: FlowResults,
}

/// What the flow's finished visits left.
#[derive(Default)]
pub struct FlowResults {
    /// Reported visits.
    pub outcomes: Vec<FlowOutcome>,
    /// Their series.
    pub traces: Vec<FlowTrace>,
    /// Their qlog.
    pub qlog: Vec<QlogFile>,
}

impl Flow {
    /// A flow that has not begun; `index` gives its addresses and random streams.
    pub fn new(spec: FlowSpec, index: usize, shared: &Shared) -> Result<Self, SimError> {
        let seed = |purpose: &str| seed_bytes(shared, &format!("flow/{}/{purpose}", spec.name));
        let alpn = match spec.settings.http {
            Http::H3 => tls::ALPN_H3,
            Http::Raw => tls::ALPN_RAW,
        };
        let identity = Identity::self_signed(app::SERVER_NAME, seed("identity"))?;
        let client_tls = tls::Client::new(&identity, alpn, Randomness::Seeded, shared.epoch.clone())?;
        let tokens = Arc::new(TokenMemoryCache::default());
        let client_config = |early_data| {
            let mut config = ClientConfig::new(Arc::new(client_tls.quic(early_data)?));
            config
                .initial_dst_cid_provider(seeded::initial_cids(half(seed(&format!("initial cid {early_data}")))))
                .token_store(tokens.clone());
            Ok::<_, SimError>(config)
        };
        let client_configs = [client_config(false)?, client_config(true)?];
        let server_tls =
            tls::server(&identity, alpn, Randomness::Seeded, shared.epoch.clone(), shared.secrets.clone())?;

        let mut server_config = ServerConfig::with_crypto(Arc::new(server_tls));
        let mut validation = ValidationTokenConfig::default();
        validation.sent(2).log(Arc::new(seeded::ExactTokenLog::default()));
        server_config.validation_token_config(validation).time_source(Arc::new(shared.epoch.clone()));

        let endpoint_config = |side: &str| {
            let cid_seed = half(seed(&format!("{side} cid")));
            let mut config = EndpointConfig::default();
            config
                .rng_seed(Some(seed(side)))
                // A packet with the fixed bit cleared at random (RFC 9287) would differ from run to run in nothing but that.
                .grease_quic_bit(false)
                .cid_generator(Arc::new(move || Box::new(seeded::SeededCids::new(cid_seed))));
            let payload = spec.settings.max_mtu.max(spec.settings.initial_mtu);
            config.max_udp_payload_size(payload).map_err(|_| SimError::Settings {
                flow: spec.name.clone(),
                source: bentpipe_quic::SettingsError::Mtu { name: "max_mtu", value: payload },
            })?;
            Ok::<_, SimError>(config)
        };
        let next_accept: Arc<Mutex<Option<Accept>>> = Arc::default();
        let slot = next_accept.clone();
        let acceptor = Box::new(move |_| slot.lock().unwrap_or_else(PoisonError::into_inner).take());
        let client = Endpoint::new(endpoint_config("client")?, shared.clock, None, MAX_SEGMENTS);
        let server = Endpoint::new(
            endpoint_config("server")?,
            shared.clock,
            Some((Arc::new(server_config.clone()), acceptor)),
            MAX_SEGMENTS,
        );
        let begins = spec.visits.first().map(|visit| Time::ZERO + spec.start + visit.wait + visit.think);
        Ok(Self {
            client,
            server,
            client_configs,
            server_config,
            next_accept,
            index,
            running: None,
            next_visit: 0,
            begins,
            results: FlowResults::default(),
            spec,
        })
    }

    /// The terminal its client sits behind.
    pub fn terminal(&self) -> usize {
        self.spec.terminal
    }

    fn address(&self, side: Side) -> Address {
        Address { flow: self.index, side }
    }

    /// True once every visit has ended.
    pub fn is_over(&self) -> bool {
        self.running.is_none() && self.begins.is_none()
    }

    /// The endpoint of one side.
    pub fn endpoint(&mut self, side: Side) -> &mut Endpoint {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// True where the visit under way has nothing more to do.
    pub fn visit_is_over(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.progress.is_over())
    }

    /// True while a visit that the results tell of is under way.
    pub fn is_reporting(&self) -> bool {
        self.running.as_ref().is_some_and(|running| self.spec.visits[running.number - 1].reported)
    }

    /// When [`Flow::act`] is to be called.
    pub fn next_deadline(&self) -> Option<Time> {
        self.running.as_ref().map(|running| running.gives_up).or(self.begins)
    }

    /// Begins the next visit, ends the one under way, or neither, as is due.
    pub fn act(&mut self, now: Time, shared: &Shared) -> Result<(), SimError> {
        if let Some(running) = &self.running
            && (running.progress.is_over() || running.gives_up <= now)
        {
            self.end_visit(now, shared);
        }
        if self.running.is_none() && self.begins.is_some_and(|begins| begins <= now) {
            self.begin_visit(now, shared)?;
        }
        Ok(())
    }

    /// What the trace of one end of a visit is called.
    fn qlog_name(&self, visit: usize, side: &str) -> String {
        format!("{}-visit{visit}-{side}", self.spec.name)
    }

    /// What a connection's sender on `side` is told, and what goes with the connection.
    fn endpoint_parts(
        &self,
        side: Side,
        probe: &Probe,
        sink: Option<&QlogSink>,
        now: Time,
        shared: &Shared,
    ) -> Result<(TransportConfig, Attached), SimError> {
        let fail = |source| SimError::Settings { flow: self.spec.name.clone(), source };
        let settings = &self.spec.settings;
        let mut transport = settings.transport().map_err(fail)?;
        let controller = settings.controller().map_err(fail)?;
        let peer = self.address(side.peer()).socket(self.spec.terminal).ip();
        let host = shared.hosts.get(match side {
            Side::Server => &self.spec.server,
            Side::Client => &self.spec.name,
        })?;
        let by_token = controller.keeps_notes() && settings.resume_via == ResumeVia::Token;
        let remembered = controller
            .keeps_notes()
            .then(|| {
                // One of a kind in the run: flow, visit and side.
                let holder = Holder((self.index as u64) << 32 | (self.next_visit as u64) << 1 | side as u64);
                match side {
                    Side::Server if by_token => Ok(Remembered::without_store()),
                    _ => host.memory.begin(peer, holder, now),
                }
            })
            .transpose()
            .map_err(|error| SimError::Spec(error.to_string()))?;
        let notes = remembered.as_ref().map(Remembered::notes);
        let tokens = match (side, &notes) {
            (Side::Server, Some(notes)) if by_token => Some(Tokens::server(&host.issued, notes.clone())),
            (Side::Client, _) if by_token => {
                let windows = ClientWindows { present: settings.connection_window, most: ClientWindows::MOST };
                Some(Tokens::client(&host.kept, &self.spec.server, windows))
            }
            _ => None,
        };
        // A client that sends knows nothing of other clients behind its address.
        let starting = (side == Side::Server && controller.wants_permit()).then(|| host.gate.ticket(peer));
        let ticket = starting.clone();
        let make: MakeController = Arc::new(move |setup| {
            let fast = ticket.as_ref().map_or(FastStart::Allowed(None), |ticket| ticket.enter(setup.now));
            controller.make(setup, fast, notes.clone())
        });
        let factory = controller_factory(shared.clock, settings.initial_window, Some(probe.clone()), make);
        transport.congestion_controller_factory(factory);
        if let Some(sink) = sink {
            transport.qlog_factory(Arc::new(sink.clone()));
        }
        Ok((transport, Attached { probe: Some(probe.clone()), remembered, qlog: sink.cloned(), tokens, starting }))
    }

    fn begin_visit(&mut self, now: Time, shared: &Shared) -> Result<(), SimError> {
        let number = self.next_visit + 1;
        let visit = &self.spec.visits[self.next_visit];
        let trace = shared.trace && visit.reported;
        let record = |direction| Probe::new(trace && visit.direction == direction);
        let (server_probe, client_probe) = (record(Direction::Download), record(Direction::Upload));
        let sinks = (shared.qlog && visit.reported).then(|| {
            let sink = |side| QlogSink::new(&self.qlog_name(number, side), shared.clock);
            (sink("client"), sink("server"))
        });
        let progress = Progress::new(visit, trace);
        let (server_settings, client_settings) = (self.spec.settings.clone(), self.spec.settings.clone());

        let server_sink = sinks.as_ref().map(|sinks| &sinks.1);
        let (transport, attached) = self.endpoint_parts(Side::Server, &server_probe, server_sink, now, shared)?;
        let mut config = self.server_config.clone();
        config.transport_config(Arc::new(transport));
        let server_progress = progress.clone();
        let server_conn = Arc::<Mutex<Option<Conn>>>::default();
        let slot = server_conn.clone();
        let verdict = attached.tokens.as_ref().and_then(Tokens::verdict).cloned();
        let notes = |attached: &Attached| attached.remembered.as_ref().map(Remembered::notes);
        let server_notes = notes(&attached);
        *self.next_accept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Accept {
            config: Arc::new(config),
            attached,
            app: Box::new(move |conn| {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(conn.clone());
                app::server(conn, &server_settings, server_progress)
            }),
        });

        let client_sink = sinks.as_ref().map(|sinks| &sinks.0);
        let (transport, attached) = self.endpoint_parts(Side::Client, &client_probe, client_sink, now, shared)?;
        let mut config = self.client_configs[usize::from(visit.handshake == Handshake::ZeroRtt)].clone();
        config.transport_config(Arc::new(transport));
        let client_progress = progress.clone();
        let client_notes = notes(&attached);
        let remote = self.address(Side::Server).socket(self.spec.terminal);
        let conn = self
            .client
            .connect(now, config, remote, app::SERVER_NAME, attached, move |conn| {
                app::client(conn, &client_settings, client_progress)
            })
            .map_err(|error| SimError::Connect { flow: self.spec.name.clone(), reason: error.to_string() })?;
        if visit.handshake == Handshake::ZeroRtt && !conn.has_0rtt() {
            progress.failed("0-RTT was asked for, but no ticket of an earlier visit allows it".to_owned());
        }
        let (probe, notes) = match visit.direction {
            Direction::Download => (server_probe, server_notes),
            Direction::Upload => (client_probe, client_notes),
        };
        self.running = Some(Running {
            number,
            conn,
            progress,
            probe,
            notes,
            verdict,
            server_conn,
            sinks,
            start: now,
            gives_up: now + shared.time_limit,
            counts: Counts::default(),
        });
        self.begins = None;
        self.next_visit += 1;
        Ok(())
    }

    fn end_visit(&mut self, now: Time, shared: &Shared) {
        let Some(running) = self.running.take() else { return };
        let visit = self.spec.visits[running.number - 1].clone();
        if visit.reported {
            self.results.outcomes.push(self.outcome(&running, &visit, now, shared));
            if shared.trace {
                self.results.traces.push(running.trace(&self.spec.name));
            }
            if let Some((client, server)) = &running.sinks {
                for (side, sink) in [("client", client), ("server", server)] {
                    let name = self.qlog_name(running.number, side);
                    self.results.qlog.push(QlogFile { name, bytes: sink.take() });
                }
            }
        }
        running.conn.close(NO_ERROR, b"");
        self.client.wake(now);
        self.begins = self.spec.visits.get(self.next_visit).map(|next| now + next.wait + next.think);
    }

    fn outcome(&self, running: &Running, visit: &Visit, now: Time, shared: &Shared) -> FlowOutcome {
        let since = |at: Time| at.since(running.start);
        let completed_at = running.progress.completion();
        let progress = running.progress.state();
        let record = running.probe.record();
        let mut error = progress.error.clone();
        if completed_at.is_none() && error.is_none() {
            let limit = shared.time_limit;
            error = Some(format!("given up after {}, the time limit of {limit}", now.since(running.start)));
        }
        let counts = &running.counts;
        FlowOutcome {
            name: self.spec.name.clone(),
            visit: running.number,
            transport: "quic",
            congestion: self.spec.settings.congestion.controller.to_string(),
            direction: visit.direction,
            bytes: visit.objects.iter().map(|object| object.bytes.get()).sum(),
            completed: completed_at.is_some(),
            start: running.start,
            handshake: running.conn.connected_at().map(since),
            first_byte: progress.first_byte.map(since),
            completion: completed_at.map(since),
            packets_sent: counts.data_packets,
            packets_lost_policer: counts.lost_policer,
            packets_lost_queue: counts.lost_queue,
            packets_lost_random: counts.lost_random,
            packets_declared_lost: record.packets_declared_lost,
            flow_control_blocked: Some(record.window_blocked),
            return_packets: counts.return_packets,
            return_bytes: counts.return_bytes,
            rtt_min: record.rtt_min(),
            rtt_mean: record.rtt_mean(),
            rtt_p99: record.rtt_p99(),
            path: running.path(visit.direction),
            objects: visit
                .objects
                .iter()
                .zip(&progress.objects)
                .map(|(object, state)| ObjectOutcome {
                    name: object.name.clone(),
                    bytes: state.bytes,
                    start: state.start.map_or(Span::ZERO, since),
                    completion: state.completion.map(since),
                })
                .collect(),
            error: error.filter(|_| completed_at.is_none()),
        }
    }

    /// The visit under way, which datagrams are tagged with.
    pub fn visit(&self) -> u32 {
        self.next_visit as u32
    }

    /// Whether `side` sends the data of the visit under way, and the position of what it has sent, where recorded.
    pub fn sender_position(&self, side: Side) -> Option<f64> {
        let running = self.running.as_ref()?;
        (side == self.data_side(running)).then(|| running.probe.record().bytes_sent as f64)
    }

    fn data_side(&self, running: &Running) -> Side {
        match self.spec.visits[running.number - 1].direction {
            Direction::Download => Side::Server,
            Direction::Upload => Side::Client,
        }
    }

    /// `side` sent a datagram of `ip_bytes`.
    pub fn count_sent(&mut self, side: Side, ip_bytes: u32) {
        let Some(data_side) = self.running.as_ref().map(|running| self.data_side(running)) else { return };
        let Some(running) = &mut self.running else { return };
        let counts = &mut running.counts;
        if side == data_side {
            counts.data_packets += 1;
        } else {
            counts.return_packets += 1;
            let bytes = &mut counts.return_bytes;
            bytes.ip += u64::from(IP_HEADER);
            bytes.udp += u64::from(UDP_HEADER);
            bytes.quic += u64::from(ip_bytes - IP_HEADER - UDP_HEADER);
            bytes.total += u64::from(ip_bytes);
        }
    }

    /// A datagram that `side` sent during `visit` was lost on a link.
    pub fn count_lost(&mut self, side: Side, visit: u32, cause: DropCause, position: f64, now: Time, trace: bool) {
        if visit != self.visit() {
            return;
        }
        let Some(data_side) = self.running.as_ref().map(|running| self.data_side(running)) else { return };
        let Some(running) = &mut self.running else { return };
        if side != data_side {
            return;
        }
        let counts = &mut running.counts;
        let series = match cause {
            DropCause::Policer => {
                counts.lost_policer += 1;
                &mut counts.dropped_policer
            }
            DropCause::QueueFull | DropCause::Aqm => {
                counts.lost_queue += 1;
                &mut counts.dropped_queue
            }
            DropCause::Loss(_) => {
                counts.lost_random += 1;
                &mut counts.dropped_loss
            }
        };
        if trace {
            series.push((now, position));
        }
    }
}

fn seed_bytes(shared: &Shared, purpose: &str) -> [u8; 32] {
    use rand_core::Rng;
    let mut bytes = [0; 32];
    random::stream(shared.seed.0, shared.seed.1, purpose).fill_bytes(&mut bytes);
    bytes
}

fn half(seed: [u8; 32]) -> [u8; 16] {
    std::array::from_fn(|index| seed[index])
}
