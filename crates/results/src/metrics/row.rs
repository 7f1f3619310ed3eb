//! A row of the registry, and the macro that declares rows.

/// Whether smaller or larger values of a metric are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Smaller is better.
    Lower,
    /// Larger is better.
    Higher,
    /// Neither is better.
    Neither,
}

/// Name, unit and meaning of a metric.
#[derive(Debug, Clone, Copy)]
pub struct Row {
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
}

impl Row {
    /// Returns the label as it stands within a sentence: `goodput`, `median response time`,
    /// `99th-percentile RTT`.
    pub fn in_sentence(&self) -> String {
        let Some((name, quantile)) = self.label.split_once(", ") else {
            return uncapitalised(self.label);
        };
        let name = uncapitalised(name);
        match quantile.strip_suffix(" percentile") {
            Some(rank) => format!("{rank}-percentile {name}"),
            None if quantile == "median" => format!("median {name}"),
            None => uncapitalised(self.label),
        }
    }

    /// Returns label and unit as the heading of a column.
    pub fn heading(&self) -> String {
        match self.unit {
            "" => self.label.to_owned(),
            unit => format!("{}, {unit}", self.label),
        }
    }
}

/// Returns `label` as it stands within a sentence. Abbreviations and names keep their capitals.
fn uncapitalised(label: &str) -> String {
    let mut letters = label.chars();
    let (first, second) = (letters.next().unwrap_or_default(), letters.next());
    if second.is_some_and(char::is_uppercase) || label.starts_with("Jain") {
        return label.to_owned();
    }
    first.to_lowercase().chain(label.chars().skip(1)).collect()
}

/// A metric that `T` stores.
#[derive(Debug)]
pub struct Metric<T> {
    /// Name, unit and meaning.
    pub row: Row,
    /// Reads the value; `None` if it was not measured.
    pub read: fn(&T) -> Option<f64>,
    /// True if results do not have the field without a value.
    pub optional: bool,
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

/// Declares a struct of stored metrics and the table of its rows. `= "Option::is_none"` behind the
/// type of a metric leaves it out of results without a value.
macro_rules! metrics {
    (
        $(#[doc = $about:literal])+
        $struct:ident, $table:ident;
        $(
            $(#[doc = $doc:literal])+
            $label:literal, $unit:literal, $better:ident: $name:ident: $type:ty
                $(= $absent:literal)?,
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
                $(#[serde(skip_serializing_if = $absent)])?
                pub $name: $type,
            )+
        }

        #[doc = concat!("Rows of [`", stringify!($struct), "`].")]
        pub const $table: &[$crate::metrics::Metric<$struct>] = &[$(
            $crate::metrics::Metric {
                row: $crate::metrics::Row {
                    name: stringify!($name),
                    unit: $unit,
                    better: $crate::metrics::Better::$better,
                    label: $label,
                    about: concat!($($doc),+),
                    detail: false,
                },
                read: |stored| $crate::metrics::Number::number(&stored.$name),
                optional: <[&str]>::len(&[$($absent)?]) > 0,
            },
        )+];
    };
}
pub(super) use metrics;
