use super::graph::Graph;
use super::tree::{SearchBuffers, ShortestPathTree};
use crate::testing::{network, spec};
use crate::{Node, Topology, disjoint_paths};
use crate::{Routes, SPEED_OF_LIGHT};
use bentpipe_units::{Span, Time};
use proptest::prelude::*;

/// Computes lengths with the Bellman-Ford algorithm.
fn plain(forwards: &[bool], links: &[(u32, u32, u32)], hop: u64, to: u32) -> Vec<Option<u64>> {
    let mut length = vec![None; forwards.len()];
    length[to as usize] = Some(0);
    loop {
        let before = length.clone();
        for &(a, b, ns) in links {
            for (from, via) in [(a, b), (b, a)] {
                let through = length[via as usize].filter(|_| via == to || forwards[via as usize]);
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

/// Returns nodes, which of them forward, and links without loops and duplicates.
fn graphs() -> impl Strategy<Value = (Vec<bool>, Vec<(u32, u32, u32)>)> {
    (2usize..24).prop_flat_map(|nodes| {
        let last = nodes as u32;
        let link = (0..last, 0..last, prop_oneof![1u32..8, 1u32..1_000_000]);
        (
            prop::collection::vec(prop::bool::weighted(0.8), nodes),
            prop::collection::vec(link, 0..60),
        )
            .prop_map(|(forwards, links)| {
                let mut seen = std::collections::BTreeSet::new();
                let kept = links
                    .into_iter()
                    .filter(|&(a, b, _)| a != b && seen.insert((a.min(b), a.max(b))));
                (forwards, kept.collect())
            })
    })
}

proptest! {
    #[test]
    fn lengths_are_the_shortest_and_repaired_trees_equal_new_ones(
        (forwards, links) in graphs(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0u32..2_000), 1..12),
        counts_hops in any::<bool>(),
        to in any::<prop::sample::Index>(),
    ) {
        let hop = if counts_hops { 1 << 44 } else { 0 };
        let to = to.index(forwards.len()) as u32;
        let mut search = SearchBuffers::default();
        let mut graph = Graph::default();
        graph.set(forwards.clone(), &links, hop);
        let mut tree = ShortestPathTree::new(&graph, to, &mut search);
        let mut links = links;
        for round in 0..changes.len() + 1 {
            let truth = plain(&forwards, &links, hop, to);
            for node in 0..forwards.len() as u32 {
                let expected = truth[node as usize];
                prop_assert_eq!(tree.length(node), expected, "node {} in round {}", node, round);
                let next = links.iter().filter_map(|&(a, b, ns)| {
                    let via = if a == node { b } else if b == node { a } else { return None };
                    let usable = node != to && (via == to || forwards[via as usize]);
                    let through = truth[via as usize].filter(|_| usable)? + hop + u64::from(ns);
                    (Some(through) == truth[node as usize]).then_some(via)
                });
                let expected = next.min();
                prop_assert_eq!(tree.next(node), expected, "hop of {} in round {}", node, round);
            }
            let Some((index, ns)) = changes.get(round) else { break };
            if links.is_empty() {
                break;
            }
            // A length of zero marks a removed link.
            let place = index.index(links.len());
            if *ns == 0 { links.remove(place); } else { links[place].2 = *ns; }
            graph.set(forwards.clone(), &links, hop);
            let before = tree.clone();
            let changed = tree.update(&graph, &mut search);
            let moved = (0..forwards.len() as u32).any(|node| tree.next(node) != before.next(node));
            prop_assert_eq!(changed, moved);
        }
    }
}

#[test]
fn paths_have_the_delays_of_their_links_and_are_no_faster_than_light() {
    let network = network(spec("6 x 8"));
    let mut topology = Topology::new(&network, Time::ZERO).unwrap();
    let ends: Vec<_> = (0..network.stations().len()).map(|index| network.station(index)).collect();
    let mut routes = Routes::new(&network, &topology, &ends);
    let mut paths = 0;
    for step in 1..40 {
        for (to, end) in ends.iter().enumerate() {
            for node in 0..network.nodes() as u32 {
                let Some(path) = routes.path(Node(node), to) else { continue };
                let sum = path.nodes.windows(2).map(|pair| {
                    assert!(topology.has_link(&network, pair[0], pair[1]));
                    topology.delay(&network, pair[0], pair[1])
                });
                assert_eq!(sum.fold(Span::ZERO, |sum, delay| sum + delay), path.delay);
                assert_eq!(path.nodes.last(), Some(end));
                let chord = topology.position(Node(node)).distance_m(topology.position(*end))
                    / SPEED_OF_LIGHT;
                // Each link is rounded to a nanosecond.
                assert!(path.delay.as_secs_f64() >= chord - 1e-9 * path.nodes.len() as f64);
                paths += usize::from(path.nodes.len() > 2);
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
    assert!(paths > 1000, "{paths}");
}

/// Returns the path from Toronto to Wuhan at time zero, by the names of its nodes.
fn path(spec: crate::NetworkSpec) -> Option<(Vec<String>, Span)> {
    let network = network(spec);
    let topology = Topology::new(&network, Time::ZERO).unwrap();
    let routes = Routes::new(&network, &topology, &[network.station(2)]);
    let path = routes.path(network.station(0), 0)?;
    Some((path.nodes.iter().map(|node| network.name(*node).to_owned()).collect(), path.delay))
}

fn fibre(from: &str, to: &str, delay: Span) -> crate::Fibre {
    crate::Fibre { from: from.into(), to: to.into(), delay: Some(delay) }
}

#[test]
fn paths_avoid_nodes_unless_they_are_ends() {
    let (straight, delay) = path(spec("6 x 8")).unwrap();
    for avoided in &straight[1..straight.len() - 1] {
        let (around, longer) =
            path(crate::NetworkSpec { avoid: vec![avoided.clone()], ..spec("6 x 8") }).unwrap();
        assert!(!around.contains(avoided) && longer >= delay);
    }
    let ends = vec![straight[0].clone(), straight[straight.len() - 1].clone()];
    assert_eq!(path(crate::NetworkSpec { avoid: ends, ..spec("6 x 8") }), Some((straight, delay)));
}

#[test]
fn paths_lead_through_stations_only_if_they_forward() {
    let mut bent = spec("6 x 8");
    bent.isl = crate::IslPattern::None;
    bent.fibres = vec![fibre("Nairobi", "Wuhan", Span::from_millis(30))];
    bent.stations[3].place = bent.stations[1].place;
    assert_eq!(path(bent.clone()), None);
    bent.stations[3].forwards = true;
    let (nodes, _) = path(bent.clone()).unwrap();
    assert_eq!(
        (nodes.len(), nodes[0].as_str(), &nodes[2..]),
        (4, "Toronto", &["Nairobi".to_owned(), "Wuhan".into()][..])
    );
    bent.avoid = vec!["Nairobi".into()];
    assert_eq!(path(bent), None);
}

#[test]
fn a_fibre_between_two_ends_is_a_path() {
    let fast = Span::from_millis(5);
    let spec =
        crate::NetworkSpec { fibres: vec![fibre("Wuhan", "Toronto", fast)], ..spec("1 x 1") };
    assert_eq!(path(spec), Some((vec!["Toronto".into(), "Wuhan".into()], fast)));
}

#[test]
fn the_hop_metric_takes_no_more_hops_and_no_less_time_than_the_delay_metric() {
    let network = network(spec("12 x 24"));
    let hops = crate::testing::network(crate::NetworkSpec {
        metric: crate::Metric::Hops,
        ..spec("12 x 24")
    });
    let ends = [network.station(2), network.station(4)];
    let mut fewer = 0;
    for second in 0..50 {
        let topology = Topology::new(&network, Time::from_secs(second * 30)).unwrap();
        let fast = Routes::new(&network, &topology, &ends);
        let few = Routes::new(&hops, &topology, &ends);
        for (from, to) in [(0, 0), (1, 0), (3, 1), (0, 1)] {
            let node = network.station(from);
            let (fast, few) = (fast.path(node, to).unwrap(), few.path(node, to).unwrap());
            assert!(few.nodes.len() <= fast.nodes.len() && few.delay >= fast.delay);
            fewer += usize::from(few.nodes.len() < fast.nodes.len());
        }
    }
    assert!(fewer > 10, "{fewer}");
}

#[test]
fn disjoint_paths_share_no_link_and_are_sorted_by_length() {
    let network = network(spec("6 x 8"));
    let topology = Topology::new(&network, Time::ZERO).unwrap();
    let (from, to) = (network.station(0), network.station(2));
    let paths = disjoint_paths(&network, &topology, from, to, 10);
    let fewest_sights = topology.visible(0).len().min(topology.visible(2).len());
    assert!(paths.len() > 1 && paths.len() <= fewest_sights, "{}", paths.len());
    assert_eq!(Some(&paths[0]), Routes::new(&network, &topology, &[to]).path(from, 0).as_ref());
    assert!(paths.is_sorted_by_key(|path| path.delay));
    let mut links = std::collections::BTreeSet::new();
    for path in &paths {
        assert_eq!((path.nodes.first(), path.nodes.last()), (Some(&from), Some(&to)));
        for pair in path.nodes.windows(2) {
            assert!(topology.has_link(&network, pair[0], pair[1]));
            assert!(links.insert((pair[0].min(pair[1]), pair[0].max(pair[1]))));
        }
    }
    assert_eq!(disjoint_paths(&network, &topology, from, to, 1).len(), 1);
    assert!(disjoint_paths(&network, &topology, from, from, 3).is_empty());
    assert!(disjoint_paths(&network, &topology, from, Node(9_999), 3).is_empty());
    assert!(disjoint_paths(&network, &topology, Node(9_999), from, 3).is_empty());
}

#[test]
fn tiny_constellations_have_paths_while_visible() {
    for size in ["1 x 1", "2 x 3", "1 x 3", "3 x 1"] {
        let network = network(spec(size));
        let ends = [network.station(0), network.station(1)];
        let mut topology = Topology::new(&network, Time::ZERO).unwrap();
        let mut routes = Routes::new(&network, &topology, &ends);
        let (mut with, mut without) = (0, 0);
        // A day and a half, during which the Earth rotates under the orbits.
        for minute in 0..2_160 {
            topology.advance(&network, Time::from_secs(minute * 60)).unwrap();
            routes.update(&network, &topology);
            let both = !topology.attached(0).is_empty() && !topology.attached(1).is_empty();
            match routes.path(ends[0], 1) {
                Some(path) => {
                    assert!(both && path.delay > Span::from_millis(8), "{size} {minute}");
                    with += 1;
                }
                None => without += 1,
            }
        }
        assert!(with > 20 && without > 20, "{size}: {with} {without}");
    }
}
