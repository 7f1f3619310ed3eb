//! Errors in a constellation, a network or their description.

use thiserror::Error;

/// An invalid constellation or network. The error contains the wrong value.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum OrbitError {
    /// A value is invalid.
    #[error("{what} of {value}; allowed: {allowed}")]
    Value {
        /// What the value belongs to.
        what: String,
        /// The wrong value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// A name is unknown.
    #[error("no {what} is named `{name}`; {help}")]
    Unknown {
        /// What it should name.
        what: &'static str,
        /// The name.
        name: String,
        /// Similar names, or an alternative.
        help: String,
    },
    /// Orbital elements cannot be read.
    #[error("line {line}: {reason}")]
    Elements {
        /// The line, from 1.
        line: usize,
        /// The problem, with the value and the remedy.
        reason: String,
    },
    /// A satellite cannot be propagated to the requested time.
    #[error(
        "satellite `{name}` cannot be followed to {minutes:.1} minutes from its epoch: {reason}"
    )]
    Propagation {
        /// Name of the satellite.
        name: String,
        /// Minutes from the epoch of its elements.
        minutes: f64,
        /// Error of the propagator.
        reason: String,
    },
}
