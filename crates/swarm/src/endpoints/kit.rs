//! Configurations of both ends, with all randomness from the seed.

use super::plan::EpisodePlan;
use crate::draw::Random;
use crate::failure::Failure;
use bentpipe_quic::noq_proto::EndpointConfig;
use bentpipe_quic::seeded::{SeededCids, initial_cids, reset_key};
use bentpipe_quic::tls::{self, Client, Identity, Randomness};
use bentpipe_quic::{Clock, ConnectionConfig, EpochClock, QuicSettings};
use bentpipe_units::{Bytes, Span, Time};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Name of the server.
pub const NAME: &str = "server.test";
/// Most datagrams in one transmission.
pub const SEGMENTS: NonZeroUsize = NonZeroUsize::new(4).unwrap();
/// The clocks of all hosts at the start, in seconds since 1970: 1 January 2026.
const EPOCH_UNIX_SECS: u64 = 1_767_225_600;

/// A clock of a host that may be wrong.
#[derive(Debug, Clone)]
pub struct SkewedClock {
    /// What the host reads.
    pub epoch: EpochClock,
    skew_s: f64,
}

impl SkewedClock {
    /// Creates a clock that is right.
    pub fn new() -> Self {
        // Half a year of the shown time is before the start, so that the clock can be set back.
        Self { epoch: EpochClock::new(EPOCH_UNIX_SECS - HALF_A_YEAR_S), skew_s: 0.0 }
    }

    /// Sets the clock forward by `seconds`, or back.
    pub fn step(&mut self, seconds: f64) {
        self.skew_s += seconds;
    }

    /// Advances the clock to `now`.
    pub fn set(&self, now: Time) {
        let shown = HALF_A_YEAR_S as f64 + self.skew_s + now.as_secs_f64();
        self.epoch.set(Time::ZERO + Span::from_secs_f64(shown.max(0.0)));
    }
}

const HALF_A_YEAR_S: u64 = 182 * 86_400;

/// What both ends of an episode are made from.
pub struct Kit {
    /// The clock of the stack.
    pub clock: Clock,
    /// The server's certificate.
    pub identity: Identity,
    seed: u64,
    settings: QuicSettings,
}

impl Kit {
    /// Prepares an episode, and seeds the randomness of this thread.
    pub fn new(plan: &EpisodePlan) -> Result<Self, Failure> {
        let [controller, slow_start, resume] = plan.congestion;
        let [stream_window, connection_window] = plan.windows;
        let invalid = |error: String| Failure::new("settings", error);
        let mut settings = QuicSettings {
            ack: plan.ack.parse().map_err(|error| invalid(format!("{error}")))?,
            pacing: plan.pacing,
            initial_window: plan.initial_window,
            stream_window: Bytes::new(stream_window),
            connection_window: Bytes::new(connection_window),
            ..QuicSettings::default()
        };
        settings.ack_by = settings.ack.by();
        let congestion = &mut settings.congestion;
        congestion.controller = controller.parse().map_err(|error| invalid(format!("{error}")))?;
        congestion.slow_start = slow_start.parse().map_err(|error| invalid(format!("{error}")))?;
        congestion.resume = resume.parse().map_err(|error| invalid(format!("{error}")))?;
        let identity = Identity::self_signed(NAME, bytes(plan.seed, "identity"));
        let identity = identity.map_err(|error| invalid(error.to_string()))?;
        tls::seed_this_thread(bytes(plan.seed, "tls"));
        Ok(Self { clock: Clock::new(), identity, seed: plan.seed, settings })
    }

    /// Returns `N` bytes that belong to `purpose`.
    pub fn bytes<const N: usize>(&self, purpose: &str) -> [u8; N] {
        bytes(self.seed, purpose)
    }

    /// Returns the settings of both ends.
    pub fn settings(&self) -> &QuicSettings {
        &self.settings
    }

    /// Returns the configuration of a connection.
    pub fn connection(&self) -> Result<ConnectionConfig, Failure> {
        let config = ConnectionConfig::new(self.settings.clone(), self.clock);
        config.map_err(|error| Failure::new("settings", error.to_string()))
    }

    /// Returns the configuration of the endpoint of the host called `name`.
    pub fn endpoint(&self, name: &str) -> EndpointConfig {
        let cids = self.bytes(&format!("{name}/cids"));
        let mut config = EndpointConfig::new(reset_key(self.bytes(&format!("{name}/reset"))));
        config
            .rng_seed(Some(self.bytes(&format!("{name}/random"))))
            .grease_quic_bit(false)
            .cid_generator(Arc::new(move || Box::new(SeededCids::new(cids))));
        config
    }

    /// Returns the TLS configuration of a client, which keeps its tickets.
    pub fn client_tls(&self, epoch: EpochClock) -> Result<Client, Failure> {
        Client::new(&self.identity, tls::ALPN_RAW, Randomness::Seeded, epoch)
            .map_err(|error| Failure::new("settings", error.to_string()))
    }

    /// Returns a provider of first connection IDs.
    pub fn initial_cids(
        &self,
        name: &str,
    ) -> Arc<dyn Fn() -> bentpipe_quic::noq_proto::ConnectionId + Send + Sync> {
        initial_cids(self.bytes(&format!("{name}/initial")))
    }
}

fn bytes<const N: usize>(seed: u64, purpose: &str) -> [u8; N] {
    let drawn = Random::new(seed, &format!("endpoints/bytes/{purpose}")).bytes(N);
    let mut bytes = [0; N];
    bytes.copy_from_slice(&drawn);
    bytes
}
