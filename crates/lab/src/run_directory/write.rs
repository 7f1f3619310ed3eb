//! Writes run directories atomically: to a temporary sibling first, which is then renamed.

use crate::error::LabError;
use bentpipe_files as files;
use bentpipe_results::Manifest;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the manifest. A directory without this file is not a run directory and never replaced.
pub const MANIFEST: &str = "manifest.json";

const ALLOWED: &str = "allowed: a directory that is new, empty, or an earlier run";

/// A run directory that is being written. Dropping it without [`Staging::commit`] removes it.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    directory: PathBuf,
    committed: bool,
}

impl Staging {
    /// Prepares to write the run directory `target`.
    ///
    /// # Errors
    /// `target` cannot be written, or contains something other than an earlier run.
    pub fn create(target: &Path) -> Result<Self, LabError> {
        let Some(name) = target.file_name() else {
            return Err(LabError::write(target, format!("the path has no name; {ALLOWED}")));
        };
        check_replaceable(target)?;
        let parent = parent(target);
        files::create_named_dir(&parent)
            .map_err(|error| LabError::write(target, format!("{error}; {ALLOWED}")))?;
        let directory = parent.join(hidden(name, "partial"));
        remove_abandoned(&parent, name);
        fs::create_dir(&directory)
            .map_err(|error| LabError::write(target, format!("{error}; {ALLOWED}")))?;
        Ok(Self { target: target.to_owned(), directory, committed: false })
    }

    /// Writes the file `name`, a path relative to the run directory.
    ///
    /// # Errors
    /// The file cannot be written, for example because the disk is full.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), LabError> {
        let parent = Path::new(name).parent().unwrap_or(Path::new(""));
        let result = files::create_dir_below(&self.directory, parent)
            .and_then(|_| files::replace(&self.directory.join(name), bytes));
        // Name the final path, not the temporary one.
        result.map_err(|error| LabError::write(self.target.join(name), error))
    }

    /// Appends `bytes` to the file `name` of the run directory.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&self, name: &str, bytes: &[u8]) -> Result<(), LabError> {
        let file = files::append(&self.directory.join(name));
        let result = file.and_then(|mut file| std::io::Write::write_all(&mut file, bytes));
        result.map_err(|error| LabError::write(self.target.join(name), error))
    }

    /// Renames the directory to its final name. Replaces an earlier run of that name.
    ///
    /// # Errors
    /// The target has become unwritable or something else since [`Staging::create`].
    pub fn commit(self) -> Result<PathBuf, LabError> {
        let target = self.target.clone();
        self.commit_as(&target)
    }

    /// Renames the directory to `target`, a sibling of the path given to [`Staging::create`].
    /// Replaces an earlier run of that name.
    ///
    /// # Errors
    /// `target` cannot be written, or contains something other than an earlier run.
    pub fn commit_as(mut self, target: &Path) -> Result<PathBuf, LabError> {
        check_replaceable(target)?;
        let failed = |error: std::io::Error| LabError::write(target, error);
        let name = target.file_name().unwrap_or_default();
        let old = parent(target).join(hidden(name, "old"));
        let _ = fs::remove_dir_all(&old);
        // A rename cannot replace a directory that is not empty, so the earlier run is moved first.
        if target.exists() {
            fs::rename(target, &old).map_err(failed)?;
        }
        if let Err(error) = fs::rename(&self.directory, target) {
            let _ = fs::rename(&old, target);
            return Err(failed(error));
        }
        self.committed = true;
        let _ = fs::remove_dir_all(&old);
        Ok(target.to_owned())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.committed {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// Writes a file of a run directory. A link in its place is replaced: see [`files::replace`].
///
/// # Errors
/// The file cannot be written.
pub fn replace_file(file: &Path, bytes: &[u8]) -> Result<(), LabError> {
    files::replace(file, bytes).map_err(|error| LabError::write(file, error))
}

/// Writes a file that a user named, or into a pipe or a device: see [`files::write`].
///
/// # Errors
/// The file cannot be written.
pub fn write_file(file: &Path, bytes: &[u8]) -> Result<(), LabError> {
    files::write(file, bytes).map_err(|error| LabError::write(file, error))
}

/// Returns true if `directory` is a run directory with all runs of its plan.
pub fn is_complete(directory: &Path) -> bool {
    let manifest = fs::read(directory.join(MANIFEST)).ok();
    let manifest = manifest.and_then(|text| serde_json::from_slice::<Manifest>(&text).ok());
    manifest.is_some_and(|manifest| manifest.complete)
}

/// Returns the path of `target` with `suffix` added to its name.
pub fn sibling(target: &Path, suffix: &str) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    target.with_file_name(name)
}

fn parent(target: &Path) -> PathBuf {
    match target.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Removes the directories that processes left behind which were writing `name` below `parent` and
/// were killed. One with the ID of this process comes from an earlier one.
fn remove_abandoned(parent: &Path, name: &std::ffi::OsStr) {
    let Some(prefix) = name.to_str().map(|name| format!(".{name}.partial-")) else { return };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let file_name = entry.file_name();
        let id = file_name.to_str().and_then(|name| name.strip_prefix(&prefix)?.parse().ok());
        if id.is_some_and(|id: u32| id == std::process::id() || has_ended(id)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns true if there is no process with this ID. False where processes cannot be looked up.
fn has_ended(id: u32) -> bool {
    Path::new("/proc/self").exists() && !Path::new("/proc").join(id.to_string()).exists()
}

/// Returns the name of a hidden sibling of the directory `name`.
fn hidden(name: &std::ffi::OsStr, what: &str) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{what}-{}", std::process::id()));
    hidden
}

/// Checks that `target` does not exist, is empty, or is an earlier run.
fn check_replaceable(target: &Path) -> Result<(), LabError> {
    if !target.exists() || target.join(MANIFEST).is_file() {
        return Ok(());
    }
    let mut entries = fs::read_dir(target).map_err(|_| {
        LabError::write(target, format!("it exists and is not a directory; {ALLOWED}"))
    })?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(LabError::write(
            target,
            format!("it contains something that is not a run; {ALLOWED}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_directory_appears_only_when_committed() {
        let temporary = tempfile::tempdir().unwrap();
        let target = temporary.path().join("deep/run");
        let staging = Staging::create(&target).unwrap();
        staging.write("qlog/a.qlog", b"x").unwrap();
        assert!(!target.exists());
        drop(staging);
        assert_eq!(
            names(&temporary.path().join("deep")),
            [""; 0],
            "the temporary directory is removed"
        );

        let staging = Staging::create(&target).unwrap();
        staging.write(MANIFEST, b"{}").unwrap();
        assert_eq!(staging.commit().unwrap(), target);
        assert_eq!(names(&temporary.path().join("deep")), ["run"]);
    }

    #[test]
    fn what_a_killed_process_left_behind_is_removed() {
        let temporary = tempfile::tempdir().unwrap();
        // No process has this ID: it is above the largest one that Linux gives.
        let abandoned = temporary.path().join(".run.partial-4194305");
        // The first process of the system has not ended.
        let running = temporary.path().join(".run.partial-1");
        let other = temporary.path().join(".other.partial-4194305");
        for directory in [&abandoned, &running, &other] {
            fs::create_dir(directory).unwrap();
        }
        drop(Staging::create(&temporary.path().join("run")).unwrap());
        assert_eq!(names(temporary.path()), [".other.partial-4194305", ".run.partial-1"]);
    }

    #[test]
    fn only_an_earlier_run_is_replaced() {
        let temporary = tempfile::tempdir().unwrap();
        let target = temporary.path().join("run");
        for content in ["1", "2"] {
            let staging = Staging::create(&target).unwrap();
            staging.write(MANIFEST, content.as_bytes()).unwrap();
            staging.commit().unwrap();
        }
        assert_eq!(fs::read_to_string(target.join(MANIFEST)).unwrap(), "2");

        let other = temporary.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("thesis.tex"), "x").unwrap();
        let error = Staging::create(&other).unwrap_err().to_string();
        assert!(error.contains("not a run") && error.contains("allowed:"), "{error}");
        let file = other.join("thesis.tex");
        assert!(Staging::create(&file).is_err() && Staging::create(&file.join("below")).is_err());
        assert!(Staging::create(Path::new("/")).is_err());
        assert_eq!(names(temporary.path()), ["other", "run"]);
    }
}
