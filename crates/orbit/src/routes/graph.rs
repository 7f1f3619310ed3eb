//! A topology as an adjacency array.

use crate::topology::NO_LINK;
use crate::{Metric, Network, Node, Topology};

/// Length of a hop if hops are counted. It exceeds the delay of any path in nanoseconds (4.9
/// hours), so that delay only breaks ties.
const HOP: u64 = 1 << 44;

/// A link as seen from one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arc {
    /// The node at the other end.
    pub to: u32,
    /// Propagation delay in nanoseconds.
    pub ns: u32,
}

/// The links of every node.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Graph {
    /// Node `n`: from `starts[n]` to `starts[n + 1]`.
    starts: Vec<u32>,
    /// Of these, links to nodes that forward: `starts[n]` to `passing[n]`.
    passing: Vec<u32>,
    arcs: Vec<Arc>,
    forwards: Vec<bool>,
    /// Length of a link in addition to its delay.
    hop: u64,
}

impl Graph {
    pub(super) fn new(network: &Network, topology: &Topology) -> Self {
        let mut made = Self::default();
        made.fill(network, topology);
        made
    }

    /// Replaces the graph by that of another topology, reusing memory.
    pub(super) fn fill(&mut self, network: &Network, topology: &Topology) {
        let mut links = Vec::with_capacity(network.isls().len() + 16 * network.stations().len());
        for (index, (a, b)) in network.isls().iter().enumerate() {
            let ns = topology.isl_ns(index);
            if ns != NO_LINK {
                links.push((a.0, b.0, ns));
            }
        }
        for index in 0..network.stations().len() {
            let station = network.station(index);
            for &satellite in topology.attached(index) {
                let delay = topology.delay(network, station, Node(satellite)).as_nanos();
                links.push((satellite, station.0, delay as u32));
            }
        }
        links.extend(
            network.fibres().iter().map(|(a, b, delay)| (a.0, b.0, delay.as_nanos() as u32)),
        );
        let forwards =
            (0..network.nodes() as u32).map(|node| network.forwards(Node(node))).collect();
        let hop = match network.metric() {
            Metric::Delay => 0,
            Metric::Hops => HOP,
        };
        self.set(forwards, &links, hop);
    }

    /// Replaces the graph by `links`, each in both directions.
    pub(super) fn set(&mut self, forwards: Vec<bool>, links: &[(u32, u32, u32)], hop: u64) {
        let nodes = forwards.len();
        self.hop = hop;
        self.starts.clear();
        self.starts.resize(nodes + 1, 0);
        for (a, b, _) in links {
            self.starts[*a as usize + 1] += 1;
            self.starts[*b as usize + 1] += 1;
        }
        for node in 0..nodes {
            self.starts[node + 1] += self.starts[node];
        }
        self.arcs.clear();
        self.arcs.resize(links.len() * 2, Arc { to: 0, ns: 0 });
        self.passing.clear();
        self.passing.extend_from_slice(&self.starts[..nodes]);
        // Forwarding nodes fill each range from the front, others from the back.
        let mut ends = self.starts[1..].to_vec();
        for &(a, b, ns) in links {
            for (from, to) in [(a, b), (b, a)] {
                let place = if forwards[to as usize] {
                    let place = &mut self.passing[from as usize];
                    *place += 1;
                    *place - 1
                } else {
                    let place = &mut ends[from as usize];
                    *place -= 1;
                    *place
                };
                self.arcs[place as usize] = Arc { to, ns };
            }
        }
        self.forwards = forwards;
    }

    pub(super) fn nodes(&self) -> usize {
        self.forwards.len()
    }

    /// Returns true if paths of others may pass through `node`.
    pub(super) fn forwards(&self, node: u32) -> bool {
        self.forwards[node as usize]
    }

    /// Returns all links of `node`.
    pub(super) fn around(&self, node: u32) -> &[Arc] {
        &self.arcs[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// Returns the links of `node` to nodes that forward: a prefix of [`Self::around`].
    pub(super) fn passing(&self, node: u32) -> &[Arc] {
        &self.arcs[self.starts[node as usize] as usize..self.passing[node as usize] as usize]
    }

    /// Returns the length of a link.
    #[inline]
    pub(super) fn length(&self, arc: Arc) -> u64 {
        self.hop + u64::from(arc.ns)
    }

    /// Returns the delay within a length, in nanoseconds.
    pub(super) fn delay_ns(&self, length: u64) -> u64 {
        if self.hop == 0 { length } else { length % HOP }
    }

    /// Returns a copy without the links of a path.
    pub(super) fn without(&self, path: &[Node]) -> Self {
        let taken = |a: u32, b: u32| {
            path.windows(2).any(|hop| [(a, b), (b, a)].contains(&(hop[0].0, hop[1].0)))
        };
        let ends = (0..self.nodes() as u32)
            .flat_map(|node| self.around(node).iter().map(move |arc| (node, *arc)));
        let kept = ends.filter(|(node, arc)| *node < arc.to && !taken(*node, arc.to));
        let links: Vec<_> = kept.map(|(node, arc)| (node, arc.to, arc.ns)).collect();
        let mut made = Self::default();
        made.set(self.forwards.clone(), &links, self.hop);
        made
    }
}
