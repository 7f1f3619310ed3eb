//! Options of a flow that scenarios name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The protocol above QUIC streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Http {
    /// HTTP/3 (RFC 9114).
    #[default]
    H3,
    /// One bare stream per object, which shows the cost of HTTP/3 framing.
    Raw,
}

/// The handshake of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Handshake {
    /// A full handshake: the request leaves after one RTT.
    #[default]
    #[serde(rename = "1rtt")]
    OneRtt,
    /// A resumed session: the request leaves with the first flight (RFC 9001 §4.6).
    #[serde(rename = "0rtt")]
    ZeroRtt,
}

/// Where a server that resumes has the saved parameters of a path
/// (draft-kuhn-quic-bdpframe-extension-05 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResumeVia {
    /// In a store of its own.
    #[default]
    Store,
    /// In a sealed token that its client keeps.
    Token,
}
