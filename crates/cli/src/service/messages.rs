//! Messages of a running server or proxy on standard error, in the format of its log.

use crate::args::LogStyle;
use crate::output::say;
use bentpipe_net::{Level, LogFormat, RealClock, json_message, write_warnings};
use bentpipe_units::Span;
use std::io::Write;

/// Writes messages to standard error: text, or JSON objects, one per line.
pub struct Messages {
    format: LogFormat,
    clock: RealClock,
}

impl Messages {
    /// Also writes warnings of the libraries from now on.
    pub fn new(log: LogStyle) -> Self {
        let format = log.format().unwrap_or(LogFormat::Text);
        write_warnings(format, Box::new(std::io::stderr()));
        Self { format, clock: RealClock::new() }
    }

    /// Returns the format, for logs that go to standard error as well.
    pub const fn format(&self) -> LogFormat {
        self.format
    }

    /// Writes what the program does.
    pub fn info(&self, text: &str) {
        self.write(Level::Info, text, text);
    }

    /// Writes a warning.
    pub fn warn(&self, text: &str) {
        self.write(Level::Warning, text, &format!("warning: {text}"));
    }

    /// Says that another process serves from now on.
    pub fn handed_over(&self, process: u32, connections: usize, drain: Span) {
        // What is left of a time has nanoseconds.
        let whole = Span::from_secs(drain.as_secs_f64().round() as u64);
        let drain = if whole.is_zero() { drain } else { whole };
        self.info(&format!(
            "handed over to process {process}: {connections} connections have {drain} to finish \
             here"
        ));
    }

    /// Says that the service stops.
    pub fn stopping(&self, connections: usize, drain: Span) {
        self.info(&format!(
            "stopping: {connections} connections have {drain} to finish; signal again to stop at \
             once"
        ));
    }

    fn write(&self, level: Level, message: &str, text: &str) {
        match self.format {
            LogFormat::Text => say!("{text}"),
            LogFormat::Json => {
                let line = json_message(self.clock.system(), level, message, 0);
                // A service whose standard error has no reader continues.
                let _ = std::io::stderr().write_all(line.as_bytes());
            }
        }
    }
}
