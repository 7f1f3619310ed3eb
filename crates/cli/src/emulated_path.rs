//! The path of `bentpipe shell`: hops, or a satellite network.

use crate::args::shell::Shell;
use bentpipe_emu::{EmuError, Emulator, Hop, LinkReport, Monitor, PathSpec, Settings, Testbed};
use bentpipe_lab::{Changes, LabError, Plan, SatelliteNetwork, Task};
use bentpipe_scenario::profiles::{profile, profiles};
use bentpipe_units::{Span, Time};
use std::path::Path;

/// The path of a profile or of a scenario's first variant at its first sweep point, as in run 0 of
/// a simulation.
pub enum EmulatedPath {
    /// Hops, and the number of terminals before them.
    Hops(PathSpec, usize),
    /// A satellite network, with the scenario's first flow as its terminal.
    Satellites(SatelliteNetwork),
}

impl EmulatedPath {
    /// Returns the path that the arguments name.
    pub fn resolve(args: &Shell) -> Result<Self, LabError> {
        let mut spec = plan(args)?.spec(Task { case: 0, run: 0 })?;
        if spec.mesh.is_some() {
            spec.flows.truncate(1);
            let network = SatelliteNetwork::new(&spec);
            let invalid = |reason| LabError::Usage { argument: "PROFILE", reason };
            return Ok(Self::Satellites(network.map_err(|error| invalid(error.to_string()))?));
        }
        let hops = spec.hops.into_iter();
        let hops = hops.map(|hop| Hop {
            name: hop.name,
            forward: hop.forward,
            reverse: hop.reverse,
            shared: hop.shared,
        });
        let (hops, base_rtt) = (hops.collect(), spec.base_rtt);
        let path = PathSpec { hops, base_rtt, seed: spec.seed, run: spec.run };
        Ok(Self::Hops(path, spec.terminals.max(1)))
    }

    /// Returns the number of terminals.
    pub fn terminals(&self) -> usize {
        match self {
            Self::Hops(_, terminals) => *terminals,
            Self::Satellites(_) => 1,
        }
    }

    /// Starts to emulate the path.
    pub fn start(
        &self,
        testbed: Testbed,
        settings: Settings,
        watch: &Monitor,
    ) -> Result<Emulator, EmuError> {
        match self {
            Self::Hops(path, _) => Emulator::start_monitored(testbed, path, settings, watch),
            Self::Satellites(network) => {
                Emulator::start_network(testbed, Box::new(network.clone()), settings, watch)
            }
        }
    }

    /// Returns the links of a satellite network, after an emulation of `length`. An error becomes a
    /// note.
    pub fn satellite_links(self, length: Span, notes: &mut Vec<String>) -> Vec<LinkReport> {
        let Self::Satellites(network) = self else { return Vec::new() };
        network.links(Time::ZERO + length).unwrap_or_else(|error| {
            notes.push(format!("routes did not change to the end: {error}"));
            Vec::new()
        })
    }
}

fn plan(args: &Shell) -> Result<Plan, LabError> {
    let changes = Changes { sets: args.set.clone(), seed: args.seed, repeat: None };
    match profile(&args.path) {
        Some(profile) => {
            // A scenario needs a workload. Only its path is used.
            let text = format!(
                "name = \"shell\"\n[path]\nprofile = \"{}\"\n[workload]\ndownload = \"1 MB\"\n",
                profile.name
            );
            Ok(Plan::parse("the profile", &text, Path::new("."), &changes)?)
        }
        None if Path::new(&args.path).exists() => Plan::read(Path::new(&args.path), &changes),
        None => {
            let names: Vec<&str> = profiles().iter().map(|profile| profile.name.as_str()).collect();
            let reason = format!(
                "no profile or scenario file is named `{}`; allowed: a file, or one of {}",
                args.path,
                names.join(", ")
            );
            Err(LabError::Usage { argument: "PROFILE", reason })
        }
    }
}
