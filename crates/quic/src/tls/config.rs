//! TLS configurations of both sides.

use super::error::TlsError;
use super::identity::Identity;
use super::randomness::Randomness;
use super::secret_log::SecretLog;
use crate::clock::EpochClock;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::crypto::{CryptoProvider, ring as provider};
use std::sync::Arc;

/// Application protocol of HTTP/3 (RFC 9114 §3.1).
pub const ALPN_H3: &[u8] = b"h3";
/// Application protocol of bare streams, ours alone.
pub const ALPN_RAW: &[u8] = b"bentpipe-raw";

/// The cryptography that both sides use, drawing from `randomness`.
pub fn provider(randomness: Randomness) -> Arc<CryptoProvider> {
    let mut provider = provider::default_provider();
    // AES-128 first: it is what QUIC deployments negotiate where the processor has AES
    // instructions, and a third cheaper than the provider's default of AES-256.
    provider
        .cipher_suites
        .sort_by_key(|suite| suite.suite() != rustls::CipherSuite::TLS13_AES_128_GCM_SHA256);
    provider.secure_random = randomness.generator();
    Arc::new(provider)
}

/// A server's TLS side: one identity, tickets and 0-RTT on.
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
    let mut config =
        rustls::ServerConfig::builder_with_details(provider(randomness), Arc::new(epoch))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(identity.certificates.clone(), identity.key.clone_key())?;
    config.alpn_protocols = vec![alpn.to_vec()];
    // RFC 9001 §4.6.1: in QUIC this value only says whether 0-RTT is accepted at all.
    config.max_early_data_size = u32::MAX;
    if let Some(secrets) = secrets {
        config.key_log = Arc::new(secrets);
    }
    QuicServerConfig::try_from(config).map_err(|_| TlsError::NoInitialSuite)
}

/// A client's TLS side, which keeps the tickets it is given.
#[derive(Debug, Clone)]
pub struct Client(rustls::ClientConfig);

impl Client {
    /// Trusts exactly `identity`.
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
        Ok(Self(config))
    }

    /// For QUIC: with `early_data` a ticket lets requests leave with the first flight; without, it
    /// only shortens the handshake's cryptography. Tickets are shared between all configurations
    /// made here: rustls takes up a session only with the very verifier that accepted it.
    ///
    /// # Errors
    /// The provider lacks what QUIC needs.
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
