//! The output of a download: a file, which is replaced, or a device or pipe.
#![allow(
    clippy::disallowed_methods,
    reason = "links are examined one by one, and opened without following them"
)]

use super::error::DownloadError;
use nix::fcntl::{OFlag, readlinkat};
use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};
use nix::unistd::geteuid;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The standard output of the process. Its descriptor is used, because opening this name would
/// truncate a file that it is redirected to, or write to its start.
const STANDARD_OUTPUT: &str = "/dev/stdout";
/// Symbolic links in a row that are followed, as in Linux (path_resolution(7)).
const MAX_LINKS: usize = 40;
/// Mode bits of a directory such as `/tmp`: all users may write, and only owners may remove.
const SHARED: u32 = 0o1002;

/// The output of a download.
#[derive(Debug)]
pub(super) enum Destination {
    /// A regular file, or a path without a file. Links are resolved.
    File {
        /// The path.
        path: PathBuf,
        /// Whether the file exists.
        exists: bool,
    },
    /// Another output.
    Stream(Stream),
}

/// An output that is written as content arrives.
#[derive(Debug)]
pub(super) struct Stream {
    path: PathBuf,
    /// Whether the path names an open descriptor in procfs.
    descriptor: bool,
}

impl Destination {
    /// Examines `path`.
    ///
    /// # Errors
    /// A directory, a path in a directory that does not exist, a file that may not be written, or a
    /// link that may not be followed.
    pub fn of(path: &Path) -> Result<Self, DownloadError> {
        let refuse = |reason: String| DownloadError::Destination { file: path.to_owned(), reason };
        if path == Path::new(STANDARD_OUTPUT) {
            return Ok(Self::Stream(Stream { path: path.to_owned(), descriptor: true }));
        }
        // Such a path can only be a directory.
        if path.as_os_str().is_empty() || path.as_os_str().as_bytes().ends_with(b"/") {
            return Err(refuse(directory(path)));
        }
        let (target, metadata) = match resolve(path) {
            Ok(Resolved::Descriptor) => {
                return Ok(Self::Stream(Stream { path: path.to_owned(), descriptor: true }));
            }
            Ok(Resolved::Path(target, metadata)) => (target, metadata),
            Err(error) => return Err(refuse(error.to_string())),
        };
        match metadata {
            None => {
                let parent = parent(&target);
                match fs::metadata(parent) {
                    Err(error) if error.kind() == ErrorKind::NotFound => Err(refuse(format!(
                        "the directory {} does not exist; create it first",
                        parent.display()
                    ))),
                    Err(error) => Err(refuse(format!("{}: {error}", parent.display()))),
                    Ok(_) => Ok(Self::File { path: target, exists: false }),
                }
            }
            Some(metadata) if metadata.is_dir() => Err(refuse(directory(path))),
            Some(metadata) if metadata.is_file() => {
                // The file is replaced rather than written, but only if it may be written.
                let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
                let opened = File::options().write(true).custom_flags(flags.bits()).open(&target);
                opened.map_err(|error| refuse(error.to_string()))?;
                Ok(Self::File { path: target, exists: true })
            }
            Some(_) => Ok(Self::Stream(Stream { path: target, descriptor: false })),
        }
    }
}

impl Stream {
    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the output. Opening a FIFO waits for a reader.
    ///
    /// # Errors
    /// It cannot be opened, or has become a file or a link.
    pub fn open(&self) -> io::Result<File> {
        if self.path == Path::new(STANDARD_OUTPUT) {
            return Ok(io::stdout().as_fd().try_clone_to_owned()?.into());
        }
        let follow = if self.descriptor { OFlag::empty() } else { OFlag::O_NOFOLLOW };
        let file = File::options().write(true).custom_flags(follow.bits()).open(&self.path)?;
        if file.metadata()?.is_file() {
            if !self.descriptor {
                return Err(io::Error::other("it has become a regular file"));
            }
            file.set_len(0)?;
        }
        Ok(file)
    }
}

/// What a path leads to.
enum Resolved {
    /// An open descriptor, through a link in procfs.
    Descriptor,
    /// The path without links, and its metadata if it exists.
    Path(PathBuf, Option<Metadata>),
}

/// Follows the links in the last component of `path`.
///
/// In a directory where all users may write, files of other users are not trusted. These are the
/// rules of `fs.protected_symlinks`, `protected_regular` and `protected_fifos` (proc_sys_fs(5)),
/// which the kernel applies only to files that it opens itself.
fn resolve(path: &Path) -> io::Result<Resolved> {
    let mut path = path.to_owned();
    for _ in 0..=MAX_LINKS {
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW;
        let node = match File::options().read(true).custom_flags(flags.bits()).open(&path) {
            Ok(node) => node,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Resolved::Path(path, None));
            }
            Err(error) => return Err(error),
        };
        let metadata = node.metadata()?;
        if metadata.is_symlink() && fstatfs(&node)?.filesystem_type() == PROC_SUPER_MAGIC {
            return Ok(Resolved::Descriptor);
        }
        let (owner, directory) = (metadata.uid(), fs::metadata(parent(&path))?);
        let trusted = owner == geteuid().as_raw() || owner == directory.uid();
        if !metadata.is_dir() && directory.mode() & SHARED == SHARED && !trusted {
            let reason = format!(
                "{} belongs to user {owner}, in a directory where all users may write; \
                 remove it or choose another output",
                path.display()
            );
            return Err(io::Error::new(ErrorKind::PermissionDenied, reason));
        }
        if !metadata.is_symlink() {
            return Ok(Resolved::Path(path, Some(metadata)));
        }
        let target = readlinkat(&node, OsStr::new(""))?;
        path = parent(&path).join(target);
    }
    Err(nix::errno::Errno::ELOOP.into())
}

/// Returns the directory of `path`.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        // A name without a directory is in the current one. The root is its own parent.
        Some(_) => Path::new("."),
        None => path,
    }
}

fn directory(path: &Path) -> String {
    match path.as_os_str().is_empty() {
        true => "the path is empty".to_owned(),
        false => {
            format!("it is a directory; name a file in it, such as {}", path.join("FILE").display())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::fs::Permissions;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn refused(path: &Path) -> String {
        Destination::of(path).map_or_else(|error| error.to_string(), |found| panic!("{found:?}"))
    }

    #[test]
    fn the_directory_of_a_name_is_the_current_one() {
        for (path, directory) in [("a", "."), ("d/a", "d"), ("/a", "/"), ("/", "/"), ("./a", ".")] {
            assert_eq!(parent(Path::new(path)), Path::new(directory), "{path}");
        }
        assert!(refused(Path::new("")).contains("the path is empty"));
        let suggested = refused(Path::new("new/"));
        assert!(suggested.contains("it is a directory") && suggested.contains("new/FILE"));
    }

    #[test]
    fn files_are_told_from_streams() {
        let directory = tempfile::tempdir().unwrap();
        let [file, new, fifo] = ["file", "new", "fifo"].map(|name| directory.path().join(name));
        fs::write(&file, "old").unwrap();
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        for (path, expected) in [(&file, true), (&new, false)] {
            let Destination::File { path: found, exists } = Destination::of(path).unwrap() else {
                panic!("{}", path.display());
            };
            assert_eq!((&found, exists), (path, expected));
        }
        assert!(refused(&file.join("below")).contains("Not a directory"));
        let Destination::Stream(stream) = Destination::of(&fifo).unwrap() else {
            panic!("a FIFO is a file");
        };
        assert_eq!(stream.path(), fifo);
        // It may change before the response arrives.
        fs::remove_file(&fifo).unwrap();
        fs::write(&fifo, "planted").unwrap();
        assert!(stream.open().unwrap_err().to_string().contains("become a regular file"));
        fs::remove_file(&fifo).unwrap();
        symlink(&file, &fifo).unwrap();
        assert!(stream.open().is_err(), "a link is not followed");
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        let Destination::Stream(output) = Destination::of(Path::new("/dev/stdout")).unwrap() else {
            panic!("the standard output is a file");
        };
        assert_eq!(output.path(), Path::new("/dev/stdout"));
        output.open().unwrap();
    }

    #[test]
    fn an_open_descriptor_is_written_from_its_beginning() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"older and longer").unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let Destination::Stream(stream) = Destination::of(&path).unwrap() else {
            panic!("a descriptor is a path");
        };
        stream.open().unwrap().write_all(b"new").unwrap();
        assert_eq!(file.metadata().unwrap().len(), 3);
    }

    #[test]
    fn forty_links_in_a_row_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("0"), "old").unwrap();
        for link in 1..=MAX_LINKS + 1 {
            symlink((link - 1).to_string(), at(&link.to_string())).unwrap();
        }
        let Destination::File { path, exists: true } = Destination::of(&at("40")).unwrap() else {
            panic!("not the file");
        };
        assert_eq!(path, at("0"));
        assert!(refused(&at("41")).contains("Too many levels of symbolic links"));
    }

    #[test]
    fn files_of_others_are_refused_only_in_directories_that_all_may_write() {
        if !geteuid().is_root() {
            return eprintln!("skipped: only root can give files away");
        }
        let root = tempfile::tempdir().unwrap();
        // Mode and owner of the directory, and owner of the file.
        for (mode, owner, theirs, allowed) in [
            (0o1777, 0, 12_345, false),
            (0o1777, 0, 0, true),
            (0o1777, 12_345, 0, true),
            (0o1777, 12_345, 12_345, true),
            (0o1777, 12_345, 54_321, false),
            (0o0777, 0, 12_345, true),
            (0o1755, 0, 12_345, true),
            (0o0755, 0, 12_345, true),
        ] {
            let directory = root.path().join(format!("{mode:o}-{owner}-{theirs}"));
            let file = directory.join("file");
            fs::create_dir(&directory).unwrap();
            fs::write(&file, "old").unwrap();
            chown(&file, Some(theirs), None).unwrap();
            chown(&directory, Some(owner), None).unwrap();
            fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
            match Destination::of(&file) {
                Ok(_) => assert!(allowed, "{}", directory.display()),
                Err(error) => {
                    let named = error.to_string().contains(&format!("belongs to user {theirs}"));
                    assert!(!allowed && named, "{error}");
                }
            }
            assert!(Destination::of(&directory.join("new")).is_ok());
        }
    }
}
