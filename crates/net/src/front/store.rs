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
        Self { directories, loaded: BTreeMap::new(), unread: Vec::new() }
    }

    /// Reads what has changed since the last call. A pair that cannot be used, such as one that is
    /// half renewed, is read again at each call; meanwhile what was there before stays.
    /// Certificates that have expired by `now` come last.
    pub fn reload(&mut self, now: SystemTime) -> Reloaded {
        let found = scan(&self.directories);
        let mut reloaded = Reloaded::default();
        let before = self.loaded.len();
        if found.failures.is_empty() {
            // A directory that cannot be read just now does not take its certificates away.
            self.loaded.retain(|pair, _| found.pairs.contains(pair));
        }
        let mut changed = self.loaded.len() < before;
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
            reloaded.table = Some(CertificateTable::new(certificates, now));
        }
        reloaded
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
