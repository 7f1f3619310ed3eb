//! The rows of the registry, and how to find them.

use super::{FLOW, FLOW_DERIVED, LINK, SHARED, layers};
use crate::{Fairness, Flow, Link};
use serde_json::{Value, json};

/// Whether smaller or larger values of a metric are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Smaller is better.
    Lower,
    /// Larger is better.
    Higher,
    /// Neither is better.
    Neither,
}

/// What a metric measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One visit of one flow.
    Flow,
    /// All competing flows of a run.
    Shared,
    /// One direction of one hop.
    Link,
}

/// A metric of `T`.
#[derive(Debug)]
pub struct Metric<T> {
    /// Name in scenarios and results.
    pub name: &'static str,
    /// Unit; empty for ratios.
    pub unit: &'static str,
    /// Whether smaller or larger values are better.
    pub better: Better,
    /// Label in headings and plots.
    pub label: &'static str,
    /// Meaning, in a sentence.
    pub about: &'static str,
    /// True if the metric is summarised only if a scenario names it. Such metrics break down
    /// another one.
    pub detail: bool,
    /// Reads the value; `None` if it was not measured.
    pub read: fn(&T) -> Option<f64>,
}

impl<T> Metric<T> {
    /// Returns label and unit as the heading of a column.
    pub fn heading(&self) -> String {
        match self.unit {
            "" => self.label.to_owned(),
            unit => format!("{}, {unit}", self.label),
        }
    }
}

/// A stored value that a metric reads as a number.
pub trait Number {
    /// Returns the value as a number; `None` if it is missing.
    fn number(&self) -> Option<f64>;
}

impl Number for f64 {
    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

impl Number for u64 {
    fn number(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl<T: Number> Number for Option<T> {
    fn number(&self) -> Option<f64> {
        self.as_ref().and_then(Number::number)
    }
}

/// Declares a struct of stored metrics and the table of its rows.
macro_rules! metrics {
    (
        $(#[doc = $about:literal])+
        $struct:ident, $table:ident, $owner:ty, |$one:ident| $place:expr;
        $(
            $(#[doc = $doc:literal])+
            $label:literal, $unit:literal, $better:ident: $name:ident: $type:ty,
        )+
    ) => {
        $(#[doc = $about])+
        #[derive(
            Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema,
        )]
        #[serde(default)]
        pub struct $struct {
            $(
                $(#[doc = $doc])+
                #[schemars(extend("x-unit" = $unit))]
                pub $name: $type,
            )+
        }

        #[doc = concat!("Rows of [`", stringify!($struct), "`].")]
        pub const $table: &[$crate::metrics::Metric<$owner>] = &[$(
            $crate::metrics::Metric {
                name: stringify!($name),
                unit: $unit,
                better: $crate::metrics::Better::$better,
                label: $label,
                about: concat!($($doc),+),
                detail: false,
                read: |$one| $crate::metrics::Number::number(&$place.$name),
            },
        )+];
    };
}
pub(super) use metrics;

/// Returns every metric of a flow: stored metrics, those computed from them, and the layers of the
/// reverse direction.
pub fn flow_metrics() -> impl Iterator<Item = &'static Metric<Flow>> {
    FLOW.iter().chain(FLOW_DERIVED).chain(layers())
}

/// Returns the metric of a flow called `name`.
pub fn find(name: &str) -> Option<&'static Metric<Flow>> {
    flow_metrics().find(|metric| metric.name == name)
}

/// Returns the metric of all competing flows called `name`.
pub fn find_shared(name: &str) -> Option<&'static Metric<Fairness>> {
    SHARED.iter().find(|metric| metric.name == name)
}

/// Returns the names of all metrics that scenarios can name: those of a flow, then those of all
/// competing flows.
pub fn names() -> impl Iterator<Item = &'static str> {
    flow_metrics().map(|metric| metric.name).chain(SHARED.iter().map(|metric| metric.name))
}

/// Returns all rows as JSON objects, for the schema.
pub fn schema() -> Value {
    fn rows<T: 'static>(
        scope: Scope,
        metrics: impl Iterator<Item = &'static Metric<T>>,
    ) -> Vec<Value> {
        let scope = match scope {
            Scope::Flow => "flow",
            Scope::Shared => "shared",
            Scope::Link => "link",
        };
        let row = |metric: &Metric<T>| {
            let better = match metric.better {
                Better::Lower => "lower",
                Better::Higher => "higher",
                Better::Neither => "neither",
            };
            json!({
                "name": metric.name, "scope": scope, "unit": metric.unit, "better": better,
                "label": metric.label, "about": metric.about.trim(), "detail": metric.detail,
            })
        };
        metrics.map(row).collect()
    }
    let mut all = rows::<Flow>(Scope::Flow, flow_metrics());
    all.extend(rows::<Fairness>(Scope::Shared, SHARED.iter()));
    all.extend(rows::<Link>(Scope::Link, LINK.iter()));
    Value::Array(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_carry_their_units() {
        let mut all: Vec<&str> = names().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        let ends = [("s", "_s"), ("ms", "_ms"), ("Mbps", "_mbps"), ("%", "percent")];
        for metric in flow_metrics().filter(|metric| !metric.detail) {
            for (_, end) in ends.iter().filter(|(unit, _)| *unit == metric.unit) {
                assert!(metric.name.ends_with(end), "{} in {}", metric.name, metric.unit);
            }
        }
    }

    #[test]
    fn every_row_has_a_label_and_a_meaning() {
        for row in schema().as_array().unwrap() {
            let text = |key: &str| row[key].as_str().unwrap();
            assert!(!text("label").is_empty() && text("about").ends_with('.'), "{row}");
        }
    }

    #[test]
    fn a_metric_is_found_by_its_name() {
        for name in ["completion_s", "reverse_bytes", "reverse_bytes.ack", "path.saved_rtt_ms"] {
            assert_eq!(find(name).map(|metric| metric.name), Some(name));
        }
        assert!(find("reverse_bytes.syn").is_none() && find("jain_index").is_none());
        assert!(find_shared("jain_index").is_some());
    }
}
