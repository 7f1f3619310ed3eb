//! Reads run directories, to run their scenarios again.

use crate::error::LabError;
use crate::plan::{Changes, Plan, PlanInput};
use crate::rebuild::read_json;
use crate::rundir::MANIFEST;
use bentpipe_link::ReadFiles;
use bentpipe_results::{Manifest, Results};
use std::path::{Component, Path, PathBuf};

/// A run directory.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
}

impl RunDirectory {
    /// Opens the run directory `path`.
    ///
    /// # Errors
    /// It is not a run directory, or one of another version.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        Ok(Self { path: path.to_owned(), manifest: read_json(&path.join(MANIFEST))? })
    }

    /// Reads the results.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn results(&self) -> Result<Results, LabError> {
        read_json(&self.path.join("results.json"))
    }

    /// Makes the plan of its scenario again, with `changes`.
    ///
    /// # Errors
    /// A file that the scenario names is missing, or the scenario is invalid for this version.
    pub fn plan(&self, changes: &Changes) -> Result<Plan, LabError> {
        let mut input = PlanInput {
            name: format!("the scenario in {}", self.path.join(MANIFEST).display()),
            text: self.manifest.source.clone(),
            changes: changes.clone(),
            files: Default::default(),
        };
        for file in &self.manifest.inputs {
            let name = Path::new(&file.file);
            // A manifest from elsewhere must not name files outside its directory.
            if !name.components().all(|part| matches!(part, Component::Normal(_))) {
                return Err(LabError::read(name, "an input outside the run directory"));
            }
            let text = self.path.as_path().read(name);
            let text = text.map_err(|error| LabError::read(self.path.join(name), error))?;
            input.files.insert(PathBuf::from(&file.name), text.to_string());
        }
        Ok(Plan::from_input(&input)?)
    }
}
