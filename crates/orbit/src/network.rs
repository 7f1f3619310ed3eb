//! A constellation, stations on the ground, and what links them: everything that does not move.

use crate::{Constellation, Geodetic, IslPattern, OrbitError, Selection};
use bentpipe_units::{Epoch, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    pub selection: Selection,
    /// Silence while it turns to another satellite. Only for selections that have one satellite at a time.
    pub interruption: Span,
    /// True where it passes on packets of others: a gateway, or a bent-pipe relay on the ground.
    pub relays: bool,
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
    pub isl_range_m: Option<f64>,
    /// Longest link between station and satellite, metres; none: only elevation counts.
    pub ground_range_m: Option<f64>,
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
    // The spec, fixed adjacency (ISLs, fibres), stations' Earth-fixed places, names.
}

impl Network {
    /// Checks `spec`.
    ///
    /// # Errors
    /// Two stations of one name, a fibre or an avoided node that names nothing, coordinates or elevations that cannot be.
    pub fn new(spec: NetworkSpec) -> Result<Self, OrbitError> {
        let _ = spec;
        todo!()
    }

    /// How many satellites.
    pub fn satellites(&self) -> usize {
        todo!()
    }

    /// The stations.
    pub fn stations(&self) -> &[Station] {
        todo!()
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

    /// The node's name.
    pub fn name(&self, node: Node) -> &str {
        let _ = node;
        todo!()
    }

    /// Inter-satellite links, each once.
    pub fn isls(&self) -> &[(Node, Node)] {
        todo!()
    }

    /// Links on the ground, each once, with their delay.
    pub fn fibres(&self) -> &[(Node, Node, Span)] {
        todo!()
    }

    /// When its time begins.
    pub fn begins(&self) -> Epoch {
        todo!()
    }

    /// The satellites.
    pub fn constellation(&self) -> &Constellation {
        todo!()
    }
}
