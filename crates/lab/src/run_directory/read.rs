//! Reads run directories, to run their scenarios again.

use super::write::MANIFEST;
use crate::error::LabError;
use crate::plan::{Changes, Plan, PlanInput};
use bentpipe_files::{check_below, read_below};
use bentpipe_link::ReadFiles;
use bentpipe_report::Recording;
use bentpipe_results::{Manifest, Results};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Component, Path, PathBuf};

/// A run directory.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    /// Digest of the manifest's text.
    digest: u64,
    /// Its manifest.
    pub manifest: Manifest,
}

impl RunDirectory {
    /// Opens the run directory `path`.
    ///
    /// # Errors
    /// It is not a run directory, or one of another version.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        let text = read_json_text(path, MANIFEST)?;
        let manifest = parse(path, MANIFEST, &text)?;
        Ok(Self { path: path.to_owned(), digest: digest(&text), manifest })
    }

    /// Checks that no other run has replaced this one, whose files are read when they are wanted.
    fn check_unchanged(&self) -> Result<(), LabError> {
        let text = read_json_text(&self.path, MANIFEST)?;
        let reason = "another run has replaced the one that was opened; open it again, and give \
                      each run that is to be kept a directory of its own";
        match digest(&text) == self.digest {
            true => Ok(()),
            false => Err(LabError::read(&self.path, reason)),
        }
    }

    /// Reads the results.
    ///
    /// # Errors
    /// They cannot be read, or another run has replaced them since they were opened.
    pub fn results(&self) -> Result<Results, LabError> {
        self.check_unchanged()?;
        read_json(&self.path, "results.json")
    }

    /// Returns the names of all files of the directory, relative to it. Names that lead out of it
    /// are left out.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let files = self.manifest.files.iter().map(String::as_str);
        files.chain([MANIFEST]).filter(|name| is_below(Path::new(name)))
    }

    /// Reads the file `name`, one of [`RunDirectory::names`].
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, LabError> {
        self.check_unchanged()?;
        let bytes = read_below(&self.path, Path::new(name));
        bytes.map_err(|error| LabError::read(self.path.join(name), error))
    }

    /// Reads the time series and constellations of all runs; empty if none were recorded.
    ///
    /// # Errors
    /// A file cannot be read, is cut off, or was written by another version.
    pub fn recording(&self) -> Result<Recording, LabError> {
        self.check_unchanged()?;
        let mut recording = Recording::default();
        if self.path.join("traces.json").exists() {
            recording.traces = read_json(&self.path, "traces.json")?;
            recording.blob = self.bytes("traces.bin")?;
        }
        if self.path.join("constellations.json").exists() {
            recording.constellations = read_json(&self.path, "constellations.json")?;
        }
        let (bytes, needed) = (recording.blob.len(), recording.needed_bytes());
        if bytes < needed {
            let reason = format!("it has {bytes} bytes, and what is in it ends at {needed}");
            return Err(LabError::read(self.path.join("traces.bin"), reason));
        }
        Ok(recording)
    }

    /// Reads the files that its scenario names, by their names there.
    ///
    /// # Errors
    /// One of them is missing.
    pub fn inputs(&self) -> Result<BTreeMap<PathBuf, String>, LabError> {
        self.check_unchanged()?;
        let mut files = BTreeMap::new();
        for file in &self.manifest.inputs {
            let name = Path::new(&file.file);
            // Neither the name nor a link may lead to files outside a directory from elsewhere.
            let failed = |error: std::io::Error| LabError::read(self.path.join(name), error);
            check_below(&self.path, name).map_err(failed)?;
            let text = self.path.as_path().read(name).map_err(failed)?;
            files.insert(PathBuf::from(&file.name), text.to_string());
        }
        Ok(files)
    }

    /// Makes the plan of its scenario again, with `changes`.
    ///
    /// # Errors
    /// A file that the scenario names is missing, or the scenario is invalid for this version.
    pub fn plan(&self, changes: &Changes) -> Result<Plan, LabError> {
        let input = PlanInput {
            name: format!("the scenario in {}", self.path.join(MANIFEST).display()),
            text: self.manifest.source.clone(),
            changes: changes.clone(),
            files: self.inputs()?,
        };
        Ok(Plan::from_input(&input)?)
    }
}

/// Returns true if `name` stays below the directory that it is relative to.
pub fn is_below(name: &Path) -> bool {
    name.components().all(|part| matches!(part, Component::Normal(_)))
}

fn digest(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Reads the JSON document in the file `name` of the run directory `directory`.
fn read_json<T: DeserializeOwned>(directory: &Path, name: &str) -> Result<T, LabError> {
    parse(directory, name, &read_json_text(directory, name)?)
}

fn read_json_text(directory: &Path, name: &str) -> Result<Vec<u8>, LabError> {
    read_below(directory, Path::new(name)).map_err(|error| {
        let reason = format!("{error}; allowed: a directory that `bentpipe run` wrote");
        LabError::read(directory.join(name), reason)
    })
}

fn parse<T: DeserializeOwned>(directory: &Path, name: &str, text: &[u8]) -> Result<T, LabError> {
    serde_json::from_slice(text).map_err(|error| {
        let reason = format!("{error}; was it written by another version of Bentpipe?");
        LabError::read(directory.join(name), reason)
    })
}
