//! The verifier of clients that keep tickets.

use super::super::error::TlsError;
use super::secrets;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring as provider,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::sign::SigningKey;
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use std::fmt;
use std::sync::Arc;

/// Accepts what the client's verifier accepts. While a session is restored, also signatures of a
/// key that was made with this verifier, is in the memory of this process alone, and signs there
/// only. Certificates are verified in any case.
pub(super) struct Verifier {
    trusted: Arc<WebPkiServerVerifier>,
    own: Arc<dyn SigningKey>,
    public: SubjectPublicKeyInfoDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("trusted", &self.trusted).finish_non_exhaustive()
    }
}

impl Verifier {
    pub fn new(trusted: Arc<WebPkiServerVerifier>) -> Result<Self, TlsError> {
        let fail = |source| TlsError::Certificate { name: "tickets".to_owned(), source };
        let made = rcgen::KeyPair::generate().map_err(fail)?;
        let key = PrivateKeyDer::Pkcs8(made.serialize_der().into());
        let own = provider::sign::any_supported_type(&key)?;
        let public = own.public_key().map(SubjectPublicKeyInfoDer::into_owned);
        let public =
            public.ok_or_else(|| Error::General("a key without a public one".to_owned()))?;
        let CryptoProvider { signature_verification_algorithms: algorithms, .. } =
            provider::default_provider();
        Ok(Self { trusted, own, public, algorithms })
    }

    /// Returns the key with which a restored handshake is signed.
    pub fn signing_key(&self) -> Arc<dyn SigningKey> {
        self.own.clone()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.trusted.verify_server_cert(own, chain, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.trusted.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if secrets::is_giving() {
            let (public, algorithms) = (&self.public, &self.algorithms);
            return verify_tls13_signature_with_raw_key(message, public, signature, algorithms);
        }
        self.trusted.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.trusted.supported_verify_schemes()
    }
}
