//! State shared by all flows of a run.

use crate::hosts::Hosts;
use crate::time_budget::Sharing;
use bentpipe_link::random;
use bentpipe_quic::qlog::Forms;
use bentpipe_quic::tls::SecretLog;
use bentpipe_quic::{Clock, EpochClock};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::Span;

/// State shared by all flows of a run.
pub struct Shared {
    /// Maps time to the stack's instants.
    pub clock: Clock,
    /// Real-world time of the simulation.
    pub epoch: EpochClock,
    /// Largest number of points of each time series, if series are recorded.
    pub trace: Option<SeriesLimit>,
    /// Whether variables of congestion controllers are recorded.
    pub controller_state: bool,
    /// Forms in which to write qlog.
    pub qlog: Forms,
    /// Whether QUIC packets are encrypted.
    pub encrypt: bool,
    /// Log of TLS secrets for a capture.
    pub secrets: Option<SecretLog>,
    /// Seed and number of the run.
    pub seed: (u64, u64),
    /// Time after which a visit is given up.
    pub time_limit: Span,
    /// Whose packets share links with the data of a flow.
    pub sharing: Sharing,
    /// RTT of the unloaded path, without waits for frames.
    pub rtt_without_frames: Span,
    /// State of hosts across connections.
    pub hosts: Hosts,
    /// The server's node, which equals the number of hops.
    pub last_node: u16,
}

impl Shared {
    /// Returns the seed of one purpose.
    pub fn seed_bytes(&self, purpose: &str) -> [u8; 32] {
        use rand_core::Rng;
        let mut bytes = [0; 32];
        random::stream(self.seed.0, self.seed.1, purpose).fill_bytes(&mut bytes);
        bytes
    }
}
