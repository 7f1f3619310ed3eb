//! Satellite positions, visibility and routing over time. The crate does no I/O and knows neither
//! packets nor queues.
//!
//! From the outside in:
//!
//! - a [`Constellation`] is a set of satellites: Walker [`Shell`]s ([`presets`]) or published
//!   elements (TLE, OMM);
//! - a [`Station`] is a ground station ([`cities`] has large cities by name);
//! - a [`Network`] combines both with inter-satellite links ([`IslPattern`]), fibres on the ground
//!   and a routing metric;
//! - a [`Topology`] is the network at one time: positions, visibility and attachments;
//! - [`Routes`] are the shortest paths to some destinations over one topology;
//! - a [`RouteTimeline`] advances topology and routes in time and reports changes.
//!
//! [`contacts`] has contact plans, from which nothing is computed but arrivals, and [`light_time`]
//! the light times between Earth, the Moon and Mars.
//!
//! # Time
//!
//! The time of a network starts at an [`Epoch`](bentpipe_units::Epoch); everything else counts
//! [`Time`](bentpipe_units::Time) from there, like a run.
//!
//! # Frames
//!
//! SGP4 returns positions in TEME. They are rotated about the pole by the sidereal time (IAU 1982)
//! into an Earth-fixed frame. Polar motion (up to 15 m on the ground) and UT1 - UTC (up to 0.9 s:
//! 0.4 km) are neglected.

pub mod cities;
mod constellation;
pub mod contacts;
mod elements;
mod ephemeris;
mod error;
mod frames;
mod geodesy;
mod handover_loss;
mod isl;
pub mod light_time;
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
pub use handover_loss::HandoverLoss;
pub use isl::IslPattern;
pub use network::{Fibre, Metric, Network, NetworkSpec, Node, Station};
pub use route_timeline::{Changes, PathChange, RouteTimeline, RouteUpdates};
pub use routes::{Path, Routes, disjoint_paths};
pub use selection::{SatelliteSelection, VisibleSatellite};
pub use shell::{PhaseShift, Shell, mean_motion_rev_per_day};
pub use topology::Topology;

/// Speed of light in vacuum in metres per second (exact, SI).
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;
