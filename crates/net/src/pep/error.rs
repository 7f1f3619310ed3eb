//! Errors of the proxy.

use crate::resumption::ResumptionError;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Why a proxy cannot start.
#[derive(Debug, Error)]
pub enum PepError {
    /// The proxy cannot listen on an address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The process may not use addresses of other machines.
    #[error(
        "transparent mode is not permitted: {0}; needed: root, or CAP_NET_ADMIN in the network \
         namespace"
    )]
    Transparent(io::Error),
    /// The kernel does not have the congestion controller, or reserves it for root.
    #[error("the kernel refused the congestion controller `{name}`: {source}; allowed: {allowed}")]
    Congestion {
        /// Its name.
        name: String,
        /// The controllers that are allowed.
        allowed: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file does not hold a secret.
    #[error("secret in {}: {reason}", file.display())]
    Secret {
        /// The file.
        file: PathBuf,
        /// What is wrong, without the content of the file.
        reason: String,
    },
    /// The store of a tunnel's paths cannot be opened.
    #[error(transparent)]
    Paths(#[from] ResumptionError),
    /// Connections from a tunnel would enter another tunnel.
    #[error("connections from a tunnel must continue directly, not through another tunnel")]
    TunnelInTunnel,
    /// The system lacks a resource.
    #[error("{0}")]
    System(io::Error),
}

impl PepError {
    /// Returns a [`PepError::System`] with the text of `error`.
    pub(super) fn system(error: impl fmt::Display) -> Self {
        Self::System(io::Error::other(error.to_string()))
    }
}
