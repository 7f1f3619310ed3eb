//! Warnings of the library on an error log: failures that no request and no caller learns of, such
//! as a store whose disk is full.

use super::error_log::ErrorLog;
use super::format::LogFormat;
use super::message::Level;
use crate::clock::RealClock;
use bentpipe_units::Printable;
use std::fmt::{self, Write as _};
use std::io::Write;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, Subscriber, set_global_default};
use tracing::{Event, Metadata};

/// Prefix of the crates whose warnings are written.
const CRATES: &str = "bentpipe_";
/// The module that writes an error log itself and also passes its lines on to subscribers.
const OWN: &str = "bentpipe_net::logging::error_log";

/// Writes the warnings and errors of this program's libraries to `sink`, from now on and for the
/// whole process: at most 10 lines in 10 s. For programs without a subscriber of `tracing`.
///
/// Has no effect if the process has one.
pub fn write_warnings(format: LogFormat, sink: Box<dyn Write + Send>) {
    let log = ErrorLog::new(Some((format, sink)));
    // The process has a subscriber then.
    let _ = set_global_default(Warnings { log, clock: RealClock::new() });
}

struct Warnings {
    log: ErrorLog,
    clock: RealClock,
}

impl Subscriber for Warnings {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        metadata.is_event()
            && *metadata.level() <= tracing::Level::WARN
            && target.starts_with(CRATES)
            && target != OWN
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let level = match *event.metadata().level() {
            tracing::Level::ERROR => Level::Error,
            _ => Level::Warning,
        };
        let mut text = EventText::default();
        event.record(&mut text);
        self.log.write(self.clock.now(), self.clock.system(), level, &text);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The text of an event: its message, its error, and its other fields with their names. Fields may
/// hold texts of other machines.
#[derive(Default)]
struct EventText {
    message: String,
    rest: String,
}

impl Visit for EventText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let value = format!("{value:?}");
        let value = Printable(&value);
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value}"),
            "error" => write!(self.rest, ": {value}"),
            name => write!(self.rest, ", {name} {value}"),
        };
    }
}

impl fmt::Display for EventText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        f.write_str(&self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logging::error_log::tests::Sink;

    fn written(format: LogFormat, warn: impl FnOnce()) -> String {
        let sink = Sink::default();
        let log = ErrorLog::new(Some((format, Box::new(sink.clone()))));
        tracing::subscriber::with_default(Warnings { log, clock: RealClock::new() }, warn);
        let written = sink.0.lock().unwrap().clone();
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn a_warning_is_one_line_whatever_its_fields_hold() {
        let text = written(LogFormat::Text, || {
            let error = "disk full\n[2026-01-01T00:00:00Z] forged \u{1b}[31m";
            tracing::warn!(%error, trace = "t\u{7}", "path store");
            tracing::info!("not a warning");
            tracing::warn!(target: "hyper", "of another library");
            tracing::warn!(target: OWN, "written already");
        });
        assert_eq!(text.lines().count(), 1, "{text}");
        let line = "] path store: disk full\\u{a}[2026-01-01T00:00:00Z] forged \\u{1b}[31m, trace \
            \"t\\u{7}\"\n";
        assert!(text.ends_with(line), "{text}");
    }

    #[test]
    fn many_warnings_are_few_lines_and_json_if_wanted() {
        let text = written(LogFormat::Json, || {
            for number in 0..1000 {
                tracing::error!(number, "failed");
            }
        });
        assert_eq!(text.lines().count(), 10, "{text}");
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(
            (&first["level"], &first["message"]),
            (&"error".into(), &"failed, number 0".into())
        );
    }
}
