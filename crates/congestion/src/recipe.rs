//! Which controller, which start, what to do with a remembered path, and their parameters: as people write it down, checked,
//! and as a thing that makes controllers.

use crate::capped::Capped;
use crate::catalogue::{CONTROLLERS, Part, RESUMPTIONS, STARTS, find};
use crate::controller::{Controller, Setup};
use crate::hinted::Hinted;
use crate::hints::HintFeed;
use crate::parameter::{ParameterError, Values};
use crate::resume::{Mode, PathNotes, Resume};
use crate::start::{Permit, Start, Started};
use bentpipe_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use thiserror::Error;

/// A name that stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is no {what}; allowed: {}", allowed.join(", "))]
pub struct UnknownName {
    what: &'static str,
    name: String,
    allowed: Vec<&'static str>,
}

/// Declares a name out of a list that the program knows.
macro_rules! name {
    ($(#[$meta:meta])* $name:ident, $what:literal, $default:literal, $all:expr) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(&'static str);

        impl $name {
            /// Every name there is.
            pub fn all() -> Vec<&'static str> {
                $all
            }
            /// The name.
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
                schemars::json_schema!({ "type": "string", "enum": Self::all(), "default": $default })
            }
        }
    };
}

name! {
    /// Name of a congestion controller.
    ControllerName, "congestion controller", "cubic", CONTROLLERS.iter().map(|part| part.name).collect()
}
name! {
    /// Name of a way to start: `auto`, `standard`, or one of the catalogue's.
    StartName, "start", "auto", ["auto", "standard"].into_iter().chain(STARTS.iter().map(|part| part.name)).collect()
}
impl StartName {
    /// The controller's own slow start.
    pub const STANDARD: Self = Self("standard");
}

name! {
    /// What is done with a remembered path: `none`; `careful` (RFC 9959); `jump`, straight to what was remembered, which is
    /// unsafe and there for comparison.
    ResumeName, "way to resume", "none", RESUMPTIONS.iter().map(|part| part.name).collect()
}

/// Parameters by part and name.
pub type Parameters = BTreeMap<String, BTreeMap<String, f64>>;

/// A choice of parts, as written down.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recipe {
    /// The controller.
    pub controller: ControllerName,
    /// How it starts.
    pub start: StartName,
    /// What it does with a remembered path.
    pub resume: ResumeName,
    /// Parameters of any part, used or not.
    pub parameters: Parameters,
    /// Great-circle distance between the endpoints in metres, where known.
    pub distance_m: Option<u64>,
    /// Largest congestion window, where there is one.
    pub max_window: Option<Bytes>,
    /// What it does with hints of the path's changes.
    pub hints: HintUse,
}

/// What a controller does with hints of the path's changes. Each is used where hints come; without any they change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HintUse {
    /// At a change, filters of the smallest round trip begin anew ([`Controller::on_path_change`]).
    pub reset: bool,
    /// For a round trip after a change, losses and marks are taken as its doing and not as congestion, unless they are too many.
    pub hold: bool,
    /// Before a change to a shorter path, a slower one or a silence, the window shrinks, so that what is in flight fits what comes.
    pub drain: bool,
}

/// The start that `auto` stands for, where it may be used.
const FAST_START: &str = "long-path";

/// A [`Recipe`] that was checked: makes controllers.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    controller: (&'static Part<Box<dyn Controller>>, Values),
    start: Option<(&'static Part<Box<dyn Start>>, Values)>,
    gated: bool,
    resume: (&'static Part<Mode>, Values),
    max_window: Option<Bytes>,
    hints: (HintUse, Option<HintFeed>),
    distance_m: Option<u64>,
}

/// Whether a connection may start faster than slow start, where its recipe leaves that open (`auto`).
#[derive(Debug, Clone)]
pub enum FastStart {
    /// It may; the permit is given back when the start is over.
    Allowed(Option<Permit>),
    /// Another connection of the same client is at it.
    Refused,
}

/// The parameters of every part by the part's name.
fn declared() -> impl Iterator<Item = (&'static str, &'static [crate::parameter::Parameter])> {
    let controllers = CONTROLLERS.iter().map(|part| (part.name, part.parameters));
    let starts = STARTS.iter().map(|part| (part.name, part.parameters));
    let resumptions = RESUMPTIONS.iter().map(|part| (part.name, part.parameters));
    controllers.chain(starts).chain(resumptions)
}

fn values(parameters: &Parameters, part: &str) -> Result<Values, ParameterError> {
    let declared = declared().find(|(name, _)| *name == part).map_or(&[][..], |(_, parameters)| parameters);
    let mut values = Values::defaults(declared);
    for (name, value) in parameters.get(part).into_iter().flatten() {
        values.set(part, name, *value)?;
    }
    Ok(values)
}

impl Recipe {
    /// Checks every parameter.
    ///
    /// # Errors
    /// A part or parameter that does not exist, or a value out of range.
    pub fn prepare(&self) -> Result<Prepared, ParameterError> {
        for part in self.parameters.keys() {
            if !declared().any(|(name, _)| name == part) {
                let allowed: Vec<&str> = declared().map(|(name, _)| name).collect();
                return Err(ParameterError::Part { part: part.clone(), allowed: allowed.join(", ") });
            }
            values(&self.parameters, part)?;
        }
        let name = self.controller.as_str();
        let controller = find(CONTROLLERS, name).unwrap_or(&CONTROLLERS[0]);
        let start = match self.start.as_str() {
            "auto" => find(STARTS, FAST_START),
            name => find(STARTS, name),
        };
        let start = start.map(|part| values(&self.parameters, part.name).map(|values| (part, values))).transpose()?;
        let resume = find(RESUMPTIONS, self.resume.as_str()).unwrap_or(&RESUMPTIONS[0]);
        Ok(Prepared {
            controller: (controller, values(&self.parameters, controller.name)?),
            start,
            gated: self.start.as_str() == "auto",
            resume: (resume, values(&self.parameters, resume.name)?),
            max_window: self.max_window,
            distance_m: self.distance_m,
            hints: (self.hints, None),
        })
    }
}

impl Prepared {
    /// Whether a fast start takes a permit: the recipe leaves the choice to the circumstances.
    pub fn wants_permit(&self) -> bool {
        self.gated && self.start.is_some()
    }

    /// Whether its controllers use what is remembered of the path.
    pub fn keeps_notes(&self) -> bool {
        self.resume.0.name != ResumeName::default().as_str()
    }

    /// The same, whose controllers are told of the changes that `feed` announces, as far as the recipe has them use any: otherwise they are the same
    /// as without.
    pub fn with_hints(&self, feed: HintFeed) -> Self {
        Self { hints: (self.hints.0, Some(feed)), ..self.clone() }
    }

    /// A controller, and around it, where there are `notes` to keep, the layer that observes the path and resumes.
    pub fn make(&self, setup: &Setup, fast: FastStart, notes: Option<PathNotes>) -> Box<dyn Controller> {
        // Endpoints know nothing of places: whoever wrote the recipe does.
        let setup = &Setup { distance_m: setup.distance_m.or(self.distance_m), ..*setup };
        let mut controller = self.started(setup, fast);
        if let (uses, Some(feed)) = &self.hints
            && *uses != HintUse::default()
        {
            controller = Box::new(Hinted::new(controller, feed.clone(), *uses, setup));
        }
        if let Some(notes) = notes {
            let (part, values) = &self.resume;
            controller = Box::new(Resume::new(controller, (part.make)(setup, values), setup, values, notes));
        }
        match self.max_window {
            Some(most) => Box::new(Capped::new(controller, most.max(setup.initial_window))),
            None => controller,
        }
    }

    fn started(&self, setup: &Setup, fast: FastStart) -> Box<dyn Controller> {
        let (part, values) = &self.controller;
        let controller = (part.make)(setup, values);
        let permit = match fast {
            FastStart::Refused if self.gated => return controller,
            FastStart::Refused => None,
            FastStart::Allowed(permit) => permit,
        };
        match &self.start {
            Some((part, values)) => Box::new(Started::new(controller, (part.make)(setup, values), permit)),
            None => controller,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Adjust;

    #[test]
    fn an_unknown_controller_is_refused_with_those_there_are() {
        let error = "bbr9".parse::<ControllerName>().unwrap_err().to_string();
        assert!(error.contains("`bbr9` is no congestion controller; allowed: newreno"), "{error}");
    }

    #[test]
    fn a_controller_learns_the_distance_that_its_recipe_knows() {
        let phase = |distance_m| {
            let controller = "geo-reno".parse().unwrap();
            let recipe = Recipe { controller, start: StartName::STANDARD, distance_m, ..Recipe::default() };
            let setup = crate::testing::setup();
            let mut made = recipe.prepare().unwrap().make(&setup, FastStart::Refused, None);
            let window = setup.initial_window;
            made.adjust(&Adjust {
                now: setup.now,
                window,
                ssthresh: Some(window),
                rate: None,
                min_rtt: None,
                answered: 0,
            });
            made.phase()
        };
        assert_eq!((phase(Some(12_000_000)), phase(None)), ("congestion avoidance", "newreno, no distance"));
    }

    #[test]
    fn parameters_of_an_unknown_part_are_refused() {
        let mut recipe = Recipe::default();
        recipe.parameters.entry("bbr9".to_owned()).or_default().insert("gain".to_owned(), 1.0);
        assert!(recipe.prepare().unwrap_err().to_string().contains("`bbr9`"));
    }

    #[test]
    fn parameters_out_of_range_are_refused_even_of_parts_that_are_not_used() {
        let mut recipe = Recipe::default();
        recipe.parameters.entry("newreno".to_owned()).or_default().insert("beta".to_owned(), 2.0);
        assert!(recipe.prepare().unwrap_err().to_string().contains("0.1 to 0.95"));
    }

    #[test]
    fn every_default_exists() {
        for name in [StartName::default().as_str(), ResumeName::default().as_str()] {
            assert!(StartName::all().contains(&name) || ResumeName::all().contains(&name), "{name}");
        }
    }
}
