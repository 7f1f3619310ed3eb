//! Messages for the operator of a server or proxy.

use super::format::rfc3339;
use std::time::SystemTime;

/// How much a message matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// What the program does.
    Info,
    /// Something is not as it should be, and the program continues without it.
    Warning,
    /// A failure of the system, because of which a request or connection failed.
    Error,
}

impl Level {
    const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Returns a message as one line of JSON, with its newline: `time`, `level`, `message`, and
/// `omitted` if that many messages before it were not written.
pub fn json_message(time: SystemTime, level: Level, message: &str, omitted: u64) -> String {
    let mut line = serde_json::json!({
        "time": rfc3339(time),
        "level": level.name(),
        "message": message,
    });
    if omitted > 0 {
        line["omitted"] = omitted.into();
    }
    format!("{line}\n")
}
