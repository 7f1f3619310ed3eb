use super::search::transmitter;
use super::*;
use crate::testing::{network, spec};
use crate::{Routes, Topology};
use bentpipe_units::{Span, Time};

fn search(network: &Network) -> Search {
    let nodes: Vec<Node> =
        (0..network.stations().len()).map(|index| network.station(index)).collect();
    Search {
        flows: all_pairs(&nodes),
        begins: Time::from_secs(100),
        length: Span::from_secs(300),
        step: Span::from_secs(10),
        least_ratio: 1.5,
        shared_ground: true,
        most: 1_000,
        per_flow: 1_000,
    }
}

/// Returns the transmitters of a flow at a time, and its RTT. Both directions may only differ if
/// paths are equally long.
fn occupied(
    network: &Network,
    search: &Search,
    at: Time,
    (from, to): (Node, Node),
) -> Option<(Vec<Transmitter>, Span)> {
    let topology = Topology::new(network, at).unwrap();
    let path = Routes::new(network, &topology, &[to]).path(from, 0)?;
    let hops = path.nodes.windows(2).skip(1);
    let hops = hops.map(|hop| transmitter(network, search.shared_ground, hop[0], hop[1]));
    Some((hops.collect(), path.delay * 2))
}

#[test]
fn found_pairs_share_at_every_sample_and_not_before_or_after() {
    for shared_ground in [true, false] {
        let network = network(spec("6 x 8"));
        let search = Search { shared_ground, ..search(&network) };
        let found = find(&network, &search).unwrap();
        assert!(found.len() > 5, "{}", found.len());
        let common = |at: Time,
                      sharing: &SharedTransmitter|
         -> Option<(Vec<Transmitter>, [Span; 2])> {
            let [a, b] = sharing.flows;
            let (a, b) = (occupied(&network, &search, at, a)?, occupied(&network, &search, at, b)?);
            Some((a.0.into_iter().filter(|of| b.0.contains(of)).collect(), [a.1, b.1]))
        };
        let mut bounded = 0;
        for sharing in &found {
            let mut shared = Vec::new();
            let (mut sums, mut samples) = ([Span::ZERO; 2], 0);
            let mut at = sharing.from;
            while at < sharing.to {
                let (common, rtts) = common(at, sharing).unwrap();
                assert!(!common.is_empty(), "{sharing:?} at {at}");
                shared.extend(common);
                sums = [sums[0] + rtts[0], sums[1] + rtts[1]];
                (at, samples) = (at + search.step, samples + 1);
            }
            assert!(sharing.shared.iter().all(|of| shared.contains(of)));
            assert!(shared.iter().all(|of| sharing.shared.contains(of)));
            for (mean, sum) in sharing.rtts.iter().zip(sums) {
                assert!(mean.as_nanos().abs_diff((sum / samples).as_nanos()) <= 2);
            }
            assert!(sharing.ratio() >= search.least_ratio);
            if sharing.to < search.begins + search.length {
                assert!(common(sharing.to, sharing).is_none_or(|(common, _)| common.is_empty()));
                bounded += 1;
            }
        }
        assert!(bounded > 0);
        assert!(found.is_sorted_by(|a, b| a.score() >= b.score()));
    }
}

#[test]
fn two_flows_to_one_end_share_its_satellite() {
    let mut spec = spec("6 x 8");
    for station in &mut spec.stations {
        station.selection = crate::SatelliteSelection::Highest;
    }
    let network = network(spec);
    let [toronto, washington, wuhan] = [0, 1, 2].map(|index| network.station(index));
    let flows = vec![(wuhan, washington), (toronto, washington)];
    let found = find(&network, &Search { flows, ..search(&network) }).unwrap();
    // The same satellite may serve both ends: the other direction shares it too.
    let towards = |sharing: &&SharedTransmitter| {
        sharing.flows == [(toronto, washington), (wuhan, washington)]
    };
    let sharing = found.iter().find(towards).unwrap();
    assert!(
        sharing
            .shared
            .iter()
            .any(|of| matches!(of, Transmitter::Ground(satellite) if satellite.0 < 48))
    );
    assert!(sharing.ratio() > 1.5, "{}", sharing.ratio());
}

#[test]
fn no_flow_exceeds_its_number_of_results() {
    let network = network(spec("6 x 8"));
    let all = find(&network, &search(&network)).unwrap();
    let few = find(&network, &Search { per_flow: 1, ..search(&network) }).unwrap();
    assert!(!few.is_empty() && few.len() < all.len());
    assert_eq!(few[0], all[0]);
    let mut flows: Vec<_> = few.iter().flat_map(|sharing| sharing.flows.map(ends)).collect();
    flows.sort_unstable();
    let with_doubles = flows.len();
    flows.dedup();
    assert_eq!(flows.len(), with_doubles);
    assert_eq!(find(&network, &Search { most: 2, ..search(&network) }).unwrap(), all[..2]);
}

#[test]
fn invalid_searches_are_rejected_with_the_value() {
    let network = network(spec("2 x 3"));
    let refused = |search| find(&network, &search).unwrap_err().to_string();
    let base = search(&network);
    assert!(refused(Search { step: Span::ZERO, ..base.clone() }).contains("a step of 0 ns"));
    assert!(
        refused(Search { least_ratio: 0.5, ..base.clone() }).contains("0.5; allowed: 1 or more")
    );
    assert!(refused(Search { least_ratio: f64::NAN, ..base.clone() }).contains("NaN"));
    let long = Search { length: Span::from_secs(30_000_000), ..base };
    assert!(refused(long).contains("30000000; allowed: up to 20000000"));
}

#[test]
fn flows_without_a_path_share_nothing() {
    let network = network(spec("1 x 1"));
    let search = Search { least_ratio: 1.0, length: Span::ZERO, ..search(&network) };
    assert_eq!(find(&network, &search), Ok(Vec::new()));
}
