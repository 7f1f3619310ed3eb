//! The parts of a connection outside the stack.

use super::address_limit::AddressLimit;
use super::simultaneous_starts::StartLease;
use crate::ack::Acknowledger;
use crate::controller::ConnectionSignals;
use crate::flow_control::{FlowControlReport, FlowControlRule};
use crate::observer::{PacketObserver, SmallFrames, TrafficStats};
use crate::path_memory::PathLease;
use crate::path_memory::token::Tokens;
use bentpipe_congestion::SenderMetrics;
use bentpipe_qlog::QlogSink;
use bentpipe_units::{Bytes, Time};

/// The parts of a connection outside the stack, besides its application.
/// [`crate::ConnectionConfig`] builds it together with the stack's configuration.
#[derive(Clone, Default)]
pub struct Attachments {
    /// Size of its send buffer; by default that of its transport configuration.
    pub send_buffer: Option<Bytes>,
    /// Its receive window and the rule by which it grows; by default the stack decides.
    pub flow_control: Option<(Bytes, FlowControlRule)>,
    /// Records the connection's sender, if its transport configuration carries the same metrics.
    pub metrics: Option<SenderMetrics>,
    /// The lease of its path's saved parameters, if its transport configuration carries the same
    /// resume handle.
    pub path_lease: Option<PathLease>,
    /// Tells its controller what the stack does not, if its transport configuration carries the
    /// same.
    pub signals: ConnectionSignals,
    /// Receives its events, if the observer writes there too.
    pub qlog: Option<QlogSink>,
    /// Its part in the exchange of path tokens. HTTP/3 over the connection then hides their streams
    /// from `h3`; other applications run [`crate::take_tokens`] as a task.
    pub tokens: Option<Tokens>,
    /// Its lease of a fast start, given back when it ends.
    pub start_lease: Option<StartLease>,
    /// Its stream data that the stack may lose, if it wraps the connection's cryptography.
    pub small_frames: SmallFrames,
    /// Limits what a server sends to addresses that are not validated, if it wraps the connection's
    /// cryptography.
    pub address_limit: Option<AddressLimit>,
    /// Observes its packets, if it wraps the connection's cryptography. Required by all that
    /// follow.
    pub observer: Option<PacketObserver>,
    /// Decides when its acknowledgements leave; without one, the stack does.
    pub acknowledger: Option<Acknowledger>,
    /// Counts its packets.
    pub traffic: Option<TrafficStats>,
    /// Records the flow control of the data it receives.
    pub flow_control_received: Option<FlowControlReport>,
    /// Records the flow control of the data it sends.
    pub flow_control_sent: Option<FlowControlReport>,
}

impl Attachments {
    /// Handles that the peer's address is validated at `now` (RFC 9000 §8.1).
    pub(crate) fn confirm_address(&self, now: Time) {
        if let Some(lease) = &self.start_lease {
            lease.confirm();
        }
        // Without the store, the connection continues as on an unknown path.
        if let Some(Err(error)) = self.path_lease.as_ref().map(|lease| lease.confirm(now)) {
            tracing::warn!(%error, "path memory");
        }
    }
}
