//! Constellations by name.

use crate::{OrbitError, Shell};

/// Names that [`shells`] knows, with a line about each.
pub fn names() -> &'static [(&'static str, &'static str)] {
    todo!()
}

/// The shells of the constellation `name`: `kuiper-630`, `starlink-550`, `telesat-1015` (as the Hypatia study generates them), `oneweb`, `iridium`, and
/// several shells at once: `kuiper`, `starlink`, `telesat`.
///
/// # Errors
/// A name that stands for nothing, with the nearest ones.
pub fn shells(name: &str) -> Result<Vec<Shell>, OrbitError> {
    let _ = name;
    todo!()
}
