//! A run directory is written whole or not at all: into a temporary sibling first, which then takes
//! its name.

use crate::error::LabError;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Every run directory has this file; a directory without it is never replaced.
pub const MANIFEST: &str = "manifest.json";

const ALLOWED: &str = "allowed: a directory that can be made, is empty, or holds an earlier run";

/// A run directory while it is being written. Dropped without [`Staging::commit`], it leaves
/// nothing behind.
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
    /// A place that cannot be written, or that holds something other than an earlier run.
    pub fn create(target: &Path) -> Result<Self, LabError> {
        let Some(name) = target.file_name() else {
            return Err(LabError::write(target, format!("it has no name of its own; {ALLOWED}")));
        };
        replaceable(target)?;
        let parent = parent(target);
        fs::create_dir_all(&parent)
            .map_err(|error| LabError::write(target, format!("{error}; {ALLOWED}")))?;
        let directory = parent.join(hidden(name, "partial"));
        // A directory of this process's number can only be what a killed process left.
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory)
            .map_err(|error| LabError::write(target, format!("{error}; {ALLOWED}")))?;
        Ok(Self { target: target.to_owned(), directory, committed: false })
    }

    /// Writes the file `name`, a path relative to the run directory.
    ///
    /// # Errors
    /// A full disk and its like.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), LabError> {
        let path = self.directory.join(name);
        let result =
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, bytes));
        // The name that people know is the one it would have had.
        result.map_err(|error| LabError::write(self.target.join(name), error))
    }

    /// Gives the directory its name, in place of an earlier run there.
    ///
    /// # Errors
    /// A place that has become unwritable or something else since [`Staging::create`].
    pub fn commit(mut self) -> Result<PathBuf, LabError> {
        replaceable(&self.target)?;
        let failed = |error: std::io::Error| LabError::write(&self.target, error);
        let name = self.target.file_name().unwrap_or_default();
        let old = parent(&self.target).join(hidden(name, "old"));
        let _ = fs::remove_dir_all(&old);
        // A directory cannot take the place of one that is not empty, so the earlier run steps
        // aside first.
        if self.target.exists() {
            fs::rename(&self.target, &old).map_err(failed)?;
        }
        if let Err(error) = fs::rename(&self.directory, &self.target) {
            let _ = fs::rename(&old, &self.target);
            return Err(failed(error));
        }
        self.committed = true;
        let _ = fs::remove_dir_all(&old);
        Ok(self.target.clone())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.committed {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

fn parent(target: &Path) -> PathBuf {
    match target.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn hidden(name: &std::ffi::OsStr, what: &str) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{what}-{}", std::process::id()));
    hidden
}

fn replaceable(target: &Path) -> Result<(), LabError> {
    if !target.exists() || target.join(MANIFEST).is_file() {
        return Ok(());
    }
    let mut entries = fs::read_dir(target).map_err(|_| {
        LabError::write(target, format!("it exists and is no directory; {ALLOWED}"))
    })?;
    match entries.next() {
        None => Ok(()),
        Some(_) => {
            Err(LabError::write(target, format!("it holds something that is not a run; {ALLOWED}")))
        }
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
    fn a_directory_appears_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("deep/run");
        let staging = Staging::create(&target).unwrap();
        staging.write("qlog/a.qlog", b"x").unwrap();
        assert!(!target.exists());
        drop(staging);
        assert_eq!(names(&place.path().join("deep")), [""; 0], "nothing is left of it");

        let staging = Staging::create(&target).unwrap();
        staging.write(MANIFEST, b"{}").unwrap();
        assert_eq!(staging.commit().unwrap(), target);
        assert_eq!(names(&place.path().join("deep")), ["run"]);
    }

    #[test]
    fn an_earlier_run_is_replaced_and_nothing_else_is() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("run");
        for content in ["1", "2"] {
            let staging = Staging::create(&target).unwrap();
            staging.write(MANIFEST, content.as_bytes()).unwrap();
            staging.commit().unwrap();
        }
        assert_eq!(fs::read_to_string(target.join(MANIFEST)).unwrap(), "2");

        let precious = place.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("thesis.tex"), "x").unwrap();
        let error = Staging::create(&precious).unwrap_err().to_string();
        assert!(error.contains("not a run") && error.contains("allowed:"), "{error}");
        let file = precious.join("thesis.tex");
        assert!(Staging::create(&file).is_err() && Staging::create(&file.join("below")).is_err());
        assert!(Staging::create(Path::new("/")).is_err());
        assert_eq!(names(place.path()), ["precious", "run"]);
    }
}
