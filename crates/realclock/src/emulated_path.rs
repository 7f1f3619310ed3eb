//! The path of a run in the emulator: hops, or a satellite network.

use super::mesh::SatelliteNetwork;
use super::path::emulated_hops;
use bentpipe_emu::{EmuError, Emulator, EmulatorSettings, LinkReport, Monitor, PathSpec, Testbed};
use bentpipe_sim::{RunOutcome, RunSpec, SimError};
use bentpipe_units::Time;

/// The path of a run in the emulator.
#[derive(Debug)]
pub enum EmulatedPath {
    /// Hops.
    Hops(PathSpec),
    /// A satellite network.
    Satellites(SatelliteNetwork),
}

impl EmulatedPath {
    /// Returns the path of `spec`. In a satellite network, flow `n` belongs to terminal `n`.
    ///
    /// # Errors
    /// The satellite network cannot carry the flows.
    pub fn new(spec: &RunSpec) -> Result<Self, SimError> {
        if spec.mesh.is_some() {
            return SatelliteNetwork::new(spec).map(Self::Satellites);
        }
        Ok(Self::Hops(emulated_hops(spec)))
    }

    /// Starts to emulate the path.
    ///
    /// # Errors
    /// Those of [`Emulator::start_monitored`] and [`Emulator::start_network`].
    pub fn start(
        &self,
        testbed: Testbed,
        settings: EmulatorSettings,
        monitor: &Monitor,
    ) -> Result<Emulator, EmuError> {
        match self {
            Self::Hops(path) => Emulator::start_monitored(testbed, path, settings, monitor),
            Self::Satellites(network) => {
                Emulator::start_network(testbed, Box::new(network.clone()), settings, monitor)
            }
        }
    }

    /// Returns the links of a satellite network that were in use until `end`, after the emulator
    /// has stopped. Those of hops are in the emulator's report.
    ///
    /// # Errors
    /// The emulator still runs, or a satellite could not be propagated.
    pub fn satellite_links(self, end: Time) -> Result<Vec<LinkReport>, SimError> {
        match self {
            Self::Hops(_) => Ok(Vec::new()),
            Self::Satellites(network) => network.links(end),
        }
    }

    /// Adds the links and routes of a satellite network to `outcome`, after the emulator has
    /// stopped.
    pub(super) fn finish(self, outcome: &mut RunOutcome) -> Result<(), SimError> {
        match self {
            Self::Hops(_) => Ok(()),
            Self::Satellites(network) => network.finish(outcome),
        }
    }
}
