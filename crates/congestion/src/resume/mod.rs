//! Careful Resume (RFC 9959): careful reuse of saved path parameters, around any controller.
//!
//! - [`saved`]: the parameters that are saved;
//! - [`handle`]: the link between a connection's controller and the store of paths;
//! - [`transitions`]: phases and triggers by their qlog names;
//! - [`mode`]: the use of saved parameters;
//! - `careful`: the layer around a controller, and its `phase` with its data;
//! - `reconnaissance`, `unvalidated`, `safe_retreat`: the phases of window-based controllers;
//! - `probe`: the phases of rate-based controllers;
//! - `jump`: the unsafe alternative, for comparison;
//! - `observation`: measurements worth saving, among them the wait for capacity of `first_rounds`;
//! - `queue_check`: whether a loss of the jump may be chance;
//! - `packet_range`: counts of packets that are accounted for or outstanding.
//!
//! Decision 4 in `docs/decisions` lists the choices that the RFC leaves open. Section numbers are
//! those of draft-ietf-tsvwg-careful-resume-24, from which the RFC was made.

mod careful;
mod controller;
mod first_rounds;
pub mod handle;
mod jump;
pub mod mode;
mod observation;
mod packet_range;
mod parameters;
mod phase;
mod probe;
mod queue_check;
mod reconnaissance;
mod safe_retreat;
pub mod saved;
#[cfg(test)]
mod tests;
pub mod transitions;
mod unvalidated;

pub use careful::CarefulResume;
pub use handle::{MAX_TRANSITIONS, Refusal, ResumeHandle, ResumeState};
pub use jump::UnsafeJump;
pub use mode::ResumeMode;
pub use parameters::Parameters;
pub use saved::SavedParameters;
pub use transitions::{Phase, Transition, Trigger};
