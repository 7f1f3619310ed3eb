//! The versions of HTTP that peers support.

use serde::{Deserialize, Serialize};

/// A version of HTTP with its transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// HTTP/3 over QUIC (RFC 9114).
    H3,
    /// HTTP/2 over TLS and TCP (RFC 9113).
    H2,
    /// HTTP/1.1 over TLS and TCP (RFC 9112).
    H1,
}

impl Protocol {
    /// All protocols, newest first.
    pub const ALL: [Self; 3] = [Self::H3, Self::H2, Self::H1];

    /// Returns the name on command lines: `h3`, `h2` or `h1`.
    pub fn name(self) -> &'static str {
        match self {
            Self::H3 => "h3",
            Self::H2 => "h2",
            Self::H1 => "h1",
        }
    }

    /// Parses the protocol that a client reports: its ALPN name (RFC 7301), as browsers do, or a
    /// number, as curl does.
    pub fn from_reported(name: &str) -> Option<Self> {
        match name {
            "h3" | "3" => Some(Self::H3),
            "h2" | "2" => Some(Self::H2),
            "h1" | "http/1.1" | "1.1" => Some(Self::H1),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_parsed_from_the_names_that_clients_report() {
        for protocol in Protocol::ALL {
            assert_eq!(Protocol::from_reported(protocol.name()), Some(protocol));
        }
        assert_eq!(
            ["3", "2", "http/1.1", "0.9"].map(Protocol::from_reported),
            [Some(Protocol::H3), Some(Protocol::H2), Some(Protocol::H1), None]
        );
    }
}
