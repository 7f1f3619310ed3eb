//! How the sender of a video adapts its rate.

mod adapting;
mod algorithms;
mod feedback;
mod queue;
mod rate_control;
mod scream;

pub(crate) use adapting::Adapting;
pub use feedback::{Feedback, FeedbackRecorder};
