//! What the proxy counts.

use super::admission::Full;
use crate::scrape::{self, Series};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters since the proxy began.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Connections that were let in.
    pub connections: AtomicU64,
    /// Connections that were refused for want of places.
    pub refused_connections: AtomicU64,
    /// Connections that were refused since their client had as many as it may.
    pub refused_client: AtomicU64,
    /// Connections that were refused for want of memory.
    pub refused_memory: AtomicU64,
    /// Connections of clients, or to destinations, that are not allowed.
    pub not_allowed: AtomicU64,
    /// Clients that did not say, or not in time, where they want to go.
    pub not_understood: AtomicU64,
    /// Destinations that could not be reached.
    pub unreachable: AtomicU64,
    /// Connections that ended as they should.
    pub complete: AtomicU64,
    /// Connections that were reset or lost.
    pub cut: AtomicU64,
    /// Connections on which nothing moved any more.
    pub idle: AtomicU64,
    /// Bytes led on to servers.
    pub bytes_up: AtomicU64,
    /// Bytes led on to clients.
    pub bytes_down: AtomicU64,
    /// Lines of the log that were lost, since its reader was too slow.
    pub log_lost: AtomicU64,
}

impl Metrics {
    /// Counts a client that was not let in.
    pub(super) fn full(&self, full: Full) {
        let counter = match full {
            Full::Client => &self.refused_client,
            Full::Memory => &self.refused_memory,
            Full::Connections | Full::Closed => &self.refused_connections,
        };
        counter.fetch_add(1, Relaxed);
    }

    /// All of them, with what is there at present: connections, and bytes of memory that are
    /// promised to them.
    pub fn text(&self, connections: usize, memory: u64) -> String {
        let refused = [
            ("{reason=\"connections\"}", &self.refused_connections),
            ("{reason=\"client\"}", &self.refused_client),
            ("{reason=\"memory\"}", &self.refused_memory),
            ("{reason=\"not-allowed\"}", &self.not_allowed),
        ];
        let ended = [
            ("{how=\"complete\"}", &self.complete),
            ("{how=\"cut\"}", &self.cut),
            ("{how=\"idle\"}", &self.idle),
        ];
        let bytes = [("{to=\"server\"}", &self.bytes_up), ("{to=\"client\"}", &self.bytes_down)];
        let series = [
            Series::gauge("connections", "Connections at present", connections as u64),
            Series::gauge("memory_bytes", "Memory that connections may come to take", memory),
            Series::counter("connections_total", "Connections let in", &self.connections),
            Series::counters("refused_total", "Connections refused", refused),
            Series::counter(
                "not_understood_total",
                "Clients that did not say where to go",
                &self.not_understood,
            ),
            Series::counter(
                "unreachable_total",
                "Destinations that could not be reached",
                &self.unreachable,
            ),
            Series::counters("ended_total", "Connections ended", ended),
            Series::counters("bytes_total", "Bytes led on", bytes),
            Series::counter("log_lines_lost_total", "Lines of the log lost", &self.log_lost),
        ];
        scrape::text("bentpipe_pep_", &series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_counted_by_its_reason() {
        let metrics = Metrics::default();
        metrics.full(Full::Memory);
        let text = metrics.text(7, 1000);
        assert!(text.contains("\nbentpipe_pep_connections 7\n"), "{text}");
        assert!(text.contains("\nbentpipe_pep_refused_total{reason=\"memory\"} 1\n"), "{text}");
    }
}
