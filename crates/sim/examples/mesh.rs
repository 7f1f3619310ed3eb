//! Runs many flows over a constellation, with the library alone: `cargo run --release -p
//! bentpipe-sim --example mesh -- tcp 100 10`.
//!
//! Arguments: `tcp`, `udp` or `hop_path` (tcp); flows (100); seconds (10); Mbps (10); preset of the
//! shells (kuiper-630). As in the Hypatia study, flows connect random reciprocal pairs of the 100
//! largest cities, queues hold 100 packets, and routes are computed every 100 ms. `hop_path` has
//! two flows over six hops instead, for the same loop without a constellation.

mod common;

use bentpipe_link::{DirectionConfig, DirectionModel, QueueLimit, random};
use bentpipe_orbit::HandoverLoss;
use bentpipe_orbit::{
    Constellation, IslPattern, Metric, Network, NetworkSpec, RouteUpdates, SatelliteSelection,
    Station, cities, presets,
};
use bentpipe_quic::congestion::{CongestionConfig, SlowStartName};
use bentpipe_sim::{
    DatagramTraffic, Direction, FlowSpec, HopSpec, MeshSpec, Object, RunSpec, SatelliteLinks,
    Stack, TcpStack, Visit,
};
use bentpipe_tcp::http::Version;
use bentpipe_units::{Bytes, Epoch, Rate, Span};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

type Error = Box<dyn std::error::Error>;

/// Size of datagrams' IP packets, as in the study.
const PACKET: Bytes = Bytes::new(1500);
/// Number of cities with a station, the largest first.
const CITIES: usize = 100;

fn direction(mbps: u64, delay: Span) -> Result<DirectionModel, Error> {
    let mut config = DirectionConfig::new(Rate::from_mbps(mbps), delay);
    config.queue.limit = QueueLimit::Packets(10 * mbps.max(10));
    Ok(config.load(Path::new("."))?)
}

fn tcp() -> Result<Stack, Error> {
    let window = Bytes::from_mb(32);
    let http = bentpipe_tcp::http::HttpSettings {
        version: Version::Raw,
        connections: 1,
        stream_window: window,
        connection_window: window,
        priorities: false,
    };
    let tcp = bentpipe_tcp::TcpSettings {
        receive_buffer: window,
        send_buffer: window,
        ..Default::default()
    };
    let congestion = CongestionConfig {
        controller: "newreno".parse()?,
        slow_start: SlowStartName::STANDARD,
        ..CongestionConfig::default()
    };
    Ok(Stack::Tcp(Box::new(TcpStack { tcp, congestion, http, pep: None })))
}

fn flow(number: usize, ends: Option<(usize, usize)>, stack: Stack, duration: Span) -> FlowSpec {
    let objects = match &stack {
        Stack::DatagramTraffic(_) => Vec::new(),
        _ => vec![Object::new("object", Bytes::new(1 << 50))],
    };
    FlowSpec {
        ends,
        server: format!("server {number}"),
        ..FlowSpec::new(
            format!("flow {number}"),
            stack,
            vec![Visit {
                direction: Direction::Upload,
                objects,
                duration: Some(duration),
                ..Visit::default()
            }],
        )
    }
}

/// Returns a permutation of the cities. Neighbours in it are a pair.
fn shuffled() -> Vec<usize> {
    let mut draws = random::stream(1, 0, "pairs");
    let mut cities: Vec<usize> = (0..CITIES).collect();
    for left in (1..CITIES).rev() {
        cities.swap(left, draws.below(left as u64 + 1) as usize);
    }
    cities
}

fn constellation(preset: &str, mbps: u64) -> Result<MeshSpec, Error> {
    let begins = Epoch::from_unix_secs(946_684_800);
    let station = |&(name, place): &(&str, _)| Station {
        name: name.to_owned(),
        place,
        min_elevation_deg: None,
        selection: SatelliteSelection::All,
        handover_outage: Span::ZERO,
        forwards: false,
    };
    let network = Network::new(NetworkSpec {
        constellation: Constellation::from_shells(&presets::shells(preset)?, begins)?,
        begins,
        stations: cities::all().iter().take(CITIES).map(station).collect(),
        isl: IslPattern::PlusGrid,
        max_isl_length_m: None,
        max_ground_link_length_m: None,
        fibres: Vec::new(),
        metric: Metric::Delay,
        avoid: Vec::new(),
    })?;
    let link = direction(mbps, Span::ZERO)?;
    Ok(MeshSpec {
        network: Arc::new(network),
        step: RouteUpdates::Stepped(Span::from_millis(100)),
        links: SatelliteLinks { isl: link.clone(), up: link.clone(), down: link.clone() },
        shells: BTreeMap::new(),
        fibre: link,
        shared_ground: true,
        handover: HandoverLoss::None,
        path_change_notice: None,
    })
}

fn hop_path() -> Result<Vec<HopSpec>, Error> {
    let hops = [(100, 20_000), (100, 20_000), (50, 1_000), (10, 3_500), (50, 1_000), (100, 7_000)];
    let hop = |(number, (mbps, micros)): (usize, (u64, u64))| -> Result<HopSpec, Error> {
        let forward = direction(mbps, Span::from_micros(micros))?;
        Ok(HopSpec {
            name: format!("hop {number}"),
            reverse: forward.clone(),
            forward,
            shared: true,
        })
    };
    hops.into_iter().enumerate().map(hop).collect()
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |index: usize, default: &'static str| {
        arguments.get(index).map_or(default, String::as_str).to_owned()
    };
    let number =
        |index: usize, default: u64| arguments.get(index).map_or(Ok(default), |text| text.parse());
    let (kind, flows, seconds, mbps) =
        (text(0, "tcp"), number(1, 100)?, number(2, 10)?, number(3, 10)?);
    let duration = Span::from_secs(seconds);
    let datagrams =
        DatagramTraffic::Constant { rate: Rate::from_mbps(mbps), packet: PACKET, bursts: None };
    let (mesh, hops) = match kind.as_str() {
        "hop_path" => (None, hop_path()?),
        "tcp" | "udp" => (Some(constellation(&text(4, "kuiper-630"), mbps)?), Vec::new()),
        _ => return Err(format!("`{kind}` is unknown; allowed: tcp, udp, hop_path").into()),
    };
    let cities = shuffled();
    let flows = (0..if mesh.is_some() { flows as usize } else { 2 })
        .map(|number| {
            let pair =
                mesh.is_some().then(|| (cities[number % CITIES], cities[(number % CITIES) ^ 1]));
            Ok(flow(
                number,
                pair,
                if kind == "udp" { Stack::DatagramTraffic(datagrams) } else { tcp()? },
                duration,
            ))
        })
        .collect::<Result<_, Error>>()?;
    let (before, _) = common::usage();
    let spec = RunSpec {
        seed: 1,
        run: 0,
        base_rtt: Span::from_millis(105),
        hops,
        mesh,
        terminals: 1,
        flows,
        time_limit: duration * 2,
        trace: None,
        qlog: Default::default(),
        capture: None,
        controller_state: false,
        reconfigurations: Vec::new(),
        path_changes: Vec::new(),
        encrypt: false,
    };
    let outcome = bentpipe_sim::run(&spec, &AtomicBool::new(false))?;
    let (after, peak) = common::usage();
    let spent = after - before;
    let sent: u64 = outcome.links.iter().map(|link| link.counters.packets_out).sum();
    let received: u64 = outcome.flows.iter().map(|flow| flow.received).sum();
    println!(
        "{kind}, {} flows, {seconds} s: {spent:.2} s of CPU time ({:.3} per simulated second), {} \
         links, {sent} hop transmissions ({:.2} million per second), {} events, {:.1} \
         Mbps received, peak {:.0} MB",
        outcome.flows.len(),
        spent / seconds as f64,
        outcome.links.len(),
        sent as f64 / spent / 1e6,
        outcome.events,
        received as f64 * 8e-6 / seconds as f64,
        peak as f64 / 1e6,
    );
    Ok(())
}
