//! The certificates that a client trusts.

use super::certificate::{CertificateError, certificates};
use bentpipe_quic::tls::{self, Randomness};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

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
        let fail = |error: rustls::Error| TrustError(error.to_string());
        let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .map_err(fail)?;
        let config = match self {
            Self::Anybody => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AcceptAnyServer(provider))),
            Self::System => builder.with_root_certificates(system()?),
            Self::Only(certificates) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates {
                    roots.add(certificate.clone()).map_err(fail)?;
                }
                builder.with_root_certificates(roots)
            }
        }
        .with_no_client_auth();
        Ok(config)
    }
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

/// Accepts every certificate. The handshake must still be signed by its key.
#[derive(Debug)]
struct AcceptAnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
