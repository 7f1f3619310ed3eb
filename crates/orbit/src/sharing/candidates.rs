//! Candidate pairs of flows, by score.

use super::search::{PAIRS_EACH, Search, Transmitter, transmitters};
use crate::{Network, Node};
use std::cmp::Reverse;

/// Scores kept before those of equal pairs are summed.
const KEPT: usize = 4_000_000;

/// Two flows by index, lower first. `opposed` if they share a transmitter with one of them
/// reversed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    pub flows: [u32; 2],
    pub opposed: bool,
}

/// A flow at a transmitter. `reversed` if its data flows from its second end to its first.
#[derive(Debug, Clone, Copy)]
struct Use {
    of: Transmitter,
    ns: u32,
    flow: u32,
    reversed: bool,
}

/// Sums of RTT ratios by pair.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    uses: Vec<Use>,
    seen: Vec<(Pair, f64)>,
    scores: Vec<(Pair, f64)>,
}

impl Candidates {
    /// Adds the path of a flow at the current sample: its nodes and its delay.
    pub(super) fn path(
        &mut self,
        network: &Network,
        search: &Search,
        flow: u32,
        nodes: &[Node],
        ns: u32,
    ) {
        let last = nodes.len().saturating_sub(2);
        for reversed in [false, true] {
            for (hop, of) in transmitters(network, search.shared_ground, nodes, reversed) {
                // For inner hops, one direction is enough, since flows that share it share the
                // other one, too. At the ends, one of the transmitters is the sender's own.
                let inner = hop != 0 && hop != last;
                if !inner || !matches!(of, Transmitter::Link(from, to) if from > to) {
                    self.uses.push(Use { of, ns, flow, reversed });
                }
            }
        }
    }

    /// Ends the sample: pairs the fastest flows with the slowest at each transmitter, the most
    /// different ones first.
    pub(super) fn sample(&mut self, least_ratio: f64) {
        self.uses.sort_unstable_by_key(|used| (used.of, used.ns, used.flow));
        for flows in self.uses.chunk_by(|a, b| a.of == b.of) {
            // The `i`th fastest with the `j`th slowest, in ascending order of i + j.
            let pairs = (0..flows.len()).flat_map(|sum| (0..=sum).map(move |i| (i, sum - i)));
            let pairs = pairs.take_while(|(i, j)| i + j + 1 < flows.len());
            for (i, j) in pairs.take(PAIRS_EACH) {
                let (fast, slow) = (flows[i], flows[flows.len() - 1 - j]);
                let ratio = f64::from(slow.ns) / f64::from(fast.ns);
                if ratio >= least_ratio {
                    let flows = [fast.flow.min(slow.flow), fast.flow.max(slow.flow)];
                    self.seen
                        .push((Pair { flows, opposed: fast.reversed != slow.reversed }, ratio));
                }
            }
        }
        self.uses.clear();
        self.seen.sort_unstable_by_key(|(pair, _)| *pair);
        self.seen.dedup_by_key(|(pair, _)| *pair);
        self.scores.append(&mut self.seen);
        if self.scores.len() > KEPT {
            self.sum_up();
        }
    }

    fn sum_up(&mut self) {
        // The sort is stable, so sums are formed in the order of samples.
        self.scores.sort_by_key(|(pair, _)| *pair);
        self.scores.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 += later.1;
            }
            same
        });
    }

    /// Returns the pairs with the largest sums.
    pub(super) fn best(mut self, most: usize) -> Vec<Pair> {
        self.sum_up();
        self.scores.sort_by_key(|(pair, score)| (Reverse(score.to_bits()), *pair));
        self.scores.truncate(most);
        self.scores.into_iter().map(|(pair, _)| pair).collect()
    }
}
