//! Exit statuses of the command.

/// Success.
pub const OK: u8 = 0;
/// An expectation failed.
pub const NOT_MET: u8 = 1;
/// The scenario or the command line is invalid.
pub const USAGE: u8 = 2;
/// A run failed or was interrupted, or a transfer did not complete.
pub const FAILED: u8 = 3;
