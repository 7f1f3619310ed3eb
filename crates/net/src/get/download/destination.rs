//! Where a download goes: into a file that it replaces, or straight to a device or pipe.

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

/// The standard output of the process. Opened by this name, a file that it is redirected to would
/// be truncated or written from its beginning; so the descriptor itself is used.
const STANDARD_OUTPUT: &str = "/dev/stdout";
/// Symbolic links in a row, as many as Linux follows (path_resolution(7)).
const MAX_LINKS: usize = 40;
/// Mode bits of a directory such as `/tmp`: everyone may write, and only owners may remove.
const SHARED: u32 = 0o1002;

/// Where a download goes.
#[derive(Debug)]
pub(super) enum Destination {
    /// A regular file, or a name that is free. Links have been resolved.
    File {
        /// The file.
        path: PathBuf,
        /// Whether there is one.
        exists: bool,
    },
    /// Anything else.
    Stream(Stream),
}

/// An output that takes content as it arrives.
#[derive(Debug)]
pub(super) struct Stream {
    path: PathBuf,
    /// Whether the name is that of an open descriptor, in procfs.
    descriptor: bool,
}

impl Destination {
    /// Looks at what `path` names, and refuses what a download cannot be written to.
    ///
    /// # Errors
    /// A directory, a missing one, a file that may not be written, or a link that may not be
    /// followed.
    pub fn of(path: &Path) -> Result<Self, DownloadError> {
        let refuse = |reason: String| DownloadError::Destination { file: path.to_owned(), reason };
        if path == Path::new(STANDARD_OUTPUT) {
            return Ok(Self::Stream(Stream { path: path.to_owned(), descriptor: true }));
        }
        // What such a name could become is a directory.
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
                        "the directory {} does not exist; make it first",
                        parent.display()
                    ))),
                    Err(error) => Err(refuse(format!("{}: {error}", parent.display()))),
                    Ok(_) => Ok(Self::File { path: target, exists: false }),
                }
            }
            Some(metadata) if metadata.is_dir() => Err(refuse(directory(path))),
            Some(metadata) if metadata.is_file() => {
                // It is replaced and not written to. Who may not write to it may not replace it
                // either.
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
    /// The output's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it. For a FIFO that waits until there is a reader.
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

/// What a path names.
enum Resolved {
    /// An open descriptor, by a link of procfs.
    Descriptor,
    /// The path without links, and what is there, if anything.
    Path(PathBuf, Option<Metadata>),
}

/// Follows the links that the last part of `path` names.
///
/// In a directory where everyone may write, what belongs to others is not trusted: the rules of
/// `fs.protected_symlinks`, `protected_regular` and `protected_fifos` (proc_sys_fs(5)), which the
/// kernel applies only to what it opens itself.
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
                "{} belongs to user {owner}, in a directory where everyone may write; \
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

/// The directory in which `path` is.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        // The root is its own; a mere name is in the present one.
        Some(_) => Path::new("."),
        None => path,
    }
}

fn directory(path: &Path) -> String {
    match path.as_os_str().is_empty() {
        true => "the name is empty".to_owned(),
        false => {
            format!("it is a directory; name a file in it, such as {}", path.join("FILE").display())
        }
    }
}
