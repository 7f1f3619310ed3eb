//! `web_page`: objects that depend on each other, with the sizes of the median web page.

use super::clocks::Clocks;
use super::kind::Kind;
use super::transfer::{PlannedObject, Transfer};
use crate::error::Problem;
use bentpipe_results::Direction;
use bentpipe_tcp::http::page;
use serde_spanned::Spanned;

/// A page with this number of objects.
#[derive(Debug, Clone, Copy)]
pub struct WebPage(pub usize);

pub(super) fn check(count: &Spanned<u64>) -> Result<(), Problem> {
    crate::limits::between("web_page", count, 1, 1000)
}

impl WebPage {
    /// The clocks that can run it.
    pub(super) const CLOCKS: Clocks = Clocks::RealTcp;
}

impl Kind for WebPage {
    fn key(&self) -> &'static str {
        "web_page"
    }

    fn clocks(&self) -> Clocks {
        Self::CLOCKS
    }

    /// `seed` is that of the scenario, so the page is the same in every run.
    fn transfer(&self, seed: u64) -> Transfer {
        let objects = page(self.0, seed).into_iter().map(|page| PlannedObject {
            name: page.name,
            bytes: page.object.bytes,
            after: page.object.after,
            delay: page.object.delay,
            pieces: None,
        });
        Transfer { direction: Direction::Download, objects: objects.collect(), duration: None }
    }

    fn suits_users(&self) -> bool {
        true
    }
}
