//! `[path.pep]`: the performance-enhancing proxy of a path.

use super::Window;
use bentpipe_quic::AckRule;
use bentpipe_quic::congestion::config::Parameters;
use bentpipe_quic::congestion::{ControllerName, SlowStartName};
use bentpipe_sim::FailureMode;
use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// A performance-enhancing proxy (RFC 3135) around one hop of the path, for TCP. QUIC passes it untouched.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PepSection {
    /// The hop that it is for; the one with the longest delay where left out.
    #[schemars(with = "Option<String>")]
    pub hop: Option<Spanned<String>>,
    /// The controller on the segment that crosses the hop; `fixed-rate` where left out, at the hop's rate, which an operator knows.
    pub congestion: Option<ControllerName>,
    /// How that controller starts; `standard` where left out.
    pub start: Option<SlowStartName>,
    /// Its parameters.
    #[schemars(with = "Option<std::collections::BTreeMap<String, std::collections::BTreeMap<String, f64>>>")]
    pub parameters: Option<Spanned<Parameters>>,
    /// Initial window on that segment, in packets; 10 where left out.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub initial_window: Option<Spanned<u64>>,
    /// Most data held for one connection and direction; `auto`, twice the bandwidth-delay product and the queue, where left out.
    pub buffer: Option<Window>,
    /// When the proxy itself acknowledges: `stack` (every other segment) or `1:N`.
    #[schemars(with = "Option<AckRule>")]
    pub ack: Option<Spanned<AckRule>>,
    /// Pure acknowledgements that enter the hop's return link: one of each connection in this time. None are held where left out.
    #[schemars(with = "Option<Span>")]
    pub ack_filter: Option<Spanned<Span>>,
    /// The proxy fails at this time of each visit, and loses what it held.
    pub fails_at: Option<Span>,
    /// What becomes of its connections then: `reset`, it starts again and answers them with resets; `silence`, their segments vanish.
    pub failure: Option<FailureMode>,
}
