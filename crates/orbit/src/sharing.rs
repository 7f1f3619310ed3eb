//! Finds pairs of flows that share a transmitter while their RTTs differ, as cases for studies of
//! RTT fairness.
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
use candidates::Candidates;
use history::History;

mod candidates;
mod history;
mod search;

use search::samples;
pub use search::{PAIRS_EACH, Search, SharedTransmitter, Transmitter};

/// Maximum number of sampled paths: flows times samples. Each takes four bytes and about 0.2 us.
pub const MOST_SAMPLES: usize = 20_000_000;
/// Maximum number of pairs followed through all samples: those with the largest sums of RTT ratios.
pub const FOLLOWED: usize = 20_000;

/// Returns all unordered pairs of `nodes`.
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
///
/// If a satellite cannot be propagated, the step is zero, the ratio is below 1, or there are more
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

/// Returns a flow without its direction.
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
        return wrong("a minimum RTT ratio", search.least_ratio.to_string(), "1 or more".into());
    }
    let samples = samples(search).saturating_mul(search.flows.len() as u64);
    if samples > MOST_SAMPLES as u64 {
        let allowed =
            format!("up to {MOST_SAMPLES}: use fewer flows, a longer step or a shorter time");
        return wrong("a number of flows times samples", samples.to_string(), allowed);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
