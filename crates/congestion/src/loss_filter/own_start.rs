//! The controller's own slow start, which goes on after few losses if one in front gave way to it:
//! the path is short. Where none was allowed to start, others start, and losses may be theirs.

use crate::controller::{Ack, Loss, Restart};
use bentpipe_units::Time;

/// Packets after which those sent before are acknowledged or declared lost (RFC 9002 §6.1.1).
const REORDERED: u64 = 3;

/// The controller's own slow start.
#[derive(Debug, Clone, Copy)]
pub(super) enum OwnStart {
    /// It has not begun, or is over.
    Over,
    /// It goes on. Losses at the moment at which the one in front gave way have ended that one.
    Running { gave_way: Option<Time> },
    /// Few losses have reduced its window. Packets with smaller numbers than `next_number` were
    /// sent before that.
    Reduced { next_number: u64, losses: f64 },
}

impl OwnStart {
    /// Returns the state after a restart by a layer.
    pub(super) fn restarted(to: &Restart) -> Self {
        match to.ssthresh {
            None => Self::Running { gave_way: Some(to.now) },
            Some(_) => Self::Over,
        }
    }

    /// Returns true unless the start has not begun or is over.
    pub(super) fn goes_on(self) -> bool {
        !matches!(self, Self::Over)
    }

    /// Returns the state after losses that the controller was told of. `losses` are those of the
    /// event, and at most `few` in all are few; `is_start`: they reduced a slow start's window, and
    /// no queue stood.
    pub(super) fn after(self, loss: &Loss<'_>, losses: f64, few: f64, is_start: bool) -> Self {
        let (next_number, losses) = match self {
            _ if loss.persistent => return Self::Over,
            Self::Running { gave_way } if is_start && gave_way != Some(loss.now) => {
                (loss.next_number, losses)
            }
            Self::Reduced { next_number, losses: before } => (next_number, before + losses),
            _ => return Self::Over,
        };
        if losses <= few { Self::Reduced { next_number, losses } } else { Self::Over }
    }

    /// Returns the number of the first packet that was sent after the losses, once it is known how
    /// many they were.
    pub(super) fn known_at(self, ack: &Ack<'_>) -> Option<u64> {
        let Self::Reduced { next_number, .. } = self else { return None };
        (ack.newest().number >= next_number + REORDERED).then_some(next_number)
    }
}
