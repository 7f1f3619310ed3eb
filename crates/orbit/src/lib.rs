//! Where satellites are, who sees whom, which way packets go at time t. Pure: knows neither packets nor links, does no I/O.
//!
//! From the outside in:
//!
//! - a [`Constellation`] says where satellites are: Walker [`Shell`]s ([`presets`]) or published elements (TLE, OMM);
//! - [`Station`]s stand on the ground ([`cities`] knows large cities by name);
//! - a [`Network`] is both, with the pattern of inter-satellite links ([`IslPattern`]), fibres on the ground, and what routes are
//!   chosen by;
//! - a [`Topology`] is that network at one time: positions, who is attached to whom;
//! - [`Routes`] are the shortest ways to some destinations over one topology;
//! - a [`RouteTimeline`] moves topology and routes along in time, and tells what changes.
//!
//! # Time
//! A network has an [`Epoch`](bentpipe_units::Epoch) at which its time begins; everything else counts [`Time`](bentpipe_units::Time) from there, as a run does.
//!
//! # Frames
//! SGP4 gives positions in TEME. They are turned about the pole by the sidereal time (IAU 1982) into an Earth-fixed frame; the motion of the pole (up to
//! 15 m on the ground) and UT1 - UTC (up to 0.9 s: 0.4 km) are left out.

pub mod cities;
mod constellation;
mod elements;
mod ephemeris;
mod error;
mod frames;
mod geodesy;
mod isl;
mod network;
mod planes;
pub mod presets;
mod route_timeline;
mod routes;
mod selection;
pub mod sharing;
mod shell;
mod suggestions;
#[cfg(test)]
mod testing;
mod topology;

pub use constellation::{Constellation, Decayed, Slot};
pub use elements::ElementsFormat;
pub use ephemeris::Ephemeris;
pub use error::OrbitError;
pub use geodesy::{Ecef, Geodetic, elevation_deg};
pub use isl::IslPattern;
pub use network::{Fibre, Metric, Network, NetworkSpec, Node, Station};
pub use route_timeline::{Changes, PathChange, RouteTimeline, RouteUpdates};
pub use routes::{Path, Routes, disjoint_paths};
pub use selection::SatelliteSelection;
pub use shell::{PhaseShift, Shell, mean_motion_rev_per_day};
pub use topology::{Topology, VisibleSatellite};

/// Speed of light in vacuum, metres a second (exact, SI).
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;
