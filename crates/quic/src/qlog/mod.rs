//! qlog: the events of a connection (draft-ietf-quic-qlog-main-schema,
//! draft-ietf-quic-qlog-quic-events).
//!
//! A [`QlogSink`] keeps the stack's trace in memory, in the current format; [`to_qvis`] converts
//! such a trace for the qvis viewer, which reads versions up to 0.3.

mod format;
mod qvis;
mod repair;
mod resume;
mod sink;

pub use qvis::{QlogError, to_qvis};
pub use sink::QlogSink;
