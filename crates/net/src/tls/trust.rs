//! The certificates that a client trusts.

use super::certificate::{CertificateError, certificates};
use bentpipe_quic::tls::{self, Randomness};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;
use tokio::sync::Notify;

/// Which servers a client trusts.
#[derive(Debug, Clone, Default)]
pub enum Trust {
    /// Servers with a certificate that the system's root certificates certify.
    #[default]
    System,
    /// Servers with a certificate that one of these certifies, and no others.
    Only(Vec<CertificateDer<'static>>),
    /// All servers. Content may come from anyone. For tests.
    Anybody,
}

/// Why no TLS configuration can be made.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct TrustError(String);

impl Trust {
    /// Trusts the certificates in a PEM file.
    ///
    /// # Errors
    /// A file that cannot be read or holds no certificate.
    pub fn from_pem(file: &Path) -> Result<Self, CertificateError> {
        certificates(file).map(Self::Only)
    }

    /// Returns the TLS configuration of a client, without ALPN.
    pub(crate) fn config(
        &self,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Result<rustls::ClientConfig, TrustError> {
        let provider = tls::provider(Randomness::System);
        let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .map_err(|error| TrustError(error.to_string()))?;
        let config = match self {
            Self::Anybody => {
                let known = KnownCertificates::new(|_, _| true);
                let verifier = KnownOrTrusted { known, others: None, provider };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
            Self::System => builder.with_root_certificates(system()?),
            Self::Only(certificates) => builder.with_root_certificates(store(certificates)?),
        }
        .with_no_client_auth();
        Ok(config)
    }

    /// Returns the verifier of these servers. `None` if any server is trusted.
    pub(crate) fn verifier(&self) -> Result<Option<Arc<WebPkiServerVerifier>>, TrustError> {
        let roots = match self {
            Self::Anybody => return Ok(None),
            Self::System => system()?,
            Self::Only(certificates) => store(certificates)?,
        };
        let provider = tls::provider(Randomness::System);
        let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        built.map(Some).map_err(|error| TrustError(error.to_string()))
    }

    /// As [`Trust::config`], for a client that also trusts servers with a certificate that `known`
    /// has for their name. That is enough if the system has no root certificates.
    pub(crate) fn config_knowing(
        &self,
        versions: &[&'static rustls::SupportedProtocolVersion],
        known: KnownCertificates,
    ) -> Result<rustls::ClientConfig, TrustError> {
        let provider = tls::provider(Randomness::System);
        let roots = match self {
            Self::Anybody => return self.config(versions),
            Self::System => system().ok(),
            Self::Only(certificates) => Some(store(certificates)?),
        };
        let verifier = |roots: RootCertStore| {
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build()
        };
        let others = roots.map(verifier).transpose().map_err(|e| TrustError(e.to_string()))?;
        let verifier = KnownOrTrusted { known, others, provider: provider.clone() };
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(|error| TrustError(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(config)
    }
}

fn store(certificates: &[CertificateDer<'static>]) -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(certificate.clone()).map_err(|error| TrustError(error.to_string()))?;
    }
    Ok(roots)
}

fn system() -> Result<RootCertStore, TrustError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let reasons: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        let text = format!("the system has no certificates to trust: {}", reasons.join("; "));
        return Err(TrustError(text));
    }
    Ok(roots)
}

/// Says whether a certificate is the one of a host, in lower case.
type IsKnown = dyn Fn(&CertificateDer<'_>, &str) -> bool + Send + Sync;

/// The certificates that this program has itself, whose servers are beside it.
#[derive(Clone)]
pub(crate) struct KnownCertificates {
    pub is_known: Arc<IsKnown>,
    /// Told when a server shows one that is neither known nor trusted.
    pub unknown: Arc<Notify>,
}

impl KnownCertificates {
    pub fn new(
        is_known: impl Fn(&CertificateDer<'_>, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { is_known: Arc::new(is_known), unknown: Arc::default() }
    }
}

impl fmt::Debug for KnownCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownCertificates").finish_non_exhaustive()
    }
}

/// Accepts known certificates, and those that `others` accepts. The handshake must be signed by
/// the key in either case.
#[derive(Debug)]
struct KnownOrTrusted {
    known: KnownCertificates,
    others: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for KnownOrTrusted {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if (self.known.is_known)(own, &name.to_str().to_ascii_lowercase()) {
            return Ok(ServerCertVerified::assertion());
        }
        let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let verified = self
            .others
            .as_ref()
            .ok_or(unknown)
            .and_then(|others| others.verify_server_cert(own, chain, name, ocsp, now));
        verified.inspect_err(|_| self.known.unknown.notify_one())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
