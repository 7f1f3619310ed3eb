//! Elements of a satellite, as every format yields them, and errors in their text.

use crate::OrbitError;

/// Elements of one satellite.
#[derive(Debug, Clone)]
pub(crate) struct Elements {
    /// Name of the satellite, or `NORAD` and its catalogue number if it has none.
    pub name: String,
    /// First line of the elements, from 1.
    pub line: usize,
    pub elements: sgp4::Elements,
}

/// Maximum number of satellites in one text or shell.
pub(crate) const MAX_SATELLITES: usize = 100_000;

pub(super) fn refuse(line: usize, reason: impl Into<String>) -> OrbitError {
    OrbitError::Elements { line, reason: reason.into() }
}

pub(super) fn too_many(line: usize) -> OrbitError {
    refuse(line, format!("more than {MAX_SATELLITES} satellites; split the text"))
}

/// Returns the name of a satellite, or one made from its catalogue number.
pub(super) fn name_of(given: Option<&str>, norad_id: u64) -> String {
    match given.map(str::trim) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => format!("NORAD {norad_id}"),
    }
}
