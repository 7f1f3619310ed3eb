//! An episode that a seed names, and how it is played.

use crate::draw::{self, Random};
use crate::failure::{Failure, Unplayed};
use crate::{disk, endpoints, hostile, scenario};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;

/// Kind of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Kind {
    /// A whole scenario on the virtual clock.
    Scenario,
    /// A QUIC server with its path store in a file, and clients, in virtual time: restarts,
    /// migration, skewed clocks, tokens, floods.
    Endpoints,
    /// One client that sends any frames in any order.
    Hostile,
    /// Run directories and stores on a disk that is full for a while.
    Disk,
}

impl Kind {
    /// All kinds, with the parts of the seeds that they have.
    const PARTS: [(Self, u64); 4] =
        [(Self::Scenario, 16), (Self::Endpoints, 12), (Self::Hostile, 3), (Self::Disk, 1)];

    /// Returns the kind of the episode of `seed`.
    pub fn of(seed: u64) -> Self {
        let total: u64 = Self::PARTS.iter().map(|(_, parts)| parts).sum();
        let mut drawn = Random::new(seed, "kind").whole(0, total - 1);
        for (kind, parts) in Self::PARTS {
            if drawn < parts {
                return kind;
            }
            drawn -= parts;
        }
        Self::Scenario
    }

    /// Returns the name, as `--kind` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scenario => "scenario",
            Self::Endpoints => "endpoints",
            Self::Hostile => "hostile",
            Self::Disk => "disk",
        }
    }
}

/// An episode: what a seed draws, less what is left out.
#[derive(Debug, Clone)]
pub struct Case {
    /// The seed.
    pub seed: u64,
    /// The kind.
    pub kind: Kind,
    /// Dimensions that are left out.
    pub without: BTreeSet<String>,
}

impl Case {
    /// Returns the dimensions that the episode has.
    pub fn dimensions(&self) -> Vec<&'static str> {
        match self.kind {
            Kind::Scenario | Kind::Disk => draw::draw(self.seed, &self.without).1,
            Kind::Endpoints => endpoints::draw(self.seed, &self.without).1,
            Kind::Hostile => Vec::new(),
        }
    }

    /// Returns what was drawn, for a reader: a scenario as TOML, or a list.
    pub fn text(&self) -> String {
        match self.kind {
            Kind::Scenario | Kind::Disk => scenario::text(self.seed, &self.without),
            Kind::Endpoints => format!("{:#?}\n", endpoints::draw(self.seed, &self.without).0),
            Kind::Hostile => hostile::text(self.seed),
        }
    }

    /// Plays the episode.
    ///
    /// # Errors
    /// A check that does not hold, a panic among them, or the machine does not permit the episode.
    pub fn play(&self, stop: &AtomicBool) -> Result<(), Unplayed> {
        let play = || match self.kind {
            Kind::Scenario => Ok(scenario::play(self.seed, &self.without, stop)?),
            Kind::Endpoints => Ok(endpoints::play(self.seed, &self.without)?),
            Kind::Hostile => Ok(hostile::play(self.seed)?),
            Kind::Disk => disk::play(self.seed, &self.without),
        };
        catch_unwind(AssertUnwindSafe(play)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "a panic without a message".to_owned());
            Err(Failure::new("no panic", text).into())
        })
    }
}
