//! Which packets a station loses in a handover.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets that a station loses in a handover.
///
/// All others continue from their location: a satellite that has lost the station forwards them to
/// its new satellite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HandoverLoss {
    /// None.
    #[default]
    None,
    /// Packets queued for the link that ends, at the old satellite and at the station.
    Queued,
    /// Those, and packets in flight on that link.
    InFlight,
}
