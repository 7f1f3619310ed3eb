//! Numbers as text, and the units in which an axis shows a metric.

use bentpipe_results::metrics::Row;

/// Unit of an axis, and what values are divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    /// The unit; empty for plain numbers.
    pub unit: &'static str,
    /// Divisor of values.
    pub divisor: f64,
}

impl Scale {
    /// Returns the scale of values of `row` up to `max`.
    pub fn of(row: &Row, max: f64) -> Self {
        Self::of_unit(row.unit, max)
    }

    /// Returns the scale of values in `unit` up to `max`.
    pub fn of_unit(unit: &'static str, max: f64) -> Self {
        let max = max.abs();
        let (unit, divisor) = match unit {
            "bytes" | "B" => byte_unit(max),
            "Mbps" if max >= 1000.0 => ("Gbps", 1000.0),
            "Mbps" if max > 0.0 && max < 1.0 => ("kbps", 1e-3),
            "kbps" if max >= 1000.0 => ("Mbps", 1000.0),
            "fraction" => ("%", 0.01),
            "s" if max > 0.0 && max < 0.1 => ("ms", 1e-3),
            "ms" if max >= 10_000.0 => ("s", 1000.0),
            unit => (unit, 1.0),
        };
        Self { unit, divisor }
    }

    /// Returns `value` with the unit.
    pub fn with_unit(self, value: f64) -> String {
        let number = significant(value / self.divisor);
        if self.unit.is_empty() { number } else { format!("{number}\u{a0}{}", self.unit) }
    }

    /// Returns the title of an axis of `label` with the unit.
    pub fn title(self, label: &str) -> String {
        if self.unit.is_empty() { label.to_owned() } else { format!("{label}, {}", self.unit) }
    }
}

fn byte_unit(max: f64) -> (&'static str, f64) {
    match max {
        max if max >= 1e9 => ("GB", 1e9),
        max if max >= 1e6 => ("MB", 1e6),
        max if max >= 1e3 => ("kB", 1e3),
        _ => ("B", 1.0),
    }
}

/// Returns a value of `row` with a unit that suits it.
pub(super) fn valued(row: &Row, value: f64) -> String {
    Scale::of(row, value).with_unit(value)
}

/// Returns `value` with three significant digits, and a true minus sign.
pub(super) fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "–".to_owned() };
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = usize::try_from((2 - magnitude).clamp(0, 9)).unwrap_or_default();
    grouped(&format!("{value:.decimals$}"))
}

/// Returns a number in text with its thousands set apart from 10 000 on.
pub(super) fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("\u{2212}", digits));
    let (whole, rest) = digits.split_once('.').map_or((digits, None), |(a, b)| (a, Some(b)));
    let mut spaced = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if whole.len() > 4 && index > 0 && (whole.len() - index) % 3 == 0 {
            spaced.push('\u{202f}');
        }
        spaced.push(digit);
    }
    // A rounded nothing has no sign.
    let sign = if text.chars().any(|c| ('1'..='9').contains(&c)) { sign } else { "" };
    rest.map_or_else(|| format!("{sign}{spaced}"), |rest| format!("{sign}{spaced}.{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_count() {
        let texts = [0.0, 2.0, 6.1149, 0.001234, 12345.6, -0.5, 999.5].map(significant);
        let expected = ["0", "2.00", "6.11", "0.00123", "12\u{202f}346", "\u{2212}0.500", "1000"];
        assert_eq!(texts, expected);
        assert_eq!(significant(f64::NAN), "–");
    }

    #[test]
    fn units_suit_the_largest_value() {
        let scale = |unit, max| Scale::of_unit(unit, max);
        assert_eq!(scale("bytes", 2e6).with_unit(2e6), "2.00\u{a0}MB");
        assert_eq!(scale("s", 0.05).title("RTT"), "RTT, ms");
        assert_eq!(scale("fraction", 0.5).with_unit(0.5), "50.0\u{a0}%");
        assert_eq!(scale("", 3.0).with_unit(3.0), "3.00");
    }
}
