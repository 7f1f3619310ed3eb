//! Everything that goes to a terminal: standard output, written in one piece and without an error
//! if its reader has gone, messages on standard error, and colours.
//!
//! Titles, names and notes of a scenario or a run directory may come from somebody else. So control
//! characters are escaped here, where text leaves the program, and nowhere else. Colours of our own
//! have a mark that nobody else can know.

pub mod browser;
pub mod errors;
#[cfg(feature = "real-clock")]
pub mod live;

use crate::status::OK;
use bentpipe_lab::LabError;
use bentpipe_units::Printable;
use serde::Serialize;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::LazyLock;

/// The escape character, with which every control sequence of a terminal begins.
const ESCAPE: char = '\x1b';
/// Stands for the escape character of our own colours. It is drawn anew for each process, so that a
/// text of somebody else cannot have it.
static MARK: LazyLock<String> =
    LazyLock::new(|| format!("{ESCAPE}{:016x}", RandomState::new().hash_one(ESCAPE)));

/// Writes `text` for people. A closed pipe (`| head`) is not an error.
///
/// # Errors
/// Standard output cannot be written for another reason.
pub fn print(text: &str) -> Result<u8, LabError> {
    document(&printable(text))
}

/// Writes `text` for programs as it is: JSON, scripts, scenarios.
///
/// # Errors
/// Standard output cannot be written, unless its reader has gone.
pub fn document(text: &str) -> Result<u8, LabError> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(LabError::Write { path: "standard output".into(), reason: error.to_string() })
        }
        _ => Ok(OK),
    }
}

/// Writes `text`: a document if `for_programs`, otherwise for people.
///
/// # Errors
/// Standard output cannot be written, unless its reader has gone.
pub fn write(text: &str, for_programs: bool) -> Result<u8, LabError> {
    if for_programs { document(text) } else { print(text) }
}

/// Returns a JSON document in lines, with a newline at its end.
pub fn pretty(value: &(impl Serialize + ?Sized)) -> String {
    format!("{}\n", serde_json::to_string_pretty(value).unwrap_or_default())
}

/// Writes `text` to standard error. A command whose standard error has no reader continues.
pub fn report(text: &str) {
    let _ = std::io::stderr().write_all(printable(text).as_bytes());
}

/// Writes a formatted line to standard error.
macro_rules! say {
    ($($arguments:tt)*) => {
        $crate::output::report(&(format!($($arguments)*) + "\n"))
    };
}
pub(crate) use say;

/// Returns `text` with its control characters escaped, apart from line ends, tabs and the colours
/// of [`paint`]. Characters that change the direction of a text are escaped as well.
pub fn printable(text: &str) -> String {
    let mut printed = String::with_capacity(text.len());
    for (index, piece) in text.split(MARK.as_str()).enumerate() {
        if index > 0 {
            printed.push(ESCAPE);
        }
        for part in piece.split_inclusive(['\n', '\t']) {
            let line = part.trim_end_matches(['\n', '\t']);
            let _ = write!(printed, "{}{}", Printable(line), &part[line.len()..]);
        }
    }
    printed
}

/// Returns true if output to `stream` may be coloured: it is a terminal, and `NO_COLOR` is not set
/// (no-color.org).
pub fn coloured(stream: &impl IsTerminal) -> bool {
    let off = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    stream.is_terminal() && !off && !dumb
}

/// How text for people looks where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    /// True if it may be coloured.
    pub colour: bool,
    /// Columns of the terminal; `None` elsewhere: files and pipes have lines of any length.
    pub width: Option<usize>,
}

impl Look {
    /// Returns the look of standard output.
    pub fn stdout() -> Self {
        let stdout = std::io::stdout();
        let width = || {
            // The user has the last word, and not every terminal tells its size.
            let known = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
            known.or_else(|| terminal_size::terminal_size().map(|(width, _)| width.0.into()))
        };
        let width = stdout.is_terminal().then(width).flatten().filter(|&width| width >= NARROWEST);
        Self { colour: coloured(&stdout), width }
    }
}

/// Smallest width that is believed, in columns.
const NARROWEST: usize = 20;

/// Returns `text`, which is one line, in a colour (an SGR parameter such as "1" or "31") if `on`.
pub fn paint(on: bool, colour: &str, text: &str) -> String {
    let text = Printable(text);
    let mark = MARK.as_str();
    if on { format!("{mark}[{colour}m{text}{mark}[0m") } else { text.to_string() }
}

/// Returns a text whose control sequences are all of our own libraries, so that they are kept.
pub fn own_colours(text: &str) -> String {
    text.replace(ESCAPE, &MARK)
}

/// Returns `count` with its noun.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Prints an error on standard error. Returns `status`, the exit status.
pub fn refuse(reason: &str, status: u8) -> u8 {
    let label = paint(coloured(&std::io::stderr()), "1;31", "error:");
    say!("{label} {reason}");
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A title that sets the title of the window, rings, turns red, uses C1 and changes directions.
    const HOSTILE: &str = "\x1b]0;PWNED\x07\x1b[31mred\u{9b}2J\r\u{202e}txt \u{2066}\u{7f}";
    const ESCAPED: &str =
        "\\u{1b}]0;PWNED\\u{7}\\u{1b}[31mred\\u{9b}2J\\u{d}\\u{202e}txt \\u{2066}\\u{7f}";

    #[test]
    fn only_colours_of_our_own_reach_a_terminal() {
        assert_eq!(printable(HOSTILE), ESCAPED);
        let painted = format!("{} {HOSTILE}\n\tnext\n", paint(true, "1", HOSTILE));
        assert_eq!(printable(&painted), format!("\x1b[1m{ESCAPED}\x1b[0m {ESCAPED}\n\tnext\n"));
        assert_eq!(printable(&own_colours("\x1b[31mred\x1b[0m")), "\x1b[31mred\x1b[0m");
        // A mark is of one process, and of its own length.
        assert_eq!(printable("\x1b0123456789abcdef[31m"), "\\u{1b}0123456789abcdef[31m");
    }

    #[test]
    fn a_painted_title_is_one_line() {
        assert_eq!(paint(false, "1", "title\nnote: all passed"), "title\\u{a}note: all passed");
    }

    #[test]
    fn other_text_is_kept() {
        let text = "ärger 東京 👩‍🚀 – × µs\n  a\tb\r\n";
        assert_eq!(printable(text), text.replace('\r', "\\u{d}"));
        assert_eq!(printable(""), "");
    }
}
