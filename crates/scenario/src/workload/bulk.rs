//! `bulk`: unlimited data for a fixed time.

use super::clocks::Clocks;
use super::kind::Kind;
use super::transfer::{PlannedObject, Transfer};
use crate::error::Problem;
use bentpipe_results::Direction;
use bentpipe_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// Size of an object that no flow can complete.
const ENDLESS: Bytes = Bytes::new(1 << 60);

/// A sender that always has data. The transfer completes after `duration`, however much has
/// arrived.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Duration of the transfer.
    #[schemars(with = "Span")]
    pub duration: Spanned<Span>,
    /// Direction of the data; download by default.
    #[serde(default)]
    pub direction: Direction,
}

impl Bulk {
    /// The clocks that can run it.
    pub(super) const CLOCKS: Clocks = Clocks::RealTcp;

    pub(super) fn check(&self, limit: Span) -> Result<(), Problem> {
        super::transfer::duration(&self.duration, limit)
    }
}

impl Kind for Bulk {
    fn key(&self) -> &'static str {
        "bulk"
    }

    fn clocks(&self) -> Clocks {
        Self::CLOCKS
    }

    fn transfer(&self, _seed: u64) -> Transfer {
        Transfer {
            direction: self.direction,
            objects: vec![PlannedObject::new("endless", ENDLESS)],
            duration: Some(*self.duration.get_ref()),
        }
    }

    fn suits_users(&self) -> bool {
        true
    }

    fn has_size(&self) -> bool {
        false
    }
}
