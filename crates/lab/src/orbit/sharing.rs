//! Finds flows that share a link although their RTTs differ, to study RTT fairness.

use crate::resolve::OrbitPath;
use bentpipe_orbit::sharing::{Search, SharedTransmitter, Transmitter, find};
use bentpipe_orbit::{Network, Node, OrbitError};
use bentpipe_units::{Span, Time};
use serde::Serialize;

/// Largest number of pairs in the list.
const MAX_PAIRS: usize = 20;
/// Largest number of listed pairs with the same flow.
const MAX_PAIRS_PER_FLOW: usize = 3;
/// Smallest ratio of RTTs: below it, unfairness is hardly visible.
const MIN_RATIO: f64 = 1.5;

/// A link or ground transmitter that two flows share for some time. The flow with the shorter RTT
/// comes first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SharedLink {
    /// Names of both flows' stations.
    pub flows: [[String; 2]; 2],
    /// Mean RTTs during that time, in milliseconds.
    pub rtt_ms: [f64; 2],
    /// Ratio of the longer RTT to the shorter.
    pub ratio: f64,
    /// Start of that time, in seconds since the start of the search.
    pub from_s: f64,
    /// End of that time, in seconds since the start of the search.
    pub to_s: f64,
    /// Names of the shared links. The flows share at least one of them at any time.
    pub links: Vec<String>,
}

/// Finds the pairs of flows on `path` that share a link with the largest ratio of RTTs and for the
/// longest time. Samples every `step` for `length`.
///
/// # Errors
/// There are too many flows and steps, or the orbit of a satellite cannot be propagated that far.
pub fn sharing(path: &OrbitPath, step: Span, length: Span) -> Result<Vec<SharedLink>, OrbitError> {
    let network = &path.network;
    let ends = |(from, to): (usize, usize)| (network.station(from), network.station(to));
    let found = find(
        network,
        &Search {
            flows: path.flows.iter().map(|flow| ends(flow.stations)).collect(),
            begins: Time::ZERO,
            length,
            step,
            least_ratio: MIN_RATIO,
            shared_ground: path.shared_ground,
            most: MAX_PAIRS,
            per_flow: MAX_PAIRS_PER_FLOW,
        },
    )?;
    Ok(found.iter().map(|sharing| shared_by(network, sharing)).collect())
}

fn shared_by(network: &Network, sharing: &SharedTransmitter) -> SharedLink {
    let name = |node: Node| network.name(node).to_owned();
    SharedLink {
        flows: sharing.flows.map(|(from, to)| [name(from), name(to)]),
        rtt_ms: sharing.rtts.map(Span::as_millis_f64),
        ratio: sharing.ratio(),
        from_s: sharing.from.as_secs_f64(),
        to_s: sharing.to.as_secs_f64(),
        links: sharing
            .shared
            .iter()
            .map(|shared| match shared {
                Transmitter::Link(from, to) => format!("{} to {}", name(*from), name(*to)),
                Transmitter::Ground(node) => format!("{} to the ground", name(*node)),
            })
            .collect(),
    }
}
