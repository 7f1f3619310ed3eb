//! What a step costs: positions, who sees whom, and the ways of all to all.
//!
//! `cargo run --release -p bentpipe-orbit --example steps`. Wall time of one thread: run it on a machine that does nothing else.

#![allow(clippy::disallowed_methods, reason = "it measures time; nothing of it reaches a result")]

use bentpipe_orbit::{
    Constellation, Fibre, Guide, IslPattern, Metric, Network, NetworkSpec, Node, OrbitError, PhaseShift, Routes,
    Selection, Shell, Station, Step, Topology, places, presets, revolutions_per_day,
};
use bentpipe_units::{Epoch, Span, Time};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

const STEP: Span = Span::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let starlink = Arc::new(network(&presets::shells("starlink-550")?)?);
    forwarding("starlink-550, 100 stations, all to all", &starlink, 200)?;
    one_pair("starlink-550, one pair, 200 s at 100 ms", &starlink, Step::Every(STEP))?;
    one_pair("the same, changes to the millisecond", &starlink, Step::Exact(STEP))?;
    let kuiper = Arc::new(network(&presets::shells("kuiper-630")?)?);
    forwarding("kuiper-630, 100 stations, all to all", &kuiper, 200)?;
    let large = Shell {
        name: "large".into(),
        planes: 100,
        per_plane: 100,
        inclination_deg: 53.0,
        revolutions_per_day: revolutions_per_day(550.0),
        spread_deg: 360.0,
        phase_deg: PhaseShift::OddHalf,
        min_elevation_deg: 25.0,
    };
    let large = Arc::new(network(&[large])?);
    forwarding("10,000 satellites, 100 stations, all to all", &large, 20)?;
    Ok(())
}

/// A constellation and the first hundred cities.
fn network(shells: &[Shell]) -> Result<Network, OrbitError> {
    let begins = Epoch::from_unix_secs(1_750_000_000);
    let stations = places::all().iter().take(100).map(|(name, place)| Station {
        name: (*name).into(),
        place: *place,
        min_elevation_deg: None,
        selection: Selection::All,
        interruption: Span::ZERO,
        relays: false,
    });
    Network::new(NetworkSpec {
        constellation: Constellation::from_shells(shells, begins)?,
        begins,
        stations: stations.collect(),
        isl: IslPattern::Grid,
        isl_range_m: None,
        ground_range_m: None,
        fibres: Vec::<Fibre>::new(),
        metric: Metric::Delay,
        avoid: Vec::new(),
    })
}

fn forwarding(what: &str, network: &Network, steps: u64) -> Result<(), OrbitError> {
    let ends: Vec<Node> = (0..network.stations().len()).map(|index| network.station(index)).collect();
    let mut topology = Topology::new(network, Time::ZERO)?;
    let began = Instant::now();
    let mut routes = Routes::new(network, &topology, &ends);
    println!("{what}: the first ways {:.2} ms", began.elapsed().as_secs_f64() * 1e3);
    let (mut positions, mut moves, mut updates) = (0.0, 0.0, 0.0);
    let mut places = Vec::new();
    for step in 1..=steps {
        let at = Time::ZERO + STEP * step;
        let began = Instant::now();
        network.constellation().positions(network.begins(), at, &mut places)?;
        positions += began.elapsed().as_secs_f64();
        let began = Instant::now();
        topology.advance(network, at)?;
        moves += began.elapsed().as_secs_f64();
        let began = Instant::now();
        routes.update(network, &topology);
        updates += began.elapsed().as_secs_f64();
    }
    let each = |total: f64| total * 1e3 / steps as f64;
    println!(
        "{what}: {:.2} ms a step: topology {:.2} (of it positions {:.2}), ways {:.2}",
        each(moves + updates),
        each(moves),
        each(positions),
        each(updates)
    );
    Ok(())
}

fn one_pair(what: &str, network: &Arc<Network>, step: Step) -> Result<(), OrbitError> {
    let began = Instant::now();
    let end = Time::from_secs(200);
    let changes = Guide::forecast(network, step, network.station(0), network.station(1), end)?;
    println!("{what}: {:.2} s, {} changes of the way", began.elapsed().as_secs_f64(), changes.len());
    Ok(())
}
