//! Axes: from values to points on paper, with round ticks.

use super::numbers::{Scale, grouped};

/// Values spread over more than this factor get a logarithmic axis.
const DECADE: f64 = 10.0;
/// Smallest span of an axis, as a fraction of its largest value: of less, a difference that nobody
/// would notice fills the figure. As the report page has it.
const SMALLEST_SPAN: f64 = 0.05;

/// Maps values to positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    /// Ends in values.
    pub low: f64,
    pub high: f64,
    /// True if equal distances are equal ratios.
    pub log: bool,
    /// Ends in points.
    pub from: f64,
    pub to: f64,
}

impl Axis {
    /// Returns an axis from the smallest to the largest of `values`, logarithmic if they span more
    /// than a decade.
    pub fn between(values: &[f64], from: f64, to: f64) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { low, high, log: low > 0.0 && high > DECADE * low, from, to }
    }

    /// Returns an axis for `values` with room at its ends: from zero if the smallest is less than
    /// half the largest, logarithmic if they span more than a decade.
    pub fn over(values: &[f64], from: f64, to: f64) -> Self {
        let tight = Self::between(values, from, to);
        let Self { low, high, log, .. } = tight;
        if low > high {
            return Self { low: 0.0, high: 1.0, ..tight };
        }
        if log {
            let pad = (high / low).powf(0.05);
            return Self { low: low / pad, high: high * pad, ..tight };
        }
        let positive = low >= 0.0;
        let largest = low.abs().max(high.abs());
        let smallest = if largest > 0.0 { SMALLEST_SPAN * largest } else { 1.0 };
        let (span, middle) = ((high - low).max(smallest), f64::midpoint(low, high));
        let pad = 0.06 * span;
        let (mut low, high) = (middle - span / 2.0 - pad, middle + span / 2.0 + pad);
        if positive && low < 0.5 * high {
            low = 0.0;
        }
        Self { low, high, ..tight }
    }

    /// Returns an axis from zero to a little more than `max`.
    pub fn from_zero(max: f64, from: f64, to: f64) -> Self {
        let high = if max > 0.0 { max * 1.04 } else { 1.0 };
        Self { low: 0.0, high, log: false, from, to }
    }

    /// Returns the position of a value.
    pub fn at(&self, value: f64) -> f64 {
        let place = |value: f64| if self.log { value.ln() } else { value };
        let span = place(self.high) - place(self.low);
        let share = if span == 0.0 { 0.5 } else { (place(value) - place(self.low)) / span };
        self.from + share * (self.to - self.from)
    }

    /// Returns about `target` round values on the axis in units of `scale`, with their labels.
    pub fn ticks(&self, target: usize, scale: Scale) -> Vec<(f64, String)> {
        let (low, high) = (self.low / scale.divisor, self.high / scale.divisor);
        let ticks = if self.log { decades(low, high, target) } else { even(low, high, target) };
        ticks.into_iter().map(|(value, label)| (value * scale.divisor, label)).collect()
    }
}

/// Even steps of 1, 2 or 5 times a power of ten.
fn even(low: f64, high: f64, target: usize) -> Vec<(f64, String)> {
    let raw = (high - low) / target.max(1) as f64;
    if !(raw.is_finite() && raw > 0.0) {
        return Vec::new();
    }
    let exponent = raw.log10().floor() as i32;
    let power = 10f64.powi(exponent);
    let factor = [1.0, 2.0, 5.0].into_iter().find(|m| m * power >= raw * 0.999).unwrap_or(10.0);
    let exponent = if factor == 10.0 { exponent + 1 } else { exponent };
    let decimals = usize::try_from(-exponent).unwrap_or_default();
    let step = factor * power;
    let first = (low / step - 1e-9).ceil();
    let count = (high / step - first + 1e-9).floor();
    // At most twice the target, whatever rounding does.
    let steps = 0..=(count.max(0.0) as usize).min(2 * target + 2);
    let label = |value: f64| (value, grouped(&format!("{value:.decimals$}")));
    steps.map(|step_number| label((first + step_number as f64) * step)).collect()
}

/// 1, 2 and 5 of each decade, or 1 alone if there are many.
fn decades(low: f64, high: f64, target: usize) -> Vec<(f64, String)> {
    let span = (high / low).log10();
    let factors: &[f64] = if span > 0.4 * target as f64 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    // Every second, third … decade of a very long axis.
    let stride = ((last - first) as usize / target.max(1)).max(1);
    let exponents = (first..=last).step_by(stride);
    let all = exponents.flat_map(|exponent| factors.iter().map(move |factor| (exponent, *factor)));
    all.map(|(exponent, factor)| {
        let decimals = usize::try_from(-exponent).unwrap_or_default();
        let value = factor * 10f64.powi(exponent);
        (value, grouped(&format!("{value:.decimals$}")))
    })
    .filter(|(value, _)| (low * 0.999..=high * 1.001).contains(value))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Scale = Scale { unit: "", divisor: 1.0 };

    fn labels(axis: Axis, target: usize) -> Vec<String> {
        axis.ticks(target, PLAIN).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(Axis::from_zero(6.1, 0.0, 100.0), 4), ["0", "2", "4", "6"]);
        let axis = Axis { low: 0.0, high: 0.3, log: false, from: 0.0, to: 1.0 };
        assert_eq!(labels(axis, 3), ["0.0", "0.1", "0.2", "0.3"]);
        let axis = Axis { low: 0.001, high: 1.0, log: true, from: 0.0, to: 1.0 };
        assert_eq!(labels(axis, 4), ["0.001", "0.01", "0.1", "1"]);
    }

    #[test]
    fn small_differences_do_not_fill_an_axis_and_large_ones_are_ratios() {
        let axis = Axis::over(&[76.983_859_20, 76.983_859_50], 0.0, 100.0);
        assert!((axis.at(76.983_859_20) - axis.at(76.983_859_50)).abs() < 0.1);
        let axis = Axis::over(&[1.0, 100.0], 0.0, 100.0);
        assert!(axis.log && (axis.at(10.0) - 50.0).abs() < 1e-9);
        assert_eq!(Axis::over(&[1.0, 4.0], 0.0, 1.0).low, 0.0);
        assert_eq!(Axis::over(&[], 0.0, 1.0).high, 1.0);
        let zero = Axis::over(&[0.0], 0.0, 1.0);
        assert!(zero.low == 0.0 && zero.high > 0.0);
    }
}
