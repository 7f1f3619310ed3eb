//! Parameters and results of a search, and the transmitters on a path.

use crate::{Network, Node};
use bentpipe_units::{Span, Time};

/// Maximum number of pairs per transmitter and sample: the flows with the shortest RTTs, each with
/// those of the longest.
pub const PAIRS_EACH: usize = 32;
/// Parameters of a search.
#[derive(Debug, Clone)]
pub struct Search {
    /// The ends of the flows. Both directions of data are considered, with the same path in both.
    pub flows: Vec<(Node, Node)>,
    /// Time of the first sample.
    pub begins: Time,
    /// Length of the sampled interval.
    pub length: Span,
    /// Interval between samples.
    pub step: Span,
    /// Minimum ratio of the longer RTT to the shorter; at least 1.
    pub least_ratio: f64,
    /// True if each node has one transmitter for all its ground links (as in the Hypatia study),
    /// false if one per link.
    pub shared_ground: bool,
    /// Maximum number of results.
    pub most: usize,
    /// Maximum number of results per flow, so that one flow does not fill the list.
    pub per_flow: usize,
}

/// A shared transmitter: a queue and the links behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transmitter {
    /// The transmitter of a link from one node to another.
    Link(Node, Node),
    /// The transmitter of a node for all its ground links.
    Ground(Node),
}

/// Two flows that share a transmitter for some time.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedTransmitter {
    /// Sender and receiver of each flow, starting with the flow of the shorter RTT.
    pub flows: [(Node, Node); 2],
    /// Shared transmitters, in order of first occurrence. The flows share at least one of them at
    /// any time.
    pub shared: Vec<Transmitter>,
    /// First sample at which they share a transmitter.
    pub from: Time,
    /// First sample at which they no longer do, or the end of the search.
    pub to: Time,
    /// Mean propagation RTTs over that time.
    pub rtts: [Span; 2],
}

impl SharedTransmitter {
    /// Ratio of the longer RTT to the shorter.
    pub fn ratio(&self) -> f64 {
        self.rtts[1].as_secs_f64() / self.rtts[0].as_secs_f64()
    }

    /// Returns the sort key of results: RTT ratio times duration in seconds.
    pub fn score(&self) -> f64 {
        self.ratio() * self.to.since(self.from).as_secs_f64()
    }
}

/// Returns the number of samples; at least one.
pub(super) fn samples(search: &Search) -> u64 {
    search.length.as_nanos().div_ceil(search.step.as_nanos()).max(1)
}

/// Returns the transmitters on a path with their hops, except that of the sender. `reversed` is
/// true if data flows from the last node to the first.
pub(super) fn transmitters(
    network: &Network,
    shared_ground: bool,
    nodes: &[Node],
    reversed: bool,
) -> impl Iterator<Item = (usize, Transmitter)> {
    let own = if reversed { nodes.len().saturating_sub(2) } else { 0 };
    nodes.windows(2).enumerate().filter(move |(hop, _)| *hop != own).map(move |(hop, ends)| {
        let (from, to) = if reversed { (ends[1], ends[0]) } else { (ends[0], ends[1]) };
        (hop, transmitter(network, shared_ground, from, to))
    })
}

/// Returns the transmitter of the hop from `from` to `to`.
pub(super) fn transmitter(
    network: &Network,
    shared_ground: bool,
    from: Node,
    to: Node,
) -> Transmitter {
    let stations = [from, to].map(|node| network.station_of(node).is_some());
    if shared_ground && stations[0] != stations[1] {
        Transmitter::Ground(from)
    } else {
        Transmitter::Link(from, to)
    }
}
