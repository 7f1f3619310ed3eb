//! The transfer of a workload in one visit, and checks that workloads share.

use crate::error::Problem;
use crate::limits::{self, Check};
use bentpipe_results::Direction;
use bentpipe_units::{Bytes, Span};
use serde_spanned::Spanned;

/// The transfer of a workload in one visit.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfer {
    /// Direction of the data.
    pub direction: Direction,
    /// The objects, in order; empty for `cbr` and `ping`.
    pub objects: Vec<PlannedObject>,
    /// Duration, if the workload ends after a fixed time.
    pub duration: Option<Span>,
}

/// One object of a [`Transfer`].
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedObject {
    /// Name in results.
    pub name: String,
    /// Size.
    pub bytes: Bytes,
    /// Indices of the objects that must be complete before this one is requested.
    pub after: Vec<usize>,
    /// Time between the completion of the last of them and the request.
    pub delay: Span,
    /// Size of the pieces in which its sender writes it, and the time between two; `None` if it
    /// writes at once.
    pub pieces: Option<(Bytes, Span)>,
}

impl PlannedObject {
    pub(super) fn new(name: &str, bytes: Bytes) -> Self {
        Self { name: name.to_owned(), bytes, after: Vec::new(), delay: Span::ZERO, pieces: None }
    }
}

/// Returns an error if a size is zero.
pub(super) fn above_zero(size: &Spanned<Bytes>) -> Check {
    if !size.get_ref().is_zero() {
        return Ok(());
    }
    Err(Problem::new(
        size.span(),
        format!("{size} transfers nothing; allowed: a size above 0 B, such as \"10 MB\""),
    ))
}

/// Returns an error for a duration of zero, or one that exceeds the time limit.
pub(super) fn duration(duration: &Spanned<Span>, limit: Span) -> Check {
    limits::above_zero("duration", duration)?;
    if *duration.get_ref() <= limit {
        return Ok(());
    }
    let message =
        format!("a `duration` of {duration} exceeds the `time_limit`; allowed: up to {limit}");
    Err(Problem::new(duration.span(), message)
        .help("set a longer `time_limit` at the top of the file"))
}

/// Smallest IP packet of `cbr` and `ping` in bytes: the headers of IP and UDP or ICMP, and one
/// byte.
const SMALLEST_PACKET: u64 = limits::HEADERS + 1;

/// Returns an error for an impossible size of IP packets.
pub(super) fn packet(size: Option<&Spanned<Bytes>>) -> Check {
    match size {
        Some(size) if !(SMALLEST_PACKET..=65_535).contains(&size.get_ref().get()) => {
            let smallest = Bytes::new(SMALLEST_PACKET);
            Err(Problem::new(
                size.span(),
                format!("`packet` of {size} is out of range; allowed: {smallest} to 65535 B"),
            ))
        }
        _ => Ok(()),
    }
}
