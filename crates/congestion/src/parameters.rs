//! Parameters of controllers, slow starts and resume modes: named numbers with a default and a
//! range.
//!
//! Each component declares its parameters once, with `parameters!`. The macro generates both the
//! table that users see and the struct that the code reads, so that a mistyped name does not
//! compile.

use std::collections::BTreeMap;
use thiserror::Error;

/// A parameter that users may set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Name in scenarios.
    pub name: &'static str,
    /// Default value.
    pub default: f64,
    /// Value by the document that specifies the component; [`Parameter::default`] unless the
    /// default was changed.
    pub documented: f64,
    /// Smallest and largest allowed value.
    pub range: (f64, f64),
    /// Unit; empty for a plain number.
    pub unit: &'static str,
    /// Description, with the source of the default.
    pub about: &'static str,
}

/// Declares the parameters of a component.
///
/// A line reads `name: default, low => high, unit, about;`, and `about, document value;` if the
/// document of the component has another value than the default. The macro generates a struct of
/// `f64` fields with [`Default`], its `TABLE` of [`Parameter`]s, and a conversion from
/// [`ParameterValues`].
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        $type:ident {
            $(
                $field:ident: $default:expr, $low:expr => $high:expr, $unit:literal, $about:literal
                $(, document $documented:expr)?;
            )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $type {
            $(
                #[doc = $crate::parameters::described!($about, $unit)]
                pub $field: f64,
            )+
        }

        impl $type {
            /// The parameters as users see them.
            pub const TABLE: &'static [$crate::parameters::Parameter] = &[$(
                $crate::parameters::Parameter {
                    name: stringify!($field),
                    default: $default,
                    documented: $crate::parameters::documented!($default $(, $documented)?),
                    range: ($low, $high),
                    unit: $unit,
                    about: $about,
                },
            )+];
        }

        impl Default for $type {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl From<&$crate::parameters::ParameterValues> for $type {
            fn from(values: &$crate::parameters::ParameterValues) -> Self {
                Self { $($field: values.get(stringify!($field)),)+ }
            }
        }
    };
}

macro_rules! described {
    ($about:literal, "") => {
        $about
    };
    ($about:literal, $unit:literal) => {
        concat!("In ", $unit, ": ", $about)
    };
}

macro_rules! documented {
    ($default:expr) => {
        $default
    };
    ($default:expr, $documented:expr) => {
        $documented
    };
}

pub(crate) use {described, documented, parameters};

/// A parameter that does not exist, or a value outside its range.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ParameterError {
    /// No component has that name.
    #[error("unknown component `{component}` has parameters; allowed: {allowed}")]
    UnknownComponent {
        /// Unknown name.
        component: String,
        /// Names of all components.
        allowed: String,
    },
    /// The component has no parameter of that name.
    #[error("`{component}` has no parameter `{name}`; allowed: {allowed}")]
    UnknownParameter {
        /// The component.
        component: String,
        /// Unknown name.
        name: String,
        /// Names of the component's parameters.
        allowed: String,
    },
    /// The value lies outside the parameter's range.
    #[error("`{name} = {value}` is out of range for `{component}`; allowed: {low} to {high}{unit}")]
    OutOfRange {
        /// The component.
        component: String,
        /// The parameter.
        name: String,
        /// Rejected value.
        value: f64,
        /// Smallest allowed value.
        low: f64,
        /// Largest allowed value.
        high: f64,
        /// The unit after a space; empty for a plain number.
        unit: String,
    },
}

/// Checked values of one component's parameters, by name: defaults, or the values that users set.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterValues {
    parameters: &'static [Parameter],
    set: BTreeMap<&'static str, f64>,
}

impl ParameterValues {
    /// Creates values with every parameter at its default.
    pub fn defaults(parameters: &'static [Parameter]) -> Self {
        Self { parameters, set: BTreeMap::new() }
    }

    /// Sets the parameter `name` of `component`.
    ///
    /// # Errors
    /// The component has no such parameter, or the value lies outside its range.
    pub fn set(&mut self, component: &str, name: &str, value: f64) -> Result<(), ParameterError> {
        let component = component.to_owned();
        let Some(parameter) = self.parameters.iter().find(|parameter| parameter.name == name)
        else {
            let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
            let allowed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(ParameterError::UnknownParameter {
                component,
                name: name.to_owned(),
                allowed,
            });
        };
        let (low, high) = parameter.range;
        if !(low..=high).contains(&value) {
            let unit = if parameter.unit.is_empty() {
                String::new()
            } else {
                format!(" {}", parameter.unit)
            };
            let name = name.to_owned();
            return Err(ParameterError::OutOfRange { component, name, value, low, high, unit });
        }
        self.set.insert(parameter.name, value);
        Ok(())
    }

    /// Returns name and value of each parameter.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.parameters.iter().map(|parameter| (parameter.name, self.get(parameter.name)))
    }

    /// Returns the value of `name`, NaN if the component declares no such parameter.
    pub(crate) fn get(&self, name: &str) -> f64 {
        let default = || {
            self.parameters
                .iter()
                .find(|parameter| parameter.name == name)
                .map(|found| found.default)
        };
        let value = self.set.get(name).copied().or_else(default);
        debug_assert!(value.is_some(), "parameter `{name}` is not declared");
        value.unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    parameters! {
        /// Two parameters.
        Example {
            beta: 0.7, 0.1 => 0.9, "", "fraction of the window that remains after a loss";
            interval: 2.0, 0.0 => 10.0, "s", "time between two probes";
        }
    }

    #[test]
    fn unset_parameters_have_their_defaults() {
        let values = ParameterValues::defaults(Example::TABLE);
        assert_eq!(Example::from(&values), Example::default());
        assert_eq!(Example::default(), Example { beta: 0.7, interval: 2.0 });
    }

    #[test]
    fn a_parameter_is_set_by_its_name() {
        let mut values = ParameterValues::defaults(Example::TABLE);
        values.set("example", "interval", 3.0).unwrap();
        assert_eq!(Example::from(&values), Example { interval: 3.0, ..Example::default() });
    }

    #[test]
    fn an_unknown_parameter_is_rejected_with_the_known_ones() {
        let error = ParameterValues::defaults(Example::TABLE)
            .set("cubic", "gamma", 1.0)
            .unwrap_err()
            .to_string();
        assert_eq!(error, "`cubic` has no parameter `gamma`; allowed: beta, interval");
    }

    #[test]
    fn a_value_out_of_range_is_rejected_with_the_range() {
        for wrong in [0.95, f64::NAN, f64::INFINITY] {
            let error = ParameterValues::defaults(Example::TABLE)
                .set("cubic", "beta", wrong)
                .unwrap_err()
                .to_string();
            assert!(error.contains("allowed: 0.1 to 0.9"), "{error}");
        }
    }
}
