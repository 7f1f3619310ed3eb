//! The static part of a network: constellation, stations and links.

use crate::{Constellation, Ecef, Geodetic, OrbitError, isl};
use bentpipe_units::{Epoch, Span};
use std::collections::BTreeMap;

mod checks;
mod spec;

pub use spec::{Fibre, Metric, NetworkSpec, Node, Station};

/// Which links to the ground a satellite can have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroundLimit {
    /// Sine of the minimum elevation, for stations that set none.
    pub min_sine: f64,
    /// Infinite if only the elevation limits links.
    pub max_length_m: f64,
}

/// A checked network.
#[derive(Debug, Clone)]
pub struct Network {
    spec: NetworkSpec,
    /// Earth-fixed position by station.
    station_positions: Vec<Ecef>,
    /// Unit normal of the ellipsoid by station.
    ups: Vec<[f64; 3]>,
    /// By satellite.
    ground_limits: Vec<GroundLimit>,
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
    ///
    /// If station names are duplicate, ends of fibres or avoided nodes unknown, or coordinates or
    /// elevations invalid.
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
        let ground_limits = (0..satellites)
            .map(|index| GroundLimit {
                min_sine: libm::sin(spec.constellation.min_elevation_deg(index).to_radians()),
                max_length_m: spec
                    .max_ground_link_length_m
                    .or_else(|| spec.constellation.max_ground_link_length_m(index))
                    .unwrap_or(f64::INFINITY),
            })
            .collect();
        Ok(Self {
            spec,
            station_positions,
            ups,
            ground_limits,
            isls,
            fibres,
            isl_starts,
            isl_ends,
            avoided,
            names,
        })
    }

    /// Returns the number of satellites.
    pub fn satellites(&self) -> usize {
        self.spec.constellation.len()
    }

    /// Returns the ground stations.
    pub fn stations(&self) -> &[Station] {
        &self.spec.stations
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.satellites() + self.stations().len()
    }

    /// Returns the node of station `index`.
    pub fn station(&self, index: usize) -> Node {
        Node((self.satellites() + index) as u32)
    }

    /// Returns the station index of `node`, `None` for a satellite.
    pub fn station_of(&self, node: Node) -> Option<usize> {
        (node.0 as usize).checked_sub(self.satellites())
    }

    /// Returns the node called `name`. If satellites share a name, the first one.
    pub fn find(&self, name: &str) -> Option<Node> {
        self.names.get(name).copied()
    }

    /// Returns the name of `node`; empty for a node of another network.
    pub fn name(&self, node: Node) -> &str {
        match self.station_of(node) {
            None => self.spec.constellation.name(node.0 as usize),
            Some(index) => self.stations().get(index).map_or("", |station| &station.name),
        }
    }

    /// Returns the inter-satellite links, each once.
    pub fn isls(&self) -> &[(Node, Node)] {
        &self.isls
    }

    /// Returns the links on the ground with their delays, each once.
    pub fn fibres(&self) -> &[(Node, Node, Span)] {
        &self.fibres
    }

    /// Returns the start of the network's time.
    pub fn begins(&self) -> Epoch {
        self.spec.begins
    }

    /// Returns the satellites.
    pub fn constellation(&self) -> &Constellation {
        &self.spec.constellation
    }

    /// Returns the routing metric.
    pub fn metric(&self) -> Metric {
        self.spec.metric
    }

    /// Returns true if routes of others may pass through `node`: satellites and forwarding
    /// stations, unless avoided.
    pub fn forwards(&self, node: Node) -> bool {
        let forwards = self
            .station_of(node)
            .is_none_or(|index| self.stations().get(index).is_some_and(|s| s.forwards));
        forwards && self.avoided.get(node.0 as usize) == Some(&false)
    }

    /// Returns the ISLs of a satellite: the other end, and the index in [`Network::isls`]. Empty
    /// for a station.
    pub(crate) fn isls_of(&self, satellite: u32) -> &[(u32, u32)] {
        let index = satellite as usize;
        match (self.isl_starts.get(index), self.isl_starts.get(index + 1)) {
            (Some(&start), Some(&end)) => &self.isl_ends[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Returns the delay of the fibre between two nodes.
    pub(crate) fn fibre(&self, a: Node, b: Node) -> Option<Span> {
        self.fibres
            .iter()
            .find(|(x, y, _)| (*x, *y) == (a, b) || (*x, *y) == (b, a))
            .map(|(_, _, delay)| *delay)
    }

    pub(crate) fn station_positions(&self) -> &[Ecef] {
        &self.station_positions
    }

    /// Returns the unit normal of the ellipsoid at station `index`.
    pub(crate) fn up(&self, index: usize) -> [f64; 3] {
        self.ups[index]
    }

    /// Returns the limits of ground links by satellite.
    pub(crate) fn ground_limits(&self) -> &[GroundLimit] {
        &self.ground_limits
    }

    pub(crate) fn max_isl_length_m(&self) -> Option<f64> {
        self.spec.max_isl_length_m
    }
}

/// Returns the unit normal of the ellipsoid at `place`: geodetic latitude is its angle to the
/// equatorial plane.
fn up(place: Geodetic) -> [f64; 3] {
    let (latitude, longitude) = (place.latitude_deg.to_radians(), place.longitude_deg.to_radians());
    let (sin_latitude, cos_latitude) = libm::sincos(latitude);
    let (sin_longitude, cos_longitude) = libm::sincos(longitude);
    [cos_latitude * cos_longitude, cos_latitude * sin_longitude, sin_latitude]
}

/// Returns the neighbours of all satellites in one array, and the start of each satellite's part.
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
