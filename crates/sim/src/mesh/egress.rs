//! Who sends to whom: links of a mesh, made when the first packet wants to take them.

use crate::link_state::LinkState;
use crate::spec::{MeshSpec, RunSpec};
use bentpipe_link::{DirectionModel, LinkContext};
use bentpipe_orbit::{Network, Node};

/// Stands for nothing where numbers of links, outs or stations stand.
const NONE: u32 = u32::MAX;
/// Most links whose series are recorded: the first to be used, which are those of the flows' first paths.
const MAX_TRACED: usize = 256;

/// A way from one node to the next: a port of a link.
#[derive(Debug, Clone, Copy)]
pub struct EgressPort {
    /// The link.
    pub link: u32,
    /// Its port.
    pub port: u32,
    /// Where it begins.
    pub from: Node,
    /// Where it leads.
    pub to: Node,
    /// The station at one end, by index, where the other is a satellite.
    station: u32,
    /// The step whose law the port has.
    pub step: u32,
}

impl EgressPort {
    /// The station at one end, by index, where the other is a satellite.
    #[inline]
    pub fn station(&self) -> Option<usize> {
        (self.station != NONE).then_some(self.station as usize)
    }
}

/// The links' models, with delays that are told.
struct Models {
    isl: DirectionModel,
    up: DirectionModel,
    down: DirectionModel,
    fibre: DirectionModel,
}

/// All ways used so far.
pub struct Egress {
    models: Models,
    shared_ground: bool,
    /// What all links are told of the run; each has a name of its own.
    context: LinkContext,
    traced: bool,
    egress: Vec<EgressPort>,
    /// By node: the neighbours that it has sent to, and by which out.
    of_node: Vec<Vec<(Node, u32)>>,
    /// By node: the transmitter that it has for all its neighbours on the other side of the sky.
    shared: Vec<u32>,
}

impl Egress {
    /// None yet.
    pub fn new(spec: &RunSpec, mesh: &MeshSpec) -> Self {
        let nodes = mesh.network.nodes();
        Self {
            models: Models {
                isl: mesh.isl.with_external_delay(),
                up: mesh.up.with_external_delay(),
                down: mesh.down.with_external_delay(),
                fibre: mesh.fibre.with_external_delay(),
            },
            shared_ground: mesh.shared_ground,
            context: LinkContext { rtt: spec.base_rtt, seed: spec.seed, run: spec.run, name: String::new() },
            traced: spec.trace,
            egress: Vec::new(),
            of_node: vec![Vec::new(); nodes],
            shared: vec![NONE; nodes],
        }
    }

    /// The out of this number.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> &mut EgressPort {
        &mut self.egress[number as usize]
    }

    /// The way from `from` to `to`, where it has been used.
    pub fn find(&self, from: Node, to: Node) -> Option<u32> {
        self.of_node.get(from.0 as usize)?.iter().find(|(other, _)| *other == to).map(|&(_, out)| out)
    }

    /// The way from `from` to `to`. Its link, or its port, is made where nobody has used it before.
    pub fn find_or_make(&mut self, network: &Network, from: Node, to: Node, links: &mut Vec<LinkState>) -> u32 {
        if let Some(out) = self.find(from, to) {
            return out;
        }
        let (station, other) = (network.station_of(from), network.station_of(to));
        let name = |end: &str| format!("{}>{end}", network.name(from));
        let (shares, model, name) = match (station, other) {
            (None, None) => (false, &self.models.isl, name(network.name(to))),
            (Some(_), Some(_)) => (false, &self.models.fibre, name(network.name(to))),
            (Some(_), None) => (true, &self.models.up, name("sky")),
            (None, Some(_)) if self.shared_ground => (true, &self.models.down, name("ground")),
            (None, Some(_)) => (false, &self.models.down, name(network.name(to))),
        };
        let shared = &mut self.shared[from.0 as usize];
        let link = if shares && *shared != NONE {
            *shared as usize
        } else {
            let context = LinkContext { name: name.clone(), ..self.context.clone() };
            let mut state = LinkState::new(name, model.clone(), context, Vec::new());
            if self.traced && links.len() < MAX_TRACED {
                state.record();
            }
            links.push(state);
            links.len() - 1
        };
        if shares {
            *shared = link as u32;
        }
        let port = links[link].port_destinations.len() as u32;
        links[link].port_destinations.push(to.0);
        let over_sky = station.xor(other).map_or(NONE, |station| station as u32);
        let number = self.egress.len() as u32;
        self.egress.push(EgressPort { link: link as u32, port, from, to, station: over_sky, step: NONE });
        self.of_node[from.0 as usize].push((to, number));
        number
    }
}
