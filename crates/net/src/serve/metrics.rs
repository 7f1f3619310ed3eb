//! The server's counters.

use super::delivery::DeliveryMetrics;
use super::path_metrics::PathMetrics;
use crate::forward_counts::ForwardCounts;
use crate::prometheus::{self, Series};
use crate::proxy::UpstreamCounts;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters since the start of the server.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Admitted QUIC connections.
    pub connections_quic: AtomicU64,
    /// Admitted TCP connections.
    pub connections_tcp: AtomicU64,
    /// Connections refused because of a limit, in total or of one client.
    pub refused: AtomicU64,
    /// Clients that had to validate their address (Retry).
    pub retried: AtomicU64,
    /// Handshakes that failed or took too long.
    pub handshakes_failed: AtomicU64,
    /// Clients aborted because they sent a header or took a response too slowly, or because they
    /// were stalled while others waited.
    pub slow: AtomicU64,
    /// Malformed requests that were refused after their header was read.
    pub malformed: AtomicU64,
    /// Requests that got 503 because no slot for a file was free in time.
    pub busy: AtomicU64,
    /// Requests that got 429 because their client had made too many in a time.
    pub limited: AtomicU64,
    /// Files that could not be opened or read, because of a limit on descriptors or a failing disk.
    pub files_failed: AtomicU64,
    /// TCP connections that could not be accepted.
    pub accepts_failed: AtomicU64,
    /// Responses by status class, from 1xx to 5xx.
    pub responses: [AtomicU64; 5],
    /// Incomplete responses.
    pub broken: AtomicU64,
    /// Bytes of content sent.
    pub bytes: AtomicU64,
    /// Connections with early data (0-RTT).
    pub early: AtomicU64,
    /// WebSockets that were relayed to the upstream.
    pub websockets: AtomicU64,
    /// What QUIC connections saw of their paths.
    pub paths: PathMetrics,
    /// Counters of the upstream, if there is one.
    pub upstream: Arc<UpstreamCounts>,
    /// Datagrams that threads forwarded to each other.
    pub forwarding: Arc<ForwardCounts>,
    /// Changes of remembered paths that were not written to their file.
    pub paths_failed: Arc<AtomicU64>,
    /// TLS sessions that were not written to their file, or not read from it.
    pub sessions_failed: Arc<AtomicU64>,
    /// How long responses took to arrive, if clients are divided into groups.
    pub deliveries: Option<DeliveryMetrics>,
    /// Connections ended by a panic in one of their tasks.
    pub panics: AtomicU64,
    /// Lines of the access log that were lost because its sink was too slow.
    pub log_lost: Arc<AtomicU64>,
}

impl Metrics {
    /// Formats the counters for Prometheus, with the number of open connections.
    #[expect(clippy::too_many_lines, reason = "a table of counters")]
    pub fn text(&self, connections: usize) -> String {
        let admitted = [
            ("{transport=\"quic\"}", &self.connections_quic),
            ("{transport=\"tcp\"}", &self.connections_tcp),
        ];
        let classes = [
            "{class=\"1xx\"}",
            "{class=\"2xx\"}",
            "{class=\"3xx\"}",
            "{class=\"4xx\"}",
            "{class=\"5xx\"}",
        ];
        let mut series = vec![
            Series::gauge("connections", "Open connections", connections as u64),
            Series::counters("connections_total", "Connections admitted", admitted),
            Series::counter("connections_refused_total", "Connections refused", &self.refused),
            Series::counter(
                "retries_total",
                "Clients that had to validate their address",
                &self.retried,
            ),
            Series::counter(
                "handshakes_failed_total",
                "Handshakes that failed or took too long",
                &self.handshakes_failed,
            ),
            Series::counter("early_data_total", "Connections with early data", &self.early),
            Series::counter("slow_clients_total", "Clients aborted as too slow", &self.slow),
            Series::counter("malformed_total", "Malformed requests refused", &self.malformed),
            Series::counter("busy_total", "Requests refused by the limit on files", &self.busy),
            Series::counter(
                "requests_limited_total",
                "Requests refused by the limit on those of a client in a time",
                &self.limited,
            ),
            Series::counter(
                "files_failed_total",
                "Files that could not be read",
                &self.files_failed,
            ),
            Series::counter(
                "accepts_failed_total",
                "TCP connections not accepted",
                &self.accepts_failed,
            ),
            Series::counters(
                "responses_total",
                "Responses by status class",
                classes.into_iter().zip(&self.responses),
            ),
            Series::counter("responses_broken_total", "Incomplete responses", &self.broken),
            Series::counter("content_bytes_total", "Bytes of content sent", &self.bytes),
            Series::counter("websockets_total", "WebSockets relayed", &self.websockets),
            Series::gauge(
                "upstreams_down",
                "Servers of the upstream that are down",
                self.upstream.down.load(Relaxed),
            ),
            Series::counter(
                "upstream_failures_total",
                "Requests that a server of the upstream failed to answer",
                &self.upstream.failures,
            ),
            Series::counter(
                "upstream_retries_total",
                "Requests sent to another server of the upstream",
                &self.upstream.retries,
            ),
            Series::counter(
                "datagrams_forwarded_total",
                "Datagrams forwarded between threads",
                &self.forwarding.forwarded,
            ),
            Series::counter(
                "datagrams_lost_total",
                "Datagrams lost between threads",
                &self.forwarding.lost,
            ),
            Series::counters(
                "store_failures_total",
                "Paths and TLS sessions that could not be written or read",
                [
                    ("{file=\"paths\"}", &*self.paths_failed),
                    ("{file=\"sessions\"}", &*self.sessions_failed),
                ],
            ),
            Series::counter(
                "panics_total",
                "Connections ended by a panic in one of their tasks",
                &self.panics,
            ),
            Series::counter("log_lines_lost_total", "Lost lines of the access log", &self.log_lost),
        ];
        series.extend(self.paths.series());
        series.extend(self.deliveries.as_ref().map(DeliveryMetrics::series));
        prometheus::text("bentpipe_", &series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_counted_by_status_class() {
        let metrics = Metrics::default();
        metrics.responses[1].fetch_add(3, Relaxed);
        let text = metrics.text(7);
        assert!(text.contains("\nbentpipe_connections 7\n"), "{text}");
        assert!(text.contains("\nbentpipe_responses_total{class=\"2xx\"} 3\n"), "{text}");
    }
}
