use super::*;
use crate::testing::{network, spec, station};
use crate::{Constellation, IslPattern, NetworkSpec, Shell, elevation_deg};
use bentpipe_units::Epoch;

/// Returns one station at Washington with this selection and a handover outage of a second.
fn terminal(size: &str, selection: SatelliteSelection) -> NetworkSpec {
    let mut spec = spec(size);
    spec.stations = vec![station("terminal", 38.9, -77.0)];
    spec.stations[0].selection = selection;
    if selection != SatelliteSelection::All {
        spec.stations[0].handover_outage = Span::from_secs(1);
    }
    spec
}

/// Returns the attachment of the terminal in each second of half an hour, and whether it is in an
/// outage.
fn course(network: &Network) -> Vec<(Option<u32>, bool, Topology)> {
    let mut topology = Topology::new(network, Time::ZERO).unwrap();
    let mut course = Vec::new();
    for second in 0..1_800 {
        topology.advance(network, Time::from_secs(second)).unwrap();
        let outage_until = topology.outage_until(0) > Time::ZERO;
        course.push((topology.attached(0).first().copied(), outage_until, topology.clone()));
    }
    course
}

#[test]
fn visible_satellites_are_above_the_minimum_elevation_and_sorted() {
    let network = network(terminal("8 x 12", SatelliteSelection::All));
    let place = network.stations()[0].place;
    for (_, _, topology) in course(&network).iter().step_by(100) {
        let expected: Vec<u32> = (0..network.satellites() as u32)
            .filter(|satellite| elevation_deg(place, topology.position(Node(*satellite))) >= 10.0)
            .collect();
        let mut seen: Vec<u32> = topology
            .visible(0)
            .iter()
            .map(|satellite_in_view| satellite_in_view.satellite)
            .collect();
        assert_eq!(topology.attached(0), seen);
        seen.sort_unstable();
        assert_eq!(seen, expected);
        assert!(topology.visible(0).is_sorted_by(|a, b| a.elevation_deg >= b.elevation_deg));
        for satellite_in_view in topology.visible(0) {
            let position = topology.position(Node(satellite_in_view.satellite));
            assert!(
                (satellite_in_view.elevation_deg - elevation_deg(place, position)).abs() < 1e-9
            );
            assert_eq!(satellite_in_view.distance_m, place.to_ecef().distance_m(position));
        }
    }
}

#[test]
fn a_stations_minimum_elevation_and_range_limit_its_visible_satellites() {
    let mut narrow = terminal("8 x 12", SatelliteSelection::All);
    narrow.stations[0].min_elevation_deg = Some(40.0);
    narrow.max_ground_link_length_m = Some(1_500e3);
    let (mut within, mut beyond) = (0, 0);
    let narrow = network(narrow);
    for (_, _, topology) in course(&narrow) {
        assert!(
            topology
                .visible(0)
                .iter()
                .all(|satellite_in_view| satellite_in_view.elevation_deg >= 40.0
                    && satellite_in_view.distance_m <= 1_500e3)
        );
        within += topology.visible(0).len();
    }
    for (_, _, topology) in course(&network(terminal("8 x 12", SatelliteSelection::All))) {
        beyond += topology.visible(0).len();
    }
    assert!(within > 0 && beyond > 2 * within, "{within} of {beyond}");
}

/// The limit of the network replaces that of the shell, and a station's elevation is beside it.
#[test]
fn a_shells_maximum_ground_link_length_holds_unless_the_network_sets_one() {
    let farthest = |own: Option<f64>, elevation_deg: Option<f64>| {
        let mut spec = terminal("8 x 12", SatelliteSelection::All);
        let limited = Shell {
            max_ground_link_length_m: Some(1_500e3),
            min_elevation_deg: 0.0,
            ..crate::testing::shell("8 x 12")
        };
        spec.constellation = Constellation::from_shells(&[limited], spec.begins).unwrap();
        spec.max_ground_link_length_m = own;
        spec.stations[0].min_elevation_deg = elevation_deg;
        let lengths = course(&network(spec)).into_iter().flat_map(|(_, _, topology)| {
            topology.visible(0).iter().map(|one| one.distance_m).collect::<Vec<_>>()
        });
        lengths.fold(0.0, f64::max)
    };
    let by_shell = farthest(None, None);
    assert!((1_000e3..=1_500e3).contains(&by_shell), "{by_shell}");
    assert!(farthest(Some(2_500e3), None) > 1_500e3);
    assert!(farthest(None, Some(60.0)) < by_shell);
}

#[test]
fn a_station_is_attached_to_the_selected_satellite() {
    for (_, _, topology) in course(&network(terminal("8 x 12", SatelliteSelection::Highest))) {
        assert_eq!(
            topology.attached(0).first(),
            topology.visible(0).first().map(|satellite_in_view| &satellite_in_view.satellite)
        );
    }
    for (attached, _, topology) in course(&network(terminal("8 x 12", SatelliteSelection::Nearest)))
    {
        let nearest =
            topology.visible(0).iter().min_by(|a, b| a.distance_m.total_cmp(&b.distance_m));
        assert_eq!(attached, nearest.map(|satellite_in_view| satellite_in_view.satellite));
    }
}

#[test]
fn the_longest_visible_is_kept_until_it_sets_and_outlasts_the_others() {
    let course = course(&network(terminal("8 x 12", SatelliteSelection::Longest)));
    let sees = |topology: &Topology, satellite| {
        topology.visible(0).iter().any(|satellite_in_view| satellite_in_view.satellite == satellite)
    };
    let mut turns = 0;
    for (index, pair) in course.windows(2).enumerate() {
        let [(before, ..), (after, _, topology)] = pair else { continue };
        let (Some(before), Some(after)) = (before, after) else { continue };
        if before == after {
            continue;
        }
        turns += 1;
        assert!(!sees(topology, *before));
        let life = |satellite| {
            course[index + 1..].iter().take_while(|(_, _, later)| sees(later, satellite)).count()
        };
        if course.len() - index < 1_000 {
            continue;
        }
        for satellite_in_view in topology.visible(0) {
            // Set times are precise to a tenth of a second, and checked here each second.
            assert!(life(satellite_in_view.satellite) <= life(*after) + 1);
        }
    }
    assert!(turns >= 2, "{turns}");
}

#[test]
fn slots_start_at_12_27_42_and_57_seconds_of_utc() {
    let mut spec = terminal("8 x 12", SatelliteSelection::Slots);
    // 16 s into a minute: the first boundary follows 11 s later, then one every 15 s.
    spec.begins = Epoch::from_unix_secs(1_750_000_020 + 16);
    let course = course(&network(spec));
    let sees = |topology: &Topology, satellite| {
        topology.visible(0).iter().any(|satellite_in_view| satellite_in_view.satellite == satellite)
    };
    let (mut turns, mut late) = (0, 0);
    for (second, pair) in course.windows(2).enumerate() {
        let [(before, ..), (after, _, topology)] = pair else { continue };
        let boundary = (second + 1 + 4).is_multiple_of(15);
        let highest =
            topology.visible(0).first().map(|satellite_in_view| satellite_in_view.satellite);
        if boundary {
            assert_eq!(*after, highest);
            turns += usize::from(before != after);
        } else if before.is_some_and(|before| sees(topology, before)) {
            assert_eq!(before, after, "handed over {second} s after the start");
            late += usize::from(*after != highest);
        }
    }
    assert!(turns > 5 && late > 5, "{turns} {late}");
}

#[test]
fn a_slot_that_starts_between_two_steps_takes_effect_at_the_second() {
    let mut spec = terminal("8 x 12", SatelliteSelection::Slots);
    spec.begins = Epoch::from_unix_secs(1_750_000_020 + 16);
    let network = network(spec);
    let mut topology = Topology::new(&network, Time::ZERO).unwrap();
    let mut handovers = 0;
    for slot in 0..150 {
        // From 1 s before a boundary to 6 s after it.
        topology.advance(&network, Time::from_secs(10 + slot * 15)).unwrap();
        let before = topology.attached(0).to_vec();
        let at = Time::from_secs(17 + slot * 15);
        topology.advance(&network, at).unwrap();
        assert_eq!(
            topology.attached(0).first(),
            topology.visible(0).first().map(|satellite_in_view| &satellite_in_view.satellite)
        );
        if topology.attached(0) != before && !topology.attached(0).is_empty() {
            handovers += 1;
            assert_eq!(topology.outage_until(0), at + Span::from_secs(1));
        }
    }
    assert!(handovers > 5, "{handovers}");
}

#[test]
fn a_station_has_an_outage_after_a_handover_and_none_at_the_start() {
    let course = course(&network(terminal("8 x 12", SatelliteSelection::Highest)));
    assert!(!course[0].1);
    let mut turns = 0;
    for pair in course.windows(2) {
        let handovers = pair[1].0.is_some() && pair[0].0 != pair[1].0;
        // The outage lasts a second, as a step does: it ends at the next step.
        assert_eq!(pair[1].1, handovers);
        turns += usize::from(handovers);
    }
    assert!(turns > 3, "{turns}");
}

#[test]
fn a_station_at_the_pole_sees_no_satellite_of_an_inclined_shell() {
    let mut spec = spec("6 x 8");
    spec.constellation = crate::Constellation::from_shells(
        &[crate::Shell { inclination_deg: 30.0, ..crate::testing::shell("6 x 8") }],
        spec.begins,
    )
    .unwrap();
    spec.stations.push(station("pole", 90.0, 0.0));
    let network = network(spec);
    let pole = network.station(5);
    let topology = Topology::new(&network, Time::from_secs(500)).unwrap();
    assert!(topology.visible(5).is_empty() && topology.attached(5).is_empty());
    let routes = crate::Routes::new(&network, &topology, &[pole]);
    assert!((0..network.nodes() as u32 - 1).all(|node| routes.path(Node(node), 0).is_none()));
}

#[test]
fn isls_are_limited_by_their_range_and_the_earth() {
    // Eight satellites in a plane at 1,200 km are 5,795 km apart, and their links 7,001 km from the
    // centre in the middle. With six, the links come to 6,563 km; with five, to 6,131 km, below 80
    // km above the ground.
    for (size, range, open) in [
        ("1 x 8", None, 8),
        ("1 x 8", Some(5_700e3), 0),
        ("1 x 8", Some(5_900e3), 8),
        ("1 x 6", None, 6),
        ("1 x 5", None, 0),
        ("1 x 5", Some(1e9), 5),
        ("1 x 1", None, 0),
        ("1 x 2", Some(1e9), 1),
    ] {
        let network = network(NetworkSpec {
            max_isl_length_m: range,
            isl: IslPattern::IntraPlane,
            ..spec(size)
        });
        let topology = Topology::new(&network, Time::from_secs(60)).unwrap();
        let has_link =
            network.isls().iter().filter(|(a, b)| topology.has_link(&network, *a, *b)).count();
        assert_eq!(has_link, open, "{size} {range:?}");
    }
}

#[test]
fn a_bent_pipe_has_the_delay_of_its_two_legs() {
    // satellite-link.md §7: at 550 km, legs of 1.83 ms (overhead) to 3.75 ms (25 degrees).
    let shells = crate::presets::shells("starlink-550").unwrap();
    let begins = Epoch::from_unix_secs(1_750_000_000);
    let constellation = crate::Constellation::from_shells(&shells, begins).unwrap();
    let network = network(NetworkSpec { constellation, isl: IslPattern::None, ..spec("1 x 1") });
    let topology = Topology::new(&network, Time::ZERO).unwrap();
    let routes = crate::Routes::new(&network, &topology, &[network.station(1)]);
    let path = routes.path(network.station(0), 0).unwrap();
    assert_eq!(path.nodes.len(), 3);
    // The shell is about 40 km lower than its name (leo-constellations.md), over a flattened Earth.
    let ms = path.delay.as_millis_f64();
    assert!((2.0 * 1.65..2.0 * 3.75).contains(&ms), "{ms}");
    assert!(routes.path(network.station(2), 0).is_none());
}

#[test]
fn nonexistent_nodes_have_no_position_and_no_links() {
    let network = network(spec("2 x 3"));
    let topology = Topology::new(&network, Time::ZERO).unwrap();
    let (known, unknown) = (network.station(0), Node(1_000_000));
    assert!(
        !topology.has_link(&network, known, unknown)
            && !topology.has_link(&network, unknown, Node(0))
    );
    assert_eq!(topology.position(unknown), Ecef::default());
    assert!(topology.visible(99).is_empty() && topology.attached(99).is_empty());
    assert_eq!(topology.outage_until(99), Time::ZERO);
    let routes = crate::Routes::new(&network, &topology, &[unknown, known]);
    assert_eq!(routes.path(known, 0), None);
    assert_eq!(routes.path(unknown, 1), None);
    assert_eq!(routes.path(known, 2), None);
}
