//! The paths of all flows over all samples.

use super::candidates::{Candidates, Pair};
use super::search::{Search, SharedTransmitter, Transmitter, samples, transmitters};
use crate::{Network, Node, OrbitError, Routes, Topology};
use bentpipe_units::{Span, Time};

/// Delay if there is no path.
const NO_PATH: u32 = u32::MAX;

/// Paths and delays by flow and sample.
#[derive(Debug)]
pub(super) struct History {
    /// By flow: nodes of the path, each from some sample on.
    paths: Vec<Vec<(usize, Vec<Node>)>>,
    /// One-way delays in nanoseconds: all flows at the first sample, then at the second, and so on.
    delays: Vec<u32>,
}

impl History {
    /// Takes all samples and passes each to `candidates`.
    pub(super) fn record(
        network: &Network,
        search: &Search,
        candidates: &mut Candidates,
    ) -> Result<Self, OrbitError> {
        let mut destinations: Vec<Node> = search.flows.iter().map(|(_, to)| *to).collect();
        destinations.sort_unstable();
        destinations.dedup();
        let number = |to: &Node| destinations.binary_search(to).unwrap_or_default();
        let numbers: Vec<usize> = search.flows.iter().map(|(_, to)| number(to)).collect();
        let mut topology = Topology::new(network, search.begins)?;
        let mut routes = Routes::new(network, &topology, &destinations);
        let mut made = Self { paths: vec![Vec::new(); search.flows.len()], delays: Vec::new() };
        let mut nodes = Vec::new();
        for sample in 0..samples(search) {
            if sample > 0 {
                topology.advance(network, search.begins + search.step * sample)?;
                routes.update(network, &topology);
            }
            for (flow, ((from, _), to)) in search.flows.iter().zip(&numbers).enumerate() {
                nodes.clear();
                let delay = routes.delay(*from, *to).filter(|delay| !delay.is_zero());
                let ns = delay
                    .map_or(NO_PATH, |delay| u32::try_from(delay.as_nanos()).unwrap_or(NO_PATH));
                if ns != NO_PATH {
                    nodes
                        .extend(std::iter::successors(Some(*from), |node| routes.next(*node, *to)));
                    candidates.path(network, search, flow as u32, &nodes, ns);
                }
                made.delays.push(ns);
                let paths = &mut made.paths[flow];
                if paths.last().is_none_or(|(_, known)| *known != nodes) {
                    paths.push((sample as usize, nodes.clone()));
                }
            }
            candidates.sample(search.least_ratio);
        }
        Ok(made)
    }

    /// Returns the times at which two flows share a transmitter, in the directions of data in which
    /// they do so longer.
    pub(super) fn follow(
        &self,
        network: &Network,
        search: &Search,
        pair: Pair,
    ) -> Vec<SharedTransmitter> {
        let there = self.follow_in(network, search, pair, [false, pair.opposed]);
        let back = self.follow_in(network, search, pair, [true, !pair.opposed]);
        let score =
            |found: &[SharedTransmitter]| found.iter().map(SharedTransmitter::score).sum::<f64>();
        let common_end =
            there.first().is_some_and(|sharing| sharing.flows[0].1 == sharing.flows[1].1);
        let (of_there, of_back) = (score(&there), score(&back));
        if of_there > of_back || (of_there >= of_back && common_end) { there } else { back }
    }

    fn follow_in(
        &self,
        network: &Network,
        search: &Search,
        pair: Pair,
        reversed: [bool; 2],
    ) -> Vec<SharedTransmitter> {
        let mut found = Vec::new();
        let mut run: Option<Run> = None;
        let mut current = [0, 0];
        let mut common = Vec::new();
        for sample in 0..samples(search) as usize {
            let mut moved = sample == 0;
            for (flow, place) in pair.flows.iter().zip(&mut current) {
                let paths = &self.paths[*flow as usize];
                if paths.get(*place + 1).is_some_and(|(from, _)| *from == sample) {
                    *place += 1;
                    moved = true;
                }
            }
            if moved {
                let paths: [Vec<Transmitter>; 2] = [0, 1].map(|index| {
                    let nodes = &self.paths[pair.flows[index] as usize][current[index]].1;
                    transmitters(network, search.shared_ground, nodes, reversed[index])
                        .map(|(_, of)| of)
                        .collect()
                });
                common = paths[0].iter().filter(|of| paths[1].contains(of)).copied().collect();
            }
            if common.is_empty() {
                found.extend(run.take().and_then(|run| run.end(search, pair, reversed, sample)));
                continue;
            }
            let run = run.get_or_insert_with(|| Run {
                first: sample,
                delays_ns: [0, 0],
                shared: Vec::new(),
            });
            for (flow, sum) in pair.flows.iter().zip(&mut run.delays_ns) {
                *sum += u64::from(self.delays[sample * self.paths.len() + *flow as usize]);
            }
            for of in &common {
                if !run.shared.contains(of) {
                    run.shared.push(*of);
                }
            }
        }
        found.extend(
            run.take().and_then(|run| run.end(search, pair, reversed, samples(search) as usize)),
        );
        found
    }
}

/// Consecutive samples at which two flows share a transmitter.
#[derive(Debug)]
struct Run {
    first: usize,
    /// Sums over those samples.
    delays_ns: [u64; 2],
    shared: Vec<Transmitter>,
}

impl Run {
    /// Returns the result, if the RTTs differ enough. The run ends before sample `end`.
    fn end(
        self,
        search: &Search,
        pair: Pair,
        reversed: [bool; 2],
        end: usize,
    ) -> Option<SharedTransmitter> {
        let rtt =
            |index: usize| Span::from_nanos(2 * self.delays_ns[index] / (end - self.first) as u64);
        let flow = |index: usize| {
            let (from, to) = search.flows[pair.flows[index] as usize];
            if reversed[index] { (to, from) } else { (from, to) }
        };
        let [fast, slow] = if rtt(0) <= rtt(1) { [0, 1] } else { [1, 0] };
        let time = |sample: usize| -> Time {
            search.begins + (search.step * sample as u64).min(search.length)
        };
        let sharing = SharedTransmitter {
            flows: [flow(fast), flow(slow)],
            rtts: [rtt(fast), rtt(slow)],
            from: time(self.first),
            to: time(end),
            shared: self.shared,
        };
        (sharing.ratio() >= search.least_ratio).then_some(sharing)
    }
}
