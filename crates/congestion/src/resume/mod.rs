//! Careful Resume (RFC 9959): reuse, with care, of what a path carried before, around any
//! controller.
//!
//! - [`saved`]: the parameters that are saved;
//! - [`handle`]: the link between a connection's controller and the store of paths;
//! - [`transitions`]: phases and triggers by their qlog names;
//! - [`mode`]: what is done with saved parameters;
//! - `careful`: the layer around a controller, and its `phase` with its data;
//! - `reconnaissance`, `unvalidated`, `safe_retreat`: the phases of window-based controllers;
//! - `probe`: the phases of rate-based controllers;
//! - `jump`: the unsafe alternative, for comparison;
//! - `observation`: measuring what is worth saving;
//! - `packet_range`: packets that are accounted for, or not yet.
//!
//! Decision 4 in `docs/decisions` says what the RFC leaves open and what was chosen. Section
//! numbers are those of draft-ietf-tsvwg-careful-resume-24, from which the RFC was made.

mod careful;
mod controller;
pub mod handle;
mod jump;
pub mod mode;
mod observation;
mod packet_range;
mod parameters;
mod phase;
mod probe;
mod reconnaissance;
mod safe_retreat;
pub mod saved;
#[cfg(test)]
mod tests;
pub mod transitions;
mod unvalidated;

pub use careful::CarefulResume;
pub use handle::{Refusal, ResumeHandle, ResumeState};
pub use jump::UnsafeJump;
pub use mode::ResumeMode;
pub use parameters::Parameters;
pub use saved::SavedParameters;
pub use transitions::{Phase, Transition, Trigger};
