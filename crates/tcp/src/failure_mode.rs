//! What happens to the connections of a proxy that fails.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Treatment of segments of connections that a failed proxy held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailureMode {
    /// The proxy restarts without state and responds with a reset.
    #[default]
    Reset,
    /// They are dropped.
    Blackhole,
}
