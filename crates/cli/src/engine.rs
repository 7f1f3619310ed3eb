//! Finds the virtual clock for pages, which `make wasm` builds: elements of HTML in one file.

use bentpipe_lab::{LabError, SOURCES};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the file.
const FILE: &str = "engine.html";
/// How it begins; the sources that it was built from follow.
const BEGIN: &str = "<!--bentpipe-engine ";

/// Returns the engine in `file`, or in one of the usual places.
///
/// # Errors
/// There is none, or it was built from other sources than this command.
pub fn find(file: Option<&Path>) -> Result<String, LabError> {
    let refuse = |reason| LabError::Usage { argument: "--engine", reason };
    let places = file.map_or_else(usual_places, |file| vec![file.to_owned()]);
    let Some(path) = places.iter().find(|place| place.is_file()) else {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        return Err(refuse(format!(
            "no simulator for pages in {}; to build it: make wasm",
            places.join(", ")
        )));
    };
    let text = fs::read_to_string(path).map_err(|error| LabError::read(path, error))?;
    match sources(&text) {
        Some(SOURCES) => Ok(text),
        Some(_) => Err(refuse(format!(
            "{} was built from other sources than this command, and would give other results; \
             to build it again: make wasm",
            path.display()
        ))),
        None => Err(refuse(format!("{} was not written by make wasm", path.display()))),
    }
}

/// Returns the digest of the sources that an engine was built from.
fn sources(engine: &str) -> Option<&str> {
    engine.strip_prefix(BEGIN)?.split_once("-->").map(|(digest, _)| digest)
}

/// Returns where installations and builds have the engine: below `share` beside `bin`, and below
/// `wasm` beside the profile's directory of Cargo's `target`.
fn usual_places() -> Vec<PathBuf> {
    let program = std::env::current_exe().and_then(fs::canonicalize).unwrap_or_default();
    let above = program.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    vec![above.join("share/bentpipe").join(FILE), above.join("wasm").join(FILE)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_of_other_sources_or_none_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE);
        let reason = || find(Some(&file)).unwrap_err().to_string();
        assert!(reason().contains("to build it: make wasm"), "{}", reason());
        fs::write(&file, "<!--bentpipe-engine 1234--><script>").unwrap();
        assert!(reason().contains("other sources"), "{}", reason());
        fs::write(&file, "<p>").unwrap();
        assert!(reason().contains("not written by make wasm"), "{}", reason());
        let own = format!("{BEGIN}{SOURCES}--><script>");
        fs::write(&file, &own).unwrap();
        assert_eq!(find(Some(&file)).unwrap(), own);
    }
}
