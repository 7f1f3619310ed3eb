//! What is known of the path's future: orbits are predictable, and so are the changes of path that they bring.
//!
//! Whoever knows the path (a simulator; on a terminal, its modem) announces each change in a [`HintFeed`]; a layer around a
//! controller reads it. Nothing of it passes through the transport protocol.

use bentpipe_units::{Rate, Span, Time};
use std::sync::{Arc, Mutex};

/// A change of path to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathHint {
    /// When packets that leave the sender begin to take the other way.
    pub at: Time,
    /// Round trip of the empty path until then: propagation both ways; none where there is no path.
    pub rtt_before: Option<Span>,
    /// Round trip of the empty path from then on; none where the ends lose each other.
    pub rtt_after: Option<Span>,
    /// The slowest link's rate from then on, where it is known.
    pub rate_after: Option<Rate>,
    /// Silence at the change, while an end turns to another satellite: nothing passes from `at` for so long.
    pub silence: Span,
}

/// Most changes that wait to be read: older ones are forgotten first.
const MOST: usize = 64;

/// Where changes are announced, and read. Clones are the same feed.
#[derive(Debug, Clone, Default)]
pub struct HintFeed(Arc<Mutex<Vec<PathHint>>>);

impl HintFeed {
    /// A feed that nothing has been announced in.
    pub fn new() -> Self {
        Self::default()
    }

    /// Announces a change. One at the same time replaces what was announced of it; times in the past are allowed, for who learns late.
    pub fn announce(&self, hint: PathHint) {
        let _ = (hint, MOST);
        todo!()
    }

    /// Everything announced that has not been taken, in order of time; it is taken by this.
    pub fn take(&self) -> Vec<PathHint> {
        todo!()
    }

    /// True where there is something to take. Costs an atomic load: asked with each acknowledgement.
    pub fn is_fresh(&self) -> bool {
        todo!()
    }
}
