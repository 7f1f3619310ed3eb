//! A constellation, stations on the ground, and what links them: everything that does not move.

use crate::{Constellation, Ecef, Geodetic, IslPattern, OrbitError, SatelliteSelection, isl};
use bentpipe_units::{Epoch, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod checks;

/// How much longer light takes through a cable than straight over the ground in vacuum: it runs at two thirds of its speed in glass (refractive index near
/// 1.5, ITU-T G.652), and cables take a way half as long again as the geodesic (our choice; measured paths lie between 1.2 and 2).
const FIBRE_FACTOR: f64 = 1.5 * 1.5;

/// A node of the network: satellites first, in the constellation's order, then stations in theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

/// A station on the ground.
#[derive(Debug, Clone, PartialEq)]
pub struct Station {
    /// Its name, unique.
    pub name: String,
    /// Where it stands.
    pub place: Geodetic,
    /// Lowest elevation at which it talks to a satellite, degrees; none: the shell's own.
    pub min_elevation_deg: Option<f64>,
    /// Which satellites it talks to.
    pub selection: SatelliteSelection,
    /// Silence while it turns to another satellite. Only for selections that have one satellite at a time.
    pub handover_outage: Span,
    /// True where it passes on packets of others: a gateway, or a bent-pipe relay on the ground.
    pub forwards: bool,
}

/// A link on the ground between two stations, both ways.
#[derive(Debug, Clone, PartialEq)]
pub struct Fibre {
    /// One end, by name.
    pub from: String,
    /// The other.
    pub to: String,
    /// Its delay one way; none: the geodesic distance at two thirds of the speed of light, times `1.5` for the way that cables take.
    pub delay: Option<Span>,
}

/// What makes a way short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Propagation delay.
    #[default]
    Delay,
    /// Hops; among equals, delay.
    Hops,
}

/// What a network is made of.
#[derive(Debug, Clone)]
pub struct NetworkSpec {
    /// The satellites.
    pub constellation: Constellation,
    /// When the network's time begins.
    pub begins: Epoch,
    /// Who is on the ground.
    pub stations: Vec<Station>,
    /// Which satellites are linked.
    pub isl: IslPattern,
    /// Longest inter-satellite link, metres; none: as far as the line of sight stays 80 km above the ground.
    pub max_isl_length_m: Option<f64>,
    /// Longest link between station and satellite, metres; none: only elevation counts.
    pub max_ground_link_length_m: Option<f64>,
    /// Links on the ground.
    pub fibres: Vec<Fibre>,
    /// What routes are chosen by.
    pub metric: Metric,
    /// Nodes that routes avoid, by name.
    pub avoid: Vec<String>,
}

/// A checked network.
#[derive(Debug, Clone)]
pub struct Network {
    spec: NetworkSpec,
    /// By station: its place, Earth-fixed.
    station_positions: Vec<Ecef>,
    /// By station: the unit vector that points up from the ellipsoid there.
    ups: Vec<[f64; 3]>,
    /// By satellite: sine of the lowest elevation that its shell allows.
    shell_sines: Vec<f64>,
    isls: Vec<(Node, Node)>,
    fibres: Vec<(Node, Node, Span)>,
    /// Neighbours by ISL: those of satellite `s`, each with the link's index, stand from `isl_starts[s]` to `isl_starts[s + 1]`.
    isl_starts: Vec<u32>,
    isl_ends: Vec<(u32, u32)>,
    /// By node: true where routes avoid it.
    avoided: Vec<bool>,
    names: BTreeMap<String, Node>,
}

impl Network {
    /// Checks `spec`.
    ///
    /// # Errors
    /// Two stations of one name, a fibre or an avoided node that names nothing, coordinates or elevations that cannot be.
    pub fn new(spec: NetworkSpec) -> Result<Self, OrbitError> {
        checks::ranges(&spec)?;
        let names = checks::names(&spec)?;
        let satellites = spec.constellation.len();
        let isls: Vec<_> =
            isl::links(&spec.constellation, &spec.isl)?.iter().map(|&(a, b)| (Node(a), Node(b))).collect();
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
        let station_positions = spec.stations.iter().map(|station| station.place.to_ecef()).collect();
        let ups = spec.stations.iter().map(|station| up(station.place)).collect();
        let shell_sines =
            (0..satellites).map(|index| libm::sin(spec.constellation.min_elevation_deg(index).to_radians())).collect();
        Ok(Self { spec, station_positions, ups, shell_sines, isls, fibres, isl_starts, isl_ends, avoided, names })
    }

    /// How many satellites.
    pub fn satellites(&self) -> usize {
        self.spec.constellation.len()
    }

    /// The stations.
    pub fn stations(&self) -> &[Station] {
        &self.spec.stations
    }

    /// How many nodes.
    pub fn nodes(&self) -> usize {
        self.satellites() + self.stations().len()
    }

    /// The node of station `index`.
    pub fn station(&self, index: usize) -> Node {
        Node((self.satellites() + index) as u32)
    }

    /// The station that `node` is, by index.
    pub fn station_of(&self, node: Node) -> Option<usize> {
        (node.0 as usize).checked_sub(self.satellites())
    }

    /// The node called `name`; of satellites that share a name, the first.
    pub fn find(&self, name: &str) -> Option<Node> {
        self.names.get(name).copied()
    }

    /// The node's name; empty for a node that is not of this network.
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

    /// Links on the ground, each once, with their delay.
    pub fn fibres(&self) -> &[(Node, Node, Span)] {
        &self.fibres
    }

    /// When its time begins.
    pub fn begins(&self) -> Epoch {
        self.spec.begins
    }

    /// The satellites.
    pub fn constellation(&self) -> &Constellation {
        &self.spec.constellation
    }

    /// What routes are chosen by.
    pub fn metric(&self) -> Metric {
        self.spec.metric
    }

    /// True where ways of others may lead through `node`: satellites and stations that relay, unless they are avoided.
    pub fn forwards(&self, node: Node) -> bool {
        let forwards = self.station_of(node).is_none_or(|index| self.stations().get(index).is_some_and(|s| s.forwards));
        forwards && self.avoided.get(node.0 as usize) == Some(&false)
    }

    /// The links by ISL of a satellite: the other end, and the link's place in [`Network::isls`]. Nothing for a station.
    pub(crate) fn isls_of(&self, satellite: u32) -> &[(u32, u32)] {
        let index = satellite as usize;
        match (self.isl_starts.get(index), self.isl_starts.get(index + 1)) {
            (Some(&start), Some(&end)) => &self.isl_ends[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The delay of the fibre between two nodes.
    pub(crate) fn fibre(&self, a: Node, b: Node) -> Option<Span> {
        self.fibres.iter().find(|(x, y, _)| (*x, *y) == (a, b) || (*x, *y) == (b, a)).map(|(_, _, delay)| *delay)
    }

    pub(crate) fn station_positions(&self) -> &[Ecef] {
        &self.station_positions
    }

    /// The unit vector that points up at station `index`.
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

/// The normal of the ellipsoid at `place`: geodetic latitude is its angle to the equator's plane.
fn up(place: Geodetic) -> [f64; 3] {
    let (latitude, longitude) = (place.latitude_deg.to_radians(), place.longitude_deg.to_radians());
    let (sin_latitude, cos_latitude) = libm::sincos(latitude);
    let (sin_longitude, cos_longitude) = libm::sincos(longitude);
    [cos_latitude * cos_longitude, cos_latitude * sin_longitude, sin_latitude]
}

/// Neighbours of each satellite as one array, and where each one's begin.
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
