//! The certificates of a running server, which can be replaced.

use crate::front::CertificateTable;
use crate::tls::{Certificate, KnownCertificates};
use bentpipe_quic::tls::{Randomness, provider};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::sync::{Arc, PoisonError, RwLock};

/// The certificates for new connections. Clones share them.
#[derive(Debug, Clone)]
pub struct CertificateResolver(Arc<RwLock<Certificates>>);

#[derive(Debug)]
enum Certificates {
    /// One, whatever name a client asks for.
    One(Arc<CertifiedKey>),
    /// The one of the host that a client asks for.
    ByHost(CertificateTable),
}

impl CertificateResolver {
    /// Returns a resolver for a certificate.
    ///
    /// # Errors
    /// The certificate or its key is invalid, or they do not belong together.
    pub(super) fn new(certificate: &Certificate) -> Result<Self, rustls::Error> {
        Ok(Self::of(Certificates::One(certified(certificate)?)))
    }

    /// Returns a resolver for the certificates of hosts. Clients that name none of them, or no host
    /// at all, are refused.
    pub(super) fn by_host(table: CertificateTable) -> Self {
        Self::of(Certificates::ByHost(table))
    }

    fn of(certificates: Certificates) -> Self {
        Self(Arc::new(RwLock::new(certificates)))
    }

    fn set(&self, certificates: Certificates) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = certificates;
    }

    /// Uses `certificate` for new connections. Those that are open, and sessions that are resumed,
    /// keep theirs.
    ///
    /// # Errors
    /// The certificate or its key is invalid, or they do not belong together. Nothing changes then.
    pub fn replace(&self, certificate: &Certificate) -> Result<(), rustls::Error> {
        self.set(Certificates::One(certified(certificate)?));
        Ok(())
    }

    /// Uses the certificates of `table` for new connections. Open ones keep theirs, for the hosts
    /// that still have one.
    pub fn replace_table(&self, table: CertificateTable) {
        self.set(Certificates::ByHost(table));
    }

    /// Returns what `ask` returns for the certificates of hosts. `None` if there is one certificate
    /// for all.
    pub(super) fn with_table<T>(&self, ask: impl FnOnce(&CertificateTable) -> T) -> Option<T> {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            Certificates::One(_) => None,
            Certificates::ByHost(table) => Some(ask(table)),
        }
    }

    /// Returns the certificates that servers beside this one are expected to have.
    pub(super) fn known(&self) -> KnownCertificates {
        let resolver = self.clone();
        KnownCertificates(Arc::new(move |certificate, host| {
            resolver.with_table(|table| table.knows(certificate, host)).unwrap_or(false)
        }))
    }
}

fn certified(certificate: &Certificate) -> Result<Arc<CertifiedKey>, rustls::Error> {
    let (chain, key) = (certificate.chain.clone(), certificate.key.clone_key());
    CertifiedKey::from_der(chain, key, &provider(Randomness::System)).map(Arc::new)
}

impl ResolvesServerCert for CertificateResolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            Certificates::One(certificate) => Some(certificate.clone()),
            Certificates::ByHost(table) => {
                table.resolve(hello.server_name()?, hello.signature_schemes())
            }
        }
    }
}
