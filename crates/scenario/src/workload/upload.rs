//! `upload`: one object from the client to the server.

use super::sizes::Sizes;
use super::transfer::{Clocks, PlannedObject, Transfer};
use bentpipe_results::Direction;

/// `bentpipe get` only downloads.
pub(super) const CLOCKS: Clocks = Clocks { simulated: true, real_quic: false, real_tcp: true };

/// Returns the transfer. A size that is drawn for each run replaces the typical one here.
pub(super) fn transfer(sizes: &Sizes) -> Transfer {
    let objects = vec![PlannedObject::new("object", sizes.typical())];
    Transfer { direction: Direction::Upload, objects, duration: None }
}
