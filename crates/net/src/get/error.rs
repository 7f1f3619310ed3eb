//! Errors of the client.

use std::path::PathBuf;
use thiserror::Error;

/// Why a request has no response.
#[derive(Debug, Clone, Error)]
pub enum ClientError {
    /// The client cannot request the URL.
    #[error("cannot request `{url}`: {reason}; allowed: https://HOST[:PORT]/PATH")]
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
    #[error("connection to {server}: {reason}")]
    Connection {
        /// The server, with its port.
        server: String,
        /// Why.
        reason: String,
    },
    /// The HTTP/3 exchange failed.
    #[error("HTTP/3 with {server}: {reason}")]
    Exchange {
        /// The server, with its port.
        server: String,
        /// Why.
        reason: String,
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
