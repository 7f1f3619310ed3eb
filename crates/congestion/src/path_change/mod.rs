//! Announced path changes: what an orbit makes predictable, and what a controller does about it.
//!
//! - [`feed`]: where changes are announced and read;
//! - [`layer`]: the layer around a controller that responds to them.

pub mod feed;
pub mod layer;
mod loss_suppression;
mod pre_drain;
#[cfg(test)]
mod tests;

pub use feed::{PathChangeFeed, PathChangeNotice};
pub use layer::{PathChangeLayer, PathChangeResponse};
