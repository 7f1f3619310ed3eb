//! What a connection gets when it begins: its congestion control, what is remembered of its path, its windows.

use super::Shared;
use bentpipe_quic::congestion::{FastStart, Prepared, Recipe};
use bentpipe_quic::memory::Holder;
use bentpipe_quic::noq_proto::{ServerConfig, VarInt};
use bentpipe_quic::token::Tokens;
use bentpipe_quic::{
    Accept, AckRule, Attached, Conn, MakeController, Probe, Remembered, Settings, SettingsError, Task,
    controller_factory,
};
use bentpipe_units::Bytes;
use ring::rand::{SecureRandom, SystemRandom};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// UDP payload that every path carries, where the connection begins (RFC 9000 §14.1), and the one that probing may reach: 1500 bytes
/// less the headers of IPv6 and UDP.
pub(crate) const MTU: (u16, u16) = (1200, 1452);

/// How connections of the server are tuned.
#[derive(Debug)]
pub(crate) struct Tuning {
    settings: Settings,
    prepared: Prepared,
}

impl Tuning {
    pub fn new(congestion: Recipe, limits: &super::Limits) -> Result<Self, SettingsError> {
        let settings = Settings {
            congestion,
            // Requests are small, and content of theirs is not read.
            stream_window: Bytes::new(limits.header.get().saturating_mul(2).max(16 * 1024)),
            connection_window: Bytes::new(limits.header.get().saturating_mul(8).max(64 * 1024)),
            initial_mtu: MTU.0,
            max_mtu: MTU.1,
            idle_timeout: limits.idle_time,
            ack: AckRule::Auto,
            ack_by: AckRule::Auto.by(),
            ..Settings::default()
        };
        settings.transport()?;
        let prepared = settings.controller()?;
        Ok(Self { settings, prepared })
    }

    pub fn stream_window(&self) -> u64 {
        self.settings.stream_window.get()
    }

    /// Has a connection give credit as configured.
    pub fn govern_credit(&self, conn: &Conn) {
        conn.govern_credit(self.settings.connection_window, &self.settings.credit);
    }
}

/// What is done with a connection from `remote`; nothing where the system has no random numbers.
pub(crate) fn accept(shared: &Arc<Shared>, remote: SocketAddr) -> Option<Accept> {
    let now = shared.clock.now();
    let pass = shared.door.enter(remote.ip());
    shared.metrics.connections_quic.fetch_add(1, Relaxed);
    let Tuning { settings, prepared } = &shared.tuning;
    let buffer = shared.door.buffer(0);
    let mut transport = Settings { send_window: Bytes::new(buffer), ..settings.clone() }.transport().ok()?;
    transport.max_concurrent_bidi_streams(VarInt::from_u32(shared.door.limits().requests));
    // Control, two of QPACK (RFC 9114 §6.2), one of path tokens, and room for reserved ones.
    transport.max_concurrent_uni_streams(VarInt::from_u32(8));
    let (notes, remembered) = if prepared.keeps_notes() {
        let mut holder = [0; 8];
        SystemRandom::new().fill(&mut holder).ok()?;
        let begun = shared.memory.begin(remote.ip(), Holder(u64::from_ne_bytes(holder)), now);
        let remembered = begun.unwrap_or_else(|error| {
            tracing::warn!(%error, "memory of paths");
            Remembered::without_store()
        });
        (Some(remembered.notes()), Some(remembered))
    } else {
        (None, None)
    };
    let saved = notes.as_ref().and_then(|notes| notes.knowledge().offered);
    settings.ask(&mut transport, saved.as_ref());
    let tokens = notes.as_ref().map(|notes| Tokens::server(&shared.tokens, notes.clone()));
    let starting = prepared.wants_permit().then(|| shared.starts.ticket(remote.ip()));
    let (ticket, prepared, probe, told) = (starting.clone(), prepared.clone(), Probe::new(false), notes.clone());
    let make: MakeController = Arc::new(move |setup| {
        let fast = ticket.as_ref().map_or(FastStart::Allowed(None), |ticket| ticket.enter(setup.now));
        prepared.make(setup, fast, notes.clone())
    });
    let factory =
        controller_factory(shared.clock.base(), settings.initial_window, settings.pacing, Some(probe.clone()), make);
    transport.congestion_controller_factory(factory);
    let mut config = ServerConfig::clone(&shared.config);
    config.transport_config(Arc::new(transport));
    let attached = Attached { probe: Some(probe), remembered, tokens, starting, ..Attached::default() };
    let shared = shared.clone();
    let app = Box::new(move |conn| Box::pin(super::h3::serve(conn, shared, pass, buffer, told)) as Task);
    Some(Accept { config: Arc::new(config), attached, app })
}
