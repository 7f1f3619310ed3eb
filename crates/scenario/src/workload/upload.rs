//! `upload`: one object from the client to the server.

use super::clocks::Clocks;
use super::kind::Kind;
use super::sizes::Sizes;
use super::transfer::{PlannedObject, Transfer};
use bentpipe_results::Direction;

/// One object from the client to the server.
#[derive(Debug, Clone)]
pub struct Upload(pub Sizes);

impl Upload {
    /// The clocks that can run it.
    pub(super) const CLOCKS: Clocks = Clocks::RealTcp;
}

impl Kind for Upload {
    fn key(&self) -> &'static str {
        "upload"
    }

    fn clocks(&self) -> Clocks {
        Self::CLOCKS
    }

    /// A size that is drawn for each run replaces the typical one here.
    fn transfer(&self, _seed: u64) -> Transfer {
        let objects = vec![PlannedObject::new("object", self.0.typical())];
        Transfer { direction: Direction::Upload, objects, duration: None }
    }

    fn drawn(&self) -> Option<&Sizes> {
        self.0.is_drawn().then_some(&self.0)
    }

    fn suits_users(&self) -> bool {
        true
    }
}
