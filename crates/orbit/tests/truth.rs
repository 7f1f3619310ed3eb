//! Compares positions, visibility and RTTs with `vectors/`, which `scripts/orbit-vectors.py`
//! generates with satkit: an independent SGP4, measured Earth orientation, topocentric frames and a
//! separate shortest-path search.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_orbit::{
    Constellation, Ecef, Ephemeris, IslPattern, Metric, Network, NetworkSpec, Routes,
    SatelliteSelection, Station, Topology, cities, elevation_deg, presets,
};
use bentpipe_units::{Epoch, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

const ELEMENTS: &str = include_str!("vectors/elements.txt");
const POSITIONS: &str = include_str!("vectors/positions.csv");
const SIGHTINGS: &str = include_str!("vectors/sightings.csv");
const PAIRS: &str = include_str!("vectors/pairs.csv");
/// The epoch of the generated shells: 2000-01-01.
const EPOCH: Epoch = Epoch::from_unix_secs(946_684_800);

/// Returns the rows of a file of vectors, without its two header lines.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(2).map(|line| line.split(',').collect())
}

fn number<T: std::str::FromStr>(field: &str) -> T {
    field.parse().ok().unwrap_or_else(|| panic!("`{field}` is not a number"))
}

/// The tolerance covers everything that the frames neglect: UT1 - UTC (0.20 s in June 2006: 0.1 km
/// in low orbits, 0.6 km in the geostationary one) and polar motion.
#[test]
fn positions_over_a_day_are_within_a_kilometre_of_an_independent_implementation() {
    let all = Constellation::from_elements(ELEMENTS).unwrap();
    let index: BTreeMap<&str, usize> =
        (0..all.len()).map(|index| (all.name(index), index)).collect();
    // One constellation per satellite, since others may be years from their epochs.
    let alone: Vec<Constellation> = ELEMENTS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect::<Vec<_>>()
        .chunks(3)
        .map(|set| Constellation::from_elements(&set.join("\n")).unwrap())
        .collect();
    assert_eq!(alone.len(), all.len());
    let mut worst: BTreeMap<&str, f64> = BTreeMap::new();
    let mut at = Vec::new();
    for row in rows(POSITIONS) {
        let [name, unix, x, y, z] = row[..] else { panic!("{row:?}") };
        let expected = Ecef { x: number(x), y: number(y), z: number(z) };
        alone[index[name]]
            .positions(Epoch::from_unix_secs(number(unix)), Time::ZERO, &mut at)
            .unwrap();
        let away = at[0].distance_m(expected);
        let so_far = worst.entry(name).or_insert(0.0);
        *so_far = so_far.max(away);
    }
    assert_eq!(worst.len(), all.len(), "every satellite needs vectors");
    for (name, away) in &worst {
        println!("{name}: {away:.0} m");
    }
    let most = worst.values().fold(0.0, |most: f64, away| most.max(*away));
    assert!(most < 1000.0, "{most:.0} m");
}

/// For every kind of orbit, interpolated positions match propagated ones.
#[test]
fn interpolation_keeps_to_the_propagator_in_every_orbit() {
    let mut worst = 0.0_f64;
    for set in ELEMENTS.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().chunks(3)
    {
        let constellation = Constellation::from_elements(&set.join("\n")).unwrap();
        let begins = constellation.epoch();
        let mut ephemeris = Ephemeris::new(begins);
        let (mut exact, mut between) = (Vec::new(), Vec::new());
        for seconds in (5..86_400).step_by(1_230) {
            let at = Time::from_secs(seconds);
            constellation.positions(begins, at, &mut exact).unwrap();
            ephemeris.positions(&constellation, at, &mut between).unwrap();
            worst = worst.max(exact[0].distance_m(between[0]));
        }
    }
    println!("interpolated to {worst:.4} m");
    assert!(worst < 0.1, "{worst} m");
}

/// The same satellites are visible. Within 0.05 degrees of the limit either result may be right:
/// the Earth's rotation in 0.36 s, UT1 - UTC at the epoch, shifts a satellite at 30 degrees by up
/// to 0.01.
#[test]
fn the_same_satellites_stand_above_the_limit_as_in_an_independent_implementation() {
    let mut checked = 0;
    let mut worst = 0.0_f64;
    for name in ["kuiper-630", "starlink-550"] {
        let shells = presets::shells(name).unwrap();
        let constellation = Constellation::from_shells(&shells, EPOCH).unwrap();
        let limit = shells[0].min_elevation_deg;
        let mut at = Vec::new();
        let mut when = None;
        for row in rows(SIGHTINGS).filter(|row| row[0] == name) {
            let seconds: u64 = number(row[2]);
            if when != Some(seconds) {
                constellation.positions(EPOCH, Time::from_secs(seconds), &mut at).unwrap();
                when = Some(seconds);
            }
            let place = cities::find(row[1]).unwrap();
            let expected: BTreeMap<String, f64> = row[3]
                .split(' ')
                .filter_map(|sight| sight.split_once('='))
                .map(|(satellite, elevation)| (format!("{name}-{satellite}"), number(elevation)))
                .collect();
            let ours: BTreeMap<&str, f64> = (0..at.len())
                .map(|index| (constellation.name(index), elevation_deg(place, at[index])))
                .collect();
            for (satellite, elevation) in &expected {
                worst = worst.max((ours[satellite.as_str()] - elevation).abs());
                checked += 1;
            }
            let seen: BTreeSet<&str> =
                ours.iter().filter(|(_, e)| **e > limit + 0.05).map(|(name, _)| *name).collect();
            let listed: BTreeSet<&str> = expected
                .iter()
                .filter(|(_, e)| **e > limit)
                .map(|(name, _)| name.as_str())
                .collect();
            assert!(seen.is_subset(&listed), "{row:?}");
            let surely = expected.iter().filter(|(_, e)| **e > limit + 0.05);
            assert!(surely.map(|(name, _)| ours[name.as_str()]).all(|e| e > limit), "{row:?}");
        }
    }
    println!("{checked} visible satellites, elevations within {worst:.3} degrees");
    assert!(checked > 2000 && worst < 0.05, "{checked} sightings, {worst} degrees");
}

/// Returns a network of the preset's shells with +grid, with the pairs' cities as stations that use
/// all visible satellites.
fn network(name: &str) -> Network {
    let constellation = Constellation::from_shells(&presets::shells(name).unwrap(), EPOCH).unwrap();
    let stations: BTreeSet<&str> = rows(PAIRS).flat_map(|row| [row[1], row[2]]).collect();
    let station = |name: &str| Station {
        name: name.to_owned(),
        place: cities::find(name).unwrap(),
        min_elevation_deg: None,
        selection: SatelliteSelection::All,
        handover_outage: Span::ZERO,
        forwards: false,
    };
    Network::new(NetworkSpec {
        constellation,
        begins: EPOCH,
        stations: stations.into_iter().map(station).collect(),
        isl: IslPattern::PlusGrid,
        max_isl_length_m: None,
        max_ground_link_length_m: None,
        fibres: Vec::new(),
        metric: Metric::Delay,
        avoid: Vec::new(),
    })
    .unwrap()
}

/// To 10 microseconds: a shift of all satellites by 0.2 km (UT1 - UTC) relative to the ground
/// changes a path up and down by about 1.
#[test]
fn round_trips_of_city_pairs_are_those_of_an_independent_implementation() {
    let mut worst = 0.0_f64;
    let mut checked = 0;
    for name in ["kuiper-630", "starlink-550"] {
        let network = network(name);
        let index: BTreeMap<&str, usize> = network
            .stations()
            .iter()
            .enumerate()
            .map(|(index, station)| (station.name.as_str(), index))
            .collect();
        let times: BTreeSet<u64> = rows(PAIRS).map(|row| number(row[3])).collect();
        for seconds in times {
            let topology = Topology::new(&network, Time::from_secs(seconds)).unwrap();
            for row in rows(PAIRS).filter(|row| row[0] == name && number::<u64>(row[3]) == seconds)
            {
                let [from, to] = [row[1], row[2]].map(|place| network.station(index[place]));
                let routes = Routes::new(&network, &topology, &[to]);
                let path = routes.path(from, 0);
                checked += 1;
                if row[4] == "none" {
                    assert!(path.is_none(), "{row:?}");
                    continue;
                }
                let path = path.unwrap_or_else(|| panic!("no path: {row:?}"));
                let away = (2.0 * path.delay.as_secs_f64() - number::<f64>(row[4]) / 1e3).abs();
                worst = worst.max(away);
                assert_eq!(path.nodes.len() - 2, number::<usize>(row[5]), "{row:?}");
            }
        }
    }
    println!("{checked} pairs and times, RTTs within {:.2} us", worst * 1e6);
    assert!(checked > 140 && worst < 10e-6, "{checked} pairs, {worst} s");
}
