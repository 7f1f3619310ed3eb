//! The file that holds what has arrived until it is complete, and the record that lets a later
//! download resume it.
//!
//! Only one download at a time writes them: it holds a lock (flock(2)) on the partial file. Neither
//! is ever opened through a link or if it belongs to somebody else.

use super::error::DownloadError;
use http::Uri;
use http::header::{HeaderMap, HeaderValue, IF_RANGE, RANGE};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How often the file is opened anew if another download finishes with it in between: our choice.
const ATTEMPTS: usize = 16;
/// Bytes of a record that are read, at most. Ours have a URL and an entity tag.
const MAX_RECORD: u64 = 64 * 1024;

/// What is needed to resume, as kept in `.part.json`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The URL that was asked for.
    pub url: String,
    /// The strong entity tag of the version.
    pub etag: String,
    /// The length of the file, if it was announced.
    pub length: Option<u64>,
}

/// Where a download goes on.
#[derive(Debug)]
pub(super) struct Resume {
    /// The bytes that are there.
    pub at: u64,
    /// Of which version.
    pub record: Record,
    etag: HeaderValue,
}

impl Resume {
    /// The header fields that ask for the rest of the same version (RFC 9110 §13.1.5).
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([(IF_RANGE, self.etag.clone())]);
        if let Ok(range) = format!("bytes={}-", self.at).parse() {
            headers.insert(RANGE, range);
        }
        headers
    }
}

/// A partial file, locked for as long as this or a write to it lasts.
#[derive(Debug)]
pub(super) struct PartialFile {
    destination: PathBuf,
    path: PathBuf,
    file: Arc<Flock<File>>,
}

impl PartialFile {
    /// Opens or makes the partial file of `destination`, and locks it. `replaces`: there is a file
    /// whose mode may be stricter than that of new ones, so nobody else may read the partial file.
    ///
    /// # Errors
    /// Another download has it, or it is not a regular file of our own.
    pub fn open(destination: &Path, replaces: bool) -> Result<Self, DownloadError> {
        let path = beside(destination, ".part");
        for _ in 0..ATTEMPTS {
            let Some(file) = open_or_create(&path, if replaces { 0o600 } else { 0o666 })? else {
                continue;
            };
            let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(file) => file,
                // To wait would be to download the same again, later.
                Err((_, Errno::EWOULDBLOCK)) => {
                    let reason =
                        "another download is writing it; let that end, or choose another output";
                    return Err(refused(&path, reason));
                }
                Err((_, errno)) => {
                    return Err(refused(&path, &format!("it cannot be locked: {errno}")));
                }
            };
            // Who held the lock until now may have renamed or removed the file.
            if is_named(&file, &path) {
                if replaces {
                    file.set_permissions(Permissions::from_mode(0o600))
                        .map_err(DownloadError::file(&path))?;
                }
                return Ok(Self {
                    destination: destination.to_owned(),
                    path,
                    file: Arc::new(file),
                });
            }
        }
        Err(refused(&path, "it is replaced again and again"))
    }

    /// The open file.
    pub fn file(&self) -> &Arc<Flock<File>> {
        &self.file
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a download of `url` goes on. The length of the file counts, whatever the record says.
    ///
    /// # Errors
    /// The record is not a regular file of our own.
    pub fn resume(&self, url: &Uri) -> Result<Option<Resume>, DownloadError> {
        let path = self.record_path();
        let Some(file) = open_own(&path)? else { return Ok(None) };
        let mut text = Vec::new();
        file.take(MAX_RECORD).read_to_end(&mut text).map_err(DownloadError::file(&path))?;
        let at = self.length()?;
        // A record that cannot be read is as good as none.
        let Ok(record) = serde_json::from_slice::<Record>(&text) else { return Ok(None) };
        let Ok(etag) = record.etag.parse() else { return Ok(None) };
        let fits = record.url == url.to_string()
            && at > 0
            && record.length.is_none_or(|length| at <= length);
        Ok(fits.then_some(Resume { at, record, etag }))
    }

    /// Prepares to write from byte `at`, and keeps `record` for a later download.
    ///
    /// # Errors
    /// The file or the record cannot be written.
    pub fn begin(&self, at: u64, record: Option<&Record>) -> Result<(), DownloadError> {
        // First the file, so that no record is ever about older content than it says.
        let mut file: &File = &self.file;
        let placed = file.set_len(at).and_then(|()| file.seek(SeekFrom::Start(at)));
        placed.map_err(DownloadError::file(&self.path))?;
        let path = self.record_path();
        match record {
            Some(record) => self.save(record, &path),
            None => remove(&path),
        }
        .map_err(DownloadError::file(&path))
    }

    /// Compares the length on disk with the bytes that were written.
    ///
    /// # Errors
    /// It is another: somebody else writes there too.
    pub fn check_length(&self, expected: u64) -> Result<(), DownloadError> {
        let length = self.length()?;
        if length != expected {
            let reason = format!(
                "{length} bytes are there and {expected} have arrived; something else writes it"
            );
            return Err(refused(&self.path, &reason));
        }
        Ok(())
    }

    /// Gives the file its name, with the mode and owner of the one that it replaces.
    ///
    /// # Errors
    /// The partial file has been exchanged, the name is no longer one that may be replaced, or the
    /// system refuses.
    pub fn publish(self) -> Result<(), DownloadError> {
        if !is_named(&self.file, &self.path) {
            return Err(refused(&self.path, "another file has taken its place"));
        }
        let fail = || DownloadError::file(&self.destination);
        match fs::symlink_metadata(&self.destination) {
            Ok(old) if old.is_file() => self.inherit(&old).map_err(fail())?,
            Ok(_) => {
                let part = self.path.display();
                let reason =
                    format!("it is no longer a regular file; what has arrived is in {part}");
                return Err(DownloadError::Destination { file: self.destination.clone(), reason });
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(fail()(error)),
        }
        // Before the name is given up: afterwards the record may be that of another download.
        let record = self.record_path();
        remove(&record).map_err(DownloadError::file(&record))?;
        fs::rename(&self.path, &self.destination).map_err(fail())
    }

    /// Removes the file and its record, since they are not what they should be.
    ///
    /// # Errors
    /// The system refuses.
    pub fn discard(&self) -> Result<(), DownloadError> {
        let record = self.record_path();
        remove(&record).map_err(DownloadError::file(&record))?;
        remove(&self.path).map_err(DownloadError::file(&self.path))
    }

    fn record_path(&self) -> PathBuf {
        beside(&self.destination, ".part.json")
    }

    fn length(&self) -> Result<u64, DownloadError> {
        self.file.metadata().map(|metadata| metadata.len()).map_err(DownloadError::file(&self.path))
    }

    /// Writes the record beside its name and renames it, so that it is whole or the old one.
    fn save(&self, record: &Record, path: &Path) -> io::Result<()> {
        let new = beside(&self.destination, ".part.json.new");
        // An earlier download that was killed may have left it. The lock is ours.
        remove(&new)?;
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        fs::rename(new, path)
    }

    /// Takes on the owner and the mode of `old`, as far as we may.
    fn inherit(&self, old: &fs::Metadata) -> io::Result<()> {
        let own = self.file.metadata()?;
        let mut mode = old.mode() & 0o777;
        if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
            // Only root may give files away, and others may choose among their groups.
            let given = fchown(&**self.file, Some(old.uid()), Some(old.gid()))
                .or_else(|_| fchown(&**self.file, None, Some(old.gid())));
            if given.is_err() {
                // What the group was allowed was meant for another group.
                mode &= 0o707;
            }
        }
        self.file.set_permissions(Permissions::from_mode(mode))
    }
}

impl Drop for PartialFile {
    /// Leaves no empty file behind. There is nobody to tell if it cannot be removed.
    fn drop(&mut self) {
        let empty =
            self.length().is_ok_and(|length| length == 0) && is_named(&self.file, &self.path);
        // With a record it stays: the record may not be ours to remove.
        if empty && fs::symlink_metadata(self.record_path()).is_err() {
            let _ = remove(&self.path);
        }
    }
}

/// A name beside `destination`.
fn beside(destination: &Path, end: &str) -> PathBuf {
    let mut name = destination.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn refused(path: &Path, reason: &str) -> DownloadError {
    DownloadError::Partial { file: path.to_owned(), reason: reason.to_owned() }
}

/// Whether `path` itself, and not a link there, is the open file.
fn is_named(file: &File, path: &Path) -> bool {
    let same = |open: &fs::Metadata, named: &fs::Metadata| {
        (open.dev(), open.ino()) == (named.dev(), named.ino())
    };
    matches!((file.metadata(), fs::symlink_metadata(path)), (Ok(open), Ok(named)) if same(&open, &named))
}

/// `None` if it was there and then was not.
fn open_or_create(path: &Path, mode: u32) -> Result<Option<File>, DownloadError> {
    match File::options().read(true).write(true).create_new(true).mode(mode).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => open_own(path),
        Err(error) => Err(DownloadError::file(path)(error)),
    }
}

/// Opens a file that an earlier download may have left. `None` if there is none.
///
/// Whoever may write in the directory can put a link or a FIFO there, to have us overwrite what
/// only we may write, or wait.
fn open_own(path: &Path) -> Result<Option<File>, DownloadError> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let opened = File::options().read(true).write(true).custom_flags(flags.bits()).open(path);
    let foreign =
        |reason: &str| Err(refused(path, &format!("{reason}; remove it or choose another output")));
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::ELOOP as i32) => {
            return foreign("it is a symbolic link");
        }
        Err(error) => return Err(DownloadError::file(path)(error)),
    };
    let metadata = file.metadata().map_err(DownloadError::file(path))?;
    if !metadata.is_file() {
        return foreign("it is not a regular file");
    }
    if metadata.nlink() > 1 {
        return foreign(&format!("it is a hard link, one of {}", metadata.nlink()));
    }
    if metadata.uid() != geteuid().as_raw() {
        return foreign(&format!("it belongs to user {}", metadata.uid()));
    }
    Ok(Some(file))
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
