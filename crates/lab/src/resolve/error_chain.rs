//! Errors with their causes in one line.

/// Returns the message of `error`, followed by those of its causes.
pub(super) fn error_chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", error_chain(source)),
        None => error.to_string(),
    }
}
