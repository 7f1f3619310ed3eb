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
///
/// Most steps of a topology change only delays: then the arcs keep their places.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Graph {
    /// Ends of each link.
    links: Vec<(u32, u32)>,
    /// Propagation delay of each link in nanoseconds.
    ns: Vec<u32>,
    /// Node `n`: from `starts[n]` to `starts[n + 1]`.
    starts: Vec<u32>,
    /// Of these, links to nodes that forward: `starts[n]` to `passing[n]`.
    passing: Vec<u32>,
    arcs: Vec<Arc>,
    /// By arc: its link.
    arc_links: Vec<u32>,
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
        self.ns.clear();
        let mut same = true;
        let Self { links, ns, .. } = self;
        let mut add = |a: u32, b: u32, delay: u32| {
            if links.get(ns.len()) != Some(&(a, b)) {
                same = false;
                links.truncate(ns.len());
                links.push((a, b));
            }
            ns.push(delay);
        };
        for (index, (a, b)) in network.isls().iter().enumerate() {
            let delay = topology.isl_ns(index);
            if delay != NO_LINK {
                add(a.0, b.0, delay);
            }
        }
        for index in 0..network.stations().len() {
            let station = network.station(index);
            for &satellite in topology.attached(index) {
                let delay = topology.delay(network, station, Node(satellite)).as_nanos();
                add(satellite, station.0, delay as u32);
            }
        }
        for (a, b, delay) in network.fibres() {
            add(a.0, b.0, delay.as_nanos() as u32);
        }
        if !same || links.len() > ns.len() || self.forwards.len() != network.nodes() {
            links.truncate(ns.len());
            self.hop = match network.metric() {
                Metric::Delay => 0,
                Metric::Hops => HOP,
            };
            self.forwards.clear();
            self.forwards
                .extend((0..network.nodes() as u32).map(|node| network.forwards(Node(node))));
            self.place_arcs();
        }
        self.measure_arcs();
    }

    /// Replaces the graph by `links`, each in both directions.
    pub(super) fn set(&mut self, forwards: Vec<bool>, links: &[(u32, u32, u32)], hop: u64) {
        self.hop = hop;
        self.forwards = forwards;
        self.links = links.iter().map(|&(a, b, _)| (a, b)).collect();
        self.ns = links.iter().map(|&(_, _, ns)| ns).collect();
        self.place_arcs();
        self.measure_arcs();
    }

    /// Sorts the links by node.
    fn place_arcs(&mut self) {
        let Self { links, starts, passing, arcs, arc_links, forwards, .. } = self;
        let nodes = forwards.len();
        starts.clear();
        starts.resize(nodes + 1, 0);
        for &(a, b) in &*links {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        arcs.clear();
        arcs.resize(links.len() * 2, Arc { to: 0, ns: 0 });
        arc_links.clear();
        arc_links.resize(links.len() * 2, 0);
        passing.clear();
        passing.extend_from_slice(&starts[..nodes]);
        // Forwarding nodes fill each range from the front, others from the back.
        let mut ends = starts[1..].to_vec();
        for (link, &(a, b)) in (0..).zip(&*links) {
            for (from, to) in [(a, b), (b, a)] {
                let place = if forwards[to as usize] {
                    let place = &mut passing[from as usize];
                    *place += 1;
                    *place - 1
                } else {
                    let place = &mut ends[from as usize];
                    *place -= 1;
                    *place
                };
                arcs[place as usize].to = to;
                arc_links[place as usize] = link;
            }
        }
    }

    /// Copies the delays of links to their arcs.
    fn measure_arcs(&mut self) {
        for (arc, link) in self.arcs.iter_mut().zip(&self.arc_links) {
            arc.ns = self.ns[*link as usize];
        }
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
