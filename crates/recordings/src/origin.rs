//! `ORIGIN.md`: which measurements a scenario was made of.

use ring::digest::{SHA256, digest};

/// Returns the beginning of the file.
pub fn head(licence: Option<&str>) -> String {
    let licence = licence.unwrap_or("not told");
    format!(
        "# Origin\n\nLicence of the files: {licence}.\n\n| file | bytes | SHA-256 |\n\
            |---|---|---|\n"
    )
}

/// Returns the row of a measurement.
pub fn row(name: &str, bytes: &[u8]) -> String {
    let hash = digest(&SHA256, bytes);
    let hex: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let name: String = name.chars().filter(|c| !c.is_control() && *c != '|').collect();
    format!("| `{name}` | {} | `{hex}` |\n", bytes.len())
}
