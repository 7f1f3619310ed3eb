//! The names and separators of the file format.

/// Schema of a sequential file (QlogFileSeq in the main schema).
pub(super) const FILE_SCHEMA: &str = "urn:ietf:params:qlog:file:sequential";
/// Serialization format: JSON text sequences (RFC 7464).
pub(super) const SERIALIZATION_FORMAT: &str = "application/qlog+json-seq";
/// First byte of each record of a JSON text sequence (RFC 7464 §2.2).
pub(super) const RECORD_SEPARATOR: u8 = 0x1e;
