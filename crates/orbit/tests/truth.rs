//! Compares positions, visibility and RTTs with `vectors/`, which `tools/peers/orbit-vectors`
//! generates with satkit: an independent SGP4, measured Earth orientation, topocentric frames and a
//! separate shortest-path search.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod city_networks;

use bentpipe_orbit::{
    Constellation, Ecef, Ephemeris, Routes, Topology, cities, elevation_deg, presets,
};
use bentpipe_units::{Epoch, Time};
use city_networks::{EPOCH, network, number, rows, stations};
use std::collections::{BTreeMap, BTreeSet};

const ELEMENTS: &str = include_str!("vectors/elements.txt");
const POSITIONS: &str = include_str!("vectors/positions.csv");
const SIGHTINGS: &str = include_str!("vectors/sightings.csv");
const PAIRS: &str = include_str!("vectors/pairs.csv");
/// Shells, and the minimum elevation above which the vectors count satellites as visible.
const SHELLS: [(&str, f64); 2] = [("kuiper-630", 30.0), ("starlink-550", 25.0)];

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
        let begins = constellation.epoch().unwrap();
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
    for (name, limit) in SHELLS {
        let shells = presets::shells(name).unwrap();
        let constellation = Constellation::from_shells(&shells, EPOCH).unwrap();
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

/// To 10 microseconds: a shift of all satellites by 0.2 km (UT1 - UTC) relative to the ground
/// changes a path up and down by about 1.
#[test]
fn round_trips_of_city_pairs_are_those_of_an_independent_implementation() {
    let mut worst = 0.0_f64;
    let mut checked = 0;
    let cities: BTreeSet<&str> = rows(PAIRS).flat_map(|row| [row[1], row[2]]).collect();
    for (name, limit) in SHELLS {
        let network = network(name, &cities, Some(limit));
        let index = stations(&network);
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
