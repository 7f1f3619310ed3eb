use super::*;
use crate::testing::{network, spec};

fn refused(change: impl FnOnce(&mut NetworkSpec)) -> String {
    let mut spec = spec("2 x 3");
    change(&mut spec);
    Network::new(spec).unwrap_err().to_string()
}

fn fibre(from: &str, to: &str, delay: Option<Span>) -> Fibre {
    Fibre { from: from.into(), to: to.into(), delay }
}

#[test]
fn invalid_networks_are_rejected_with_the_value() {
    for (error, says) in [
        (
            refused(|spec| spec.stations[1].name = "Toronto".into()),
            "`Toronto`; allowed: one that no other",
        ),
        (refused(|spec| spec.stations[1].name = "test-0-1".into()), "`test-0-1`"),
        (
            refused(|spec| spec.stations[0].place.latitude_deg = 91.0),
            "latitude of station `Toronto` of 91",
        ),
        (
            refused(|spec| spec.stations[0].place.longitude_deg = f64::NAN),
            "NaN; allowed: -180 to 180 degrees",
        ),
        (refused(|spec| spec.stations[0].place.altitude_m = 1e9), "altitude"),
        (refused(|spec| spec.stations[0].min_elevation_deg = Some(-1.0)), "0 to 90 degrees"),
        (
            refused(|spec| spec.stations[0].handover_outage = Span::from_millis(50)),
            "50 ms; allowed: 0, unless",
        ),
        (refused(|spec| spec.max_isl_length_m = Some(0.0)), "maximum ISL length of 0"),
        (
            refused(|spec| spec.max_ground_link_length_m = Some(f64::INFINITY)),
            "maximum ground link length of inf",
        ),
        (refused(|spec| spec.avoid = vec!["test-9-9".into()]), "node to avoid is named `test-9-9`"),
        (refused(|spec| spec.fibres = vec![fibre("Toronto", "Ottawa", None)]), "`Ottawa`"),
        (refused(|spec| spec.fibres = vec![fibre("Toronto", "test-0-0", None)]), "`test-0-0`"),
        (
            refused(|spec| spec.fibres = vec![fibre("Toronto", "Toronto", None)]),
            "two different stations",
        ),
        (
            refused(|spec| spec.fibres = vec![fibre("Toronto", "Wuhan", Some(Span::from_secs(2)))]),
            "2 s; allowed: up to 1 s",
        ),
        (
            refused(|spec| {
                spec.fibres = vec![fibre("Toronto", "Wuhan", None), fibre("Wuhan", "Toronto", None)]
            }),
            "second fibre of `Wuhan` to `Toronto`",
        ),
    ] {
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn nodes_are_satellites_then_stations_and_are_found_by_name() {
    let network = network(spec("2 x 3"));
    assert_eq!((network.satellites(), network.nodes()), (6, 11));
    assert_eq!(network.station(2), Node(8));
    assert_eq!((network.station_of(Node(8)), network.station_of(Node(5))), (Some(2), None));
    assert_eq!(network.name(Node(8)), "Wuhan");
    for node in 0..11 {
        assert_eq!(network.find(network.name(Node(node))), Some(Node(node)));
    }
    assert_eq!((network.find("Ottawa"), network.name(Node(11))), (None, ""));
}

#[test]
fn the_neighbours_of_satellites_match_the_list_of_links() {
    for size in ["1 x 1", "1 x 2", "2 x 1", "2 x 2", "2 x 3", "6 x 8"] {
        let network = network(spec(size));
        let mut ends = 0;
        for satellite in 0..network.satellites() as u32 {
            for (other, link) in network.isls_of(satellite) {
                let (a, b) = network.isls()[*link as usize];
                assert!([(a.0, b.0), (b.0, a.0)].contains(&(satellite, *other)), "{size}");
                ends += 1;
            }
        }
        assert_eq!(ends, 2 * network.isls().len(), "{size}");
        assert!(network.isls_of(99).is_empty());
    }
}

#[test]
fn a_fibre_without_a_delay_takes_it_from_the_geodesic() {
    let mut spec = spec("2 x 3");
    spec.fibres =
        vec![fibre("Toronto", "Washington", None), fibre("Wuhan", "Sydney", Some(Span::ZERO))];
    let network = network(spec);
    let (toronto, washington, delay) = network.fibres()[0];
    assert_eq!((toronto, washington), (network.station(0), network.station(1)));
    // 571 km between these coordinates.
    let ms = 571.0 * 1.5 * 1.5 / 299.792458;
    assert!((delay.as_millis_f64() - ms).abs() < 0.02, "{delay} {ms}");
    assert_eq!(network.fibre(washington, toronto), Some(delay));
    // Every link has a delay, and therefore every cycle.
    assert_eq!(network.fibres()[1].2, Span::from_nanos(1));
}
