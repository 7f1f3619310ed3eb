//! Writes run directories atomically: to a temporary sibling first, which is then renamed.

use crate::error::LabError;
use bentpipe_files as files;
use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the manifest. A directory without this file, or with one of another program, is no run
/// directory and is never replaced.
pub const MANIFEST: &str = "manifest.json";

const ALLOWED: &str = "allowed: a directory that is new, empty, or an earlier run";

/// What tells the manifest of a run directory, of any version, from that of another program.
#[derive(Debug, Deserialize)]
struct Earlier {
    #[expect(dead_code, reason = "all manifests have it")]
    version: String,
    #[expect(dead_code, reason = "those of others have none")]
    clock: String,
    /// Whether all runs are there; a matrix does not say it.
    complete: Option<bool>,
}

impl Earlier {
    /// Returns what the directory `target` says of itself, if it is a run directory.
    fn read(target: &Path) -> Option<Self> {
        let text = files::read_below(target, Path::new(MANIFEST)).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// A run directory that is being written. Dropping it without [`Staging::commit`] removes it.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    directory: files::WorkDir,
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
        let directory = files::WorkDir::create(&parent, &hidden(name, ".partial-"))
            .map_err(|error| LabError::write(target, format!("{error}; {ALLOWED}")))?;
        Ok(Self { target: target.to_owned(), directory })
    }

    /// Writes the file `name`, a path relative to the run directory.
    ///
    /// # Errors
    /// The file cannot be written, for example because the disk is full.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), LabError> {
        let parent = Path::new(name).parent().unwrap_or(Path::new(""));
        let result = files::create_dir_below(self.directory.path(), parent)
            .and_then(|_| files::replace(&self.directory.path().join(name), bytes));
        // Name the final path, not the temporary one.
        result.map_err(|error| LabError::write(self.target.join(name), error))
    }

    /// Appends `bytes` to the file `name` of the run directory.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&self, name: &str, bytes: &[u8]) -> Result<(), LabError> {
        let file = files::append(&self.directory.path().join(name));
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
    pub fn commit_as(self, target: &Path) -> Result<PathBuf, LabError> {
        check_replaceable(target)?;
        let failed = |error: std::io::Error| LabError::write(target, error);
        let name = target.file_name().unwrap_or_default();
        // A rename cannot replace a directory that is not empty, so the earlier run is moved first,
        // into a directory that nobody else uses.
        let replaced = match target.exists() {
            true => {
                let old = files::WorkDir::create(&parent(target), &hidden(name, ".old-"));
                let old = old.map_err(failed)?;
                fs::rename(target, old.path().join("run")).map_err(failed)?;
                Some(old)
            }
            false => None,
        };
        if let Err(error) = self.directory.rename(target) {
            if let Some(old) = &replaced {
                let _ = fs::rename(old.path().join("run"), target);
            }
            return Err(failed(error));
        }
        Ok(target.to_owned())
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

/// Returns true if `directory` is a run directory, of any version.
pub fn is_run(directory: &Path) -> bool {
    Earlier::read(directory).is_some()
}

/// Returns true if `directory` is a run directory, of any version, with all runs of its plan.
pub fn is_complete(directory: &Path) -> bool {
    Earlier::read(directory).is_some_and(|earlier| earlier.complete == Some(true))
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

/// Returns the beginning of the names of hidden siblings of the directory `name`.
fn hidden(name: &OsStr, what: &str) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(what);
    hidden
}

/// Checks that `target` does not exist, is empty, or is an earlier run.
fn check_replaceable(target: &Path) -> Result<(), LabError> {
    if !target.exists() {
        return match files::is_link(target) {
            true => Err(LabError::write(target, format!("it is a link to nothing; {ALLOWED}"))),
            false => Ok(()),
        };
    }
    if is_run(target) {
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

    /// A manifest of a version that this one cannot read.
    fn manifest(number: usize, complete: bool) -> String {
        format!(r#"{{"version": "0.{number}.0", "clock": "virtual", "complete": {complete}}}"#)
    }

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
        assert_eq!(names(&target), [MANIFEST]);
    }

    #[test]
    fn two_processes_that_write_the_same_run_do_not_disturb_each_other() {
        let temporary = tempfile::tempdir().unwrap();
        let target = temporary.path().join("run");
        let writers = [1, 2].map(|_| Staging::create(&target).unwrap());
        for (number, staging) in writers.into_iter().enumerate() {
            staging.write(MANIFEST, manifest(number, false).as_bytes()).unwrap();
            staging.commit().unwrap();
        }
        assert_eq!(fs::read_to_string(target.join(MANIFEST)).unwrap(), manifest(1, false));
        assert_eq!(names(temporary.path()), ["run"]);
    }

    #[test]
    fn only_an_earlier_run_is_replaced() {
        let temporary = tempfile::tempdir().unwrap();
        let target = temporary.path().join("run");
        for number in [1, 2] {
            let staging = Staging::create(&target).unwrap();
            staging.write(MANIFEST, manifest(number, false).as_bytes()).unwrap();
            staging.commit().unwrap();
        }
        assert_eq!(fs::read_to_string(target.join(MANIFEST)).unwrap(), manifest(2, false));

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

    #[test]
    fn a_directory_with_the_manifest_of_another_program_is_not_a_run() {
        let temporary = tempfile::tempdir().unwrap();
        let target = temporary.path().join("extension");
        fs::create_dir(&target).unwrap();
        let others = [
            r#"{ "manifest_version": 3, "name": "x", "version": "1.0" }"#,
            r#"{ "icons": [] }"#,
            "[]",
            "not JSON",
        ];
        for text in others {
            fs::write(target.join(MANIFEST), text).unwrap();
            let error = Staging::create(&target).unwrap_err().to_string();
            assert!(error.contains("not a run"), "{text}: {error}");
        }
    }

    #[test]
    fn whether_a_run_of_another_version_is_complete_is_known() {
        let temporary = tempfile::tempdir().unwrap();
        for complete in [true, false] {
            let text = manifest(9, complete);
            fs::write(temporary.path().join(MANIFEST), text).unwrap();
            assert_eq!(is_complete(temporary.path()), complete);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_nothing_is_refused_before_anything_runs() {
        let temporary = tempfile::tempdir().unwrap();
        let target = temporary.path().join("run");
        std::os::unix::fs::symlink("nowhere", &target).unwrap();
        let error = Staging::create(&target).unwrap_err().to_string();
        assert!(error.contains("link to nothing"), "{error}");
    }
}
