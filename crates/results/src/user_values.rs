//! Statistics of a value over the users of a population.

use crate::stats::quantile;

/// Values of users in ascending order. A missing value counts as infinite.
pub(crate) struct UserValues(Vec<f64>);

impl UserValues {
    /// Takes the values of users.
    pub fn new(values: impl Iterator<Item = Option<f64>>) -> Self {
        let mut values: Vec<f64> = values.map(|value| value.unwrap_or(f64::INFINITY)).collect();
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// Returns the mean; `None` without values, and if one is missing.
    pub fn mean(&self) -> Option<f64> {
        let mean = self.0.iter().sum::<f64>() / self.0.len() as f64;
        mean.is_finite().then_some(mean)
    }

    /// Returns a quantile; `None` without values, and if it is a missing one.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| quantile(&self.0, q)).filter(|value| value.is_finite())
    }

    /// Returns Jain's index of the inverse values, in which a missing value counts as 0.
    pub fn jain_of_inverse(&self) -> Option<f64> {
        let inverse = || self.0.iter().map(|value| 1.0 / value);
        let (sum, squares) = (inverse().sum::<f64>(), inverse().map(|x| x * x).sum::<f64>());
        let index = sum * sum / (self.0.len() as f64 * squares);
        index.is_finite().then_some(index)
    }
}
