//! What can be wrong with a constellation, a network, or the text that describes them.

use thiserror::Error;

/// Every error carries the value that was wrong.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum OrbitError {
    /// A value that cannot be: what, the value, what is allowed.
    #[error("{what} of {value}; allowed: {allowed}")]
    Value {
        /// What it is of.
        what: String,
        /// The value that was wrong.
        value: String,
        /// What would have been right.
        allowed: String,
    },
    /// A name that stands for nothing.
    #[error("no {what} is named `{name}`; {help}")]
    Unknown {
        /// What it should name.
        what: &'static str,
        /// The name.
        name: String,
        /// Names that are near, or how to say it otherwise.
        help: String,
    },
    /// Orbital elements that cannot be read; `line` counts from 1.
    #[error("line {line}: {reason}")]
    Elements {
        /// Where.
        line: usize,
        /// What is wrong, with the value and the remedy.
        reason: String,
    },
    /// A satellite that cannot be propagated to where it is wanted.
    #[error("satellite `{name}` cannot be followed to {minutes:.1} minutes from its epoch: {reason}")]
    Propagation {
        /// Its name.
        name: String,
        /// Minutes from the epoch of its elements.
        minutes: f64,
        /// What the propagator says.
        reason: String,
    },
}
