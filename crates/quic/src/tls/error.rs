//! Errors of TLS configurations.

use thiserror::Error;

/// Why no TLS configuration could be made.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The certificate could not be made.
    #[error("cannot make a certificate for {name}: {source}")]
    Certificate {
        /// The host name it was for.
        name: String,
        /// What the certificate library said.
        source: rcgen::Error,
    },
    /// rustls refused the certificate, the key or the protocol versions.
    #[error("TLS configuration refused: {0}")]
    Rustls(#[from] rustls::Error),
    /// The provider lacks TLS_AES_128_GCM_SHA256, which QUIC's Initial packets need (RFC 9001
    /// §5.2).
    #[error("the cryptography provider has no TLS_AES_128_GCM_SHA256")]
    NoInitialSuite,
}
