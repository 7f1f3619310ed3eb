//! What a handover does to packets on the link that ends.

/// Which packets a station loses in a handover.
///
/// All others continue from where they are: a satellite that has lost the station forwards them to
/// its new satellite.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum HandoverLoss {
    /// None.
    #[default]
    None,
    /// Those queued for the link that ends, at the old satellite and at the station.
    Queued,
    /// Those, and packets in flight on that link.
    InFlight,
}
