//! A propagation delay over time.

use super::config::Distribution;
use crate::schedule::Timeline;
use bentpipe_units::Span;
use std::sync::Arc;

/// The propagation delay of a link.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DelayModel {
    Constant(Span),
    Jitter {
        base: Span,
        jitter: Span,
        distribution: Distribution,
        keep_order: bool,
    },
    Schedule {
        timeline: Arc<Timeline>,
        delays: Arc<[Span]>,
        interpolate: bool,
        keep_order: bool,
    },
    /// Set by the caller, for each port.
    External,
}
