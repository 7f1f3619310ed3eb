//! Small constellations and flows over them.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_link::{DirectionConfig, DirectionModel, DirectionPatch};
use bentpipe_orbit::{
    Constellation, Geodetic, IslPattern, Metric, Network, NetworkSpec, PhaseShift, RouteTimeline,
    RouteUpdates, SatelliteSelection, Shell, Station, mean_motion_rev_per_day,
};
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{Handshake, Http, Settings};
use bentpipe_sim::{
    DatagramTraffic, Direction, FlowSpec, HandoverLoss, MeshSpec, Object, RunOutcome, RunSpec,
    Stack, TcpStack, Visit,
};
use bentpipe_tcp::http::Version;
use bentpipe_units::{Bytes, Epoch, Rate, Span, Time};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub const STEP: Span = Span::from_millis(100);

/// Planes 1,200 km up at 60 degrees.
pub fn shell(planes: u32, per_plane: u32) -> Shell {
    Shell {
        name: "sat".into(),
        planes,
        per_plane,
        inclination_deg: 60.0,
        mean_motion_rev_per_day: mean_motion_rev_per_day(1_200.0),
        raan_spread_deg: 360.0,
        phase_deg: PhaseShift::OddHalf,
        min_elevation_deg: 10.0,
    }
}

pub fn station(name: &str, latitude_deg: f64, longitude_deg: f64) -> Station {
    Station {
        name: name.into(),
        place: Geodetic { latitude_deg, longitude_deg, altitude_m: 0.0 },
        min_elevation_deg: None,
        selection: SatelliteSelection::All,
        handover_outage: Span::ZERO,
        forwards: false,
    }
}

pub fn toronto() -> Station {
    station("Toronto", 43.7, -79.4)
}

pub fn wuhan() -> Station {
    station("Wuhan", 30.6, 114.3)
}

pub fn network(shell: Shell, stations: Vec<Station>) -> Arc<Network> {
    let begins = Epoch::from_unix_secs(1_750_000_000);
    let spec = NetworkSpec {
        constellation: Constellation::from_shells(&[shell], begins).unwrap(),
        begins,
        stations,
        isl: IslPattern::PlusGrid,
        max_isl_length_m: None,
        max_ground_link_length_m: None,
        fibres: Vec::new(),
        metric: Metric::Delay,
        avoid: Vec::new(),
    };
    Arc::new(Network::new(spec).unwrap())
}

/// When the way from station 1 to station 0 changes for the first time after `after`.
pub fn change(network: &Arc<Network>, after: Time) -> Time {
    let ends = [network.station(0), network.station(1)];
    let mut timeline =
        RouteTimeline::new(network.clone(), RouteUpdates::Stepped(STEP), &ends).unwrap();
    let mut before = None;
    loop {
        let nodes = timeline.routes().path(ends[1], 0).map(|path| path.nodes);
        if before.is_some_and(|before| before != nodes) && timeline.topology().at() > after {
            return timeline.topology().at();
        }
        before = Some(nodes);
        timeline.advance().unwrap();
    }
}

/// So many packets wait at most.
pub fn direction(rate_mbps: u64, packets: u64) -> DirectionModel {
    let mut config = DirectionConfig::new(Rate::from_mbps(rate_mbps), Span::ZERO);
    let patch: DirectionPatch = toml::from_str(&format!("queue = \"{packets} packets\"")).unwrap();
    patch.apply_to(&mut config);
    config.load(Path::new(".")).unwrap()
}

/// 10 Mbps and 100 packets everywhere, steps of 100 ms; flow `n` is between stations 0 and 1 unless
/// it says otherwise.
pub fn spec(network: Arc<Network>, flows: Vec<FlowSpec>) -> RunSpec {
    let link = direction(10, 100);
    RunSpec {
        seed: 1,
        run: 0,
        base_rtt: Span::from_millis(150),
        hops: Vec::new(),
        mesh: Some(MeshSpec {
            network,
            step: RouteUpdates::Stepped(STEP),
            isl: link.clone(),
            up: link.clone(),
            down: link.clone(),
            fibre: link,
            shared_ground: true,
            handover: HandoverLoss::None,
            path_change_notice: None,
        }),
        terminals: 1,
        flows,
        time_limit: Span::from_secs(600),
        trace: false,
        qlog: false,
        capture: None,
    }
}

pub fn mesh(spec: &mut RunSpec) -> &mut MeshSpec {
    spec.mesh.as_mut().unwrap()
}

pub fn run(spec: &RunSpec) -> RunOutcome {
    bentpipe_sim::run(spec, &AtomicBool::new(false)).unwrap()
}

pub fn refusal(spec: &RunSpec) -> String {
    bentpipe_sim::run(spec, &AtomicBool::new(false)).unwrap_err().to_string()
}

fn visit(direction: Direction, objects: Vec<Object>, duration: Option<Span>) -> Visit {
    Visit {
        duration,
        handshake: Handshake::OneRtt,
        idle_before: Span::ZERO,
        start_jitter: Span::ZERO,
        direction,
        objects,
        measured: true,
    }
}

fn flow(name: &str, stack: Stack, visit: Visit) -> FlowSpec {
    FlowSpec {
        ends: Some((0, 1)),
        name: name.to_owned(),
        terminal: 0,
        server: "server".to_owned(),
        start: Span::ZERO,
        stack,
        visits: vec![visit],
    }
}

/// So many bytes from station 1 to station 0.
pub fn download(name: &str, stack: Stack, bytes: u64) -> FlowSpec {
    flow(
        name,
        stack,
        visit(Direction::Download, vec![Object::new("object", Bytes::new(bytes))], None),
    )
}

/// Datagrams from station 0 to station 1.
pub fn datagrams(name: &str, datagrams: DatagramTraffic, duration: Span) -> FlowSpec {
    flow(
        name,
        Stack::DatagramTraffic(datagrams),
        visit(Direction::Upload, Vec::new(), Some(duration)),
    )
}

/// Packets of 1250 bytes at so many kbps.
pub fn constant(kbps: u64) -> DatagramTraffic {
    DatagramTraffic::Constant {
        rate: Rate::from_bps(1000 * kbps),
        packet: Bytes::new(1250),
        bursts: None,
    }
}

pub fn quic() -> Stack {
    let window = Bytes::from_mb(4);
    Stack::quic(Settings {
        http: Http::Raw,
        stream_window: window,
        connection_window: window,
        send_buffer: window,
        ..Settings::default()
    })
}

pub fn tcp(congestion: CongestionConfig) -> Stack {
    let window = Bytes::from_mb(4);
    Stack::Tcp(Box::new(TcpStack {
        tcp: Default::default(),
        congestion,
        http: bentpipe_tcp::http::Settings {
            version: Version::Raw,
            connections: 1,
            stream_window: window,
            connection_window: window,
        },
        pep: None,
    }))
}
