//! Options of a flow that scenarios name.

use noq_proto::EcnCodepoint;
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

/// ECN field of the packets that an endpoint sends (RFC 9000 §13.4, RFC 9331).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EcnMode {
    /// None: queues drop packets rather than mark them.
    Off,
    /// ECT(0), of a sender that answers to a mark as to a loss.
    #[default]
    Ect0,
    /// ECT(1), of a sender for L4S, such as `prague`. Both endpoints must have it.
    Ect1,
}

impl EcnMode {
    /// Returns the field of a packet to which the stack gives `field`. The stack sends ECT(0) until
    /// it finds that the path or the peer does not support ECN.
    pub(crate) fn sent(self, field: Option<EcnCodepoint>) -> Option<EcnCodepoint> {
        match (self, field) {
            (Self::Ect1, Some(EcnCodepoint::Ect0)) => Some(EcnCodepoint::Ect1),
            (Self::Off, _) => None,
            (_, field) => field,
        }
    }

    /// Returns the field that the stack is shown for a packet that arrived with `field`. It takes a
    /// peer that counts ECT(1) for one that miscounts, and sends no ECN any more (noq-proto 1.4,
    /// `detect_ecn`); so an ECT(1) packet counts as ECT(0).
    pub(crate) fn received(self, field: Option<EcnCodepoint>) -> Option<EcnCodepoint> {
        match (self, field) {
            (Self::Ect1, Some(EcnCodepoint::Ect1)) => Some(EcnCodepoint::Ect0),
            (_, field) => field,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_changes_ect_alone() {
        use EcnCodepoint::{Ce, Ect0, Ect1};
        for (mode, sent, received) in [
            (EcnMode::Off, None, Some(Ect1)),
            (EcnMode::Ect0, Some(Ect0), Some(Ect1)),
            (EcnMode::Ect1, Some(Ect1), Some(Ect0)),
        ] {
            assert_eq!((mode.sent(Some(Ect0)), mode.sent(None)), (sent, None));
            assert_eq!(mode.received(Some(Ect1)), received);
            assert_eq!((mode.received(Some(Ce)), mode.received(None)), (Some(Ce), None));
        }
    }
}
