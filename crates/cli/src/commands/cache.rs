//! `bentpipe cache`: shows and clears the result store of the user.

use crate::args::Cache;
use crate::output;
use crate::status::FAILED;
use bentpipe_lab::{LabError, ResultStore, StoreError};
use std::path::{Path, PathBuf};

/// Runs `bentpipe cache`.
pub fn run(command: &Cache) -> Result<u8, LabError> {
    let done = match command {
        Cache::Show { store, json } => existing(store.as_deref(), |store| show(store, *json)),
        Cache::Clear { store, stale } => existing(store.as_deref(), |store| {
            let removed = size(store.clear(*stale)?);
            Ok(format!("removed {removed} of results\n"))
        }),
        Cache::Limit { size, store } => directory(store.as_deref()).and_then(|directory| {
            let mut store = ResultStore::open(&directory).map_err(|error| error.to_string())?;
            store.set_limit(size.get()).map_err(|error| error.to_string())?;
            show(&store, false).map_err(|error| error.to_string())
        }),
    };
    match done {
        Ok(text) => output::write(&text, matches!(command, Cache::Show { json: true, .. })),
        Err(reason) => Ok(output::refuse(&reason, FAILED)),
    }
}

/// Returns the directory of the store: the given one, or the default.
fn directory(given: Option<&Path>) -> Result<PathBuf, String> {
    given.map(Path::to_owned).or_else(ResultStore::default_directory).ok_or_else(|| {
        "there is no cache directory: neither XDG_CACHE_HOME nor HOME is an absolute path; \
            allowed: --store DIR"
            .to_owned()
    })
}

/// Returns what `use_store` makes of the store, if there is one.
fn existing(
    given: Option<&Path>,
    use_store: impl FnOnce(&ResultStore) -> Result<String, StoreError>,
) -> Result<String, String> {
    let directory = directory(given)?;
    if !directory.exists() {
        return Ok(format!("there is no result store in {} yet\n", directory.display()));
    }
    let store = ResultStore::open(&directory).map_err(|error| error.to_string())?;
    use_store(&store).map_err(|error| error.to_string())
}

fn show(store: &ResultStore, json: bool) -> Result<String, StoreError> {
    let summary = store.summary()?;
    if json {
        let document = serde_json::json!({
            "file": summary.file,
            "runs": summary.runs,
            "recordings": summary.recordings,
            "stale": summary.other_engines,
            "bytes": summary.bytes,
            "limit_bytes": summary.limit,
        });
        return Ok(format!("{document:#}\n"));
    }
    Ok(format!(
        "{}\n{} runs, {} of them with time series or other files\n{} runs of other versions of the \
            simulator, which this one does not reuse\n{} of at most {}\n",
        summary.file.display(),
        summary.runs,
        summary.recordings,
        summary.other_engines,
        size(summary.bytes),
        size(summary.limit),
    ))
}

/// Returns a size for people, with three digits.
fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_000_000 => (1e3, "kB"),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    let value = bytes as f64 / unit;
    let digits = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        let texts = [0, 1_234, 999_999, 45_600_000, 4_000_000_000].map(size);
        assert_eq!(texts, ["0.00 kB", "1.23 kB", "1000 kB", "45.6 MB", "4.00 GB"]);
    }
}
