//! Logs: lines from a thread of their own, and errors at a bounded rate.

mod error_log;
mod format;
mod message;
mod warnings;
mod writer;

pub use format::LogFormat;
pub use message::{Level, json_message};
pub use warnings::write_warnings;

pub(crate) use error_log::ErrorLog;
pub(crate) use format::{LogLine, rfc3339};
pub(crate) use writer::LogWriter;
