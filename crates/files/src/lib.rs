//! Writes files and directories of results without following symbolic links.
//!
//! A run directory or a directory of scenarios may come from somebody else, with a link in the
//! place of `report.html` or `out`. So nothing is written through a link whose name Bentpipe chose:
//! a file replaces it, and a directory is refused. In paths that a user names, links to directories
//! are followed as usual; a link in the place of the file itself is replaced here, too.
//!
//! Clippy refuses the functions of the standard library that follow links (`clippy.toml`); all
//! other crates call these.
#![expect(clippy::disallowed_methods, reason = "the place of the functions that others may call")]

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};
use tempfile::Builder;

mod work_dir;

pub use work_dir::WorkDir;

/// Writes `file`, whose name Bentpipe chose. Whatever has that name keeps its content until the new
/// one is complete; a link, a pipe or a device is replaced as a file is. The new file has the mode
/// of the regular file that it replaces, so that a private one stays private.
///
/// # Errors
/// The file cannot be written.
pub fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = file.file_name().ok_or_else(|| io::Error::other("the path has no file name"))?;
    let prefix = format!(".{}.partial-", name.to_string_lossy());
    let mut builder = Builder::new();
    // The mode of other files, instead of the one for temporary files of one user.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut partial = builder.prefix(&prefix).tempfile_in(parent(file))?;
    #[cfg(unix)]
    if let Some(mode) = mode_of(file) {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        partial.as_file().set_permissions(mode)?;
    }
    partial.write_all(bytes)?;
    partial.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// Returns the mode of a regular file, without the bits that make a program another user's.
#[cfg(unix)]
fn mode_of(file: &Path) -> Option<u32> {
    let metadata = fs::symlink_metadata(file).ok().filter(fs::Metadata::is_file)?;
    Some(std::os::unix::fs::MetadataExt::mode(&metadata) & 0o777)
}

/// Writes `file`, which a user named: as [`replace`] does, but into a pipe, a device or an open
/// descriptor (`/dev/stdout`).
///
/// # Errors
/// The file cannot be written.
pub fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    match stream(file)? {
        Some(mut stream) => stream.write_all(bytes),
        None => replace(file, bytes),
    }
}

/// Opens `file`, which a user named, to write it from its beginning: what has that name is removed,
/// but for a pipe, a device or an open descriptor, which is opened.
///
/// # Errors
/// The file cannot be created.
pub fn create(file: &Path) -> io::Result<File> {
    if let Some(stream) = stream(file)? {
        return Ok(stream);
    }
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    create_new(file)
}

/// Creates `file`, which must not exist, not even as a link.
///
/// # Errors
/// It exists or cannot be created.
pub fn create_new(file: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(file)
}

/// Creates `file`, which must not exist, readable by its owner only.
///
/// # Errors
/// It exists or cannot be created.
pub fn create_new_private(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(file)
}

/// Checks that `file` is a file, and creates it if it does not exist, readable by its owner only.
/// For databases, which are opened by their name afterwards.
///
/// # Errors
/// It is a link or a directory, or cannot be created.
pub fn ensure_private(file: &Path) -> io::Result<()> {
    loop {
        match fs::symlink_metadata(file) {
            Ok(metadata) if metadata.is_symlink() => return Err(linked(file)),
            Ok(metadata) if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(_) => return Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Err(_) => match create_new_private(file) {
                // Another process was faster.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => return created.map(drop),
            },
        }
    }
}

/// Opens `file` to append to it. Creates it if it does not exist.
///
/// # Errors
/// It is a link, or cannot be opened.
pub fn append(file: &Path) -> io::Result<File> {
    if is_link(file) {
        return Err(linked(file));
    }
    OpenOptions::new().append(true).create(true).open(file)
}

/// Creates the directory `path`, which a user named, with those above it. Links to directories are
/// followed.
///
/// # Errors
/// It cannot be created.
pub fn create_named_dir(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Creates the directory `below` of the directory `root`, with those between them, whose names
/// Bentpipe chose. Returns its path.
///
/// # Errors
/// One of them is a link or a file, or cannot be created.
pub fn create_dir_below(root: &Path, below: &Path) -> io::Result<PathBuf> {
    let mut path = root.to_owned();
    for part in below.components() {
        path.push(normal(part, below)?);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let metadata = fs::symlink_metadata(&path)?;
                if metadata.is_symlink() {
                    return Err(linked(&path));
                }
                if !metadata.is_dir() {
                    let reason = format!("{} is not a directory", path.display());
                    return Err(io::Error::new(ErrorKind::NotADirectory, reason));
                }
            }
            created => created?,
        }
    }
    Ok(path)
}

/// Reads the file `name` of the directory `root`, which may come from somebody else.
///
/// # Errors
/// [`check_below`] refuses it, or it cannot be read.
pub fn read_below(root: &Path, name: &Path) -> io::Result<Vec<u8>> {
    check_below(root, name)?;
    fs::read(root.join(name))
}

/// Checks that the file `name` of the directory `root`, which may come from somebody else, is one
/// of this directory: nothing between them is a link, and it is no pipe or device.
///
/// # Errors
/// It is something else, leads out of `root`, or is not there.
pub fn check_below(root: &Path, name: &Path) -> io::Result<()> {
    let mut path = root.to_owned();
    for part in name.components() {
        path.push(normal(part, name)?);
        if is_link(&path) {
            return Err(linked(&path));
        }
    }
    match fs::symlink_metadata(&path)?.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Returns a part of the path `name` if it does not lead out of the directory that it is in.
fn normal<'a>(part: Component<'a>, name: &Path) -> io::Result<&'a OsStr> {
    match part {
        Component::Normal(part) => Ok(part),
        _ => {
            let reason = format!("{} leads out of its directory", name.display());
            Err(io::Error::new(ErrorKind::InvalidInput, reason))
        }
    }
}

/// Returns `file` with the directory that it is in as a path without links.
///
/// # Errors
/// The directory cannot be found.
pub fn with_real_parent(file: &Path) -> io::Result<PathBuf> {
    Ok(fs::canonicalize(parent(file))?.join(file.file_name().unwrap_or_default()))
}

/// Returns the directory that `path`, which a user named, leads to if it is a link to one;
/// otherwise `path`.
pub fn followed(path: &Path) -> PathBuf {
    let target = fs::canonicalize(path).ok().filter(|target| is_link(path) && target.is_dir());
    target.unwrap_or_else(|| path.to_owned())
}

/// Returns true if there is a link at `path`.
pub fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

fn linked(path: &Path) -> io::Error {
    let path = path.display();
    io::Error::other(format!("{path} is a symbolic link, which is not followed; remove it"))
}

/// Opens `file` if it is a pipe, a device or an open descriptor. Opening a pipe waits for a reader.
fn stream(file: &Path) -> io::Result<Option<File>> {
    let Ok(metadata) = fs::metadata(file) else { return Ok(None) };
    let is_stream = !metadata.is_file() && !metadata.is_dir();
    if !is_stream && !is_descriptor(file) {
        return Ok(None);
    }
    // A file to which a descriptor was redirected has what was written to it before.
    OpenOptions::new().append(metadata.is_file()).write(true).open(file).map(Some)
}

/// Returns true for the names of open descriptors, and for links to them: `/dev/stdout`,
/// `/dev/fd/3`, `/proc/self/fd/3`.
fn is_descriptor(file: &Path) -> bool {
    if !is_link(file) {
        return false;
    }
    let proc = |path: &Path| fs::canonicalize(parent(path)).is_ok_and(|at| at.starts_with("/proc"));
    let target = fs::read_link(file).map(|target| parent(file).join(target));
    proc(file) || target.is_ok_and(|target| proc(&target))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests;
