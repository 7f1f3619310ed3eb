//! Description of a network.

use crate::{Constellation, Geodetic, IslPattern, SatelliteSelection};
use bentpipe_units::{Epoch, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ratio of the delay through a cable to that of light in vacuum along the geodesic.
///
/// Light in glass has two thirds of its speed in vacuum (refractive index about 1.5, ITU-T G.652).
/// Cables are 1.5 times as long as the geodesic: our choice, since measured paths lie between 1.2
/// and 2.
pub(super) const FIBRE_FACTOR: f64 = 1.5 * 1.5;

/// A node of the network: satellites in the order of the constellation, then stations in theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

/// A ground station.
#[derive(Debug, Clone, PartialEq)]
pub struct Station {
    /// Unique name.
    pub name: String,
    /// Position.
    pub place: Geodetic,
    /// Minimum elevation in degrees. `None` uses that of the shell.
    pub min_elevation_deg: Option<f64>,
    /// Satellite selection.
    pub selection: SatelliteSelection,
    /// Outage during a handover. Only for selections with one satellite at a time.
    pub handover_outage: Span,
    /// True if it forwards packets of others, like a gateway or a relay on the ground.
    pub forwards: bool,
}

/// A bidirectional link between two stations on the ground.
#[derive(Debug, Clone, PartialEq)]
pub struct Fibre {
    /// Name of one end.
    pub from: String,
    /// Name of the other end.
    pub to: String,
    /// One-way delay. By default it follows from the geodesic distance at two thirds of the speed
    /// of light, times 1.5 for the length of cables.
    pub delay: Option<Span>,
}

/// Routing metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Propagation delay.
    #[default]
    Delay,
    /// Number of hops; delay breaks ties.
    Hops,
}

/// Description of a network.
#[derive(Debug, Clone)]
pub struct NetworkSpec {
    /// The satellites.
    pub constellation: Constellation,
    /// Start of the network's time.
    pub begins: Epoch,
    /// The ground stations.
    pub stations: Vec<Station>,
    /// Patterns of inter-satellite links.
    pub isl: IslPattern,
    /// Maximum length of inter-satellite links in metres. `None` only requires a line of sight 80
    /// km above the ground.
    pub max_isl_length_m: Option<f64>,
    /// Maximum length of links between stations and satellites in metres. `None` uses that of each
    /// satellite's shell, if it has one.
    pub max_ground_link_length_m: Option<f64>,
    /// Links on the ground.
    pub fibres: Vec<Fibre>,
    /// Routing metric.
    pub metric: Metric,
    /// Names of nodes that routes avoid.
    pub avoid: Vec<String>,
}
