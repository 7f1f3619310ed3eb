//! qlog: what a connection did, event by event, as draft-ietf-quic-qlog-main-schema and
//! draft-ietf-quic-qlog-quic-events describe it.
//!
//! A [`QlogSink`] keeps the stack's trace in memory, in the current form; [`to_qvis`] rewrites such
//! a trace for the qvis viewer, which reads versions up to 0.3.

mod format;
mod qvis;
mod repair;
mod resume;
mod sink;

pub use qvis::{QlogError, to_qvis};
pub use sink::QlogSink;
