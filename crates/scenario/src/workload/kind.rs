//! What every workload says of itself.

use super::clocks::Clocks;
use super::sizes::Sizes;
use super::transfer::Transfer;

/// A kind of workload, with the values of its keys.
pub(super) trait Kind {
    /// Returns its key in scenarios.
    fn key(&self) -> &'static str;

    /// Returns the clocks that can run it.
    fn clocks(&self) -> Clocks;

    /// Returns its transfer. `seed` is that of the scenario.
    fn transfer(&self, seed: u64) -> Transfer;

    /// Returns the distribution of its size, if each run draws that.
    fn drawn(&self) -> Option<&Sizes> {
        None
    }

    /// Returns true if users of a population can have it.
    fn suits_users(&self) -> bool {
        false
    }

    /// Returns true if its bytes are known before it begins, so that an offered load is known.
    fn has_size(&self) -> bool {
        true
    }
}
