//! What the server counts, and how Prometheus reads it (text format 0.0.4).

use std::fmt::Write;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

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
    /// Responses by class of their status, from 1xx to 5xx.
    pub responses: [AtomicU64; 5],
    /// Responses that did not end as they were announced.
    pub broken: AtomicU64,
    /// Bytes of content that were sent.
    pub bytes: AtomicU64,
    /// Connections that began with early data (0-RTT).
    pub early: AtomicU64,
    /// Lines of the access log that were lost, since its reader was too slow.
    pub log_lost: AtomicU64,
}

impl Metrics {
    /// All of them, with `connections` at present.
    pub fn text(&self, connections: usize) -> String {
        let mut text = String::new();
        let get = |value: &AtomicU64| value.load(Relaxed);
        let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"];
        let responses: Vec<(String, u64)> = classes
            .iter()
            .zip(&self.responses)
            .map(|(class, count)| (format!("{{class=\"{class}\"}}"), get(count)))
            .collect();
        let by_transport = vec![
            ("{transport=\"quic\"}".to_owned(), get(&self.connections_quic)),
            ("{transport=\"tcp\"}".to_owned(), get(&self.connections_tcp)),
        ];
        let one = |value: &AtomicU64| vec![(String::new(), get(value))];
        let series = [
            ("connections", "gauge", "Connections at present", vec![(String::new(), connections as u64)]),
            ("connections_total", "counter", "Connections admitted", by_transport),
            ("connections_refused_total", "counter", "Connections refused", one(&self.refused)),
            ("retries_total", "counter", "Clients asked to show their address", one(&self.retried)),
            (
                "handshakes_failed_total",
                "counter",
                "Handshakes that failed or took too long",
                one(&self.handshakes_failed),
            ),
            ("early_data_total", "counter", "Connections begun with early data", one(&self.early)),
            ("slow_clients_total", "counter", "Clients given up as too slow", one(&self.slow)),
            ("responses_total", "counter", "Responses by class of status", responses),
            ("responses_broken_total", "counter", "Responses that ended before their end", one(&self.broken)),
            ("content_bytes_total", "counter", "Bytes of content sent", one(&self.bytes)),
            ("log_lines_lost_total", "counter", "Lines of the access log lost", one(&self.log_lost)),
        ];
        for (name, kind, help, values) in series {
            // Writing into a String cannot fail.
            let _ = write!(text, "# HELP bentpipe_{name} {help}\n# TYPE bentpipe_{name} {kind}\n");
            for (labels, value) in values {
                let _ = writeln!(text, "bentpipe_{name}{labels} {value}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prometheus_can_read_it() {
        let metrics = Metrics::default();
        metrics.responses[1].fetch_add(3, Relaxed);
        let text = metrics.text(7);
        assert!(text.contains("# TYPE bentpipe_connections gauge\nbentpipe_connections 7\n"), "{text}");
        assert!(text.contains("bentpipe_responses_total{class=\"2xx\"} 3\n"), "{text}");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.rsplit_once(' ').unwrap().1.parse::<u64>().is_ok(), "{line}");
        }
    }
}
