//! `download`: one object from the server to the client.

use super::clocks::Clocks;
use super::kind::Kind;
use super::sizes::Sizes;
use super::transfer::{PlannedObject, Transfer};
use bentpipe_results::Direction;

/// One object from the server to the client.
#[derive(Debug, Clone)]
pub struct Download(pub Sizes);

impl Download {
    /// The clocks that can run it.
    pub(super) const CLOCKS: Clocks = Clocks::Both;
}

impl Kind for Download {
    fn key(&self) -> &'static str {
        "download"
    }

    fn clocks(&self) -> Clocks {
        Self::CLOCKS
    }

    /// A size that is drawn for each run replaces the typical one here.
    fn transfer(&self, _seed: u64) -> Transfer {
        let objects = vec![PlannedObject::new("object", self.0.typical())];
        Transfer { direction: Direction::Download, objects, duration: None }
    }

    fn drawn(&self) -> Option<&Sizes> {
        self.0.is_drawn().then_some(&self.0)
    }

    fn suits_users(&self) -> bool {
        true
    }
}
