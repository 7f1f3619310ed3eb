//! Makes a failing episode smaller: leaves out one dimension after the other for as long as the
//! same check fails.

use crate::case::Case;
use crate::failure::{Failure, Unplayed};
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns a smaller case that fails the same check, with its failure. Returns early, with what it
/// has, once `stop` is set.
pub fn shrink(case: &Case, failure: &Failure, stop: &AtomicBool) -> (Case, Failure) {
    let (mut smallest, mut last) = (case.clone(), failure.clone());
    loop {
        let before = smallest.without.len();
        for dimension in smallest.dimensions() {
            let mut smaller = smallest.clone();
            smaller.without.insert(dimension.to_owned());
            let played = smaller.play(stop);
            if stop.load(Ordering::Relaxed) {
                return (smallest, last);
            }
            if let Err(Unplayed::Failed(failure)) = played
                && failure.check == last.check
            {
                (smallest, last) = (smaller, failure);
            }
        }
        if smallest.without.len() == before {
            return (smallest, last);
        }
    }
}
