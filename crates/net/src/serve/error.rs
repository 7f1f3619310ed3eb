//! Why a server cannot start.

use crate::handover::HandOverError;
use crate::resumption::ResumptionError;
use bentpipe_quic::SettingsError;
use bentpipe_quic::path_memory::StoreError;
use bentpipe_quic::path_memory::token::KeyRingError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Why a server cannot start.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The directory cannot be served.
    #[error("cannot serve {}: {source}", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The server cannot listen on an address.
    #[error("cannot listen on {address} ({protocol}): {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// `UDP` or `TCP`.
        protocol: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The certificate or its key is invalid.
    #[error("certificate refused: {0}")]
    Certificate(#[from] rustls::Error),
    /// The path store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The congestion control is invalid.
    #[error(transparent)]
    Resumption(#[from] ResumptionError),
    /// A transport setting is invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// qlog files cannot be written.
    #[error("cannot write qlog files to {}: {source}", directory.display())]
    Qlog {
        /// Their directory.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The keys of path tokens cannot be made.
    #[error(transparent)]
    Keys(#[from] KeyRingError),
    /// The server before this one has other sockets.
    #[error("the server before this one listens on {bound} (UDP); this one would on {wanted}")]
    OtherAddress {
        /// Its address.
        bound: SocketAddr,
        /// The address of this one.
        wanted: SocketAddr,
    },
    /// The server before this one is not taken over.
    #[error(transparent)]
    HandOver(#[from] HandOverError),
    /// An upstream has health checks, and no host that they could ask it for.
    #[error(
        "no certificate names a host for health checks of the upstream of {0}; allowed: an \
         upstream of a NAME, or of hosts of which a certificate names one without an asterisk"
    )]
    NoHost(String),
    /// The system lacks a resource.
    #[error("{0}")]
    System(String),
}

impl ServerError {
    /// Returns the error of a system that lacks a resource.
    pub(super) fn system(error: io::Error) -> Self {
        Self::System(error.to_string())
    }
}
