//! qlog: what a connection did, event by event, as draft-ietf-quic-qlog-main-schema and
//! draft-ietf-quic-qlog-quic-events describe it.
//!
//! A [`QlogSink`] keeps the stack's trace in memory, in the current form; [`to_qvis`] rewrites such
//! a trace for the qvis viewer, which reads versions up to 0.3.

mod qvis;
mod repair;
mod resume;
mod sink;

pub use qvis::{QlogError, to_qvis};
pub use sink::QlogSink;

/// What a sequential file calls itself (QlogFileSeq in the main schema).
const FILE_SCHEMA: &str = "urn:ietf:params:qlog:file:sequential";
/// How it is written: JSON text sequences (RFC 7464).
const SERIALIZATION_FORMAT: &str = "application/qlog+json-seq";
/// Begins each record of a JSON text sequence (RFC 7464 §2.2).
const RECORD_SEPARATOR: u8 = 0x1e;
