//! Progress of one object.

use crate::spec::Pieces;
use bentpipe_units::{Span, Time};

/// State of one object.
#[derive(Debug)]
pub struct ObjectState {
    /// Size in bytes.
    pub bytes: u64,
    /// Time at which the client requested it.
    pub start: Option<Time>,
    /// Time at which the client had completed it.
    pub completion: Option<Time>,
    /// Bytes received.
    pub received: u64,
    /// Objects that must be complete before it is requested.
    pub after: Vec<usize>,
    /// Time from their completion to the request.
    pub delay: Span,
    /// Pieces in which its sender writes it.
    pub pieces: Option<Pieces>,
    /// Time at which that sender has written the last one.
    pub written: Option<Time>,
}

#[cfg(test)]
impl ObjectState {
    /// Creates the state of an object that is complete.
    pub fn complete(bytes: u64, at: Time) -> Self {
        Self {
            bytes,
            start: Some(Time::ZERO),
            completion: Some(at),
            received: bytes,
            after: Vec::new(),
            delay: Span::ZERO,
            pieces: None,
            written: None,
        }
    }
}
