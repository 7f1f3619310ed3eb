//! Parameters of controllers, starts and resumption: named numbers with a default and a range.

use std::collections::BTreeMap;
use thiserror::Error;

/// A parameter that users may set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name in scenarios.
    pub name: &'static str,
    /// What it is when nobody sets it.
    pub default: f64,
    /// Smallest and largest value allowed.
    pub range: (f64, f64),
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
    /// What it does, and where the default comes from.
    pub about: &'static str,
}

/// A parameter that does not exist, or a value outside its range.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ParameterError {
    /// No such part.
    #[error("parameters of `{part}`, which does not exist; allowed: {allowed}")]
    Part {
        /// What was asked for.
        part: String,
        /// What there is.
        allowed: String,
    },
    /// No such name.
    #[error("`{part}` has no parameter `{name}`; allowed: {allowed}")]
    Unknown {
        /// Whose parameter.
        part: String,
        /// What was asked for.
        name: String,
        /// What there is.
        allowed: String,
    },
    /// Outside its range.
    #[error("`{name} = {value}` for `{part}`; allowed: {low} to {high}{unit}")]
    Range {
        /// Whose parameter.
        part: String,
        /// Which.
        name: String,
        /// What was asked for.
        value: f64,
        /// Smallest value allowed.
        low: f64,
        /// Largest value allowed.
        high: f64,
        /// Its unit, after a space.
        unit: String,
    },
}

/// Values of one part's parameters: the defaults, and what users set instead.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    parameters: &'static [Parameter],
    set: BTreeMap<&'static str, f64>,
}

impl Values {
    /// Every parameter at its default.
    pub fn defaults(parameters: &'static [Parameter]) -> Self {
        Self { parameters, set: BTreeMap::new() }
    }

    /// Sets one.
    ///
    /// # Errors
    /// `part` has no such parameter, or the value lies outside its range.
    pub fn set(&mut self, part: &str, name: &str, value: f64) -> Result<(), ParameterError> {
        let Some(parameter) = self.parameters.iter().find(|parameter| parameter.name == name) else {
            let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
            let allowed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(ParameterError::Unknown { part: part.to_owned(), name: name.to_owned(), allowed });
        };
        let (low, high) = parameter.range;
        if !(low..=high).contains(&value) {
            let unit = if parameter.unit.is_empty() { String::new() } else { format!(" {}", parameter.unit) };
            let (part, name) = (part.to_owned(), name.to_owned());
            return Err(ParameterError::Range { part, name, value, low, high, unit });
        }
        self.set.insert(parameter.name, value);
        Ok(())
    }

    /// The value of `name`. A part asks only for parameters that it declares; others are not a number.
    pub fn get(&self, name: &str) -> f64 {
        let default = || self.parameters.iter().find(|parameter| parameter.name == name).map(|found| found.default);
        let value = self.set.get(name).copied().or_else(default);
        debug_assert!(value.is_some(), "parameter `{name}` is not declared");
        value.unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BETA: &[Parameter] =
        &[Parameter { name: "beta", default: 0.7, range: (0.1, 0.9), unit: "", about: "share kept at a loss" }];

    #[test]
    fn what_nobody_sets_has_its_default() {
        assert_eq!(Values::defaults(BETA).get("beta"), 0.7);
    }

    #[test]
    fn an_unknown_parameter_is_refused_with_those_there_are() {
        let error = Values::defaults(BETA).set("cubic", "gamma", 1.0).unwrap_err().to_string();
        assert_eq!(error, "`cubic` has no parameter `gamma`; allowed: beta");
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_the_range() {
        for wrong in [0.95, f64::NAN, f64::INFINITY] {
            let error = Values::defaults(BETA).set("cubic", "beta", wrong).unwrap_err().to_string();
            assert!(error.contains("allowed: 0.1 to 0.9"), "{error}");
        }
    }
}
