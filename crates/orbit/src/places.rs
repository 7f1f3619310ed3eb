//! Large cities by name.

use crate::{Geodetic, OrbitError};

/// The table: name, place. The hundred largest agglomerations first, then places that studies name.
pub fn all() -> &'static [(&'static str, Geodetic)] {
    todo!()
}

/// The place called `name`; case, accents and hyphens do not count.
///
/// # Errors
/// A name that is not in the table, with the nearest ones.
pub fn find(name: &str) -> Result<Geodetic, OrbitError> {
    let _ = name;
    todo!()
}
