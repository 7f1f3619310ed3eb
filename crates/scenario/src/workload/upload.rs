//! `upload`: one object from the client to the server.

use super::transfer::{Clocks, PlannedObject, Transfer};
use crate::error::Problem;
use bentpipe_results::Direction;
use bentpipe_units::Bytes;
use serde_spanned::Spanned;

/// `bentpipe get` only downloads.
pub(super) const CLOCKS: Clocks = Clocks { simulated: true, real_quic: false, real_tcp: true };

pub(super) fn check(size: &Spanned<Bytes>) -> Result<(), Problem> {
    super::transfer::above_zero(size)
}

pub(super) fn transfer(size: Bytes) -> Transfer {
    let objects = vec![PlannedObject::new("object", size)];
    Transfer { direction: Direction::Upload, objects, duration: None }
}
