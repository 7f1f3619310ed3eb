//! `[path.pep]`: the performance-enhancing proxy of a path.

use super::Window;
use bentpipe_quic::AckRule;
use bentpipe_quic::congestion::config::Parameters;
use bentpipe_quic::congestion::{ControllerName, SlowStartName};
use bentpipe_tcp::FailureMode;
use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// A performance-enhancing proxy (RFC 3135) around one hop of the path, for TCP. It does not see
/// QUIC.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PepSection {
    /// Its hop; by default the one with the longest delay.
    #[schemars(with = "Option<String>")]
    pub hop: Option<Spanned<String>>,
    /// Congestion controller on the segment that crosses the hop; by default `fixed-rate` at the
    /// rate of the hop, which an operator knows.
    pub congestion: Option<ControllerName>,
    /// Slow-start algorithm of that controller; `standard` by default.
    pub slow_start: Option<SlowStartName>,
    /// Its parameters.
    #[schemars(
        with = "Option<std::collections::BTreeMap<String, std::collections::BTreeMap<String, f64>>>"
    )]
    pub parameters: Option<Spanned<Parameters>>,
    /// Initial window on that segment, in packets; 10 by default.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub initial_window: Option<Spanned<u64>>,
    /// Maximum amount of data buffered per connection and direction; by default `auto`, twice the
    /// bandwidth-delay product and the queue.
    pub buffer: Option<Window>,
    /// When the proxy itself acknowledges: `stack` (every other segment) or `1:N`.
    #[schemars(with = "Option<AckRule>")]
    pub ack: Option<Spanned<AckRule>>,
    /// Forward at most one pure acknowledgement per connection in this time to the return link of
    /// the hop; by default all of them.
    #[schemars(with = "Option<Span>")]
    pub ack_filter: Option<Spanned<Span>>,
    /// Time in each visit at which the proxy fails and loses its buffers.
    pub fails_at: Option<Span>,
    /// What happens to its connections: `reset`, it restarts and resets them; `blackhole`, it
    /// drops their segments.
    pub failure: Option<FailureMode>,
}
