//! The nodes of a run: where they stand, what they delay, and what they have done.

mod audit;

use crate::checks::NodeEffects;
use crate::datagram::Datagram;
use crate::error::SimError;
use crate::hop_path::HopPath;
use crate::link_state::LinkState;
use crate::node::{
    Action, NewPacket, Node, NodeContext, NodeCounters, NodeOutcome, NodePacket, NodeRequests,
    PathDirection, PlacedNode,
};
use crate::packet_arena::PacketId;
use crate::spec::{HopEnd, RunSpec};
use bentpipe_link::random::{self, Stream};
use bentpipe_link::{Packet, PacketTotals};
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// All nodes of a run.
pub struct PathNodes {
    nodes: Vec<PathNode>,
    /// The ends of hops at which nodes stand.
    points: Vec<Point>,
    /// By link: the points that its packets pass before they enter it and after they leave it.
    by_link: Vec<LinkPoints>,
    /// What happens later. Equal times come in the order in which they were scheduled.
    due: BTreeMap<(Time, u64), Due>,
    sequence: u64,
    /// By flow: what nodes have done to it.
    effects: Vec<NodeEffects>,
}

/// A node of the run.
struct PathNode {
    name: String,
    node: Box<dyn Node>,
    random: Stream,
    point: usize,
    /// By direction.
    counters: [NodeCounters; 2],
}

/// An end of a hop at which nodes stand.
struct Point {
    hop: usize,
    end: HopEnd,
    /// Its nodes from the client to the server.
    nodes: Vec<usize>,
    /// By terminal and direction: the link of the hop, and its port.
    links: Vec<[(usize, usize); 2]>,
}

impl Point {
    /// Returns true if packets in this direction pass its nodes before they enter the hop.
    fn is_entrance(&self, toward: PathDirection) -> bool {
        (self.end == HopEnd::Client) == (toward == PathDirection::ToServer)
    }

    /// Returns its nodes in the order in which packets in this direction pass them.
    fn in_order(&self, toward: PathDirection) -> Vec<usize> {
        let mut nodes = self.nodes.clone();
        if toward == PathDirection::ToClient {
            nodes.reverse();
        }
        nodes
    }
}

#[derive(Clone, Copy, Default)]
struct LinkPoints {
    entrance: Option<usize>,
    exit: Option<usize>,
}

/// The place of a packet among the nodes of a point: before node `next` in its direction, or behind
/// all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub point: usize,
    pub next: usize,
}

/// What happens at a later time.
pub enum Due {
    /// A packet leaves the node with this number and goes on from this place.
    Packet(usize, Place, Packet<PacketId>),
    /// A node wakes.
    Wake(usize),
}

/// Where a packet that has passed all nodes of a point goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Onward {
    /// It enters this link, at this port.
    Link(usize, usize),
    /// It goes on from this network node.
    From(u32),
}

impl PathNodes {
    /// Places `nodes` on the hops of `spec`.
    ///
    /// # Errors
    /// There is no such hop, or two nodes have one name.
    pub fn new(
        spec: &RunSpec,
        nodes: Vec<PlacedNode>,
        path: &HopPath,
        links: &[LinkState],
    ) -> Result<Self, SimError> {
        let mut placed = Self {
            nodes: Vec::with_capacity(nodes.len()),
            points: Vec::new(),
            by_link: vec![LinkPoints::default(); links.len()],
            due: BTreeMap::new(),
            sequence: 0,
            effects: vec![NodeEffects::default(); spec.flows.len()],
        };
        for PlacedNode { name, hop, end, node } in nodes {
            let wrong = |what: String| Err(SimError::Spec(format!("node `{name}`: {what}")));
            let Some(hop) = spec.hops.iter().position(|candidate| candidate.name == hop) else {
                let names: Vec<&str> = spec.hops.iter().map(|hop| hop.name.as_str()).collect();
                return wrong(format!("no hop is named `{hop}`; allowed: {}", names.join(", ")));
            };
            if placed.nodes.iter().any(|other| other.name == name) {
                return wrong("another node has this name; allowed: a name of its own".to_owned());
            }
            let point = placed.point(hop, end, path);
            placed.points[point].nodes.push(placed.nodes.len());
            let random = random::stream(spec.seed, spec.run, &format!("node/{name}"));
            placed.nodes.push(PathNode { name, node, random, point, counters: Default::default() });
        }
        Ok(placed)
    }

    /// Returns the point at this end of a hop, which is made if there is none.
    fn point(&mut self, hop: usize, end: HopEnd, path: &HopPath) -> usize {
        if let Some(point) =
            self.points.iter().position(|point| (point.hop, point.end) == (hop, end))
        {
            return point;
        }
        let number = self.points.len();
        let point = Point { hop, end, nodes: Vec::new(), links: path.links_of_hop(hop) };
        for toward in DIRECTIONS {
            for links in &point.links {
                let (link, _) = links[toward as usize];
                let points = &mut self.by_link[link];
                if point.is_entrance(toward) {
                    points.entrance = Some(number);
                } else {
                    points.exit = Some(number);
                }
            }
        }
        self.points.push(point);
        number
    }

    /// Returns the place of a packet that is about to enter link `link`, if nodes stand there.
    pub fn entrance(&self, link: usize) -> Option<Place> {
        self.by_link[link].entrance.map(|point| Place { point, next: 0 })
    }

    /// Returns the place of a packet that has left link `link`, if nodes stand there.
    pub fn exit(&self, link: usize) -> Option<Place> {
        self.by_link[link].exit.map(|point| Place { point, next: 0 })
    }

    /// Returns the number of the node before which `place` is; `None` if it is behind all of them.
    pub fn node_at(&self, place: Place, toward: PathDirection) -> Option<usize> {
        let nodes = &self.points[place.point].nodes;
        match toward {
            PathDirection::ToServer => nodes.get(place.next).copied(),
            PathDirection::ToClient => nodes.iter().rev().nth(place.next).copied(),
        }
    }

    /// Returns where packets of a terminal in this direction go once they have passed all nodes of
    /// a point.
    pub fn onward(&self, point: usize, toward: PathDirection, terminal: usize) -> Onward {
        let point = &self.points[point];
        if point.is_entrance(toward) {
            let (link, port) = point.links[terminal][toward as usize];
            return Onward::Link(link, port);
        }
        Onward::From(point.hop as u32 + u32::from(point.end == HopEnd::Server))
    }

    /// Lets node `number` handle a packet, whose DSCP and ECN field it may change.
    pub fn handle(
        &mut self,
        now: Time,
        number: usize,
        packet: &mut Packet<PacketId>,
        datagram: &Datagram,
        flow_name: &str,
    ) -> (Action, NodeRequests) {
        let node = &mut self.nodes[number];
        let counters = &mut node.counters[datagram.toward as usize];
        count(&mut counters.arrived, packet.bytes);
        let mut requests = NodeRequests::default();
        let mut seen = NodePacket::new(packet, datagram, flow_name);
        let action = node.node.on_packet(
            &mut seen,
            &mut NodeContext { now, random: &mut node.random, requests: &mut requests },
        );
        (packet.dscp, packet.ecn) = (seen.dscp, seen.ecn);
        let effects = &mut self.effects[datagram.flow as usize];
        match action {
            Action::Pass => {}
            Action::Delay(_) => effects.acted = true,
            Action::Drop => {
                effects.acted = true;
                count(&mut counters.dropped, packet.bytes);
            }
        }
        (action, requests)
    }

    /// Wakes node `number`.
    pub fn wake(&mut self, now: Time, number: usize) -> NodeRequests {
        let node = &mut self.nodes[number];
        let mut requests = NodeRequests::default();
        node.node.on_wake(&mut NodeContext {
            now,
            random: &mut node.random,
            requests: &mut requests,
        });
        requests
    }

    /// Counts a packet that node `number` sends, and returns its place behind the node.
    pub fn count_new(&mut self, number: usize, packet: &NewPacket) -> Place {
        let node = &mut self.nodes[number];
        let Datagram { flow, toward, .. } = packet.datagram;
        let counters = &mut node.counters[toward as usize];
        let effects = &mut self.effects[flow as usize];
        effects.acted = true;
        effects.added_bytes += u64::from(packet.bytes);
        if packet.original.is_some() {
            count(&mut counters.copied, packet.bytes);
        } else {
            effects.made = true;
            count(&mut counters.made, packet.bytes);
        }
        let point = node.point;
        let order = self.points[point].in_order(toward);
        let passed = order.iter().position(|&other| other == number).unwrap_or_default();
        Place { point, next: passed + 1 }
    }

    /// Counts a packet that leaves node `number`.
    pub fn count_left(&mut self, number: usize, packet: &Packet<PacketId>) {
        let counters = &mut self.nodes[number].counters[packet.payload.toward as usize];
        count(&mut counters.left, packet.bytes);
    }

    /// Keeps a packet that has left node `number` until `at`, and lets it go on from `place` then.
    pub fn delay(&mut self, at: Time, number: usize, place: Place, packet: Packet<PacketId>) {
        let counters = &mut self.nodes[number].counters[packet.payload.toward as usize];
        count(&mut counters.delayed, packet.bytes);
        self.schedule(at, Due::Packet(number, place, packet));
    }

    /// Wakes node `number` at `at`.
    pub fn wake_at(&mut self, at: Time, number: usize) {
        self.schedule(at, Due::Wake(number));
    }

    fn schedule(&mut self, at: Time, due: Due) {
        self.sequence += 1;
        self.due.insert((at, self.sequence), due);
    }

    /// Returns the time at which to call [`Self::take_due`].
    pub fn deadline(&self) -> Option<Time> {
        self.due.first_key_value().map(|(&(at, _), _)| at)
    }

    /// Takes the next of what is due at `now`.
    pub fn take_due(&mut self, now: Time) -> Option<Due> {
        let entry = self.due.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// Returns what nodes have done to flow number `flow`.
    pub fn effects(&self, flow: usize) -> NodeEffects {
        self.effects[flow]
    }

    /// Returns what each node has done.
    pub fn into_outcomes(self) -> Vec<NodeOutcome> {
        let outcome = |node: PathNode| {
            let [to_server, to_client] = node.counters;
            NodeOutcome { name: node.name, to_server, to_client }
        };
        self.nodes.into_iter().map(outcome).collect()
    }
}

/// Directions in the order of [`PathNode::counters`].
const DIRECTIONS: [PathDirection; 2] = [PathDirection::ToServer, PathDirection::ToClient];

fn count(totals: &mut PacketTotals, bytes: u32) {
    totals.packets += 1;
    totals.bytes += u64::from(bytes);
}
