//! Names that shells complete. Parsing does not depend on them: it refuses unknown names with
//! messages of its own, and registered controllers have names that no list knows.

use crate::commands::controllers;
use bentpipe_scenario::profiles::profiles;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
#[cfg(feature = "product")]
use std::error;
use std::ffi::OsStr;
#[cfg(feature = "product")]
use std::str::FromStr;

/// A parser with names to complete.
#[derive(Clone)]
pub struct Suggesting<P> {
    parser: P,
    names: fn() -> Vec<&'static str>,
}

impl<P: TypedValueParser> TypedValueParser for Suggesting<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        self.parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// Any text, for which shells complete `names`.
pub fn text(names: fn() -> Vec<&'static str>) -> Suggesting<StringValueParser> {
    Suggesting { parser: StringValueParser::new(), names }
}

/// A `T` parsed from text, for which shells complete `names`.
#[cfg(feature = "product")]
pub fn parsed<T>(names: fn() -> Vec<&'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: error::Error + Send + Sync + 'static,
{
    Suggesting { parser: |text: &str| T::from_str(text), names }
}

/// Names of the built-in paths.
pub fn profile_names() -> Vec<&'static str> {
    profiles().iter().map(|profile| profile.name.as_str()).collect()
}

/// Names of the congestion controllers.
pub fn controller_names() -> Vec<&'static str> {
    controllers::names("controller")
}

/// Names of the slow-start algorithms.
pub fn slow_start_names() -> Vec<&'static str> {
    controllers::names("slow_start")
}

/// Names of the loss filters.
pub fn loss_filter_names() -> Vec<&'static str> {
    controllers::names("loss_filter")
}

/// Names of the modes of resumption.
pub fn resume_names() -> Vec<&'static str> {
    controllers::names("resume")
}

/// Names of all entries of `bentpipe controllers`.
pub fn entry_names() -> Vec<&'static str> {
    [controller_names(), slow_start_names(), loss_filter_names(), resume_names()].concat()
}

/// Names of the metrics.
pub fn metric_names() -> Vec<&'static str> {
    bentpipe_results::metric_names().collect()
}
