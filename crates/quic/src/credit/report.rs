//! What came of a receiver's credit.

use bentpipe_units::{Bytes, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The largest figures of one connection's flow control in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowControlStats {
    /// The most bytes of streams that the receiver had taken from the stack and the application had
    /// not yet taken: those that wait behind holes above all.
    pub held_most: Bytes,
    /// The most that it had promised: the limit announced, less what the application had taken.
    pub window_most: Bytes,
}

/// Series of one connection's flow control in one direction: (time, bytes of stream data).
#[derive(Debug, Default)]
pub struct FlowControlSeries {
    /// Limit of each update that left the receiver.
    pub announced: Vec<(Time, f64)>,
    /// Limit of each update that arrived at the sender.
    pub heard: Vec<(Time, f64)>,
    /// What the receiving application had taken, at each update.
    pub consumed: Vec<(Time, f64)>,
}

/// Watches the credit of one direction of one connection, at both of its ends; one that records
/// keeps series too. Clones share it.
#[derive(Clone)]
pub struct FlowControlReport(Arc<Mutex<Recording>>);

struct Recording {
    limit: u64,
    consumed: u64,
    figures: FlowControlStats,
    series: Option<FlowControlSeries>,
}

impl std::fmt::Debug for FlowControlReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CreditReport")
    }
}

impl Recording {
    fn promised(&mut self) {
        let window = Bytes::new(self.limit.saturating_sub(self.consumed));
        self.figures.window_most = self.figures.window_most.max(window);
    }
}

impl FlowControlReport {
    /// Nothing but the `initial` limit yet; `record` keeps series.
    pub fn new(initial: Bytes, record: bool) -> Self {
        let mut books = Recording {
            limit: initial.get(),
            consumed: 0,
            figures: FlowControlStats::default(),
            series: record.then(FlowControlSeries::default),
        };
        books.promised();
        Self(Arc::new(Mutex::new(books)))
    }

    fn books(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The receiver holds `held` bytes, and its application has taken `consumed`.
    pub(crate) fn moved(&self, held: u64, consumed: u64) {
        let mut books = self.books();
        books.consumed = consumed;
        books.figures.held_most = books.figures.held_most.max(Bytes::new(held));
    }

    /// An update to `limit` left the receiver.
    pub(crate) fn announced(&self, now: Time, limit: u64) {
        let mut books = self.books();
        books.limit = books.limit.max(limit);
        books.promised();
        let consumed = books.consumed as f64;
        if let Some(series) = &mut books.series {
            series.announced.push((now, limit as f64));
            series.consumed.push((now, consumed));
        }
    }

    /// An update to `limit` arrived at the sender.
    pub(crate) fn heard(&self, now: Time, limit: u64) {
        if let Some(series) = &mut self.books().series {
            let known = series.heard.last().map_or(0.0, |&(_, known)| known);
            // Late ones change nothing (RFC 9000 §4.1).
            if limit as f64 > known {
                series.heard.push((now, limit as f64));
            }
        }
    }

    /// The figures so far.
    pub fn figures(&self) -> FlowControlStats {
        self.books().figures
    }

    /// The series so far, where it records; takes them out.
    pub fn take_series(&self) -> Option<FlowControlSeries> {
        self.books().series.take()
    }
}
