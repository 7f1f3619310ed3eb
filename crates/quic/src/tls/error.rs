//! Errors of TLS configurations.

use thiserror::Error;

/// Why a TLS configuration failed.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The certificate cannot be made.
    #[error("cannot make a certificate for {name}: {source}")]
    Certificate {
        /// Its host name.
        name: String,
        /// The error of the certificate library.
        source: rcgen::Error,
    },
    /// rustls refused the certificate, the key or the protocol versions.
    #[error("rustls refused the TLS configuration: {0}")]
    Rustls(#[from] rustls::Error),
    /// The provider lacks TLS_AES_128_GCM_SHA256, which QUIC's Initial packets need (RFC 9001
    /// §5.2).
    #[error("the cryptography provider has no TLS_AES_128_GCM_SHA256")]
    NoInitialSuite,
}
