//! Announced path changes, which orbits make predictable, and the response of controllers.
//!
//! - [`feed`]: announces path changes;
//! - [`layer`]: the layer around a controller that responds to them.

pub mod feed;
pub mod layer;
mod loss_suppression;
mod pre_drain;
#[cfg(test)]
mod tests;

pub use feed::{PathChangeFeed, PathChangeNotice};
pub use layer::{PathChangeLayer, PathChangeResponse};
