//! Directories in which results are put together before they get their name.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::Builder;

/// Name of the file that is locked as long as somebody uses the directory.
const LOCK: &str = ".lock";

/// A hidden directory with a name of its own. Dropping it removes it.
///
/// Who uses it holds a lock, so that others can tell it from one that a killed process has left
/// behind, also where each sees processes of its own only, as in containers.
#[derive(Debug)]
pub struct WorkDir {
    path: PathBuf,
    /// Locked as long as it is open.
    lock: Option<File>,
}

impl WorkDir {
    /// Creates one in `parent` whose name begins with `prefix`, and removes those with this
    /// beginning that nobody uses any more.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(parent: &Path, prefix: &OsStr) -> io::Result<Self> {
        remove_abandoned(parent, prefix);
        let mut builder = Builder::new();
        // The mode of other directories, instead of the one for temporary ones of one user.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let path = builder.prefix(prefix).tempdir_in(parent)?.keep();
        let mut directory = Self { path, lock: None };
        // It is locked before it has the name by which others look for it. Where files cannot be
        // locked, nothing is taken for abandoned either.
        let unlocked = directory.path.join(".unlocked");
        let lock = super::create_new(&unlocked)?;
        let _ = lock.try_lock();
        directory.lock = Some(lock);
        fs::rename(unlocked, directory.path.join(LOCK))?;
        Ok(directory)
    }

    /// Its path, until it has its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it the name `target`, which must be free or an empty directory.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn rename(mut self, target: &Path) -> io::Result<()> {
        fs::remove_file(self.path.join(LOCK))?;
        self.lock = None;
        fs::rename(&self.path, target)?;
        self.path = PathBuf::new();
        Ok(())
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Removes the directories in `parent` that killed processes have left behind.
fn remove_abandoned(parent: &Path, prefix: &OsStr) {
    let begins = |name: &OsStr| name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes());
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_directory || !begins(&entry.file_name()) {
            continue;
        }
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        match lock.try_lock() {
            Ok(()) => _ = fs::remove_dir_all(entry.path()),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn what_a_killed_process_left_behind_is_removed_and_what_is_in_use_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let prefix = OsStr::new(".run.partial-");
        let abandoned = parent.path().join(".run.partial-x");
        fs::create_dir(&abandoned).unwrap();
        fs::write(abandoned.join(LOCK), "").unwrap();
        let other = parent.path().join(".other.partial-x");
        fs::create_dir(&other).unwrap();
        fs::write(other.join(LOCK), "").unwrap();
        let first = WorkDir::create(parent.path(), prefix).unwrap();
        let second = WorkDir::create(parent.path(), prefix).unwrap();
        assert!(first.path().exists() && second.path().exists() && other.exists());
        assert!(!abandoned.exists());
        drop(first);
        second.rename(&parent.path().join("run")).unwrap();
        let mut left = names(parent.path());
        left.sort();
        assert_eq!(left, [".other.partial-x", "run"]);
        assert_eq!(names(&parent.path().join("run")), [""; 0]);
    }
}
