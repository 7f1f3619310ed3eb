//! What the proxy counts, and how Prometheus reads it (text format 0.0.4).

use super::door::Full;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Name, kind, what it is, and values with their labels.
type Series = (&'static str, &'static str, &'static str, Vec<(&'static str, u64)>);

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

    /// All of them, with what is there at present: connections, and bytes of memory that are promised to them.
    pub fn text(&self, connections: usize, memory: u64) -> String {
        let get = |value: &AtomicU64| value.load(Relaxed);
        let one = |value: &AtomicU64| vec![("", get(value))];
        let refused = vec![
            ("{reason=\"connections\"}", get(&self.refused_connections)),
            ("{reason=\"client\"}", get(&self.refused_client)),
            ("{reason=\"memory\"}", get(&self.refused_memory)),
            ("{reason=\"not-allowed\"}", get(&self.not_allowed)),
        ];
        let ended = vec![
            ("{how=\"complete\"}", get(&self.complete)),
            ("{how=\"cut\"}", get(&self.cut)),
            ("{how=\"idle\"}", get(&self.idle)),
        ];
        let bytes = vec![("{to=\"server\"}", get(&self.bytes_up)), ("{to=\"client\"}", get(&self.bytes_down))];
        let series: [Series; 9] = [
            ("connections", "gauge", "Connections at present", vec![("", connections as u64)]),
            ("memory_bytes", "gauge", "Memory that connections may come to take", vec![("", memory)]),
            ("connections_total", "counter", "Connections let in", one(&self.connections)),
            ("refused_total", "counter", "Connections refused", refused),
            ("not_understood_total", "counter", "Clients that did not say where to go", one(&self.not_understood)),
            ("unreachable_total", "counter", "Destinations that could not be reached", one(&self.unreachable)),
            ("ended_total", "counter", "Connections ended", ended),
            ("bytes_total", "counter", "Bytes led on", bytes),
            ("log_lines_lost_total", "counter", "Lines of the log lost", one(&self.log_lost)),
        ];
        let mut text = String::new();
        for (name, kind, help, values) in series {
            // Writing into a String cannot fail.
            let _ = write!(text, "# HELP bentpipe_pep_{name} {help}\n# TYPE bentpipe_pep_{name} {kind}\n");
            for (labels, value) in values {
                let _ = writeln!(text, "bentpipe_pep_{name}{labels} {value}");
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
        metrics.full(Full::Memory);
        let text = metrics.text(7, 1000);
        assert!(text.contains("# TYPE bentpipe_pep_connections gauge\nbentpipe_pep_connections 7\n"), "{text}");
        assert!(text.contains("bentpipe_pep_refused_total{reason=\"memory\"} 1\n"), "{text}");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.rsplit_once(' ').unwrap().1.parse::<u64>().is_ok(), "{line}");
        }
    }
}
