//! The only clock of the swarm: how long it plays, and which seed is the first.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Returns the present, for the length of a session and of an episode.
#[expect(clippy::disallowed_methods, reason = "how long the swarm plays, not what it plays")]
pub fn now() -> Instant {
    Instant::now()
}

/// Returns a first seed that differs from session to session.
#[expect(clippy::disallowed_methods, reason = "the seed is printed, and all else follows from it")]
pub fn first_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_millis() as u64)
}
