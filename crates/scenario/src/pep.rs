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

/// Performance-enhancing proxy (RFC 3135) around one hop of the path. It affects TCP only.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PepSection {
    /// Hop of the proxy; by default, the hop with the longest delay.
    #[schemars(with = "Option<String>")]
    pub hop: Option<Spanned<String>>,
    /// Congestion controller on the connection across the hop; by default, `fixed-rate` at the
    /// rate of the hop.
    pub congestion: Option<ControllerName>,
    /// Slow-start algorithm of that controller; `standard` by default.
    pub slow_start: Option<SlowStartName>,
    /// Parameters of the controller and the slow-start algorithm, by name.
    #[schemars(
        with = "Option<std::collections::BTreeMap<String, std::collections::BTreeMap<String, f64>>>"
    )]
    pub parameters: Option<Spanned<Parameters>>,
    /// Initial congestion window on that connection, in packets; 10 by default.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub initial_window: Option<Spanned<u64>>,
    /// Maximum data buffered per connection and direction; by default `auto`, twice the sum of
    /// bandwidth-delay product and queue.
    pub buffer: Option<Window>,
    /// ACK policy of the proxy: `stack` (every second segment) or `1:N`.
    #[schemars(with = "Option<AckRule>")]
    pub ack: Option<Spanned<AckRule>>,
    /// Minimum time between two pure ACKs of a connection on the return link of the hop. By
    /// default, all ACKs are forwarded.
    #[schemars(with = "Option<Span>")]
    pub ack_filter: Option<Spanned<Span>>,
    /// Time in each visit at which the proxy fails and loses its buffers; never by default.
    pub fails_at: Option<Span>,
    /// Failure mode: `reset` (the proxy restarts and resets its connections) or `blackhole` (it
    /// drops their segments).
    pub failure: Option<FailureMode>,
}
