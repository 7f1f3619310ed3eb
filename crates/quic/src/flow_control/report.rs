//! Record of a connection's flow control.

use bentpipe_timeseries::{BoundedSeries, SeriesLimit};
use bentpipe_units::{Bytes, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maxima of one connection's flow control in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowControlStats {
    /// Most bytes that the receiver had read from the stack and the application had not yet taken,
    /// mostly bytes behind gaps.
    pub max_held: Bytes,
    /// Largest window announced: the limit less the bytes that the application had taken.
    pub max_window: Bytes,
}

/// Series of one connection's flow control in one direction: (time, bytes of stream data).
#[derive(Debug)]
pub struct FlowControlSeries {
    /// Limit of each update that left the receiver.
    pub announced: BoundedSeries,
    /// Limit of each update that arrived at the sender.
    pub received: BoundedSeries,
    /// Bytes that the receiving application had taken at each update.
    pub consumed: BoundedSeries,
}

impl FlowControlSeries {
    /// Creates empty series of at most `limit` points each.
    fn new(limit: SeriesLimit) -> Self {
        let empty = || BoundedSeries::new(limit);
        Self { announced: empty(), received: empty(), consumed: empty() }
    }
}

/// Records the flow control of one direction of one connection, at both of its ends, with series if
/// asked to. Clones share the record.
#[derive(Clone)]
pub struct FlowControlReport(Arc<Mutex<Record>>);

struct Record {
    limit: u64,
    consumed: u64,
    stats: FlowControlStats,
    series: Option<FlowControlSeries>,
}

impl std::fmt::Debug for FlowControlReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlowControlReport").finish_non_exhaustive()
    }
}

impl Record {
    fn update_max_window(&mut self) {
        let window = Bytes::new(self.limit.saturating_sub(self.consumed));
        self.stats.max_window = self.stats.max_window.max(window);
    }
}

impl FlowControlReport {
    /// An empty record of a connection with the `initial` limit; with the limit `points`, it
    /// records series.
    pub fn new(initial: Bytes, points: Option<SeriesLimit>) -> Self {
        let mut record = Record {
            limit: initial.get(),
            consumed: 0,
            stats: FlowControlStats::default(),
            series: points.map(FlowControlSeries::new),
        };
        record.update_max_window();
        Self(Arc::new(Mutex::new(record)))
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The receiver holds `held` bytes, and its application has taken `consumed`.
    pub(crate) fn on_consumption(&self, held: u64, consumed: u64) {
        let mut record = self.lock();
        record.consumed = consumed;
        record.stats.max_held = record.stats.max_held.max(Bytes::new(held));
    }

    /// An update to `limit` left the receiver.
    pub(crate) fn on_announced(&self, now: Time, limit: u64) {
        let mut record = self.lock();
        record.limit = record.limit.max(limit);
        record.update_max_window();
        let consumed = record.consumed as f64;
        if let Some(series) = &mut record.series {
            series.announced.push(now, limit as f64);
            series.consumed.push(now, consumed);
        }
    }

    /// An update to `limit` arrived at the sender.
    pub(crate) fn on_received(&self, now: Time, limit: u64) {
        if let Some(series) = &mut self.lock().series {
            let last = series.received.last().map_or(0.0, |(_, limit)| limit);
            // A late update changes nothing (RFC 9000 §4.1).
            if limit as f64 > last {
                series.received.push(now, limit as f64);
            }
        }
    }

    /// Returns the maxima so far.
    pub fn stats(&self) -> FlowControlStats {
        self.lock().stats
    }

    /// Takes the series so far. `None` if it records none.
    pub fn take_series(&self) -> Option<FlowControlSeries> {
        self.lock().series.take()
    }
}
