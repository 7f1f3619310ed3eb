//! Which satellites are linked.

use crate::{Constellation, OrbitError};

/// A pattern of inter-satellite links. Each pair is one link, both ways.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum IslPattern {
    /// The next in the plane and the same index in the next plane, with wrap-around (where planes are spread over 180 degrees: no link across the seam).
    #[default]
    Grid,
    /// The next in the plane only.
    Rings,
    /// None: bent pipes.
    None,
    /// These pairs, by name.
    List(Vec<(String, String)>),
}

/// The pairs of satellites that `pattern` links, by index, each once, lower index first. Planes with one or two satellites, and one or two planes, give no
/// link twice and none to itself.
///
/// # Errors
/// A name in a list that names no satellite; a pattern that needs planes where none can be found.
pub(crate) fn links(constellation: &Constellation, pattern: &IslPattern) -> Result<Vec<(u32, u32)>, OrbitError> {
    let _ = (constellation, pattern);
    todo!()
}
