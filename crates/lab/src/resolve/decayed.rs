//! What is said of satellites that come down.

use bentpipe_orbit::Decayed;

/// Returns a note about the satellites that were left out, if any.
pub(super) fn decayed_note(decayed: &[Decayed]) -> Option<String> {
    let first = decayed.first()?;
    let names: Vec<&str> =
        decayed.iter().take(3).map(|satellite| satellite.name.as_str()).collect();
    let more = if decayed.len() > names.len() { ", …" } else { "" };
    Some(format!(
        "{} satellites are left out because their orbits cannot be propagated to the end of the \
            run: {}{more} ({})",
        decayed.len(),
        names.join(", "),
        first.reason
    ))
}
