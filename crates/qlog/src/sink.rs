//! The receiver of a connection's events.

use crate::event::Event;
use crate::form::{Form, Forms};
use crate::head::{Head, Side, Transport};
use crate::packet::{PacketText, PacketTexts};
use crate::trace::Trace;
use bentpipe_units::{Epoch, Time};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Receives the events of one connection at one of its ends, and keeps them as text. Clones share
/// the trace.
///
/// Events may come before [`QlogSink::begin`]: they follow the first record all the same.
#[derive(Clone)]
pub struct QlogSink {
    trace: Arc<Mutex<Trace>>,
    /// Time of the events that come without one, in nanoseconds.
    now: Arc<AtomicU64>,
    title: Arc<str>,
    forms: Forms,
    /// Time of day at the start of the trace.
    wall: Option<Epoch>,
}

impl std::fmt::Debug for QlogSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QlogSink").field("title", &self.title).finish_non_exhaustive()
    }
}

impl QlogSink {
    /// A sink for the trace called `title`, with times from the start of the run.
    pub fn new(title: &str, forms: Forms) -> Self {
        Self::with(title, forms, Trace::new(forms, Time::ZERO, None), None)
    }

    /// A sink for a connection of a long-running program: times count from `begin`, at the time of
    /// day `wall`. At most about `max` bytes wait to be taken; a trace that exceeds it is
    /// truncated.
    pub fn bounded(title: &str, forms: Forms, begin: Time, wall: Epoch, max: usize) -> Self {
        Self::with(title, forms, Trace::new(forms, begin, Some(max)), Some(wall))
    }

    fn with(title: &str, forms: Forms, trace: Trace, wall: Option<Epoch>) -> Self {
        let trace = Arc::new(Mutex::new(trace));
        Self { trace, now: Arc::default(), title: title.into(), forms, wall }
    }

    fn lock(&self) -> MutexGuard<'_, Trace> {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the first record. `group`: identifier of the connection, the same at both ends.
    /// Later calls have no effect: a trace is of one connection.
    pub fn begin(&self, side: Side, transport: Transport, group: &str) {
        let head = Head { title: &self.title, side, transport, group, wall: self.wall };
        self.lock().begin(&head);
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.now.load(Relaxed))
    }

    /// Sets the time of the events that come without one.
    #[inline]
    pub fn set_now(&self, now: Time) {
        self.now.store(now.as_nanos(), Relaxed);
    }

    /// Adds an event at `at`, which never goes back.
    pub fn add(&self, at: Time, event: &Event<'_>) {
        self.lock().add(at, event);
    }

    /// Adds an event at the time of [`QlogSink::set_now`].
    pub fn add_now(&self, event: &Event<'_>) {
        self.add(self.now(), event);
    }

    /// Adds a QUIC packet that was sent at `at`.
    pub fn packet_sent(&self, at: Time, packet: PacketText<'_>) {
        self.lock().packet(at, true, packet);
    }

    /// Adds a QUIC packet that was received at the time of [`QlogSink::set_now`].
    pub fn packet_received(&self, packet: PacketText<'_>) {
        self.lock().packet(self.now(), false, packet);
    }

    /// Returns an empty buffer for packets of this trace.
    pub fn packets(&self) -> PacketTexts {
        PacketTexts::new(self.forms)
    }

    /// Returns the forms of the trace.
    pub fn forms(&self) -> Forms {
        self.forms
    }

    /// Takes the records so far, of a JSON text sequence (RFC 7464). Empty before
    /// [`QlogSink::begin`], and if the form is not written.
    pub fn take(&self, form: Form) -> Vec<u8> {
        self.lock().take(form)
    }

    /// Returns true if no clone is left: the connection is gone, and its trace is complete once it
    /// is taken.
    pub fn is_over(&self) -> bool {
        Arc::strong_count(&self.trace) == 1
    }

    /// Returns true if the trace was truncated.
    pub fn is_cut(&self) -> bool {
        self.lock().is_cut()
    }

    /// Truncates the trace. Returns its last record, a warning with the text `why`.
    pub fn cut(&self, now: Time, why: &str, form: Form) -> Vec<u8> {
        let mut trace = self.lock();
        trace.set_cut();
        trace.single(now, &Event::Warning(why), form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::event::Metrics;
    use bentpipe_units::Span;

    fn metrics(window: u64) -> Event<'static> {
        let metrics = Metrics { congestion_window: Some(window), ..Metrics::default() };
        Event::RecoveryMetricsUpdated(metrics)
    }

    #[test]
    fn events_before_the_connection_is_known_follow_the_head() {
        let sink = QlogSink::new("a \"title\"", Forms::CURRENT);
        sink.add(Time::from_millis(2), &metrics(1));
        assert_eq!(sink.take(Form::Current), b"");
        sink.begin(Side::Server, Transport::Quic, "ab01");
        sink.begin(Side::Client, Transport::Quic, "cd");
        let bytes = sink.take(Form::Current);
        let trace = check(&bytes).unwrap();
        assert_eq!(trace.head["title"], "a \"title\"");
        assert_eq!(trace.head["trace"]["vantage_point"]["type"], "server");
        assert_eq!(trace.head["trace"]["common_fields"]["group_id"], "ab01");
        assert_eq!(trace.events.len(), 1);
        assert_eq!(sink.take(Form::Qvis), b"", "not written");
    }

    #[test]
    fn a_bounded_trace_ends_with_a_whole_record_and_a_reason() {
        let begin = Time::from_secs(60);
        let wall = Epoch::from_unix_millis(1_767_225_600_042);
        let sink = QlogSink::bounded("t", Forms::CURRENT, begin, wall, 800);
        sink.begin(Side::Server, Transport::Quic, "01");
        let head = sink.take(Form::Current);
        let common = &check(&head).unwrap().head["trace"]["common_fields"];
        assert_eq!(common["reference_time"]["wall_clock_time"], "2026-01-01T00:00:00.042Z");
        let write = |count| {
            (0..count).for_each(|_| sink.add(begin + Span::from_millis(1), &metrics(1)));
        };
        write(8);
        assert!(!sink.is_cut());
        write(10);
        assert!(sink.is_cut() && sink.is_over());
        let length = sink.take(Form::Current).len();
        assert!(length > 800 && length < 900, "{length}");
        write(1);
        assert_eq!(sink.take(Form::Current), b"", "a truncated trace stays so");
        let last = sink.cut(begin + Span::from_millis(1500), "full", Form::Current);
        let event = r#"{"time":1500,"name":"loglevel:warning","data":{"message":"full"}}"#;
        assert_eq!(last, format!("\x1e{event}\n").into_bytes());
        let other = sink.clone();
        assert!(!sink.is_over());
        drop(other);
        assert!(sink.is_over());
    }
}
