//! TLS configurations of both sides.

use super::error::TlsError;
use super::identity::Identity;
use super::randomness::Randomness;
use super::secret_log::SecretLog;
use crate::clock::EpochClock;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring as provider};
use rustls::server::ServerSessionMemoryCache;
use std::sync::Arc;

/// Application protocol of HTTP/3 (RFC 9114 §3.1).
pub const ALPN_H3: &[u8] = b"h3";
/// Application protocol of bare streams, our own.
pub const ALPN_RAW: &[u8] = b"bentpipe-raw";

/// Sessions that a server remembers, and tickets that a client remembers: more than the few of one
/// server that a client keeps. The defaults of rustls take 39 kB for each pair of ends.
const SESSIONS: usize = 32;
const TICKETS: usize = 8;

/// Returns the cryptography of both sides, drawing from `randomness`.
pub fn provider(randomness: Randomness) -> Arc<CryptoProvider> {
    let mut provider = provider::default_provider();
    // AES-128 first: QUIC deployments negotiate it if the CPU has AES instructions, and it is a
    // third cheaper than the provider's default of AES-256.
    provider
        .cipher_suites
        .sort_by_key(|suite| suite.suite() != rustls::CipherSuite::TLS13_AES_128_GCM_SHA256);
    provider.secure_random = randomness.generator();
    Arc::new(provider)
}

/// Returns a server's TLS configuration: one identity, with tickets and 0-RTT.
///
/// # Errors
/// rustls refuses the identity.
pub fn server(
    identity: &Identity,
    alpn: &[u8],
    randomness: Randomness,
    epoch: EpochClock,
    secrets: Option<SecretLog>,
) -> Result<QuicServerConfig, TlsError> {
    quic(server_tls(identity, alpn, randomness, epoch, secrets)?)
}

/// Returns the configuration for QUIC.
pub(super) fn quic(config: rustls::ServerConfig) -> Result<QuicServerConfig, TlsError> {
    QuicServerConfig::try_from(config).map_err(|_| TlsError::NoInitialSuite)
}

/// Returns a server's TLS configuration, before it is one for QUIC.
pub(super) fn server_tls(
    identity: &Identity,
    alpn: &[u8],
    randomness: Randomness,
    epoch: EpochClock,
    secrets: Option<SecretLog>,
) -> Result<rustls::ServerConfig, TlsError> {
    let mut config =
        rustls::ServerConfig::builder_with_details(provider(randomness), Arc::new(epoch))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(identity.certificates.clone(), identity.key.clone_key())?;
    config.alpn_protocols = vec![alpn.to_vec()];
    config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
    // RFC 9001 §4.6.1: in QUIC this value only enables 0-RTT.
    config.max_early_data_size = u32::MAX;
    if let Some(secrets) = secrets {
        config.key_log = Arc::new(secrets);
    }
    Ok(config)
}

/// A client's TLS configuration, with the tickets that it receives.
#[derive(Debug, Clone)]
pub struct Client(rustls::ClientConfig);

impl Client {
    /// A client that trusts exactly `identity`.
    ///
    /// # Errors
    /// rustls refuses the certificate as a root.
    pub fn new(
        identity: &Identity,
        alpn: &[u8],
        randomness: Randomness,
        epoch: EpochClock,
    ) -> Result<Self, TlsError> {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in &identity.certificates {
            roots.add(certificate.clone())?;
        }
        let mut config =
            rustls::ClientConfig::builder_with_details(provider(randomness), Arc::new(epoch))
                .with_protocol_versions(&[&rustls::version::TLS13])?
                .with_root_certificates(roots)
                .with_no_client_auth();
        config.alpn_protocols = vec![alpn.to_vec()];
        config.resumption = Resumption::in_memory_sessions(TICKETS);
        Ok(Self(config))
    }

    /// Returns the configuration for QUIC. With `early_data`, a ticket lets requests leave with the
    /// first flight; without, it only shortens the handshake's cryptography. All configurations
    /// from one client share its tickets: rustls resumes a session only with the same verifier.
    ///
    /// # Errors
    /// The provider lacks the cipher suite of QUIC's Initial packets.
    pub fn quic(&self, early_data: bool) -> Result<QuicClientConfig, TlsError> {
        let mut config = self.0.clone();
        config.enable_early_data = early_data;
        QuicClientConfig::try_from(config).map_err(|_| TlsError::NoInitialSuite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aes_128_is_offered_first() {
        let first = provider(Randomness::System).cipher_suites[0].suite();
        assert_eq!(first, rustls::CipherSuite::TLS13_AES_128_GCM_SHA256);
    }
}
