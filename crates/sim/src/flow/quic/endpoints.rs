//! The two QUIC endpoints of a flow and their cryptography, which outlive its visits.

use crate::app;
use crate::error::SimError;
use crate::flow::shared::Shared;
use crate::spec::FlowSpec;
use bentpipe_quic::noq_proto::{
    ConnectionId, EndpointConfig, ServerConfig, TokenMemoryCache, TokenStore,
    ValidationTokenConfig, crypto,
};
use bentpipe_quic::tls::{self, Identity, Randomness};
use bentpipe_quic::{
    Accept, Acceptor, Endpoint, Handshake, Http, QuicSettings, SettingsError, seeded,
};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of datagrams per call: the limit of segmentation offload (64 kB).
const MAX_SEGMENTS: NonZeroUsize = NonZeroUsize::new(44).expect("44 is not zero");

/// The endpoints of a flow.
pub struct Endpoints {
    pub client: Endpoint,
    pub server: Endpoint,
    /// What the client has for its server.
    own: ClientState,
    /// What it has for the other origins of its pages, by their names.
    origins: BTreeMap<String, ClientState>,
    pub server_config: ServerConfig,
    accepts: Arc<Mutex<Accepts>>,
}

/// What a client has for one server.
pub struct ClientState {
    /// Client configurations without and with early data. They share their tickets.
    configs: [ClientParts; 2],
    /// Tokens for the validation of its address.
    pub tokens: Arc<ClientTokens>,
}

impl ClientState {
    /// Returns the client configuration for this handshake.
    pub fn parts(&self, handshake: Handshake) -> &ClientParts {
        &self.configs[usize::from(handshake == Handshake::ZeroRtt)]
    }
}

/// What the server does with connections that begin: by the port of the client, and for all other
/// ports in order.
#[derive(Default)]
struct Accepts {
    next: VecDeque<Accept>,
    by_port: BTreeMap<u16, Accept>,
}

/// Tokens of a client (RFC 9000 section 8.1.3), in memory of their own: what arrives is a part of a
/// buffer of many packets, which a token would keep.
#[derive(Default)]
pub struct ClientTokens(TokenMemoryCache);

impl TokenStore for ClientTokens {
    fn insert(&self, server_name: &str, token: Bytes) {
        self.0.insert(server_name, Bytes::copy_from_slice(&token));
    }

    fn take(&self, server_name: &str) -> Option<Bytes> {
        self.0.take(server_name)
    }
}

/// Parts of a client configuration.
pub struct ClientParts {
    pub crypto: Arc<dyn crypto::ClientConfig>,
    pub initial_cids: Arc<dyn Fn() -> ConnectionId + Send + Sync>,
}

/// Draws the seeds of a flow.
struct Seeds<'a> {
    flow: &'a str,
    shared: &'a Shared,
}

impl Seeds<'_> {
    fn draw(&self, purpose: &str) -> [u8; 32] {
        self.shared.seed_bytes(&format!("flow/{}/{purpose}", self.flow))
    }

    fn half(&self, purpose: &str) -> [u8; 16] {
        let seed = self.draw(purpose);
        std::array::from_fn(|index| seed[index])
    }
}

impl Endpoints {
    /// Creates the endpoints of the flow called `flow`.
    ///
    /// # Errors
    /// TLS cannot be configured, or QUIC does not support a setting.
    pub fn new(
        flow: &FlowSpec,
        settings: &QuicSettings,
        shared: &Shared,
    ) -> Result<Self, SimError> {
        let (pages, flow) =
            (flow.visits.iter().filter_map(|visit| visit.page.as_ref()), &flow.name);
        let seeds = Seeds { flow, shared };
        let alpn = match settings.http {
            Http::H3 => tls::ALPN_H3,
            Http::Raw => tls::ALPN_RAW,
        };
        let identity = Identity::self_signed(app::SERVER_NAME, seeds.draw("identity"))?;
        let own = client_state(&identity, alpn, &seeds, "")?;
        let mut origins = BTreeMap::new();
        for name in pages.flat_map(|page| page.origins.iter().skip(1)) {
            if !origins.contains_key(name) {
                let label = format!(" of {name}");
                origins.insert(name.clone(), client_state(&identity, alpn, &seeds, &label)?);
            }
        }
        let server_config = server_config(&identity, alpn, settings, shared)?;
        let accepts: Arc<Mutex<Accepts>> = Arc::default();
        let slot = accepts.clone();
        let acceptor: Acceptor = Box::new(move |client| {
            let mut accepts = slot.lock().unwrap_or_else(PoisonError::into_inner);
            accepts.by_port.remove(&client.port()).or_else(|| accepts.next.pop_front())
        });
        let client = endpoint_config("client", settings, &seeds)?;
        let server = endpoint_config("server", settings, &seeds)?;
        let serves = Some((Arc::new(server_config.clone()), acceptor));
        let mut client = Endpoint::new(client, shared.clock, None, MAX_SEGMENTS);
        let mut server = Endpoint::new(server, shared.clock, serves, MAX_SEGMENTS);
        client.set_ecn(settings.ecn);
        server.set_ecn(settings.ecn);
        Ok(Self { client, server, own, origins, server_config, accepts })
    }

    /// Returns what the client has for its server.
    pub fn own(&self) -> &ClientState {
        &self.own
    }

    /// Returns what the client has for the origin called `name`; for its server if that is none of
    /// the others.
    pub fn origin(&self, name: &str) -> &ClientState {
        self.origins.get(name).unwrap_or(&self.own)
    }

    /// Makes the server accept its next connection as `accept` says, and forget what it knew.
    pub fn accept_next(&self, accept: Accept) {
        let mut accepts = self.accepts.lock().unwrap_or_else(PoisonError::into_inner);
        *accepts = Accepts::default();
        accepts.next.push_back(accept);
    }

    /// Makes the server accept one connection more as `accept` says.
    pub fn accept_also(&self, accept: Accept) {
        self.accepts.lock().unwrap_or_else(PoisonError::into_inner).next.push_back(accept);
    }

    /// Makes the server accept the connection from `port` of the client as `accept` says.
    pub fn accept_from(&self, port: u16, accept: Accept) {
        let mut accepts = self.accepts.lock().unwrap_or_else(PoisonError::into_inner);
        accepts.by_port.insert(port, accept);
    }

    /// Returns the endpoint at `node`, one of the two nodes that have one.
    pub fn at(&mut self, node: u16) -> &mut Endpoint {
        if node == 0 { &mut self.client } else { &mut self.server }
    }
}

/// Returns what a client has for a server that it has not met. Its random streams have `label` in
/// their names.
fn client_state(
    identity: &Identity,
    alpn: &'static [u8],
    seeds: &Seeds<'_>,
    label: &str,
) -> Result<ClientState, SimError> {
    let shared = seeds.shared;
    let client_tls = tls::Client::new(identity, alpn, Randomness::Seeded, shared.epoch.clone())?;
    let parts = |early_data| {
        let crypto: Arc<dyn crypto::ClientConfig> = Arc::new(client_tls.quic(early_data)?);
        let crypto = if shared.encrypt { crypto } else { tls::null_client(crypto) };
        let initial_cids =
            seeded::initial_cids(seeds.half(&format!("initial cid {early_data}{label}")));
        Ok::<_, SimError>(ClientParts { crypto, initial_cids })
    };
    Ok(ClientState { configs: [parts(false)?, parts(true)?], tokens: Arc::default() })
}

fn server_config(
    identity: &Identity,
    alpn: &'static [u8],
    settings: &QuicSettings,
    shared: &Shared,
) -> Result<ServerConfig, SimError> {
    let (epoch, secrets) = (shared.epoch.clone(), shared.secrets.clone());
    let tls: Arc<dyn crypto::ServerConfig> = if settings.expects_long_flights() {
        tls::server_for_long_flights(identity, alpn, Randomness::Seeded, epoch, secrets)?
    } else {
        Arc::new(tls::server(identity, alpn, Randomness::Seeded, epoch, secrets)?)
    };
    let tls = if shared.encrypt { tls } else { tls::null_server(tls) };
    let mut config = ServerConfig::with_crypto(tls);
    let mut validation = ValidationTokenConfig::default();
    validation.sent(2).log(Arc::new(seeded::ExactTokenLog::default()));
    config.validation_token_config(validation).time_source(Arc::new(shared.epoch.clone()));
    Ok(config)
}

/// Returns the configuration of the endpoint of one `side`, `client` or `server`.
fn endpoint_config(
    side: &str,
    settings: &QuicSettings,
    seeds: &Seeds<'_>,
) -> Result<EndpointConfig, SimError> {
    let cid_seed = seeds.half(&format!("{side} cid"));
    let reset_key = seeded::reset_key(seeds.draw(&format!("{side} reset")));
    let mut config = EndpointConfig::new(reset_key);
    config
        .rng_seed(Some(seeds.draw(side)))
        // A randomly cleared fixed bit (RFC 9287) would be an unnecessary difference between runs.
        .grease_quic_bit(false)
        .cid_generator(Arc::new(move || Box::new(seeded::SeededCids::new(cid_seed))));
    let payload = settings.max_mtu.max(settings.initial_mtu);
    config.max_udp_payload_size(payload).map_err(|_| SimError::Settings {
        flow: seeds.flow.to_owned(),
        source: SettingsError::Mtu { name: "max_mtu", value: payload },
    })?;
    Ok(config)
}
