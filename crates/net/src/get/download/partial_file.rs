//! The partial file, which holds content until it is complete, and the record that a later download
//! needs to resume it.
//!
//! One download at a time writes them. It holds a lock (flock(2)) on the partial file. Neither file
//! is opened through a link, or if it belongs to another user. Every partial file has a record: one
//! without is another program's, and is left alone.
#![allow(
    clippy::disallowed_methods,
    reason = "files are created new or opened without following links"
)]

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

/// Attempts to open the partial file while other downloads finish with it. Our choice.
const MAX_ATTEMPTS: usize = 16;
/// Largest record that is read, bytes. A record has a URL and an entity tag.
const MAX_RECORD: u64 = 64 * 1024;
/// What to do with a file that no download has left.
const FOREIGN: &str = "it may be another program's; move it away, delete it to start \
    over, or choose another output";

/// What is needed to resume a download, as kept in `.part.json`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The URL.
    pub url: String,
    /// The URL after all redirects.
    pub location: String,
    /// The strong entity tag of the version, if it has one. It alone identifies the version (RFC
    /// 9110 §13.1.5): without, the file cannot be resumed.
    pub etag: Option<String>,
    /// The length of the file, if it was announced.
    pub length: Option<u64>,
}

/// The point where a download resumes.
#[derive(Debug)]
pub(super) struct Resume {
    /// Length of the partial file, bytes.
    pub at: u64,
    /// Its version.
    pub record: Record,
    etag: HeaderValue,
}

impl Resume {
    /// Returns the point at byte `at`, or `None` if there is no entity tag that can be sent.
    pub fn new(at: u64, record: Record) -> Option<Self> {
        let etag = record.etag.as_ref()?.parse().ok()?;
        Some(Self { at, record, etag })
    }

    /// Returns the header fields that request the rest of the same version (RFC 9110 §13.1.5).
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([(IF_RANGE, self.etag.clone())]);
        if let Ok(range) = format!("bytes={}-", self.at).parse() {
            headers.insert(RANGE, range);
        }
        headers
    }
}

/// A partial file, locked while this value or a write to it exists.
#[derive(Debug)]
pub(super) struct PartialFile {
    destination: PathBuf,
    path: PathBuf,
    file: Arc<Flock<File>>,
}

impl PartialFile {
    /// Opens or creates the partial file of `destination`, and locks it. `replaces`: the
    /// destination exists. Its mode may be stricter than that of new files, so only the owner may
    /// read the partial file.
    ///
    /// # Errors
    /// Another download has locked it, or it is not a regular file that this user's downloads have
    /// left: another file of that name has its own content, which is not overwritten.
    pub fn open(destination: &Path, replaces: bool) -> Result<Self, DownloadError> {
        let (path, record) = (beside(destination, ".part"), beside(destination, ".part.json"));
        // Before the file is made.
        read_record(&record)?;
        for _ in 0..MAX_ATTEMPTS {
            let Some(file) = open_or_create(&path, if replaces { 0o600 } else { 0o666 })? else {
                continue;
            };
            let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(file) => file,
                // After waiting, this would download the same file again.
                Err((_, Errno::EWOULDBLOCK)) => {
                    let reason =
                        "another download is writing it; wait for its end or choose another output";
                    return Err(refused(&path, reason));
                }
                Err((_, errno)) => {
                    return Err(refused(&path, &format!("it cannot be locked: {errno}")));
                }
            };
            // The previous holder of the lock may have renamed or removed the file.
            if is_named(&file, &path) {
                let (destination, file) = (destination.to_owned(), Arc::new(file));
                let partial = Self { destination, path, file };
                if read_record(&record)?.is_none() && partial.length()? > 0 {
                    let reason = format!("no record of a download is beside it, so {FOREIGN}");
                    return Err(refused(&partial.path, &reason));
                }
                if replaces {
                    let private = Permissions::from_mode(0o600);
                    let set = partial.file.set_permissions(private);
                    set.map_err(DownloadError::file(&partial.path))?;
                }
                return Ok(partial);
            }
        }
        Err(refused(&path, "other downloads keep replacing it"))
    }

    /// Returns the open file.
    pub fn file(&self) -> &Arc<Flock<File>> {
        &self.file
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where a download of `url` resumes, which depends on the length of the file and not
    /// on the record.
    ///
    /// # Errors
    /// The record cannot be used.
    pub fn resume(&self, url: &Uri) -> Result<Option<Resume>, DownloadError> {
        let at = self.length()?;
        let Some(record) = read_record(&self.record_path())? else { return Ok(None) };
        let fits = record.url == url.to_string()
            && at > 0
            && record.length.is_none_or(|length| at <= length);
        Ok(Some(record).filter(|_| fits).and_then(|record| Resume::new(at, record)))
    }

    /// Prepares to write from byte `at`, and saves `record` for a later download.
    ///
    /// # Errors
    /// The file or the record cannot be written.
    pub fn begin(&self, at: u64, record: &Record) -> Result<(), DownloadError> {
        // The file first, so that a record never describes older content.
        let mut file: &File = &self.file;
        let positioned = file.set_len(at).and_then(|()| file.seek(SeekFrom::Start(at)));
        positioned.map_err(DownloadError::file(&self.path))?;
        let path = self.record_path();
        self.save(record, &path).map_err(DownloadError::file(&path))
    }

    /// Checks the length on disk.
    ///
    /// # Errors
    /// It differs: another program writes to the file.
    pub fn check_length(&self, expected: u64) -> Result<(), DownloadError> {
        let length = self.length()?;
        if length != expected {
            let reason = format!(
                "it has {length} bytes, but {expected} were received; another program writes to it"
            );
            return Err(refused(&self.path, &reason));
        }
        Ok(())
    }

    /// Renames the file to its destination, with the mode and owner of the file that it replaces.
    ///
    /// # Errors
    /// The partial file was replaced, the destination is no longer a regular file, or the system
    /// refuses.
    pub fn publish(self) -> Result<(), DownloadError> {
        if !is_named(&self.file, &self.path) {
            return Err(refused(&self.path, "another file has replaced it"));
        }
        let fail = || DownloadError::file(&self.destination);
        match fs::symlink_metadata(&self.destination) {
            Ok(old) if old.is_file() => self.inherit(&old).map_err(fail())?,
            Ok(_) => {
                let part = self.path.display();
                let reason = format!("it is no longer a regular file; the content is in {part}");
                return Err(DownloadError::Destination { file: self.destination.clone(), reason });
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(fail()(error)),
        }
        // Before the rename: afterwards the record may be that of another download.
        let record = self.record_path();
        remove(&record).map_err(DownloadError::file(&record))?;
        fs::rename(&self.path, &self.destination).map_err(fail())
    }

    /// Removes the file and its record, because the content is wrong.
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

    /// Writes the record to another file and renames that, so that a crash leaves a complete
    /// record.
    fn save(&self, record: &Record, path: &Path) -> io::Result<()> {
        let new = beside(&self.destination, ".part.json.new");
        // A killed download may have left it. This one holds the lock.
        remove(&new)?;
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        fs::rename(new, path)
    }

    /// Copies the owner and the mode of `old` as far as permitted.
    fn inherit(&self, old: &fs::Metadata) -> io::Result<()> {
        let own = self.file.metadata()?;
        let mut mode = old.mode() & 0o777;
        if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
            // Only root may change the owner. Others may select one of their groups.
            let given = fchown(&**self.file, Some(old.uid()), Some(old.gid()))
                .or_else(|_| fchown(&**self.file, None, Some(old.gid())));
            if given.is_err() {
                // The permissions of the group were meant for another group.
                mode &= 0o707;
            }
        }
        self.file.set_permissions(Permissions::from_mode(mode))
    }
}

impl Drop for PartialFile {
    /// Removes an empty file. An error cannot be reported.
    fn drop(&mut self) {
        let empty =
            self.length().is_ok_and(|length| length == 0) && is_named(&self.file, &self.path);
        // A file with a record stays, because the record may belong to another download.
        if empty && fs::symlink_metadata(self.record_path()).is_err() {
            let _ = remove(&self.path);
        }
    }
}

/// Returns the path of `destination` with a suffix.
fn beside(destination: &Path, end: &str) -> PathBuf {
    let mut name = destination.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn refused(path: &Path, reason: &str) -> DownloadError {
    DownloadError::Partial { file: path.to_owned(), reason: reason.to_owned() }
}

/// Returns whether `path` itself, and not the target of a link, is the open file.
fn is_named(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (open.dev(), open.ino()) == (named.dev(), named.ino())
}

/// Opens or creates a file. `None` if it was removed in between.
fn open_or_create(path: &Path, mode: u32) -> Result<Option<File>, DownloadError> {
    match File::options().read(true).write(true).create_new(true).mode(mode).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => open_own(path),
        Err(error) => Err(DownloadError::file(path)(error)),
    }
}

/// Opens a file that an earlier download may have left. `None` if there is none.
///
/// Another user who may write to the directory could create a link or a FIFO there, to make this
/// program overwrite one of its user's files, or block.
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

/// Returns the record that a download has left.
///
/// # Errors
/// A file of that name that is no record, or not a regular file of this user.
fn read_record(path: &Path) -> Result<Option<Record>, DownloadError> {
    let Some(file) = open_own(path)? else { return Ok(None) };
    let mut text = Vec::new();
    file.take(MAX_RECORD).read_to_end(&mut text).map_err(DownloadError::file(path))?;
    let read = serde_json::from_slice(&text).map(Some);
    read.map_err(|_| refused(path, &format!("it is no record of a download: {FOREIGN}")))
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn directory() -> (TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let copy = directory.path().join("copy");
        (directory, copy)
    }

    fn record(length: Option<u64>) -> Record {
        let url = "https://server.test/file".to_owned();
        Record { url: url.clone(), location: url, etag: Some("\"v\"".to_owned()), length }
    }

    fn json(record: &Record) -> String {
        serde_json::to_string(record).unwrap()
    }

    fn names(directory: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(directory.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn write(partial: &PartialFile, content: &str) {
        let mut file: &File = partial.file();
        file.write_all(content.as_bytes()).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn one_download_at_a_time_has_the_file() {
        let (_directory, copy) = directory();
        let first = PartialFile::open(&copy, false).unwrap();
        assert_eq!(first.path(), copy.with_extension("part"));
        let second = PartialFile::open(&copy, false).unwrap_err().to_string();
        assert!(second.contains("copy.part: another download is writing it"), "{second}");
        drop(first);
        PartialFile::open(&copy, false).unwrap();
    }

    #[test]
    fn a_download_that_has_received_nothing_leaves_nothing() {
        let (directory, copy) = directory();
        drop(PartialFile::open(&copy, false).unwrap());
        assert!(names(&directory).is_empty());
        // The record may be that of another download.
        fs::write(copy.with_extension("part.json"), json(&record(None))).unwrap();
        drop(PartialFile::open(&copy, false).unwrap());
        assert_eq!(names(&directory), ["copy.part", "copy.part.json"]);
        fs::remove_file(copy.with_extension("part.json")).unwrap();
        let partial = PartialFile::open(&copy, false).unwrap();
        write(&partial, "content");
        drop(partial);
        assert_eq!(names(&directory), ["copy.part"]);
        fs::remove_file(copy.with_extension("part")).unwrap();
        // Another program's file under its name is not removed.
        let partial = PartialFile::open(&copy, false).unwrap();
        fs::rename(copy.with_extension("part"), directory.path().join("aside")).unwrap();
        fs::write(copy.with_extension("part"), "theirs").unwrap();
        drop(partial);
        assert_eq!(names(&directory), ["aside", "copy.part"]);
    }

    #[test]
    fn a_download_resumes_where_the_same_url_ended() {
        let (_directory, copy) = directory();
        let url = Uri::from_static("https://server.test/file");
        let resumed_at = |content: &str, record: &str| {
            fs::write(copy.with_extension("part"), content).unwrap();
            fs::write(copy.with_extension("part.json"), record).unwrap();
            let partial = PartialFile::open(&copy, false).unwrap();
            partial.resume(&url).unwrap().map(|resume| {
                let headers = resume.headers();
                assert_eq!(headers[IF_RANGE], "\"v\"");
                assert_eq!(headers[RANGE], format!("bytes={}-", resume.at));
                resume.at
            })
        };
        assert_eq!(resumed_at("content", &json(&record(None))), Some(7));
        assert_eq!(resumed_at("content", &json(&record(Some(7)))), Some(7));
        assert_eq!(resumed_at("content", &json(&record(Some(8)))), Some(7));
        assert_eq!(resumed_at("content", &json(&record(Some(6)))), None, "longer than the file");
        assert_eq!(resumed_at("", &json(&record(None))), None);
        let other = Record { url: "https://server.test/other".to_owned(), ..record(None) };
        assert_eq!(resumed_at("content", &json(&other)), None);
        let unsendable = Record { etag: Some("\"\n\"".to_owned()), ..record(None) };
        assert_eq!(resumed_at("content", &json(&unsendable)), None);
        let unversioned = Record { etag: None, ..record(None) };
        assert_eq!(resumed_at("content", &json(&unversioned)), None);
        let padded = |bytes| format!("{}{}", " ".repeat(bytes), json(&record(None)));
        assert_eq!(resumed_at("content", &padded(60_000)), Some(7));
        fs::remove_file(copy.with_extension("part")).unwrap();
        fs::remove_file(copy.with_extension("part.json")).unwrap();
        let partial = PartialFile::open(&copy, false).unwrap();
        assert!(partial.resume(&url).unwrap().is_none());
    }

    #[test]
    fn files_that_no_download_has_left_stay_as_they_are() {
        let (directory, copy) = directory();
        let [part, beside] = ["part", "part.json"].map(|end| copy.with_extension(end));
        let refused = |what: &str| {
            let before = names(&directory);
            for replaces in [false, true] {
                let error = PartialFile::open(&copy, replaces).unwrap_err().to_string();
                assert!(error.contains(what) && error.contains("move it away"), "{error}");
            }
            assert_eq!(names(&directory), before);
        };
        fs::write(&part, "theirs").unwrap();
        fs::set_permissions(&part, Permissions::from_mode(0o640)).unwrap();
        refused("copy.part: no record");
        let padded = format!("{}{}", " ".repeat(66_000), json(&record(None)));
        for text in ["", "{", "{\"a\": 1}", &padded] {
            fs::write(&beside, text).unwrap();
            refused("copy.part.json: it is no record");
            assert_eq!(fs::read_to_string(&beside).unwrap(), text);
        }
        assert_eq!((fs::read_to_string(&part).unwrap().as_str(), mode(&part)), ("theirs", 0o640));
        fs::remove_file(&part).unwrap();
        refused("copy.part.json: it is no record");
    }

    #[test]
    fn content_begins_where_it_was_asked_for() {
        let (directory, copy) = directory();
        let partial = PartialFile::open(&copy, false).unwrap();
        write(&partial, "content");
        fs::write(copy.with_extension("part.json.new"), "left by a crash").unwrap();
        partial.begin(3, &record(Some(9))).unwrap();
        write(&partial, "crete");
        assert_eq!(fs::read_to_string(partial.path()).unwrap(), "concrete");
        let kept = fs::read(copy.with_extension("part.json")).unwrap();
        assert_eq!(serde_json::from_slice::<Record>(&kept).unwrap(), record(Some(9)));
        assert_eq!(mode(&copy.with_extension("part.json")), 0o600);
        assert_eq!(names(&directory), ["copy.part", "copy.part.json"]);
        partial.check_length(8).unwrap();
        let wrong = partial.check_length(7).unwrap_err().to_string();
        assert!(wrong.contains("it has 8 bytes, but 7 were received"), "{wrong}");
        partial.begin(0, &record(None)).unwrap();
        write(&partial, "new");
        partial.publish().unwrap();
        assert_eq!(names(&directory), ["copy"]);
        assert_eq!(fs::read_to_string(&copy).unwrap(), "new");
    }

    #[test]
    fn wrong_content_is_removed_with_its_record() {
        let (directory, copy) = directory();
        let partial = PartialFile::open(&copy, false).unwrap();
        partial.begin(0, &record(None)).unwrap();
        write(&partial, "content");
        partial.discard().unwrap();
        partial.discard().unwrap();
        assert!(names(&directory).is_empty());
        // What cannot be removed is an error: a later download would resume with it.
        fs::create_dir(copy.with_extension("part.json")).unwrap();
        assert!(partial.discard().is_err() && partial.begin(0, &record(None)).is_err());
    }

    #[test]
    fn the_content_of_a_file_that_is_replaced_is_for_its_owner_until_it_is_whole() {
        let (directory, copy) = directory();
        fs::write(&copy, "old").unwrap();
        fs::set_permissions(&copy, Permissions::from_mode(0o604)).unwrap();
        // An earlier download into a new file left it.
        fs::write(copy.with_extension("part"), "").unwrap();
        fs::set_permissions(copy.with_extension("part"), Permissions::from_mode(0o644)).unwrap();
        let partial = PartialFile::open(&copy, true).unwrap();
        assert_eq!(mode(partial.path()), 0o600);
        write(&partial, "new");
        partial.publish().unwrap();
        assert_eq!((mode(&copy), names(&directory).len()), (0o604, 1));
        assert_eq!(fs::read_to_string(&copy).unwrap(), "new");
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named_with_its_reason() {
        let (directory, copy) = directory();
        fs::create_dir(copy.with_extension("part")).unwrap();
        let error = PartialFile::open(&copy, false).unwrap_err().to_string();
        assert!(error.contains("copy.part: Is a directory"), "{error}");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("copy.part", link.with_extension("part")).unwrap();
        let error = PartialFile::open(&link, false).unwrap_err().to_string();
        assert!(error.contains("it is a symbolic link; remove it or choose another"), "{error}");
        let inside = directory.path().join("absent/copy");
        let error = PartialFile::open(&inside, false).unwrap_err().to_string();
        assert!(error.contains("copy.part: No such file"), "{error}");
    }

    #[test]
    fn only_a_regular_file_is_replaced() {
        let (directory, copy) = directory();
        let partial = PartialFile::open(&copy, false).unwrap();
        partial.begin(0, &record(None)).unwrap();
        write(&partial, "new");
        fs::create_dir(&copy).unwrap();
        let error = partial.publish().unwrap_err().to_string();
        assert!(error.contains("no longer a regular file") && error.contains("copy.part"));
        assert_eq!(names(&directory), ["copy", "copy.part", "copy.part.json"]);
        // Nor is a file that somebody else put in its place published.
        fs::remove_dir(&copy).unwrap();
        let partial = PartialFile::open(&copy, false).unwrap();
        fs::rename(partial.path(), directory.path().join("aside")).unwrap();
        fs::write(copy.with_extension("part"), "planted").unwrap();
        let error = partial.publish().unwrap_err().to_string();
        assert!(error.contains("another file has replaced it"), "{error}");
        assert_eq!(names(&directory), ["aside", "copy.part", "copy.part.json"]);
    }
}
