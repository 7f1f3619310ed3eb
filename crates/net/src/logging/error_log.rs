//! The error log: failures of the system, at a bounded rate.

use super::format::{LogFormat, rfc3339};
use super::message::{Level, json_message};
use bentpipe_units::{Span, Time};
use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Lines in each [`WINDOW`]. Further lines are omitted and counted. Our choice: enough to see the
/// fault.
const LINES: u32 = 10;
const WINDOW: Span = Span::from_secs(10);

/// A log of errors whose reason no client learns.
pub(crate) struct ErrorLog(Mutex<State>);

struct State {
    sink: Option<(LogFormat, Box<dyn Write + Send>)>,
    window: Option<Time>,
    written: u32,
    omitted: u64,
}

impl fmt::Debug for ErrorLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorLog").finish_non_exhaustive()
    }
}

impl ErrorLog {
    pub fn new(sink: Option<(LogFormat, Box<dyn Write + Send>)>) -> Self {
        Self(Mutex::new(State { sink, window: None, written: 0, omitted: 0 }))
    }

    /// Writes a line, or counts it if the window has [`LINES`] already.
    pub fn write(&self, now: Time, system: SystemTime, level: Level, text: &dyn fmt::Display) {
        match level {
            Level::Info => tracing::info!("{text}"),
            Level::Warning => tracing::warn!("{text}"),
            Level::Error => tracing::error!("{text}"),
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { sink: Some((format, sink)), window, written, omitted } = &mut *state else {
            return;
        };
        if window.is_none_or(|started| now.since(started) >= WINDOW) {
            (*window, *written) = (Some(now), 0);
        }
        if *written == LINES {
            *omitted += 1;
            return;
        }
        *written += 1;
        let line = match (format, std::mem::take(omitted)) {
            (LogFormat::Json, omitted) => json_message(system, level, &text.to_string(), omitted),
            (LogFormat::Text, 0) => format!("[{}] {text}\n", rfc3339(system)),
            (LogFormat::Text, omitted) => {
                let time = rfc3339(system);
                format!("[{time}] {text} ({omitted} lines before this one were omitted)\n")
            }
        };
        // An error log that cannot be written has nowhere to report that.
        let _ = sink.write_all(line.as_bytes()).and_then(|()| sink.flush());
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::sync::Arc;

    /// Keeps what is written.
    #[derive(Clone, Default)]
    pub(in crate::logging) struct Sink(pub Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(data)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Returns the log of 1000 errors within a window, and of `last` after it.
    fn written(format: LogFormat, last: &str) -> String {
        let sink = Sink::default();
        let log = ErrorLog::new(Some((format, Box::new(sink.clone()))));
        let system = SystemTime::UNIX_EPOCH;
        for index in 0..1000 {
            log.write(Time::ZERO, system, Level::Error, &format_args!("error {index}"));
        }
        log.write(Time::ZERO + WINDOW, system, Level::Warning, &last);
        let written = sink.0.lock().unwrap().clone();
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn as_json_each_message_is_one_object() {
        let last = "cannot read \"/a\nb\": \u{1b}[31m";
        let text = written(LogFormat::Json, last);
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 11, "{text}");
        let first = serde_json::json!({
            "time": "1970-01-01T00:00:00Z", "level": "error", "message": "error 0"
        });
        assert_eq!(lines[0], first);
        let warning = serde_json::json!({
            "time": "1970-01-01T00:00:00Z", "level": "warning", "message": last, "omitted": 990
        });
        assert_eq!(lines[10], warning);
        assert!(!text.contains('\u{1b}'), "control characters are escaped: {text}");
    }

    #[test]
    fn many_errors_are_few_lines_with_the_number_of_omitted_ones() {
        let text = written(LogFormat::Text, "another");
        assert_eq!(text.lines().count(), 11, "{text}");
        assert!(text.starts_with("[1970-01-01"), "{text}");
        assert!(text.ends_with("another (990 lines before this one were omitted)\n"), "{text}");
    }
}
