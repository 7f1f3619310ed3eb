use super::graph::Graph;
use super::tree::{Queue, Tree};
use crate::testing::{network, spec};
use crate::{Node, Topology};
use crate::{Routes, SPEED_OF_LIGHT};
use bentpipe_units::{Span, Time};
use proptest::prelude::*;

/// Lengths by Bellman and Ford: round after round over all links, until nothing changes.
fn plain(passes_on: &[bool], links: &[(u32, u32, u32)], hop: u64, to: u32) -> Vec<Option<u64>> {
    let mut length = vec![None; passes_on.len()];
    length[to as usize] = Some(0);
    loop {
        let before = length.clone();
        for &(a, b, ns) in links {
            for (from, via) in [(a, b), (b, a)] {
                let through = length[via as usize].filter(|_| via == to || passes_on[via as usize]);
                let through = through.map(|length: u64| length + hop + u64::from(ns));
                let known = &mut length[from as usize];
                *known = match (*known, through) {
                    (Some(known), Some(through)) => Some(known.min(through)),
                    (known, through) => known.or(through),
                };
            }
        }
        if length == before {
            return length;
        }
    }
}

/// Nodes, which of them pass on, and links without loops and doubles.
fn graphs() -> impl Strategy<Value = (Vec<bool>, Vec<(u32, u32, u32)>)> {
    (2usize..24).prop_flat_map(|nodes| {
        let last = nodes as u32;
        let link = (0..last, 0..last, prop_oneof![1u32..8, 1u32..1_000_000]);
        (prop::collection::vec(prop::bool::weighted(0.8), nodes), prop::collection::vec(link, 0..60)).prop_map(
            |(passes_on, links)| {
                let mut seen = std::collections::BTreeSet::new();
                let kept = links.into_iter().filter(|&(a, b, _)| a != b && seen.insert((a.min(b), a.max(b))));
                (passes_on, kept.collect())
            },
        )
    })
}

proptest! {
    #[test]
    fn lengths_are_the_shortest_and_repaired_trees_are_those_found_anew(
        (passes_on, links) in graphs(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0u32..2_000), 1..12),
        counts_hops in any::<bool>(),
        to in any::<prop::sample::Index>(),
    ) {
        let hop = if counts_hops { 1 << 44 } else { 0 };
        let to = to.index(passes_on.len()) as u32;
        let mut queue = Queue::new();
        let mut graph = Graph::default();
        graph.set(passes_on.clone(), &links, hop);
        let mut tree = Tree::new(&graph, to, &mut queue);
        let mut links = links;
        for round in 0..changes.len() + 1 {
            let truth = plain(&passes_on, &links, hop, to);
            for node in 0..passes_on.len() as u32 {
                prop_assert_eq!(tree.length(node), truth[node as usize], "node {} in round {}", node, round);
                let next = links.iter().filter_map(|&(a, b, ns)| {
                    let via = if a == node { b } else if b == node { a } else { return None };
                    let usable = node != to && (via == to || passes_on[via as usize]);
                    let through = truth[via as usize].filter(|_| usable)? + hop + u64::from(ns);
                    (Some(through) == truth[node as usize]).then_some(via)
                });
                prop_assert_eq!(tree.next(node), next.min(), "next hop of {} in round {}", node, round);
            }
            let Some((index, ns)) = changes.get(round) else { break };
            if links.is_empty() {
                break;
            }
            // Lengths of zero stand for links that go.
            let place = index.index(links.len());
            if *ns == 0 { links.remove(place); } else { links[place].2 = *ns; }
            graph.set(passes_on.clone(), &links, hop);
            let before = tree.clone();
            let changed = tree.update(&graph, &mut queue);
            let moved = (0..passes_on.len() as u32).any(|node| tree.next(node) != before.next(node));
            prop_assert_eq!(changed, moved);
        }
    }
}

#[test]
fn ways_have_the_delays_of_their_links_and_are_no_faster_than_light() {
    let network = network(spec("6 x 8"));
    let mut topology = Topology::new(&network, Time::ZERO).unwrap();
    let ends: Vec<_> = (0..network.stations().len()).map(|index| network.station(index)).collect();
    let mut routes = Routes::new(&network, &topology, &ends);
    let mut ways = 0;
    for step in 1..40 {
        for (to, end) in ends.iter().enumerate() {
            for node in 0..network.nodes() as u32 {
                let Some(path) = routes.path(Node(node), to) else { continue };
                let sum = path.nodes.windows(2).map(|pair| {
                    assert!(topology.linked(&network, pair[0], pair[1]));
                    topology.delay(&network, pair[0], pair[1])
                });
                assert_eq!(sum.fold(Span::ZERO, |sum, delay| sum + delay), path.delay);
                assert_eq!(path.nodes.last(), Some(end));
                let chord = topology.position(Node(node)).distance_m(topology.position(*end)) / SPEED_OF_LIGHT;
                // Each link is rounded to a nanosecond.
                assert!(path.delay.as_secs_f64() >= chord - 1e-9 * path.nodes.len() as f64);
                ways += usize::from(path.nodes.len() > 2);
            }
        }
        topology.advance(&network, Time::from_secs(step * 20)).unwrap();
        routes.update(&network, &topology);
        let anew = Routes::new(&network, &topology, &ends);
        for to in 0..ends.len() {
            for node in 0..network.nodes() as u32 {
                assert_eq!(routes.next(Node(node), to), anew.next(Node(node), to));
                assert_eq!(routes.delay(Node(node), to), anew.delay(Node(node), to));
            }
        }
    }
    assert!(ways > 1000, "{ways}");
}
