//! Metrics for Prometheus, in its text format 0.0.4.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A metric in Prometheus's sense: one value, or one for each set of labels.
pub(crate) struct Series {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    values: Vec<(Cow<'static, str>, f64)>,
}

impl Series {
    /// Values of a kind, by labels.
    pub(crate) fn values(
        name: &'static str,
        kind: &'static str,
        help: &'static str,
        values: Vec<(impl Into<Cow<'static, str>>, f64)>,
    ) -> Self {
        let values = values.into_iter().map(|(labels, value)| (labels.into(), value)).collect();
        Self { name, kind, help, values }
    }

    /// A value that rises and falls.
    pub(crate) fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self::values(name, "gauge", help, vec![("", value as f64)])
    }

    /// A count since the program began.
    pub(crate) fn counter(name: &'static str, help: &'static str, value: &AtomicU64) -> Self {
        Self::counters(name, help, [("", value)])
    }

    /// Counts since the program began, by labels such as `{to="server"}`.
    pub(crate) fn counters<'a>(
        name: &'static str,
        help: &'static str,
        values: impl IntoIterator<Item = (&'static str, &'a AtomicU64)>,
    ) -> Self {
        let values = values.into_iter().map(|(labels, value)| (labels, value.load(Relaxed) as f64));
        Self::values(name, "counter", help, values.collect())
    }

    /// The buckets of a histogram, its sum and its count, each under its suffix and label.
    pub(crate) fn histogram(
        name: &'static str,
        help: &'static str,
        values: Vec<(impl Into<Cow<'static, str>>, f64)>,
    ) -> Self {
        Self::values(name, "histogram", help, values)
    }
}

/// Formats metrics for Prometheus, with `prefix` before each name.
pub(crate) fn text(prefix: &str, series: &[Series]) -> String {
    let mut text = String::new();
    for Series { name, kind, help, values } in series {
        // Writing to a String cannot fail.
        let _ = write!(text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}\n");
        for (labels, value) in values {
            let _ = writeln!(text, "{prefix}{name}{labels} {value}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_the_text_format() {
        let [first, second] = [AtomicU64::new(1), AtomicU64::new(2)];
        let series = [
            Series::gauge("connections", "Connections at present", 7),
            Series::counters(
                "bytes_total",
                "Bytes",
                [("{to=\"server\"}", &first), ("{to=\"client\"}", &second)],
            ),
        ];
        assert_eq!(
            text("bentpipe_", &series),
            "# HELP bentpipe_connections Connections at present\n# TYPE bentpipe_connections \
                gauge\n\
             bentpipe_connections 7\n# HELP bentpipe_bytes_total Bytes\n# TYPE \
             bentpipe_bytes_total counter\n\
             bentpipe_bytes_total{to=\"server\"} 1\nbentpipe_bytes_total{to=\"client\"} 2\n"
        );
    }
}
