//! The choice of a controller, a slow start and a resume mode, with their parameters, as users
//! write it.

use crate::algorithms::{fixed_rate, ledbat_plus_plus};
use crate::catalogue::{CONTROLLERS, LOSS_FILTERS, RESUMPTIONS, SLOW_STARTS, controllers, find};
use crate::factory::ControllerFactory;
use crate::parameters::{Parameter, ParameterError, ParameterValues};
use crate::path_change::PathChangeResponse;
use bentpipe_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use thiserror::Error;

/// A name that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown {what} `{name}`; allowed: {}", allowed.join(", "))]
pub struct UnknownName {
    what: &'static str,
    name: String,
    allowed: Vec<&'static str>,
}

/// Declares a type for the names of a list.
macro_rules! name {
    ($(#[$meta:meta])* $name:ident, $what:literal, $default:literal, $all:expr) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(&'static str);

        impl $name {
            /// Returns all names.
            pub fn all() -> Vec<&'static str> {
                $all
            }
            /// Returns the name as text.
            pub const fn as_str(self) -> &'static str {
                self.0
            }
        }
        impl Default for $name {
            fn default() -> Self {
                Self($default)
            }
        }
        impl std::str::FromStr for $name {
            type Err = UnknownName;
            fn from_str(text: &str) -> Result<Self, UnknownName> {
                let allowed = Self::all();
                match allowed.iter().find(|name| **name == text) {
                    Some(name) => Ok(Self(name)),
                    None => Err(UnknownName { what: $what, name: text.to_owned(), allowed }),
                }
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.0)
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.0)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "enum": Self::all(),
                    "default": $default
                })
            }
        }
    };
}

name! {
    /// Name of a congestion controller.
    ControllerName, "congestion controller", "cubic",
    controllers().into_iter().map(|registration| registration.name).collect()
}
name! {
    /// Name of a slow start: `auto`, `standard`, or one from the catalogue.
    SlowStartName, "slow start", "auto",
    ["auto", "standard"]
        .into_iter()
        .chain(SLOW_STARTS.iter().map(|registration| registration.name))
        .collect()
}
name! {
    /// Name of a loss filter: `auto`, `none`, or one from the catalogue.
    LossFilterName, "loss filter", "auto",
    ["auto", "none"]
        .into_iter()
        .chain(LOSS_FILTERS.iter().map(|registration| registration.name))
        .collect()
}
impl ControllerName {
    /// Returns true for a controller of the catalogue, false for one that a program has registered.
    pub fn is_built_in(self) -> bool {
        CONTROLLERS.iter().any(|registration| registration.name == self.0)
    }
}

impl SlowStartName {
    /// The controller's own slow start.
    pub const STANDARD: Self = Self("standard");
}

impl LossFilterName {
    /// The controller learns of every loss.
    pub const NONE: Self = Self("none");
}

name! {
    /// How saved path parameters are used: `none`; `careful` (RFC 9959); or `jump`, which sends the
    /// whole saved window at once, is unsafe and only serves for comparison.
    ResumeName, "resume mode", "none",
    RESUMPTIONS.iter().map(|registration| registration.name).collect()
}

/// Parameter values by component and name.
pub type Parameters = BTreeMap<String, BTreeMap<String, f64>>;

/// The congestion control of a sender, as users choose it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CongestionConfig {
    /// Controller.
    pub controller: ControllerName,
    /// Slow start.
    pub slow_start: SlowStartName,
    /// Filter of the losses that the controller learns of.
    pub loss_filter: LossFilterName,
    /// Use of saved path parameters.
    pub resume: ResumeName,
    /// Parameters of any component, used or not.
    pub parameters: Parameters,
    /// Great-circle distance between the endpoints in metres. `None` if unknown.
    pub distance_m: Option<u64>,
    /// Maximum congestion window. `None` for no limit.
    pub max_window: Option<Bytes>,
    /// Response to announced path changes.
    pub path_change: PathChangeResponse,
}

/// The slow start behind `auto`, if the connection is allowed to use it.
const FAST_START: &str = "long-path";

/// Controllers whose own slow start is the one behind `auto`: a faster one in front would fill the
/// queue that they keep short.
const OWN_START: [&str; 1] = [ledbat_plus_plus::NAME];

/// The loss filter behind `auto`, and the controllers for which it is chosen: those that take every
/// loss as congestion and see no queue. Who chooses a slow start wants the controller as it is.
const AUTO_FILTER: &str = "chance";
const FILTERED: [&str; 2] = ["cubic", "newreno"];

/// Controllers that a filter has no effect on: they do not reduce a window for each loss.
const UNFILTERED: [&str; 4] = ["bbr1", "bbr3", "copa", fixed_rate::NAME];

/// Returns the parameters of every component by its name.
fn declared() -> impl Iterator<Item = (&'static str, &'static [Parameter])> {
    let controllers =
        controllers().into_iter().map(|registration| (registration.name, registration.parameters));
    let slow_starts =
        SLOW_STARTS.iter().map(|registration| (registration.name, registration.parameters));
    let resumptions =
        RESUMPTIONS.iter().map(|registration| (registration.name, registration.parameters));
    let filters =
        LOSS_FILTERS.iter().map(|registration| (registration.name, registration.parameters));
    controllers.chain(slow_starts).chain(filters).chain(resumptions)
}

/// Returns the parameters of all components whose defaults differ from their documents, with the
/// values of the documents.
pub fn documented_parameters() -> Parameters {
    let changed = |parameters: &[Parameter]| {
        let changed = parameters.iter().filter(|one| one.documented != one.default);
        changed.map(|one| (one.name.to_owned(), one.documented)).collect::<BTreeMap<_, _>>()
    };
    let all = declared().map(|(name, parameters)| (name.to_owned(), changed(parameters)));
    all.filter(|(_, changed)| !changed.is_empty()).collect()
}

fn values(parameters: &Parameters, component: &str) -> Result<ParameterValues, ParameterError> {
    let declared = declared()
        .find(|(name, _)| *name == component)
        .map_or(&[][..], |(_, parameters)| parameters);
    let mut values = ParameterValues::defaults(declared);
    for (name, value) in parameters.get(component).into_iter().flatten() {
        values.set(component, name, *value)?;
    }
    Ok(values)
}

/// Returns a value with at most four decimals, if it is not far smaller.
fn short(value: f64) -> f64 {
    let rounded = (value * 1e4).round() / 1e4;
    if (rounded - value).abs() <= 0.01 * value.abs() { rounded } else { value }
}

impl CongestionConfig {
    /// Returns false if the controller has no slow start: the one of the configuration has no
    /// effect then.
    pub fn has_slow_start(&self) -> bool {
        self.controller.as_str() != fixed_rate::NAME
    }

    /// Returns the name of the slow start in front of the controller, if there is one.
    fn start(&self) -> Option<&'static str> {
        match self.slow_start.as_str() {
            _ if !self.has_slow_start() => None,
            "standard" => None,
            "auto" if OWN_START.contains(&self.controller.as_str()) => None,
            "auto" => Some(FAST_START),
            name => Some(name),
        }
    }

    /// Returns the name of the loss filter in front of the controller, if there is one.
    pub fn filter(&self) -> Option<&'static str> {
        match self.loss_filter.as_str() {
            _ if UNFILTERED.contains(&self.controller.as_str()) => None,
            "auto" if self.slow_start != SlowStartName::default() => None,
            "auto" => FILTERED.contains(&self.controller.as_str()).then_some(AUTO_FILTER),
            "none" => None,
            name => Some(name),
        }
    }

    /// Returns the controller's name and what differs from the document that specifies it: the
    /// slow start and the loss filter, with what the scenario changed of them, and parameters.
    pub fn label(&self) -> String {
        let start = self.start();
        let component = self.controller.as_str();
        let layer = |name: &str, kind: &str| match self.differing(name).join(", ") {
            changed if changed.is_empty() => format!("{name} {kind}"),
            changed => format!("{name} {kind} ({changed})"),
        };
        let start = start.map(|start| layer(start, "start"));
        let filter = self.filter().map(|filter| layer(filter, "filter"));
        let layers = start.into_iter().chain(filter);
        let differences: Vec<String> = layers.chain(self.differing(component)).collect();
        match differences.is_empty() {
            true => component.to_owned(),
            false => format!("{component} + {}", differences.join(", ")),
        }
    }

    /// Returns the parameters of a component whose values are not those of its document, with the
    /// values: `beta 0.8`.
    fn differing(&self, component: &str) -> Vec<String> {
        let given = self.parameters.get(component);
        let parameters = declared().find(|(name, _)| *name == component);
        let parameters = parameters.into_iter().flat_map(|(_, parameters)| parameters);
        let differing = parameters.filter_map(|parameter| {
            let value = given.and_then(|given| given.get(parameter.name));
            let value = value.copied().unwrap_or(parameter.default);
            (value != parameter.documented).then(|| format!("{} {}", parameter.name, short(value)))
        });
        differing.collect()
    }

    /// Checks all parameters, and returns a factory of controllers.
    ///
    /// # Errors
    /// A component or parameter does not exist, or a value is out of range.
    pub fn factory(&self) -> Result<ControllerFactory, ParameterError> {
        for component in self.parameters.keys() {
            if !declared().any(|(name, _)| name == component) {
                let allowed: Vec<&str> = declared().map(|(name, _)| name).collect();
                let (component, allowed) = (component.clone(), allowed.join(", "));
                return Err(ParameterError::UnknownComponent { component, allowed });
            }
            values(&self.parameters, component)?;
        }
        let all = controllers();
        let named = all.iter().find(|one| one.name == self.controller.as_str());
        let controller = named.copied().unwrap_or(&CONTROLLERS[0]);
        let slow_start = match self.start().and_then(|name| find(SLOW_STARTS, name)) {
            Some(slow_start) => Some((slow_start, values(&self.parameters, slow_start.name)?)),
            None => None,
        };
        let loss_filter = match self.filter().and_then(|name| find(LOSS_FILTERS, name)) {
            Some(filter) => Some((filter, values(&self.parameters, filter.name)?)),
            None => None,
        };
        let resume = find(RESUMPTIONS, self.resume.as_str()).unwrap_or(&RESUMPTIONS[0]);
        Ok(ControllerFactory {
            controller: (controller, values(&self.parameters, controller.name)?),
            slow_start,
            loss_filter,
            slow_start_optional: self.slow_start.as_str() == "auto",
            resume: (resume, values(&self.parameters, resume.name)?),
            max_window: self.max_window,
            distance_m: self.distance_m,
            path_change: (self.path_change, None),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Restart;
    use crate::factory::FastStart;

    #[test]
    fn an_unknown_controller_is_rejected_with_the_allowed_ones() {
        let error = "bbr9".parse::<ControllerName>().unwrap_err().to_string();
        let expected = "unknown congestion controller `bbr9`; allowed: newreno";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_controller_gets_the_configured_distance() {
        let phase = |distance_m| {
            let controller = "geo-reno".parse().unwrap();
            let congestion = CongestionConfig {
                controller,
                slow_start: SlowStartName::STANDARD,
                distance_m,
                ..CongestionConfig::default()
            };
            let config = crate::testing::config();
            let mut made = congestion.factory().unwrap().make(&config, FastStart::Refused, None);
            let window = config.initial_window;
            made.restart(&Restart {
                now: config.now,
                window,
                ssthresh: Some(window),
                rate: None,
                min_rtt: None,
                recovery_start: 0,
            });
            made.send_control().phase
        };
        assert_eq!(
            (phase(Some(12_000_000)), phase(None)),
            ("congestion avoidance", "newreno, no distance")
        );
    }

    #[test]
    fn a_fixed_rate_has_no_slow_start_whatever_is_configured() {
        for name in SlowStartName::all() {
            let slow_start = name.parse().unwrap();
            let controller = fixed_rate::NAME.parse().unwrap();
            let congestion =
                CongestionConfig { controller, slow_start, ..CongestionConfig::default() };
            let config = crate::testing::config();
            let made = congestion.factory().unwrap().make(&config, FastStart::Allowed(None), None);
            // 10 Mbps over 600 ms, twice.
            assert_eq!(made.send_control().cwnd, Bytes::new(1_500_000), "{name}");
        }
    }

    #[test]
    fn a_label_names_what_differs_from_the_document() {
        let label = |controller: &str, slow_start: &str, parameters: Parameters| {
            let (controller, slow_start) =
                (controller.parse().unwrap(), slow_start.parse().unwrap());
            CongestionConfig { controller, slow_start, parameters, ..Default::default() }.label()
        };
        let none = Parameters::new;
        assert_eq!(label("cubic", "standard", none()), "cubic");
        assert_eq!(label("cubic", "auto", none()), "cubic + long-path start, chance filter");
        assert_eq!(label("cubic", "hystart", none()), "cubic + hystart start");
        assert_eq!(label("vegas", "hystart", none()), "vegas + hystart start");
        assert_eq!(label("ledbat++", "auto", none()), "ledbat++");
        assert_eq!(label("ledbat++", "long-path", none()), "ledbat++ + long-path start");
        assert_eq!(label("fixed-rate", "auto", none()), "fixed-rate");
        assert_eq!(
            label("bbr3", "auto", none()),
            "bbr3 + long-path start, loss_significance 3, probe_rtt_rounds 50"
        );
        let set = |component: &str, name: &str, value: f64| -> Parameters {
            [(component.to_owned(), [(name.to_owned(), value)].into())].into()
        };
        // Whether our default or the scenario changed it.
        assert_eq!(label("cubic", "standard", set("cubic", "beta", 0.8)), "cubic + beta 0.8");
        assert_eq!(
            label("cubic", "auto", set(FAST_START, "first_flight", 60.0)),
            "cubic + long-path start (first_flight 60), chance filter"
        );
        assert_eq!(
            label("fixed-rate", "auto", set("fixed-rate", "mbps", 9.5)),
            "fixed-rate + mbps 9.5"
        );
        assert_eq!((short(0.981_333_333), short(0.000_012_345)), (0.9813, 0.000_012_345));
        for registration in CONTROLLERS {
            let documented = documented_parameters();
            assert_eq!(label(registration.name, "standard", documented), registration.name);
        }
    }

    #[test]
    fn a_filter_is_in_front_of_window_based_controllers_only() {
        let filter = |controller: &str, loss_filter: &str| {
            let (controller, loss_filter) =
                (controller.parse().unwrap(), loss_filter.parse().unwrap());
            CongestionConfig { controller, loss_filter, ..Default::default() }.filter()
        };
        assert_eq!(filter("cubic", "auto"), Some("chance"));
        assert_eq!(filter("cubic", "none"), None);
        assert_eq!((filter("hybla", "auto"), filter("hybla", "chance")), (None, Some("chance")));
        assert_eq!(filter("bbr3", "chance"), None);
    }

    #[test]
    fn parameters_of_an_unknown_component_are_rejected() {
        let mut congestion = CongestionConfig::default();
        congestion.parameters.entry("bbr9".to_owned()).or_default().insert("gain".to_owned(), 1.0);
        assert!(congestion.factory().unwrap_err().to_string().contains("`bbr9`"));
    }

    #[test]
    fn parameters_out_of_range_are_rejected_even_for_unused_components() {
        let mut congestion = CongestionConfig::default();
        congestion
            .parameters
            .entry("newreno".to_owned())
            .or_default()
            .insert("beta".to_owned(), 2.0);
        assert!(congestion.factory().unwrap_err().to_string().contains("0.1 to 0.95"));
    }

    #[test]
    fn every_default_exists() {
        for name in [SlowStartName::default().as_str(), ResumeName::default().as_str()] {
            assert!(
                SlowStartName::all().contains(&name) || ResumeName::all().contains(&name),
                "{name}"
            );
        }
    }
}
