//! The proxy's counters.

use crate::admission::control::Full;
use crate::prometheus::{self, Series};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters since the start of the proxy.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Admitted connections.
    pub connections: AtomicU64,
    /// Connections refused because of the limit on all connections.
    pub refused_connections: AtomicU64,
    /// Connections refused because of the limit for their client.
    pub refused_client: AtomicU64,
    /// Connections refused because too little memory was free.
    pub refused_memory: AtomicU64,
    /// Connections of clients or to destinations that are not allowed.
    pub not_allowed: AtomicU64,
    /// Clients without a valid destination, or not in time.
    pub not_understood: AtomicU64,
    /// Tunnels whose other end does not have the secret, or that were too many.
    pub tunnels_refused: AtomicU64,
    /// Unreachable destinations.
    pub unreachable: AtomicU64,
    /// Connections that ended regularly.
    pub complete: AtomicU64,
    /// Connections that were reset or lost.
    pub cut: AtomicU64,
    /// Connections that ended because they were idle.
    pub idle: AtomicU64,
    /// Bytes forwarded to servers.
    pub bytes_up: AtomicU64,
    /// Bytes forwarded to clients.
    pub bytes_down: AtomicU64,
    /// Changes of remembered paths that were not written to their file.
    pub paths_failed: Arc<AtomicU64>,
    /// Lines of the log that were lost because its sink was too slow.
    pub log_lost: Arc<AtomicU64>,
}

impl Metrics {
    /// Counts a connection that was not admitted.
    pub(super) fn count_refusal(&self, full: Full) {
        let counter = match full {
            Full::Client => &self.refused_client,
            Full::Memory => &self.refused_memory,
            Full::Connections | Full::Handshakes | Full::Closed => &self.refused_connections,
        };
        counter.fetch_add(1, Relaxed);
    }

    /// Formats the counters for Prometheus, with the number of open connections and the bytes
    /// reserved for them.
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
            Series::gauge("connections", "Open connections", connections as u64),
            Series::gauge("memory_bytes", "Memory reserved for connections", memory),
            Series::counter("connections_total", "Admitted connections", &self.connections),
            Series::counters("refused_total", "Connections refused", refused),
            Series::counter(
                "not_understood_total",
                "Clients without a valid destination",
                &self.not_understood,
            ),
            Series::counter("tunnels_refused_total", "Tunnels refused", &self.tunnels_refused),
            Series::counter("unreachable_total", "Unreachable destinations", &self.unreachable),
            Series::counters("ended_total", "Connections ended", ended),
            Series::counters("bytes_total", "Bytes forwarded", bytes),
            Series::counter(
                "store_failures_total",
                "Paths that could not be written",
                &self.paths_failed,
            ),
            Series::counter("log_lines_lost_total", "Lost lines of the log", &self.log_lost),
        ];
        prometheus::text("bentpipe_pep_", &series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_counted_by_its_reason() {
        let metrics = Metrics::default();
        metrics.count_refusal(Full::Memory);
        let text = metrics.text(7, 1000);
        assert!(text.contains("\nbentpipe_pep_connections 7\n"), "{text}");
        assert!(text.contains("\nbentpipe_pep_refused_total{reason=\"memory\"} 1\n"), "{text}");
    }
}
