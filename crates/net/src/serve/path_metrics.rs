//! What the server's QUIC connections saw of their paths, counted when each has ended.

use super::holdback::Group;
use crate::path_report::PathReport;
use crate::prometheus::Series;
use bentpipe_quic::SenderMetrics;
use bentpipe_quic::congestion::ResumeHandle;
use bentpipe_units::Span;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Upper bounds of the RTT's buckets, as labels, and in milliseconds. Our choice: terrestrial
/// paths, low orbits (20 to 100 ms), medium ones (130 to 250), geostationary ones (500 to 900).
const BUCKETS: [(&str, u64); 10] = [
    ("_bucket{le=\"0.01\"}", 10),
    ("_bucket{le=\"0.02\"}", 20),
    ("_bucket{le=\"0.05\"}", 50),
    ("_bucket{le=\"0.1\"}", 100),
    ("_bucket{le=\"0.2\"}", 200),
    ("_bucket{le=\"0.4\"}", 400),
    ("_bucket{le=\"0.6\"}", 600),
    ("_bucket{le=\"0.8\"}", 800),
    ("_bucket{le=\"1\"}", 1000),
    ("_bucket{le=\"2\"}", 2000),
];

/// What shows how a connection's path did.
#[derive(Debug, Clone)]
pub(super) struct PathView {
    pub resume: Option<ResumeHandle>,
    pub sender: Option<SenderMetrics>,
    /// The group of the client, if clients are divided.
    pub group: Option<Group>,
}

/// Counters of paths.
#[derive(Debug, Default)]
pub struct PathMetrics {
    /// Connections by minimum RTT: those in each bucket and in all smaller ones.
    rtt_buckets: [AtomicU64; BUCKETS.len()],
    rtt_count: AtomicU64,
    rtt_sum_us: AtomicU64,
    /// Connections by what the server did with its memory of their path, in the order of
    /// [`PathReport`].
    reports: [AtomicU64; 5],
    packets_sent: AtomicU64,
    packets_lost: AtomicU64,
}

impl PathMetrics {
    /// Counts a connection that has ended.
    pub(super) fn ended(&self, view: &PathView) {
        let report = view.resume.as_ref().map_or(PathReport::Unknown, PathReport::of);
        if let Some(count) = self.reports.get(report as usize) {
            count.fetch_add(1, Relaxed);
        }
        let Some(sender) = view.sender.as_ref().map(SenderMetrics::stats) else { return };
        self.packets_sent.fetch_add(sender.packets_sent, Relaxed);
        self.packets_lost.fetch_add(sender.packets_declared_lost, Relaxed);
        if let Some(rtt) = sender.rtt_min() {
            self.add_rtt(rtt);
        }
    }

    fn add_rtt(&self, rtt: Span) {
        let us = rtt.as_nanos() / 1000;
        self.rtt_count.fetch_add(1, Relaxed);
        self.rtt_sum_us.fetch_add(us, Relaxed);
        for (count, (_, limit)) in self.rtt_buckets.iter().zip(BUCKETS) {
            if us <= limit * 1000 {
                count.fetch_add(1, Relaxed);
            }
        }
    }

    /// Returns the counters for Prometheus.
    pub(super) fn series(&self) -> [Series; 4] {
        let count = |count: &AtomicU64| count.load(Relaxed) as f64;
        let buckets = BUCKETS.iter().zip(&self.rtt_buckets);
        let mut rtt: Vec<(&'static str, f64)> =
            buckets.map(|((label, _), bucket)| (*label, count(bucket))).collect();
        rtt.push(("_bucket{le=\"+Inf\"}", count(&self.rtt_count)));
        rtt.push(("_sum", count(&self.rtt_sum_us) / 1e6));
        rtt.push(("_count", count(&self.rtt_count)));
        let reports = [
            "{outcome=\"unknown\"}",
            "{outcome=\"known\"}",
            "{outcome=\"in_use\"}",
            "{outcome=\"resumed\"}",
            "{outcome=\"retreated\"}",
        ];
        [
            Series::histogram(
                "quic_min_rtt_seconds",
                "Minimum RTT of QUIC connections that ended",
                rtt,
            ),
            Series::counters(
                "quic_resumptions_total",
                "QUIC connections that ended, by use of the memory of their path",
                reports.into_iter().zip(&self.reports),
            ),
            Series::counter(
                "quic_packets_sent_total",
                "Packets sent by QUIC connections that ended",
                &self.packets_sent,
            ),
            Series::counter(
                "quic_packets_lost_total",
                "Packets declared lost by QUIC connections that ended",
                &self.packets_lost,
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prometheus::text;

    #[test]
    fn buckets_include_all_smaller_ones() {
        let metrics = PathMetrics::default();
        for ms in [9, 10, 11, 620, 5000] {
            metrics.add_rtt(Span::from_millis(ms));
        }
        let text = text("bentpipe_", &metrics.series());
        for line in [
            "# TYPE bentpipe_quic_min_rtt_seconds histogram",
            "bentpipe_quic_min_rtt_seconds_bucket{le=\"0.01\"} 2",
            "bentpipe_quic_min_rtt_seconds_bucket{le=\"0.6\"} 3",
            "bentpipe_quic_min_rtt_seconds_bucket{le=\"0.8\"} 4",
            "bentpipe_quic_min_rtt_seconds_bucket{le=\"2\"} 4",
            "bentpipe_quic_min_rtt_seconds_bucket{le=\"+Inf\"} 5",
            "bentpipe_quic_min_rtt_seconds_sum 5.65",
            "bentpipe_quic_min_rtt_seconds_count 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn reports_are_counted_under_their_names() {
        let reports = PathReport::ALL;
        let metrics = PathMetrics::default();
        for (number, report) in reports.into_iter().enumerate() {
            metrics.reports[report as usize].fetch_add(number as u64 + 1, Relaxed);
        }
        let text = text("", &metrics.series());
        for (number, report) in reports.into_iter().enumerate() {
            let name = report.name();
            let line = format!("quic_resumptions_total{{outcome=\"{name}\"}} {}", number + 1);
            assert!(text.contains(&line), "{text}");
        }
    }
}
