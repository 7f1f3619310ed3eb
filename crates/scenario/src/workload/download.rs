//! `download`: one object from the server to the client.

use super::sizes::Sizes;
use super::transfer::{Clocks, PlannedObject, Transfer};
use bentpipe_results::Direction;

pub(super) const CLOCKS: Clocks = Clocks { simulated: true, real_quic: true, real_tcp: true };

/// Returns the transfer. A size that is drawn for each run replaces the typical one here.
pub(super) fn transfer(sizes: &Sizes) -> Transfer {
    let objects = vec![PlannedObject::new("object", sizes.typical())];
    Transfer { direction: Direction::Download, objects, duration: None }
}
