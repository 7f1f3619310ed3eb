//! The static part of a network: constellation, stations and links.

use crate::{Constellation, Ecef, Geodetic, IslPattern, OrbitError, SatelliteSelection, isl};
use bentpipe_units::{Epoch, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod checks;

/// Ratio of the delay through a cable to that of light in vacuum along the geodesic.
///
/// Light in glass travels at two thirds of its speed (refractive index about 1.5, ITU-T G.652).
/// Cables are 1.5 times as long as the geodesic: our choice, as measured paths lie between 1.2 and
/// 2.
const FIBRE_FACTOR: f64 = 1.5 * 1.5;

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
    /// How it selects satellites.
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
    /// One-way delay. `None` computes it from the geodesic distance at two thirds of the speed of
    /// light, times 1.5 for the length of cables.
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
    /// Maximum length of inter-satellite links in metres. `None` requires only a line of sight 80
    /// km above the ground.
    pub max_isl_length_m: Option<f64>,
    /// Maximum length of links between stations and satellites in metres. `None` requires only the
    /// elevation.
    pub max_ground_link_length_m: Option<f64>,
    /// Links on the ground.
    pub fibres: Vec<Fibre>,
    /// Routing metric.
    pub metric: Metric,
    /// Names of nodes that routes avoid.
    pub avoid: Vec<String>,
}

/// A checked network.
#[derive(Debug, Clone)]
pub struct Network {
    spec: NetworkSpec,
    /// Earth-fixed position by station.
    station_positions: Vec<Ecef>,
    /// Unit normal of the ellipsoid by station.
    ups: Vec<[f64; 3]>,
    /// Sine of the minimum elevation by satellite.
    shell_sines: Vec<f64>,
    isls: Vec<(Node, Node)>,
    fibres: Vec<(Node, Node, Span)>,
    /// Neighbours by ISL: those of satellite `s`, with the index of the link, are at
    /// `isl_starts[s]` to `isl_starts[s + 1]`.
    isl_starts: Vec<u32>,
    isl_ends: Vec<(u32, u32)>,
    /// By node: true if routes avoid it.
    avoided: Vec<bool>,
    names: BTreeMap<String, Node>,
}

impl Network {
    /// Checks `spec` and builds the network.
    ///
    /// # Errors
    /// Duplicate station names, unknown ends of fibres or avoided nodes, or invalid coordinates or
    /// elevations.
    pub fn new(spec: NetworkSpec) -> Result<Self, OrbitError> {
        checks::ranges(&spec)?;
        let names = checks::names(&spec)?;
        let satellites = spec.constellation.len();
        let isls: Vec<_> = isl::links(&spec.constellation, &spec.isl)?
            .iter()
            .map(|&(a, b)| (Node(a), Node(b)))
            .collect();
        let fibres = checks::fibres(&spec, &names)?;
        let mut avoided = vec![false; satellites + spec.stations.len()];
        for name in &spec.avoid {
            let node = names.get(name).ok_or_else(|| OrbitError::Unknown {
                what: "node to avoid",
                name: name.clone(),
                help: "satellites and stations of this network can be avoided".into(),
            })?;
            avoided[node.0 as usize] = true;
        }
        let (isl_starts, isl_ends) = adjacency(satellites, &isls);
        let station_positions =
            spec.stations.iter().map(|station| station.place.to_ecef()).collect();
        let ups = spec.stations.iter().map(|station| up(station.place)).collect();
        let shell_sines = (0..satellites)
            .map(|index| libm::sin(spec.constellation.min_elevation_deg(index).to_radians()))
            .collect();
        Ok(Self {
            spec,
            station_positions,
            ups,
            shell_sines,
            isls,
            fibres,
            isl_starts,
            isl_ends,
            avoided,
            names,
        })
    }

    /// Number of satellites.
    pub fn satellites(&self) -> usize {
        self.spec.constellation.len()
    }

    /// The ground stations.
    pub fn stations(&self) -> &[Station] {
        &self.spec.stations
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.satellites() + self.stations().len()
    }

    /// The node of station `index`.
    pub fn station(&self, index: usize) -> Node {
        Node((self.satellites() + index) as u32)
    }

    /// The index of the station that `node` is; `None` for a satellite.
    pub fn station_of(&self, node: Node) -> Option<usize> {
        (node.0 as usize).checked_sub(self.satellites())
    }

    /// The node called `name`. If satellites share a name, the first one.
    pub fn find(&self, name: &str) -> Option<Node> {
        self.names.get(name).copied()
    }

    /// The name of `node`; empty for a node of another network.
    pub fn name(&self, node: Node) -> &str {
        match self.station_of(node) {
            None => self.spec.constellation.name(node.0 as usize),
            Some(index) => self.stations().get(index).map_or("", |station| &station.name),
        }
    }

    /// Inter-satellite links, each once.
    pub fn isls(&self) -> &[(Node, Node)] {
        &self.isls
    }

    /// Links on the ground with their delays, each once.
    pub fn fibres(&self) -> &[(Node, Node, Span)] {
        &self.fibres
    }

    /// Start of the network's time.
    pub fn begins(&self) -> Epoch {
        self.spec.begins
    }

    /// The satellites.
    pub fn constellation(&self) -> &Constellation {
        &self.spec.constellation
    }

    /// Routing metric.
    pub fn metric(&self) -> Metric {
        self.spec.metric
    }

    /// True if routes of others may pass through `node`: satellites and forwarding stations, unless
    /// avoided.
    pub fn forwards(&self, node: Node) -> bool {
        let forwards = self
            .station_of(node)
            .is_none_or(|index| self.stations().get(index).is_some_and(|s| s.forwards));
        forwards && self.avoided.get(node.0 as usize) == Some(&false)
    }

    /// The ISLs of a satellite: the other end, and the index in [`Network::isls`]. Empty for a
    /// station.
    pub(crate) fn isls_of(&self, satellite: u32) -> &[(u32, u32)] {
        let index = satellite as usize;
        match (self.isl_starts.get(index), self.isl_starts.get(index + 1)) {
            (Some(&start), Some(&end)) => &self.isl_ends[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The delay of the fibre between two nodes.
    pub(crate) fn fibre(&self, a: Node, b: Node) -> Option<Span> {
        self.fibres
            .iter()
            .find(|(x, y, _)| (*x, *y) == (a, b) || (*x, *y) == (b, a))
            .map(|(_, _, delay)| *delay)
    }

    pub(crate) fn station_positions(&self) -> &[Ecef] {
        &self.station_positions
    }

    /// Unit normal of the ellipsoid at station `index`.
    pub(crate) fn up(&self, index: usize) -> [f64; 3] {
        self.ups[index]
    }

    pub(crate) fn shell_sines(&self) -> &[f64] {
        &self.shell_sines
    }

    pub(crate) fn max_isl_length_m(&self) -> Option<f64> {
        self.spec.max_isl_length_m
    }

    pub(crate) fn max_ground_link_length_m(&self) -> Option<f64> {
        self.spec.max_ground_link_length_m
    }
}

/// Unit normal of the ellipsoid at `place`: geodetic latitude is its angle to the equatorial plane.
fn up(place: Geodetic) -> [f64; 3] {
    let (latitude, longitude) = (place.latitude_deg.to_radians(), place.longitude_deg.to_radians());
    let (sin_latitude, cos_latitude) = libm::sincos(latitude);
    let (sin_longitude, cos_longitude) = libm::sincos(longitude);
    [cos_latitude * cos_longitude, cos_latitude * sin_longitude, sin_latitude]
}

/// The neighbours of all satellites in one array, and where those of each begin.
fn adjacency(satellites: usize, isls: &[(Node, Node)]) -> (Vec<u32>, Vec<(u32, u32)>) {
    let mut starts = vec![0; satellites + 1];
    for (a, b) in isls {
        starts[a.0 as usize + 1] += 1;
        starts[b.0 as usize + 1] += 1;
    }
    for index in 0..satellites {
        starts[index + 1] += starts[index];
    }
    let mut filled = starts.clone();
    let mut ends = vec![(0, 0); isls.len() * 2];
    for (link, (a, b)) in isls.iter().enumerate() {
        for (from, to) in [(a, b), (b, a)] {
            let place = &mut filled[from.0 as usize];
            ends[*place as usize] = (to.0, link as u32);
            *place += 1;
        }
    }
    (starts, ends)
}

#[cfg(test)]
mod tests;
