//! Finds pairs of flows that share a transmitter while their RTTs differ: when and where RTT
//! fairness can be studied.
//!
//! The transmitter of a common sender does not count, since that sender could schedule its flows
//! itself.
//!
//! [`find`] samples the paths of all flows at regular steps and pairs the flows with the shortest
//! and the longest RTTs at each transmitter. It then follows the most promising pairs through all
//! samples. The work is bounded by [`MOST_SAMPLES`] paths, [`PAIRS_EACH`] pairs per transmitter and
//! sample, and [`FOLLOWED`] pairs to the end. It misses a pair that is never among the most
//! different ones of any transmitter.

use crate::{Network, Node, OrbitError};
use bentpipe_units::{Span, Time};
use candidates::Candidates;
use history::History;

mod candidates;
mod history;

/// Limit of sampled paths: flows times samples. Each takes four bytes and about 0.2 us.
pub const MOST_SAMPLES: usize = 20_000_000;
/// Limit of pairs per transmitter and sample: the flows with the shortest RTTs, each with those of
/// the longest.
pub const PAIRS_EACH: usize = 32;
/// Limit of pairs followed through all samples: those with the largest sums of RTT ratios.
pub const FOLLOWED: usize = 20_000;

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
    /// Sender and receiver of each; the flow with the shorter RTT first.
    pub flows: [(Node, Node); 2],
    /// What they share, in order of first occurrence. They share at least one of these at any time.
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

    /// Sort key of results: RTT ratio times duration in seconds.
    pub fn score(&self) -> f64 {
        self.ratio() * self.to.since(self.from).as_secs_f64()
    }
}

/// All unordered pairs of `nodes`.
pub fn all_pairs(nodes: &[Node]) -> Vec<(Node, Node)> {
    let rest = |(index, from): (usize, &Node)| {
        let from = *from;
        nodes[index + 1..].iter().map(move |to| (from, *to))
    };
    nodes.iter().enumerate().flat_map(rest).collect()
}

/// Finds pairs of flows that share a transmitter, sorted by [`SharedTransmitter::score`], best
/// first.
///
/// # Errors
/// A satellite cannot be propagated, the step is zero, the ratio is below 1, or there are more
/// samples than [`MOST_SAMPLES`].
pub fn find(network: &Network, search: &Search) -> Result<Vec<SharedTransmitter>, OrbitError> {
    check(search)?;
    let mut candidates = Candidates::default();
    let history = History::record(network, search, &mut candidates)?;
    let mut found: Vec<SharedTransmitter> = candidates
        .best(FOLLOWED)
        .into_iter()
        .flat_map(|pair| history.follow(network, search, pair))
        .collect();
    found.sort_by(|a, b| {
        b.score().total_cmp(&a.score()).then_with(|| (a.flows, a.from).cmp(&(b.flows, b.from)))
    });
    let mut results: Vec<SharedTransmitter> = Vec::new();
    for sharing in found {
        let crowded = |flow: &(Node, Node)| {
            let same = |other: &&SharedTransmitter| {
                other.flows.iter().any(|other| ends(*other) == ends(*flow))
            };
            results.iter().filter(same).count() >= search.per_flow
        };
        if results.len() < search.most && !sharing.flows.iter().any(crowded) {
            results.push(sharing);
        }
    }
    Ok(results)
}

/// A flow without direction.
fn ends((from, to): (Node, Node)) -> (Node, Node) {
    (from.min(to), from.max(to))
}

fn check(search: &Search) -> Result<(), OrbitError> {
    let wrong = |what: &str, value: String, allowed: String| {
        Err(OrbitError::Value { what: what.into(), value, allowed })
    };
    if search.step.is_zero() {
        return wrong("a step", search.step.to_string(), "more than 0, such as 1 s".into());
    }
    if !(search.least_ratio >= 1.0 && search.least_ratio.is_finite()) {
        return wrong(
            "a least ratio of round trips",
            search.least_ratio.to_string(),
            "1 or more".into(),
        );
    }
    let samples = samples(search).saturating_mul(search.flows.len() as u64);
    if samples > MOST_SAMPLES as u64 {
        let allowed =
            format!("up to {MOST_SAMPLES}: take fewer flows, a longer step or a shorter time");
        return wrong("a number of flows times samples", samples.to_string(), allowed);
    }
    Ok(())
}

/// Number of samples; at least one.
fn samples(search: &Search) -> u64 {
    search.length.as_nanos().div_ceil(search.step.as_nanos()).max(1)
}

/// The transmitters on a path with their hops, except that of the sender. `reversed` if data flows
/// from the last node to the first.
fn transmitters(
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

/// The transmitter of the hop from `from` to `to`.
fn transmitter(network: &Network, shared_ground: bool, from: Node, to: Node) -> Transmitter {
    let stations = [from, to].map(|node| network.station_of(node).is_some());
    if shared_ground && stations[0] != stations[1] {
        Transmitter::Ground(from)
    } else {
        Transmitter::Link(from, to)
    }
}

#[cfg(test)]
mod tests;
