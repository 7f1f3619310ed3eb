//! The certificates of a running server, which can be replaced.

use crate::front::CertificateTable;
use crate::tls::{Certificate, KnownCertificates};
use bentpipe_quic::tls::{Randomness, provider};
use rustls::pki_types::CertificateDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The certificates for new connections. Clones share them.
#[derive(Debug, Clone)]
pub struct CertificateResolver {
    certificates: Arc<RwLock<Certificates>>,
    /// The tables before, and until when servers beside this one may still show what was in them.
    before: Arc<Mutex<VecDeque<(Instant, CertificateTable)>>>,
    /// Told when a server beside this one shows a certificate that is not known.
    unknown: Arc<Notify>,
}

/// Time for which the certificates of a table that was replaced stay known: a web server reads a
/// renewed one later than its files change. Our choice (decision 164).
const KNOWN_AFTER: Duration = Duration::from_secs(300);
/// Most tables that were replaced and are remembered. Our choice.
const TABLES_BEFORE: usize = 16;

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
        let certificates = Arc::new(RwLock::new(certificates));
        Self { certificates, before: Arc::default(), unknown: Arc::default() }
    }

    fn set(&self, certificates: Certificates) {
        let mut current = self.certificates.write().unwrap_or_else(PoisonError::into_inner);
        let replaced = std::mem::replace(&mut *current, certificates);
        drop(current);
        if let Certificates::ByHost(table) = replaced {
            let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
            before.truncate(TABLES_BEFORE - 1);
            before.push_front((Instant::now() + KNOWN_AFTER, table));
        }
    }

    /// Returns whether `certificate` was one of `host` in a table that was replaced a short time
    /// ago.
    fn was_known(&self, certificate: &[u8], host: &str) -> bool {
        let (now, mut before) =
            (Instant::now(), self.before.lock().unwrap_or_else(PoisonError::into_inner));
        before.retain(|(until, _)| now < *until);
        before.iter().any(|(_, table)| table.knows(certificate, host))
    }

    /// Waits until a server beside this one shows a certificate that is neither known nor trusted:
    /// a renewed one, perhaps, whose files have to be read.
    pub async fn asked_for_unknown(&self) {
        self.unknown.notified().await;
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
        match &*self.certificates.read().unwrap_or_else(PoisonError::into_inner) {
            Certificates::One(_) => None,
            Certificates::ByHost(table) => Some(ask(table)),
        }
    }

    /// Returns the certificates that servers beside this one are expected to have.
    pub(super) fn known(&self) -> KnownCertificates {
        let resolver = self.clone();
        let known = move |certificate: &CertificateDer<'_>, host: &str| {
            // A host that has no certificate any more is not asked for.
            let known = resolver
                .with_table(|table| (table.knows(certificate, host), !table.of(host).is_empty()));
            known.is_some_and(|(known, has)| known || has && resolver.was_known(certificate, host))
        };
        KnownCertificates { is_known: Arc::new(known), unknown: self.unknown.clone() }
    }
}

fn certified(certificate: &Certificate) -> Result<Arc<CertifiedKey>, rustls::Error> {
    let (chain, key) = (certificate.chain.clone(), certificate.key.clone_key());
    CertifiedKey::from_der(chain, key, &provider(Randomness::System)).map(Arc::new)
}

impl ResolvesServerCert for CertificateResolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        match &*self.certificates.read().unwrap_or_else(PoisonError::into_inner) {
            Certificates::One(certificate) => Some(certificate.clone()),
            Certificates::ByHost(table) => {
                table.resolve(hello.server_name()?, hello.signature_schemes())
            }
        }
    }
}
