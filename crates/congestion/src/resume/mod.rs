//! Careful Resume (RFC 9959): what a path carried before, used again with care, around any controller.
//!
//! - [`saved`]: the set that is remembered;
//! - [`notes`]: the cell through which it comes and observations go;
//! - [`transitions`]: phases and triggers by their qlog names;
//! - `layer`: the controller around a controller;
//! - `recon`, `jump`, `retreat`: the phases for controllers with a window; `probe`: those for controllers with a rate;
//! - `leap`: the careless alternative, to compare with;
//! - `observe`: measuring what is worth saving;
//! - `tally`: packets that are accounted for, or not yet.
//!
//! What the text leaves open, and what is done, is decision 4 in `docs/decisions`. Section numbers are those of
//! draft-ietf-tsvwg-careful-resume-24, from which the RFC was made.

mod jump;
mod layer;
mod leap;
pub mod notes;
mod observe;
mod probe;
mod recon;
mod retreat;
pub mod saved;
mod tally;
pub mod transitions;

pub use layer::Resume;
pub use notes::{Knowledge, PathNotes, Refusal};
pub use saved::Saved;
pub use transitions::{Phase, Transition, Trigger};

use crate::parameter::{Parameter, Values};
use bentpipe_units::{Bytes, Span};

/// What is done with a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: the path is only measured.
    Observe,
    /// Careful Resume (RFC 9959).
    Careful,
    /// Unsafe: the whole saved window is used from the first flight on, before the path has answered, and nothing is done
    /// about congestion beyond what the controller does. It shows what the care costs and what it is good for; no sender on
    /// a shared path should do it.
    Jump,
}

/// Parameters of [`Resume`].
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "max_jump",
        default: 16e6,
        range: (1e4, 1e12),
        unit: "bytes",
        about: "largest window to jump to (RFC 9959 §4.3, max_jump; our choice: half of what 400 Mbps carry in 640 ms)",
    },
    Parameter {
        name: "jump_share",
        default: 0.5,
        range: (0.01, 0.5),
        unit: "",
        about: "share of the saved window to jump to (RFC 9959 §3.3: at most half)",
    },
    Parameter {
        name: "beta",
        default: 0.5,
        range: (0.1, 1.0),
        unit: "",
        about: "share of PipeSize that the slow-start threshold is after a retreat (RFC 9959 §3.5, Beta)",
    },
    Parameter {
        name: "rtt_low",
        default: 0.5,
        range: (0.5, 1.0),
        unit: "",
        about: "share of the saved round trip at and below which the path is another (RFC 9959 §3.2)",
    },
    Parameter {
        name: "rtt_high",
        default: 10.0,
        range: (1.0, 10.0),
        unit: "",
        about: "multiple of the saved round trip above which the path is another (RFC 9959 §4.2.1)",
    },
    Parameter {
        name: "minimum_saved_windows",
        default: 4.0,
        range: (0.0, 1e6),
        unit: "initial windows",
        about: "smallest window worth saving (RFC 9959 §3.1)",
    },
    Parameter {
        name: "observation_period",
        default: 300.0,
        range: (1.0, 86_400.0),
        unit: "s",
        about: "how long an observation counts (RFC 9959 §4.1: five minutes, as an example)",
    },
];

/// The parameters, in their types.
#[derive(Debug, Clone, Copy)]
struct Limits {
    max_jump: Bytes,
    jump_share: f64,
    beta: f64,
    rtt_low: f64,
    rtt_high: f64,
    minimum_saved_windows: f64,
    observation_period: Span,
}

impl Limits {
    fn new(values: &Values) -> Self {
        Self {
            max_jump: Bytes::new(values.get("max_jump") as u64),
            jump_share: values.get("jump_share"),
            beta: values.get("beta"),
            rtt_low: values.get("rtt_low"),
            rtt_high: values.get("rtt_high"),
            minimum_saved_windows: values.get("minimum_saved_windows"),
            observation_period: Span::from_secs_f64(values.get("observation_period")),
        }
    }

    /// `jump_cwnd` (§3.3).
    fn jump(&self, saved: &Saved) -> Bytes {
        saved.window.mul_f64(self.jump_share).min(self.max_jump)
    }

    /// The round trip is too short for the path to be the saved one (§3.2).
    fn is_too_short(&self, rtt: Span, saved: &Saved) -> bool {
        rtt <= saved.rtt.mul_f64(self.rtt_low)
    }

    /// The round trip is too long for it (§4.2.1).
    fn is_too_long(&self, rtt: Span, saved: &Saved) -> bool {
        rtt > saved.rtt.mul_f64(self.rtt_high)
    }
}

#[cfg(test)]
mod tests;
