//! `web_page`: objects that depend on each other, with the sizes of the median web page.

use super::transfer::{Clocks, PlannedObject, Transfer};
use crate::error::Problem;
use bentpipe_results::Direction;
use bentpipe_tcp::http::page;
use serde_spanned::Spanned;

/// `bentpipe get` makes one download per visit.
pub(super) const CLOCKS: Clocks = Clocks { simulated: true, real_quic: false, real_tcp: true };

pub(super) fn check(count: &Spanned<u64>) -> Result<(), Problem> {
    crate::limits::between("web_page", count, 1, 1000)
}

/// Returns the objects of a page. `seed` is that of the scenario, so the page is the same in every
/// run.
pub(super) fn transfer(count: usize, seed: u64) -> Transfer {
    let objects = page(count, seed).into_iter().map(|page| PlannedObject {
        name: page.name,
        bytes: page.object.bytes,
        after: page.object.after,
        delay: page.object.delay,
    });
    Transfer { direction: Direction::Download, objects: objects.collect(), duration: None }
}
