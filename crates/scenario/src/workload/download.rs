//! `download`: one object from the server to the client.

use super::transfer::{Clocks, PlannedObject, Transfer};
use crate::error::Problem;
use bentpipe_results::Direction;
use bentpipe_units::Bytes;
use serde_spanned::Spanned;

pub(super) const CLOCKS: Clocks = Clocks { simulated: true, real_quic: true, real_tcp: true };

pub(super) fn check(size: &Spanned<Bytes>) -> Result<(), Problem> {
    super::transfer::above_zero(size)
}

pub(super) fn transfer(size: Bytes) -> Transfer {
    let objects = vec![PlannedObject::new("object", size)];
    Transfer { direction: Direction::Download, objects, duration: None }
}
