//! Adaptive video: a player requests segments one after the other, each at a level that it chooses.

mod choosers;
mod estimate;
mod ladder;
mod mpc;
mod player;
#[cfg(test)]
mod testing;

pub use ladder::{AdaptiveVideo, Algorithm};
pub use player::{Player, PlayerOutcome, PlayerSeries};
