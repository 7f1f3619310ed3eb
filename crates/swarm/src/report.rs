//! What people see: progress, and a failure with all that repeats it.

use crate::case::{Case, Kind};
use crate::draw::draw;
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Number of episodes by kind.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    played: BTreeMap<Kind, u64>,
    skipped: BTreeMap<String, u64>,
}

impl Counts {
    /// Counts an episode that was played.
    pub fn played(&mut self, kind: Kind) {
        *self.played.entry(kind).or_default() += 1;
    }

    /// Counts an episode that this machine does not permit.
    pub fn skipped(&mut self, reason: String) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// Returns the counts as text.
    pub fn text(&self) -> String {
        let total: u64 = self.played.values().sum();
        let kinds: Vec<String> =
            self.played.iter().map(|(kind, count)| format!("{count} {}", kind.name())).collect();
        let mut text = format!("{total} episodes passed ({})", kinds.join(", "));
        for (reason, count) in &self.skipped {
            let _ = write!(text, "; {count} skipped: {reason}");
        }
        text
    }
}

/// Returns the command that plays `case`.
pub fn command(case: &Case) -> String {
    let mut command = format!("swarm --seed {}", case.seed);
    if case.kind != Kind::of(case.seed) {
        let _ = write!(command, " --kind {}", case.kind.name());
    }
    if !case.without.is_empty() {
        let without: Vec<&str> = case.without.iter().map(String::as_str).collect();
        let _ = write!(command, " --without {}", without.join(","));
    }
    command
}

/// Writes what was drawn to a file in `directory`, and returns its name.
///
/// # Errors
/// The file cannot be written.
pub fn keep(case: &Case, failure: &Failure, directory: &Path) -> std::io::Result<PathBuf> {
    let suffix = if matches!(case.kind, Kind::Scenario | Kind::Disk) { "toml" } else { "txt" };
    let file = directory.join(format!("swarm-{}.{suffix}", case.seed));
    let mut text = format!("# {}\n", command(case));
    for line in failure.to_string().lines() {
        let _ = writeln!(text, "# {line}");
    }
    text.push_str(&case.text());
    bentpipe_files::create_named_dir(directory)?;
    bentpipe_files::replace(&file, text.as_bytes())?;
    if suffix == "toml" {
        // Those that the scenario names.
        for (name, text) in draw(case.seed, &case.without).0.files {
            bentpipe_files::replace(&directory.join(name), text.as_bytes())?;
        }
    }
    Ok(file)
}
