//! The names of mixes.

use schemars::JsonSchema;
use serde::Deserialize;

/// A mix of users. Its populations are called NAME-CLASS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    /// Households in the evening: adaptive video, calls, pages and backups.
    Household,
    /// A village behind one terminal: many small objects, and updates of systems.
    Village,
    /// A ship in port: photos that are uploaded at once, beside calls.
    Ship,
    /// An aircraft: video at low bitrates, pages and messages.
    Aircraft,
}

impl Mix {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Household, Self::Village, Self::Ship, Self::Aircraft];

    /// Returns its name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Household => "household",
            Self::Village => "village",
            Self::Ship => "ship",
            Self::Aircraft => "aircraft",
        }
    }

    /// Returns what its `count` counts.
    pub(crate) fn counted(self) -> &'static str {
        match self {
            Self::Household => "households",
            Self::Village => "people",
            Self::Ship => "phones",
            Self::Aircraft => "passengers",
        }
    }
}
