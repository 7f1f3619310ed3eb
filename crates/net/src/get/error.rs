//! Errors of the client.

use bentpipe_units::Printable;
use bentpipe_units::Span;
use std::path::PathBuf;
use thiserror::Error;

/// Why a request has no response.
#[derive(Debug, Clone, Error)]
pub enum ClientError {
    /// The client cannot request the URL.
    #[error("cannot request `{}`: {reason}; allowed: https://HOST[:PORT]/PATH", Printable(url))]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with the URL.
        reason: &'static str,
    },
    /// The host name has no address.
    #[error("{host} has no address: {reason}")]
    Name {
        /// The host name.
        host: String,
        /// The resolver's error.
        reason: String,
    },
    /// The connection failed.
    #[error("connection to {}: {}", Printable(server), Printable(reason))]
    Connection {
        /// The server, with its port.
        server: String,
        /// Why.
        reason: String,
    },
    /// The HTTP/3 exchange failed.
    #[error("HTTP/3 with {}: {}", Printable(server), Printable(reason))]
    Exchange {
        /// The server, with its port.
        server: String,
        /// Why.
        reason: String,
    },
    /// The exchange over TCP failed.
    #[error("HTTP over TCP with {}: {}", Printable(server), Printable(reason))]
    ExchangeOverTcp {
        /// The server, with its port.
        server: String,
        /// Why.
        reason: String,
    },
    /// The server can be reached neither over QUIC nor over TCP.
    #[error("{quic}; {tcp}")]
    Both {
        /// Why there is no HTTP/3.
        quic: Box<ClientError>,
        /// Why there is no HTTP over TCP.
        tcp: Box<ClientError>,
    },
    /// Nothing arrived for too long.
    #[error("HTTP with {}: nothing arrived for {limit}", Printable(server))]
    Stalled {
        /// The server, with its port.
        server: String,
        /// The time limit.
        limit: Span,
    },
    /// qlog files cannot be written.
    #[error("cannot write qlog files to {}: {reason}", directory.display())]
    Qlog {
        /// Their directory.
        directory: PathBuf,
        /// Why.
        reason: String,
    },
    /// The client cannot be built.
    #[error("{0}")]
    System(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peers_reason_cannot_control_the_terminal() {
        let (server, reason) = ("h:1".to_owned(), "\u{1b}]0;title\u{7}\u{9b}2J\r\nok".to_owned());
        for error in [
            ClientError::Connection { server: server.clone(), reason: reason.clone() },
            ClientError::Exchange { server, reason: reason.clone() },
            ClientError::Url { url: reason, reason: "it cannot be sent" },
        ] {
            let text = error.to_string();
            assert!(
                text.contains("\\u{1b}]0;title") && !text.contains(char::is_control),
                "{text:?}"
            );
        }
    }
}
