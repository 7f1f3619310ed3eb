//! Pairs of flows that share a transmitter while their round trips differ: where fairness between flows of different round trips can be studied, and when.
//!
//! The transmitter that a flow starts from does not count: that flows of one sender share it is no discovery, and their sender could arrange it otherwise.
//!
//! [`find`] samples the ways of all flows at steps, and looks at each transmitter for the flows with the shortest and the longest round trips. Pairs that promise
//! most are then followed through all samples. The work is bounded: [`MOST_SAMPLES`] ways, [`PAIRS_EACH`] pairs at each transmitter and sample, and
//! [`FOLLOWED`] pairs to the end; a pair that is never among the most different ones of any transmitter is not found.

use crate::{Network, Node, OrbitError};
use bentpipe_units::{Span, Time};
use candidates::Candidates;
use history::History;

mod candidates;
mod history;

/// Most ways that are sampled: flows times samples. Each takes four bytes of memory and about 0.2 us.
pub const MOST_SAMPLES: usize = 20_000_000;
/// Most pairs taken at one transmitter and sample: the flows of shortest round trips with those of longest.
pub const PAIRS_EACH: usize = 32;
/// Most pairs that are followed through all samples: those with the largest sums of ratios where they were taken.
pub const FOLLOWED: usize = 20_000;

/// What to look for.
#[derive(Debug, Clone)]
pub struct Search {
    /// The ends of flows. Data may go either way: both are looked at, and ways back are taken to be the ways there.
    pub flows: Vec<(Node, Node)>,
    /// When the first sample is taken.
    pub begins: Time,
    /// For how long samples are taken.
    pub length: Span,
    /// Time between samples.
    pub step: Span,
    /// Least ratio of the longer round trip to the shorter, at least 1.
    pub least_ratio: f64,
    /// Whether a node has one transmitter for all that it reaches over ground links (as in the Hypatia study), or one for each.
    pub shared_ground: bool,
    /// Most results.
    pub most: usize,
    /// Most results that one flow takes part in, so that one remarkable flow does not fill the list.
    pub per_flow: usize,
}

/// What is shared: a queue, and the link or links behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transmitter {
    /// Of a link from one node to another.
    Link(Node, Node),
    /// Of a node for all of its ground links.
    Ground(Node),
}

/// Two flows that share a transmitter.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedTransmitter {
    /// Each from whom to whom; the one of shorter round trip first.
    pub flows: [(Node, Node); 2],
    /// What they share, in the order in which it first occurs: at any time at least one of these.
    pub shared: Vec<Transmitter>,
    /// From this sample.
    pub from: Time,
    /// Until the first sample at which they share nothing, or the end of the search.
    pub to: Time,
    /// Round trips of the empty path (propagation), means over that time.
    pub rtts: [Span; 2],
}

impl SharedTransmitter {
    /// The longer round trip by the shorter.
    pub fn ratio(&self) -> f64 {
        self.rtts[1].as_secs_f64() / self.rtts[0].as_secs_f64()
    }

    /// What results are sorted by: ratio of round trips times duration in seconds.
    pub fn score(&self) -> f64 {
        self.ratio() * self.to.since(self.from).as_secs_f64()
    }
}

/// Every two of `nodes`, once.
pub fn all_pairs(nodes: &[Node]) -> Vec<(Node, Node)> {
    let rest = |(index, from): (usize, &Node)| {
        let from = *from;
        nodes[index + 1..].iter().map(move |to| (from, *to))
    };
    nodes.iter().enumerate().flat_map(rest).collect()
}

/// The pairs of flows that share a transmitter with round trips that differ most for longest, best first.
///
/// # Errors
/// A satellite that cannot be followed, a step of no length, a ratio below 1, more samples than [`MOST_SAMPLES`].
pub fn find(network: &Network, search: &Search) -> Result<Vec<SharedTransmitter>, OrbitError> {
    check(search)?;
    let mut candidates = Candidates::default();
    let history = History::record(network, search, &mut candidates)?;
    let mut found: Vec<SharedTransmitter> =
        candidates.best(FOLLOWED).into_iter().flat_map(|pair| history.follow(network, search, pair)).collect();
    found.sort_by(|a, b| b.score().total_cmp(&a.score()).then_with(|| (a.flows, a.from).cmp(&(b.flows, b.from))));
    let mut results: Vec<SharedTransmitter> = Vec::new();
    for sharing in found {
        let crowded = |flow: &(Node, Node)| {
            let same = |other: &&SharedTransmitter| other.flows.iter().any(|other| ends(*other) == ends(*flow));
            results.iter().filter(same).count() >= search.per_flow
        };
        if results.len() < search.most && !sharing.flows.iter().any(crowded) {
            results.push(sharing);
        }
    }
    Ok(results)
}

/// A flow without its direction.
fn ends((from, to): (Node, Node)) -> (Node, Node) {
    (from.min(to), from.max(to))
}

fn check(search: &Search) -> Result<(), OrbitError> {
    let wrong =
        |what: &str, value: String, allowed: String| Err(OrbitError::Value { what: what.into(), value, allowed });
    if search.step.is_zero() {
        return wrong("a step", search.step.to_string(), "more than 0, such as 1 s".into());
    }
    if !(search.least_ratio >= 1.0 && search.least_ratio.is_finite()) {
        return wrong("a least ratio of round trips", search.least_ratio.to_string(), "1 or more".into());
    }
    let samples = samples(search).saturating_mul(search.flows.len() as u64);
    if samples > MOST_SAMPLES as u64 {
        let allowed = format!("up to {MOST_SAMPLES}: take fewer flows, a longer step or a shorter time");
        return wrong("a number of flows times samples", samples.to_string(), allowed);
    }
    Ok(())
}

/// How many samples there are: one at least.
fn samples(search: &Search) -> u64 {
    search.length.as_nanos().div_ceil(search.step.as_nanos()).max(1)
}

/// The transmitters on a way, each with its hop's place; `reversed`: where data goes from its last node to its first. The sender's own is left out.
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
    if shared_ground && stations[0] != stations[1] { Transmitter::Ground(from) } else { Transmitter::Link(from, to) }
}

#[cfg(test)]
mod tests;
