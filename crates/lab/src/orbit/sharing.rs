//! Flows that share a link while their round trips differ: where fairness can be studied.

use crate::resolve::OrbitPath;
use bentpipe_orbit::sharing::{Search, SharedTransmitter, Transmitter, find};
use bentpipe_orbit::{Network, Node, OrbitError};
use bentpipe_units::{Span, Time};
use serde::Serialize;

/// Most pairs that are listed.
const MOST: usize = 20;
/// Most of them that one flow is in.
const PER_FLOW: usize = 3;
/// Round trips that differ by less are not visibly different.
const LEAST_RATIO: f64 = 1.5;

/// Two flows that share a link for a while, the one with the shorter round trip first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SharedBy {
    /// Their ends, by name.
    pub flows: [[String; 2]; 2],
    /// Their round trips, means over that time.
    pub rtt_ms: [f64; 2],
    /// The longer over the shorter.
    pub ratio: f64,
    /// From when, since the beginning.
    pub from_s: f64,
    /// Until when.
    pub to_s: f64,
    /// What they share: at any time one of these at least.
    pub links: Vec<String>,
}

/// The pairs among the flows of `path` whose round trips differ most while they share a link, for
/// longest; looked for each `step` for `length`.
///
/// # Errors
/// More flows and steps than can be held, a satellite that cannot be followed.
pub fn sharing(path: &OrbitPath, step: Span, length: Span) -> Result<Vec<SharedBy>, OrbitError> {
    let network = &path.network;
    let ends = |(from, to): (usize, usize)| (network.station(from), network.station(to));
    let found = find(
        network,
        &Search {
            flows: path.flows.iter().map(|flow| ends(flow.stations)).collect(),
            begins: Time::ZERO,
            length,
            step,
            least_ratio: LEAST_RATIO,
            shared_ground: path.shared_ground,
            most: MOST,
            per_flow: PER_FLOW,
        },
    )?;
    Ok(found.iter().map(|sharing| shared_by(network, sharing)).collect())
}

fn shared_by(network: &Network, sharing: &SharedTransmitter) -> SharedBy {
    let name = |node: Node| network.name(node).to_owned();
    SharedBy {
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
