//! The error log: failures of the system, at a bounded rate.

use super::format::rfc3339;
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
    sink: Option<Box<dyn Write + Send>>,
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
    pub fn new(sink: Option<Box<dyn Write + Send>>) -> Self {
        Self(Mutex::new(State { sink, window: None, written: 0, omitted: 0 }))
    }

    /// Writes a line, or counts it if the window has [`LINES`] already.
    pub fn write(&self, now: Time, system: SystemTime, text: &dyn fmt::Display) {
        tracing::warn!("{text}");
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { sink: Some(sink), window, written, omitted } = &mut *state else { return };
        if window.is_none_or(|started| now.since(started) >= WINDOW) {
            (*window, *written) = (Some(now), 0);
        }
        if *written == LINES {
            *omitted += 1;
            return;
        }
        *written += 1;
        let more = match std::mem::take(omitted) {
            0 => String::new(),
            omitted => format!(" ({omitted} lines before this one were omitted)"),
        };
        // An error log that cannot be written has nowhere to report that.
        let _ = writeln!(sink, "[{}] {text}{more}", rfc3339(system)).and_then(|()| sink.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(data)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn many_errors_are_few_lines_with_the_number_of_omitted_ones() {
        let sink = Sink::default();
        let log = ErrorLog::new(Some(Box::new(sink.clone())));
        for index in 0..1000 {
            log.write(Time::ZERO, SystemTime::UNIX_EPOCH, &format_args!("error {index}"));
        }
        log.write(Time::ZERO + WINDOW, SystemTime::UNIX_EPOCH, &"another");
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 11, "{text}");
        assert!(text.starts_with("[1970-01-01"), "{text}");
        assert!(text.ends_with("another (990 lines before this one were omitted)\n"), "{text}");
    }
}
