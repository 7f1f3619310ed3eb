//! The outcome of one visit, as its ends observed it.

use bentpipe_captures::LimitChange;
use bentpipe_emu::TransferOutcome;
use bentpipe_sim::QlogFile;
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
