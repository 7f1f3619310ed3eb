//! The outcome of one visit, as its ends observed it.

use bentpipe_captures::LimitChange;
use bentpipe_emu::TransferOutcome;
use bentpipe_media::abr::PlayerOutcome;
use bentpipe_sim::{CallStream, QlogFile};
use bentpipe_timeseries::Series;
use bentpipe_units::Span;

/// Outcome of one visit, as its ends observed it.
pub struct VisitOutcome {
    /// Server port, by which the emulator assigns packets to the visit.
    pub port: u16,
    /// Outcome measured with the clock of the emulator.
    pub outcome: TransferOutcome,
    /// Times that `bentpipe get` measured. `None` for other clients.
    pub client_times: Option<ClientTimes>,
    /// What limited the sender of QUIC, if it says.
    pub limits: Vec<LimitChange>,
    /// qlog files. The first visit of a flow has those of all its visits.
    pub qlog: Vec<QlogFile>,
    /// What its application measured.
    pub application: ApplicationOutcome,
}

impl VisitOutcome {
    /// Creates the outcome of a visit of which nothing else is known.
    pub fn new(port: u16, outcome: TransferOutcome) -> Self {
        Self {
            port,
            outcome,
            client_times: None,
            limits: Vec::new(),
            qlog: Vec::new(),
            application: ApplicationOutcome::default(),
        }
    }
}

/// What the application of a visit measured, if it does more than to transfer objects.
#[derive(Default)]
pub struct ApplicationOutcome {
    /// Streams of a call.
    pub call: Vec<CallStream>,
    /// What a player has played.
    pub player: Option<PlayerOutcome>,
    /// Bytes of the objects that it decided on.
    pub sizes: Vec<u64>,
    /// Time series, if recorded.
    pub series: Vec<Series>,
}

/// Times since the first packet of a client, as measured by the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientTimes {
    /// Time until the handshake was complete.
    pub handshake: Option<Span>,
    /// Time until the first byte arrived.
    pub first_byte: Span,
    /// Time until the last byte arrived.
    pub completion: Span,
    /// Whether the server retreated from resumed parameters because of congestion. `None` if it
    /// knew nothing of the path.
    pub retreated: Option<bool>,
}
