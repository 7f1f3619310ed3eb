//! Small constellations and flows over them.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

pub use crate::common::{run, run_error};

use crate::common::{self, link, run_spec, tcp_stack};
use bentpipe_link::DirectionModel;
use bentpipe_orbit::HandoverLoss;
use bentpipe_orbit::{
    Constellation, Geodetic, IslPattern, Metric, Network, NetworkSpec, PhaseShift, RouteTimeline,
    RouteUpdates, SatelliteSelection, Shell, Station, mean_motion_rev_per_day,
};
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{Handshake, Http, QuicSettings};
use bentpipe_sim::{
    DatagramTraffic, Direction, FlowSpec, MeshSpec, RunSpec, SatelliteLinks, Stack, Visit,
};
use bentpipe_tcp::http::Version;
use bentpipe_units::{Bytes, Epoch, Rate, Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const STEP: Span = Span::from_millis(100);

/// Planes at 1,200 km with an inclination of 60 degrees.
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
        max_ground_link_length_m: None,
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
    network_of(&[shell], stations)
}

pub fn network_of(shells: &[Shell], stations: Vec<Station>) -> Arc<Network> {
    let begins = Epoch::from_unix_secs(1_750_000_000);
    let spec = NetworkSpec {
        constellation: Constellation::from_shells(shells, begins).unwrap(),
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

/// Returns the time of the first change of the route from station 1 to station 0 after `after`.
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

/// Returns a link with a queue of `packets`.
pub fn direction(rate_mbps: u64, packets: u64) -> DirectionModel {
    link(Rate::from_mbps(rate_mbps), Span::ZERO, &format!("queue = \"{packets} packets\""))
}

/// 10 Mbps and 100 packets on all links, in steps of 100 ms.
pub fn spec(network: Arc<Network>, flows: Vec<FlowSpec>) -> RunSpec {
    let link = direction(10, 100);
    let mesh = MeshSpec {
        network,
        step: RouteUpdates::Stepped(STEP),
        links: SatelliteLinks { isl: link.clone(), up: link.clone(), down: link.clone() },
        shells: BTreeMap::new(),
        fibre: link,
        shared_ground: true,
        handover: HandoverLoss::None,
        path_change_notice: None,
    };
    RunSpec { mesh: Some(mesh), ..run_spec(Span::from_millis(150), Vec::new(), flows) }
}

pub fn mesh(spec: &mut RunSpec) -> &mut MeshSpec {
    spec.mesh.as_mut().unwrap()
}

fn flow(name: &str, stack: Stack, visit: Visit) -> FlowSpec {
    FlowSpec { ends: Some((0, 1)), ..common::flow(name, stack, vec![visit]) }
}

/// Downloads `bytes` from station 1 to station 0.
pub fn download(name: &str, stack: Stack, bytes: u64) -> FlowSpec {
    flow(name, stack, common::download(bytes, Handshake::OneRtt))
}

/// Sends datagrams from station 0 to station 1.
pub fn datagrams(name: &str, datagrams: DatagramTraffic, duration: Span) -> FlowSpec {
    let visit = Visit {
        direction: Direction::Upload,
        objects: Vec::new(),
        duration: Some(duration),
        ..common::download(0, Handshake::OneRtt)
    };
    flow(name, Stack::DatagramTraffic(datagrams), visit)
}

/// Packets of 1250 bytes at `kbps`.
pub fn constant(kbps: u64) -> DatagramTraffic {
    DatagramTraffic::Constant {
        rate: Rate::from_bps(1000 * kbps),
        packet: Bytes::new(1250),
        bursts: None,
    }
}

pub fn quic() -> Stack {
    let window = Bytes::from_mb(4);
    Stack::quic(QuicSettings {
        http: Http::Raw,
        stream_window: window,
        connection_window: window,
        send_buffer: window,
        ..QuicSettings::default()
    })
}

pub fn tcp(congestion: CongestionConfig) -> Stack {
    Stack::Tcp(Box::new(tcp_stack(Version::Raw, congestion, Bytes::from_mb(4))))
}
