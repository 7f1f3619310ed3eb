//! What the server counts.

use crate::scrape::{self, Series};
use std::sync::atomic::AtomicU64;

/// Counters since the server began.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Connections over QUIC that were admitted.
    pub connections_quic: AtomicU64,
    /// Connections over TCP that were admitted.
    pub connections_tcp: AtomicU64,
    /// Connections that were refused: too many, of one client or at all.
    pub refused: AtomicU64,
    /// Clients that were asked to show that their address is their own.
    pub retried: AtomicU64,
    /// Handshakes that failed or took too long.
    pub handshakes_failed: AtomicU64,
    /// Clients given up: they sent a header, or took a response, too slowly.
    pub slow: AtomicU64,
    /// Requests answered with 503, since as many files are sent as may be.
    pub busy: AtomicU64,
    /// Files that could not be opened or read: the process or the system has too many open, or
    /// the disk fails.
    pub files_failed: AtomicU64,
    /// TCP connections that could not be accepted.
    pub accepts_failed: AtomicU64,
    /// Responses by class of their status, from 1xx to 5xx.
    pub responses: [AtomicU64; 5],
    /// Responses that did not end as they were announced.
    pub broken: AtomicU64,
    /// Bytes of content that were sent.
    pub bytes: AtomicU64,
    /// Connections that began with early data (0-RTT).
    pub early: AtomicU64,
    /// Connections that a panic in one of their tasks ended.
    pub panics: AtomicU64,
    /// Lines of the access log that were lost, since its reader was too slow.
    pub log_lost: AtomicU64,
}

impl Metrics {
    /// All of them, with `connections` at present.
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
        let series = [
            Series::gauge("connections", "Connections at present", connections as u64),
            Series::counters("connections_total", "Connections admitted", admitted),
            Series::counter("connections_refused_total", "Connections refused", &self.refused),
            Series::counter("retries_total", "Clients asked to show their address", &self.retried),
            Series::counter(
                "handshakes_failed_total",
                "Handshakes that failed or took too long",
                &self.handshakes_failed,
            ),
            Series::counter("early_data_total", "Connections begun with early data", &self.early),
            Series::counter("slow_clients_total", "Clients given up as too slow", &self.slow),
            Series::counter("busy_total", "Requests for which no file could be open", &self.busy),
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
                "Responses by class of status",
                classes.into_iter().zip(&self.responses),
            ),
            Series::counter(
                "responses_broken_total",
                "Responses that ended before their end",
                &self.broken,
            ),
            Series::counter("content_bytes_total", "Bytes of content sent", &self.bytes),
            Series::counter(
                "panics_total",
                "Connections ended by a panic in one of their tasks",
                &self.panics,
            ),
            Series::counter("log_lines_lost_total", "Lines of the access log lost", &self.log_lost),
        ];
        scrape::text("bentpipe_", &series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn responses_are_counted_by_the_class_of_their_status() {
        let metrics = Metrics::default();
        metrics.responses[1].fetch_add(3, Relaxed);
        let text = metrics.text(7);
        assert!(text.contains("\nbentpipe_connections 7\n"), "{text}");
        assert!(text.contains("\nbentpipe_responses_total{class=\"2xx\"} 3\n"), "{text}");
    }
}
