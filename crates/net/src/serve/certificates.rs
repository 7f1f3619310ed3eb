//! The certificate of a running server, which can be replaced.

use crate::tls::Certificate;
use bentpipe_quic::tls::{Randomness, provider};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::sync::{Arc, PoisonError, RwLock};

/// The certificate for new connections. Clones share it.
#[derive(Debug, Clone)]
pub struct CertificateResolver(Arc<RwLock<Arc<CertifiedKey>>>);

impl CertificateResolver {
    /// Returns a resolver for a certificate.
    ///
    /// # Errors
    /// The certificate or its key is invalid, or they do not belong together.
    pub(super) fn new(certificate: &Certificate) -> Result<Self, rustls::Error> {
        Ok(Self(Arc::new(RwLock::new(certified(certificate)?))))
    }

    /// Uses `certificate` for new connections. Those that are open, and sessions that are resumed,
    /// keep theirs.
    ///
    /// # Errors
    /// The certificate or its key is invalid, or they do not belong together. Nothing changes then.
    pub fn replace(&self, certificate: &Certificate) -> Result<(), rustls::Error> {
        let certified = certified(certificate)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = certified;
        Ok(())
    }
}

fn certified(certificate: &Certificate) -> Result<Arc<CertifiedKey>, rustls::Error> {
    let (chain, key) = (certificate.chain.clone(), certificate.key.clone_key());
    CertifiedKey::from_der(chain, key, &provider(Randomness::System)).map(Arc::new)
}

impl ResolvesServerCert for CertificateResolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}
