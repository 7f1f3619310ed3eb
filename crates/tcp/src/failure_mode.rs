//! What a proxy that fails does with the connections it forgot.

/// What happens to segments of connections that a failed proxy held.
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
#[serde(rename_all = "lowercase")]
pub enum FailureMode {
    /// The proxy restarts without state and answers them with a reset.
    #[default]
    Reset,
    /// They are dropped.
    Blackhole,
}
