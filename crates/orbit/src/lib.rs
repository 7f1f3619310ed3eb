//! Where satellites are, who sees whom, which way packets go at time t. Pure: knows neither packets nor links, does no I/O.
//!
//! From the outside in:
//!
//! - a [`Constellation`] says where satellites are: Walker [`Shell`]s ([`presets`]) or published elements (TLE, OMM);
//! - [`Station`]s stand on the ground ([`places`] knows large cities by name);
//! - a [`Network`] is both, with the pattern of inter-satellite links ([`IslPattern`]), fibres on the ground, and what routes are
//!   chosen by;
//! - a [`Topology`] is that network at one time: positions, who is attached to whom;
//! - [`Routes`] are the shortest ways to some destinations over one topology;
//! - a [`Guide`] moves topology and routes along in time, and tells what changes.
//!
//! # Time
//! A network has an [`Epoch`](bentpipe_units::Epoch) at which its time begins; everything else counts [`Time`](bentpipe_units::Time) from there, as a run does.
//!
//! # Frames
//! SGP4 gives positions in TEME. They are turned about the pole by the sidereal time (IAU 1982) into an Earth-fixed frame; the motion of the pole (up to
//! 15 m on the ground) and UT1 - UTC (up to 0.9 s: 0.4 km) are left out.

mod constellation;
mod elements;
mod ephemeris;
mod error;
mod frames;
mod geodesy;
mod guide;
mod isl;
mod nearest;
mod network;
pub mod places;
mod planes;
pub mod presets;
mod routes;
mod selection;
pub mod sharing;
mod shell;
#[cfg(test)]
mod testing;
mod topology;

pub use constellation::{Constellation, Decayed, Slot};
pub use elements::ElementsFormat;
pub use ephemeris::Ephemeris;
pub use error::OrbitError;
pub use geodesy::{Ecef, Geodetic, elevation_deg};
pub use guide::{Changes, Guide, Law, PathForecast, Step};
pub use isl::IslPattern;
pub use network::{Fibre, Metric, Network, NetworkSpec, Node, Station};
pub use routes::{Path, Routes, disjoint_paths};
pub use selection::Selection;
pub use shell::{PhaseShift, Shell, revolutions_per_day};
pub use topology::{Sight, Topology};

/// Speed of light in vacuum, metres a second (exact, SI).
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;
