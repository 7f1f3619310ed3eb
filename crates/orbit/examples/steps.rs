//! Measures the cost of a step: positions, visibility, and the paths between all pairs.
//!
//! `cargo run --release -p bentpipe-orbit --example steps`. Times are CPU times if the system
//! reports them (Linux), elapsed times otherwise.

#![allow(clippy::disallowed_methods, reason = "it measures time, which affects no result")]

use bentpipe_orbit::sharing::{Search, all_pairs, find};
use bentpipe_orbit::{
    Constellation, Fibre, IslPattern, Metric, Network, NetworkSpec, Node, OrbitError, PhaseShift,
    RouteTimeline, RouteUpdates, Routes, SatelliteSelection, Shell, Station, Topology, cities,
    mean_motion_rev_per_day, presets,
};
use bentpipe_units::{Epoch, Span, Time};
use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

const STEP: Span = Span::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let starlink = Arc::new(network(&presets::shells("starlink-550")?)?);
    forwarding("starlink-550, 100 stations, all to all", &starlink, 200)?;
    one_pair("starlink-550, one pair, 200 s at 100 ms", &starlink, RouteUpdates::Stepped(STEP))?;
    one_pair("the same, changes to the millisecond", &starlink, RouteUpdates::EventDriven(STEP))?;
    sharing("starlink-550, shared transmitters of 4,950 flows in 200 s at 1 s", &starlink)?;
    let kuiper = Arc::new(network(&presets::shells("kuiper-630")?)?);
    forwarding("kuiper-630, 100 stations, all to all", &kuiper, 200)?;
    let large = Shell {
        name: "large".into(),
        planes: 100,
        per_plane: 100,
        inclination_deg: 53.0,
        mean_motion_rev_per_day: mean_motion_rev_per_day(550.0),
        raan_spread_deg: 360.0,
        phase_deg: PhaseShift::OddHalf,
        min_elevation_deg: 25.0,
        max_ground_link_length_m: None,
    };
    let large = Arc::new(network(&[large])?);
    forwarding("10,000 satellites, 100 stations, all to all", &large, 20)?;
    Ok(())
}

/// Returns the CPU time of this thread in seconds, from an arbitrary start.
fn used() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    nanos.map_or_else(
        || BEGAN.get_or_init(Instant::now).elapsed().as_secs_f64(),
        |nanos| nanos as f64 / 1e9,
    )
}

/// Returns a network of the constellation and the first hundred cities.
fn network(shells: &[Shell]) -> Result<Network, OrbitError> {
    let begins = Epoch::from_unix_secs(1_750_000_000);
    let stations = cities::all().iter().take(100).map(|(name, place)| Station {
        name: (*name).into(),
        place: *place,
        min_elevation_deg: None,
        selection: SatelliteSelection::All,
        handover_outage: Span::ZERO,
        forwards: false,
    });
    Network::new(NetworkSpec {
        constellation: Constellation::from_shells(shells, begins)?,
        begins,
        stations: stations.collect(),
        isl: IslPattern::PlusGrid,
        max_isl_length_m: None,
        max_ground_link_length_m: None,
        fibres: Vec::<Fibre>::new(),
        metric: Metric::Delay,
        avoid: Vec::new(),
    })
}

fn forwarding(what: &str, network: &Network, steps: u64) -> Result<(), OrbitError> {
    let ends: Vec<Node> =
        (0..network.stations().len()).map(|index| network.station(index)).collect();
    let mut topology = Topology::new(network, Time::ZERO)?;
    let began = used();
    let mut routes = Routes::new(network, &topology, &ends);
    println!("{what}: the first routes {:.2} ms", (used() - began) * 1e3);
    let (mut positions, mut moves, mut updates) = (0.0, 0.0, 0.0);
    let mut cities = Vec::new();
    for step in 1..=steps {
        let at = Time::ZERO + STEP * step;
        let began = used();
        network.constellation().positions(network.begins(), at, &mut cities)?;
        positions += used() - began;
        let began = used();
        topology.advance(network, at)?;
        moves += used() - began;
        let began = used();
        routes.update(network, &topology);
        updates += used() - began;
    }
    let each = |total: f64| total * 1e3 / steps as f64;
    println!(
        "{what}: {:.2} ms per step: topology {:.2} (of which positions {:.2}), routes {:.2}",
        each(moves + updates),
        each(moves),
        each(positions),
        each(updates)
    );
    Ok(())
}

fn one_pair(what: &str, network: &Arc<Network>, step: RouteUpdates) -> Result<(), OrbitError> {
    let began = used();
    let end = Time::from_secs(200);
    let changes =
        RouteTimeline::forecast(network, step, network.station(0), network.station(1), end)?;
    println!("{what}: {:.2} s, {} path changes", (used() - began), changes.len());
    Ok(())
}

/// Finds shared transmitters for every pair of the cities.
fn sharing(what: &str, network: &Network) -> Result<(), OrbitError> {
    let nodes: Vec<Node> =
        (0..network.stations().len()).map(|index| network.station(index)).collect();
    let search = Search {
        flows: all_pairs(&nodes),
        begins: Time::ZERO,
        length: Span::from_secs(200),
        step: Span::from_secs(1),
        least_ratio: 2.0,
        shared_ground: true,
        most: 10,
        per_flow: 1,
    };
    let began = used();
    let found = find(network, &search)?;
    println!("{what}: {:.2} s", used() - began);
    for each in found {
        let [a, b] =
            each.flows.map(|(from, to)| format!("{}-{}", network.name(from), network.name(to)));
        let [fast, slow] = each.rtts.map(|rtt| rtt.as_millis_f64());
        println!("  {a} and {b}: {fast:.1} and {slow:.1} ms, {} to {}", each.from, each.to);
    }
    Ok(())
}
