//! Standard output: written in one piece, without an error if its reader has gone, and coloured
//! only on a terminal.

use crate::status::OK;
use bentpipe_lab::LabError;
use std::io::{ErrorKind, IsTerminal, Write};

/// Writes `text`. A closed pipe (`| head`) is not an error.
///
/// # Errors
/// Standard output cannot be written for another reason.
pub fn print(text: &str) -> Result<u8, LabError> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(LabError::Write { path: "standard output".into(), reason: error.to_string() })
        }
        _ => Ok(OK),
    }
}

/// Returns true if output to `stream` may be coloured: it is a terminal, and `NO_COLOR` is not set
/// (no-color.org).
pub fn coloured(stream: &impl IsTerminal) -> bool {
    let off = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    stream.is_terminal() && !off && !dumb
}

/// Returns `text` in a colour (an SGR parameter such as "1" or "31") if `on`.
pub fn paint(on: bool, colour: &str, text: &str) -> String {
    if on { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Returns `count` with its noun.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Prints an error on standard error. Returns `status`, the exit status.
pub fn refuse(reason: &str, status: u8) -> u8 {
    let label = paint(coloured(&std::io::stderr()), "1;31", "error:");
    eprintln!("{label} {reason}");
    status
}
