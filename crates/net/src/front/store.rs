//! The certificates in directories, read again when files change.

use super::scan::{Pair, scan};
use super::site_certificate::SiteCertificate;
use super::table::CertificateTable;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// What shows that a file has changed: its number, its size, and when it was changed.
type Stamp = (u64, u64, i64, i64);

/// The certificates in directories. Renewals are noticed by what the system says of the files, so
/// no program has to announce them.
#[derive(Debug)]
pub struct CertificateStore {
    directories: Vec<PathBuf>,
    loaded: BTreeMap<Pair, Loaded>,
    /// What of the directories could not be read last time.
    unread: Vec<String>,
    /// The next end of a certificate's validity, by which the order of the last table changes.
    next_end: Option<SystemTime>,
}

/// A pair of files: when it was read, and what was last in it that could be used.
#[derive(Debug)]
struct Loaded {
    stamps: Option<[Stamp; 2]>,
    certificate: Option<Arc<SiteCertificate>>,
    failure: Option<String>,
}

/// What changed.
#[derive(Debug, Default)]
pub struct Reloaded {
    /// The new table, if anything changed.
    pub table: Option<CertificateTable>,
    /// Warnings that were not there before: files that cannot be used, or whose key others may
    /// read.
    pub warnings: Vec<String>,
    /// Certificates that were read.
    pub read: usize,
}

impl CertificateStore {
    /// Returns the store of `directories`, before anything is read.
    pub const fn new(directories: Vec<PathBuf>) -> Self {
        Self { directories, loaded: BTreeMap::new(), unread: Vec::new(), next_end: None }
    }

    /// Reads what has changed since the last call. A pair that cannot be used, such as one that is
    /// half renewed, is read again at each call; meanwhile what was there before stays.
    /// Certificates that have expired by `now` come last; when another one has, there is a new
    /// table as well.
    pub fn reload(&mut self, now: SystemTime) -> Reloaded {
        let found = scan(&self.directories);
        let mut reloaded = Reloaded::default();
        let before = self.loaded.len();
        if found.failures.is_empty() {
            // A directory that cannot be read just now does not take its certificates away.
            self.loaded.retain(|pair, _| found.pairs.contains(pair));
        }
        let expired = self.next_end.is_some_and(|end| end < now);
        let mut changed = expired || self.loaded.len() < before;
        let new = found.failures.iter().filter(|failure| !self.unread.contains(failure));
        reloaded.warnings.extend(new.cloned());
        self.unread = found.failures;
        for pair in found.pairs {
            let stamps = stamps(&pair);
            let old = self.loaded.remove(&pair);
            let same = |old: &Loaded| old.stamps.is_some() && old.stamps == stamps;
            let new = match old {
                Some(old) if same(&old) && old.failure.is_none() => old,
                old => {
                    let new = Loaded::read(&pair, stamps);
                    changed |= new.failure.is_none();
                    reloaded.read += usize::from(new.failure.is_none());
                    new.after(old, &mut reloaded.warnings)
                }
            };
            self.loaded.insert(pair, new);
        }
        if changed {
            let certificates = self.loaded.values().filter_map(|loaded| loaded.certificate.clone());
            let ends = certificates.clone().map(|certificate| certificate.not_after());
            self.next_end = ends.filter(|end| *end >= now).min();
            reloaded.table = Some(CertificateTable::new(certificates, now));
        }
        reloaded
    }

    /// Returns the end of the validity of the certificate that expires next, after which
    /// [`CertificateStore::reload`] has another order of them.
    pub const fn next_end(&self) -> Option<SystemTime> {
        self.next_end
    }

    /// Returns the directories.
    pub fn directories(&self) -> &[PathBuf] {
        &self.directories
    }

    /// Returns the pairs that cannot be used at present, and why.
    pub fn failures(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.loaded.iter().filter_map(|(pair, loaded)| {
            loaded.failure.as_deref().map(|failure| (pair.chain.as_path(), failure))
        })
    }
}

impl Loaded {
    fn read(pair: &Pair, stamps: Option<[Stamp; 2]>) -> Self {
        match SiteCertificate::load(pair) {
            Ok(certificate) => {
                Self { stamps, certificate: Some(Arc::new(certificate)), failure: None }
            }
            Err(failure) => Self { stamps, certificate: None, failure: Some(failure) },
        }
    }

    /// Keeps what was there before if this cannot be used, and adds warnings that are new.
    fn after(mut self, old: Option<Self>, warnings: &mut Vec<String>) -> Self {
        let (before, failed) = old.map_or((None, None), |old| (old.certificate, old.failure));
        let warning = self.certificate.as_ref().and_then(|certificate| certificate.warning());
        let said = before.as_ref().and_then(|certificate| certificate.warning());
        warnings.extend(warning.filter(|warning| said != Some(warning)).map(str::to_owned));
        warnings.extend(self.failure.clone().filter(|failure| failed.as_ref() != Some(failure)));
        if self.certificate.is_none() {
            self.certificate = before;
        }
        self
    }
}

fn stamps(Pair { chain, key }: &Pair) -> Option<[Stamp; 2]> {
    Some([stamp(chain)?, stamp(key)?])
}

/// Returns the stamp of a file, behind links.
fn stamp(file: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(file).ok()?;
    Some((metadata.ino(), metadata.size(), metadata.mtime(), metadata.mtime_nsec()))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make files as they need")]
mod tests {
    use super::*;
    use crate::tls::Certificate;
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, date_time_ymd};
    use rustls::pki_types::PrivateKeyDer;
    use std::time::Duration;

    /// Writes a certificate of `name` that ends with this year, below `directory`.
    fn write(directory: &Path, name: &str, year: i32) {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.not_before, params.not_after) =
            (date_time_ymd(2020, 1, 1), date_time_ymd(year, 12, 31));
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let mut made = Certificate::self_signed(&[name.to_owned()]).unwrap();
        made.chain = vec![params.self_signed(&key).unwrap().der().clone()];
        made.key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let file = |end: &str| directory.join(format!("{}-{year}.{end}", name.replace('*', "any")));
        fs::write(file("crt"), made.pem()).unwrap();
        fs::write(file("key"), made.key_pem()).unwrap();
    }

    /// The middle of a year, roughly.
    fn middle(year: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs((year - 1970) * 31_557_600 + 15_000_000)
    }

    #[test]
    fn what_has_expired_gives_way_to_what_has_not() {
        let directory = tempfile::tempdir().unwrap();
        for (name, year) in
            [("a.test", 2030), ("a.test", 2028), ("www.a.test", 2030), ("*.a.test", 2032)]
        {
            write(directory.path(), name, year);
        }
        let mut store = CertificateStore::new(vec![directory.path().to_owned()]);
        let end = |table: &CertificateTable, host: &str| {
            let best = table.of(host).first()?.not_after();
            (2025..2035).find(|year| best < middle(year + 1) && best > middle(*year))
        };
        let table = store.reload(middle(2027)).table.unwrap();
        let all = |table: &CertificateTable| {
            ["a.test", "www.a.test", "x.a.test"].map(|host| end(table, host).unwrap_or(0))
        };
        assert_eq!(all(&table), [2030, 2030, 2032]);
        assert!(store.reload(middle(2028)).table.is_none(), "nothing has changed");
        assert!(store.reload(middle(2029)).table.is_some(), "one has expired");
        assert!(store.reload(middle(2029)).table.is_none(), "once");
        let table = store.reload(middle(2031)).table.unwrap();
        assert_eq!(
            all(&table),
            [2030, 2032, 2032],
            "the wildcard is valid, and a.test has nothing else"
        );
        assert!(table.covers("www.a.test", "x.a.test"));
        let expired = table.hosts().find(|(name, _)| *name == "www.a.test").unwrap().1[0].clone();
        assert!(table.knows(&expired.certified.cert[0], "www.a.test"), "of the site's own server");
        // All have expired: as if none had.
        let table = store.reload(middle(2033)).table.unwrap();
        assert_eq!(all(&table), [2030, 2030, 2032]);
        assert_eq!(store.next_end(), None);
    }
}
