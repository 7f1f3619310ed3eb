//! How long responses took to arrive, by group, size and RTT.

use super::delivery_class::DeliveryClass;
use super::holdback::Group;
use crate::prometheus::Series;
use bentpipe_units::Span;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Upper bounds of times, seconds, as labels and in milliseconds. Our choice.
const TIMES: [(&str, u64); 11] = [
    ("0.05", 50),
    ("0.1", 100),
    ("0.2", 200),
    ("0.5", 500),
    ("1", 1000),
    ("2", 2000),
    ("3", 3000),
    ("5", 5000),
    ("10", 10_000),
    ("20", 20_000),
    ("60", 60_000),
];

/// Number of classes.
const CLASSES: usize = DeliveryClass::SIZES * DeliveryClass::RTTS;

/// A response that the client has acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Delivery {
    pub group: Group,
    /// Size of its content, bytes.
    pub bytes: u64,
    /// Minimum RTT of its connection.
    pub rtt: Span,
    /// Time from the request to the acknowledgement of the last byte.
    pub time: Span,
}

/// Deliveries of one group, size and RTT.
#[derive(Debug, Default)]
struct Class {
    times: [AtomicU64; TIMES.len()],
    count: AtomicU64,
    sum_us: AtomicU64,
}

/// Counters of deliveries.
#[derive(Debug, Default)]
pub struct DeliveryMetrics([[Class; CLASSES]; Group::ALL.len()]);

impl DeliveryMetrics {
    /// Counts a delivery.
    pub(super) fn add(&self, delivery: &Delivery) {
        let Delivery { group, bytes, rtt, time } = *delivery;
        let index = DeliveryClass::of(bytes, rtt).index();
        let class = self.0.get(group as usize).and_then(|classes| classes.get(index));
        let Some(class) = class else { return };
        let us = time.as_nanos() / 1000;
        class.count.fetch_add(1, Relaxed);
        class.sum_us.fetch_add(us, Relaxed);
        for (count, (_, limit)) in class.times.iter().zip(TIMES) {
            if us <= limit * 1000 {
                count.fetch_add(1, Relaxed);
            }
        }
    }

    /// Returns the histograms for Prometheus.
    pub(super) fn series(&self) -> Series {
        let mut values = Vec::new();
        for (group, classes) in Group::ALL.into_iter().zip(&self.0) {
            for (class, counted) in DeliveryClass::all().zip(classes) {
                let (group, size, rtt) = (group.name(), class.size(), class.rtt());
                let labels = format!("group=\"{group}\",size=\"{size}\",rtt=\"{rtt}\"");
                counted.write(&labels, &mut values);
            }
        }
        Series::histogram(
            "delivery_seconds",
            "Time from a request to the acknowledgement of its response's last byte",
            values,
        )
    }
}

impl Class {
    fn write(&self, labels: &str, values: &mut Vec<(String, f64)>) {
        let count = self.count.load(Relaxed) as f64;
        for ((time, _), counted) in TIMES.into_iter().zip(&self.times) {
            let label = format!("_bucket{{{labels},le=\"{time}\"}}");
            values.push((label, counted.load(Relaxed) as f64));
        }
        values.push((format!("_bucket{{{labels},le=\"+Inf\"}}"), count));
        values.push((format!("_sum{{{labels}}}"), self.sum_us.load(Relaxed) as f64 / 1e6));
        values.push((format!("_count{{{labels}}}"), count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prometheus::text;

    #[test]
    fn a_delivery_counts_in_its_class() {
        let metrics = DeliveryMetrics::default();
        let rtt = Span::from_millis(620);
        for (group, bytes, ms) in [
            (Group::Treatment, 1_000_000, 1900),
            (Group::Treatment, 1_000_000, 2100),
            (Group::Holdback, 1_000_000, 4000),
            (Group::Holdback, 14_999, 700),
        ] {
            metrics.add(&Delivery { group, bytes, rtt, time: Span::from_millis(ms) });
        }
        let text = text("bentpipe_", &[metrics.series()]);
        let large = "size=\"<1.5MB\",rtt=\">=400ms\"";
        for line in [
            format!("bentpipe_delivery_seconds_bucket{{group=\"treatment\",{large},le=\"2\"}} 1"),
            format!("bentpipe_delivery_seconds_bucket{{group=\"treatment\",{large},le=\"3\"}} 2"),
            format!("bentpipe_delivery_seconds_sum{{group=\"treatment\",{large}}} 4"),
            format!("bentpipe_delivery_seconds_sum{{group=\"holdback\",{large}}} 4"),
            format!("bentpipe_delivery_seconds_bucket{{group=\"holdback\",{large},le=\"3\"}} 0"),
            format!("bentpipe_delivery_seconds_count{{group=\"holdback\",{large}}} 1"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.contains("size=\"<15kB\",rtt=\">=400ms\"} 1\n"), "{text}");
    }
}
