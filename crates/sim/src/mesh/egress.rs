//! Egress ports of nodes. Links of a mesh are created when the first packet uses them.

use super::coverage_log::SkyLink;
use crate::link_state::LinkState;
use crate::spec::{MeshSpec, RunSpec};
use bentpipe_link::LinkContext;
use bentpipe_orbit::Node;
use bentpipe_timeseries::SeriesLimit;
use std::collections::BTreeMap;

/// Value for "none" in numbers of links, ports or stations.
const NONE: u32 = u32::MAX;
/// Maximum number of links with recorded series. The first ones used are on the flows' first paths.
const MAX_TRACED: usize = 256;

/// An egress port from one node to the next.
#[derive(Debug, Clone, Copy)]
pub struct EgressPort {
    /// Index of the link.
    pub link: u32,
    /// Port of the link.
    pub port: u32,
    /// Node that it belongs to.
    pub from: Node,
    /// Node that it leads to.
    pub to: Node,
    /// The station at one end if the other is a satellite.
    station: u32,
    /// True if `from` is a station.
    from_station: bool,
    /// The step whose delay the port has.
    pub step: u32,
}

impl EgressPort {
    /// The station at one end if the other is a satellite.
    #[inline]
    pub fn station(&self) -> Option<usize> {
        (self.station != NONE).then_some(self.station as usize)
    }
}

/// All egress ports in use.
pub struct Egress {
    shared_ground: bool,
    /// Context of all links, except their names.
    context: LinkContext,
    /// Limit of the series of links, if recorded.
    traced: Option<SeriesLimit>,
    egress: Vec<EgressPort>,
    /// By node: its neighbours, and the egress port towards each.
    of_node: Vec<Vec<(Node, u32)>>,
    /// Transmitters that several links share, by node and, at a station, by the shell that they
    /// lead to if that has links of its own.
    shared: BTreeMap<(Node, Option<u32>), u32>,
}

impl Egress {
    /// Creates an empty set of ports.
    pub fn new(spec: &RunSpec, mesh: &MeshSpec) -> Self {
        let nodes = mesh.network.nodes();
        Self {
            shared_ground: mesh.shared_ground,
            context: LinkContext {
                rtt: spec.base_rtt,
                seed: spec.seed,
                run: spec.run,
                name: String::new(),
            },
            traced: spec.trace,
            egress: Vec::new(),
            of_node: vec![Vec::new(); nodes],
            shared: BTreeMap::new(),
        }
    }

    /// Returns the egress port with this number.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> &mut EgressPort {
        &mut self.egress[number as usize]
    }

    /// Returns link number `link` if it is between a satellite and a station.
    pub fn over_sky(&self, link: u32) -> Option<SkyLink> {
        let port = self.egress.iter().find(|port| port.link == link)?;
        let station = port.station()?;
        Some(match port.from_station {
            true => SkyLink::Up(station),
            false if self.shared_ground => SkyLink::Ground(port.from.0),
            false => SkyLink::Down(port.from.0, station),
        })
    }

    /// Returns the egress port from `from` to `to`, if it is in use.
    pub fn find(&self, from: Node, to: Node) -> Option<u32> {
        self.of_node
            .get(from.0 as usize)?
            .iter()
            .find(|(other, _)| *other == to)
            .map(|&(_, out)| out)
    }

    /// Returns the egress port from `from` to `to`. Creates it, and its link if necessary.
    pub fn find_or_create(
        &mut self,
        mesh: &MeshSpec,
        from: Node,
        to: Node,
        links: &mut Vec<LinkState>,
    ) -> u32 {
        if let Some(out) = self.find(from, to) {
            return out;
        }
        let network = &mesh.network;
        let (station, other) = (network.station_of(from), network.station_of(to));
        let name = |end: &str| format!("{}>{end}", network.name(from));
        let (sharing, name) = match (station, other) {
            (Some(_), None) => match mesh.own_shell(to) {
                Some(shell) => {
                    let own = &network.constellation().shells()[shell as usize].name;
                    (Some((from, Some(shell))), name(&format!("sky ({own})")))
                }
                None => (Some((from, None)), name("sky")),
            },
            (None, Some(_)) if self.shared_ground => (Some((from, None)), name("ground")),
            _ => (None, name(network.name(to))),
        };
        let link = match sharing.and_then(|sharing| self.shared.get(&sharing)) {
            Some(&link) => link as usize,
            None => {
                let context = LinkContext { name: name.clone(), ..self.context.clone() };
                let model = mesh.model(from, to).with_external_delay();
                let mut state = LinkState::new(name, model, context, Vec::new());
                if let Some(limit) = self.traced.filter(|_| links.len() < MAX_TRACED) {
                    state.record(limit);
                }
                links.push(state);
                links.len() - 1
            }
        };
        if let Some(sharing) = sharing {
            self.shared.insert(sharing, link as u32);
        }
        let port = links[link].port_destinations.len() as u32;
        links[link].port_destinations.push(to.0);
        let over_sky = station.xor(other).map_or(NONE, |station| station as u32);
        let number = self.egress.len() as u32;
        self.egress.push(EgressPort {
            link: link as u32,
            port,
            from,
            to,
            station: over_sky,
            from_station: station.is_some(),
            step: NONE,
        });
        self.of_node[from.0 as usize].push((to, number));
        number
    }
}
