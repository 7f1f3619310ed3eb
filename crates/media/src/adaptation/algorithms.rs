//! The algorithms, each in a file of its own.

use super::queue::Queue;
use super::rate_control::{RateControl, Setup};
use super::scream::Scream;
use crate::settings::Algorithm;

/// Creates the rate control of one direction.
pub fn control(algorithm: Algorithm, setup: Setup) -> Box<dyn RateControl> {
    match algorithm {
        Algorithm::Queue => Box::new(Queue::new(setup)),
        Algorithm::Scream => Box::new(Scream::new(setup)),
    }
}

#[cfg(test)]
mod tests;
