//! Certificates by the names of their hosts.

use super::site_certificate::{KeyKind, SiteCertificate};
use crate::authority::normal;
use rustls::SignatureScheme;
use rustls::sign::CertifiedKey;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

/// Certificates by the names of their hosts: exact ones, and those of a wildcard, which stands for
/// one label (RFC 6125 §6.4.3).
#[derive(Debug, Clone, Default)]
pub struct CertificateTable {
    /// The certificates of each name, the best first. Wildcards are under `*.NAME`.
    by_name: BTreeMap<String, Vec<Arc<SiteCertificate>>>,
    /// When it was made: what had expired by then comes last.
    made: Option<SystemTime>,
}

impl CertificateTable {
    /// Returns a table of `certificates`. If several are for one name, those that are not expired
    /// at `now` have precedence, then ECDSA, then the one that is valid for longest.
    pub(super) fn new(
        certificates: impl IntoIterator<Item = Arc<SiteCertificate>>,
        now: SystemTime,
    ) -> Self {
        let mut by_name: BTreeMap<String, Vec<Arc<SiteCertificate>>> = BTreeMap::new();
        for certificate in certificates {
            for name in certificate.names() {
                by_name.entry(name.clone()).or_default().push(certificate.clone());
            }
        }
        for certificates in by_name.values_mut() {
            certificates.sort_by_key(|certificate| {
                let end = certificate.not_after();
                (end < now, certificate.kind() == KeyKind::Rsa, Reverse(end))
            });
        }
        Self { by_name, made: Some(now) }
    }

    /// Returns the names and their certificates, the best first.
    pub fn hosts(&self) -> impl Iterator<Item = (&str, &[Arc<SiteCertificate>])> {
        self.by_name.iter().map(|(name, certificates)| (name.as_str(), &certificates[..]))
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Returns the certificates of a host: those that name it, or else those of its wildcard. If
    /// those that name it have expired, the others have precedence.
    pub(crate) fn of(&self, host: &str) -> &[Arc<SiteCertificate>] {
        let [exact, wild] = self.both(host);
        let usable = |list: &[Arc<SiteCertificate>]| {
            list.first().is_some_and(|best| self.made.is_none_or(|made| best.not_after() >= made))
        };
        let wild_only = exact.is_empty() || !usable(exact) && usable(wild);
        if wild_only { wild } else { exact }
    }

    /// Returns the certificates that name a host, and those of its wildcard.
    fn both(&self, host: &str) -> [&[Arc<SiteCertificate>]; 2] {
        let host = normal(host);
        let list = |name: &String| self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        [list(&host), wildcard(&host).as_ref().map_or(&[], list)]
    }

    /// Returns whether a name itself is in a certificate, not only a wildcard for it.
    pub(crate) fn has_exactly(&self, host: &str) -> bool {
        self.by_name.contains_key(&normal(host))
    }

    /// Returns the certificate for a client that asks for `host` and accepts these `schemes`.
    pub(crate) fn resolve(
        &self,
        host: &str,
        schemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        let usable = |certificate: &&Arc<SiteCertificate>| {
            certificate.certified.key.choose_scheme(schemes).is_some()
        };
        self.of(host).iter().find(usable).map(|certificate| certificate.certified.clone())
    }

    /// Returns whether a connection to `server_name` may carry requests for `host`: one of its
    /// certificates is for both (RFC 9114 §3.3).
    pub(crate) fn covers(&self, server_name: &str, host: &str) -> bool {
        let host = normal(host);
        let wildcard = wildcard(&host);
        let names_host = |name: &String| *name == host || Some(name) == wildcard.as_ref();
        self.of(server_name).iter().any(|certificate| certificate.names().iter().any(names_host))
    }

    /// Returns whether `certificate` is one of `host`.
    pub(crate) fn knows(&self, certificate: &[u8], host: &str) -> bool {
        self.both(host).into_iter().flatten().any(|own| own.is(certificate))
    }
}

/// Returns the wildcard that stands for a host: its first label is replaced. Clients choose that
/// label, and it may only be what hosts are called: a web server takes other characters apart, and
/// TLS refuses them.
pub(super) fn wildcard(host: &str) -> Option<String> {
    let (label, rest) = host.split_once('.')?;
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    (!label.is_empty() && label.chars().all(allowed)).then(|| format!("*.{rest}"))
}
