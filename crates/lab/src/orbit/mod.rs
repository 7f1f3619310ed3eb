//! What routes a network offers over time, without packets: `bentpipe orbit`.

mod page;
mod sharing;
mod summary;

pub use sharing::{SharedBy, sharing};
pub use summary::Summary;

use crate::resolve::OrbitPath;
use bentpipe_orbit::{
    Node, OrbitError, Path, RouteTimeline, RouteUpdates, Topology, disjoint_paths,
};
use bentpipe_report::Route;
use bentpipe_units::{Span, Time};
use serde::Serialize;
use std::sync::Arc;

/// The routes of some flows over a time.
#[derive(Debug, Clone, Serialize)]
pub struct Survey {
    /// What satellites these are.
    pub constellation: String,
    /// How many.
    pub satellites: usize,
    /// When it begins, as RFC 3339 has it.
    pub begins: String,
    /// How long it is.
    pub length_s: f64,
    /// How often it looks; none where everything stands still.
    pub step_s: Option<f64>,
    /// One entry for each flow.
    pub flows: Vec<Pair>,
}

/// The way between two places over time.
#[derive(Debug, Clone, Serialize)]
pub struct Pair {
    /// The flow.
    pub flow: String,
    /// Where its client is.
    pub from: String,
    /// Where its server is.
    pub to: String,
    /// Length of the geodesic between them.
    pub distance_km: f64,
    /// The whole in numbers.
    pub summary: Summary,
    /// Every way, each from its time until the next.
    pub routes: Vec<WayFrom>,
    /// At the beginning, routes that share no link, shortest first, as many as were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disjoint: Vec<WayFrom>,
    /// What was seen at each time.
    pub samples: Vec<Sample>,
}

/// A way, from a time on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WayFrom {
    /// From when, since the beginning.
    pub t_s: f64,
    /// Its round trip then: propagation both routes; none where there is no way.
    pub rtt_ms: Option<f64>,
    /// The nodes' names from one end to the other; none where there is no way.
    pub nodes: Vec<String>,
    /// The nodes.
    #[serde(skip)]
    pub ids: Vec<Node>,
}

/// What is seen at a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// When, since the beginning.
    pub t_s: f64,
    /// Round trip: propagation both routes; none where there is no way, or a station on it turns.
    pub rtt_ms: Option<f64>,
    /// Links on the way.
    pub hops: Option<usize>,
    /// Satellites that client and server see.
    pub visible: [usize; 2],
    /// Satellites that they talk to.
    pub attached: [usize; 2],
}

/// Most samples of all flows together: an hour at 1 ms.
const MOST_SAMPLES: u64 = 3_600_000;

/// Moves the network of `path` for `length`, looking at its flows whenever `step` says, and at up
/// to `disjoint` routes of each at the beginning.
///
/// # Errors
/// A satellite that cannot be followed for so long; a step so short that results would not fit.
pub fn survey(
    path: &OrbitPath,
    step: RouteUpdates,
    length: Span,
    disjoint: usize,
) -> Result<Survey, OrbitError> {
    let network = &path.network;
    let pause = match step {
        RouteUpdates::Stepped(pause) | RouteUpdates::EventDriven(pause) => Some(pause),
        RouteUpdates::Static => None,
    };
    let looks = pause.map_or(1, |pause| length.as_nanos() / pause.as_nanos().max(1));
    if looks.saturating_mul(path.flows.len() as u64) > MOST_SAMPLES {
        return Err(OrbitError::Value {
            what: "a step".to_owned(),
            value: pause.unwrap_or_default().to_string(),
            allowed: format!("one that makes up to {MOST_SAMPLES} samples in {length}"),
        });
    }
    let mut ends: Vec<Node> =
        path.flows.iter().map(|flow| network.station(flow.stations.1)).collect();
    ends.sort_unstable();
    ends.dedup();
    let pairs: Vec<(Node, usize)> = path
        .flows
        .iter()
        .map(|flow| {
            let end = ends.binary_search(&network.station(flow.stations.1)).unwrap_or_default();
            (network.station(flow.stations.0), end)
        })
        .collect();
    let mut guide = RouteTimeline::watching_pairs(Arc::clone(network), step, &ends, &pairs)?;
    let mut flows: Vec<Pair> = path
        .flows
        .iter()
        .map(|flow| Pair {
            flow: flow.name.clone(),
            from: network.stations()[flow.stations.0].name.clone(),
            to: network.stations()[flow.stations.1].name.clone(),
            distance_km: flow.distance_m / 1e3,
            summary: Summary::default(),
            routes: Vec::new(),
            disjoint: disjoint_paths(
                network,
                guide.topology(),
                network.station(flow.stations.0),
                network.station(flow.stations.1),
                disjoint,
            )
            .into_iter()
            .map(|way| way_from(path, Time::ZERO, Some(way)))
            .collect(),
            samples: Vec::new(),
        })
        .collect();
    let end = Time::ZERO + length;
    loop {
        let topology = guide.topology();
        for ((pair, ends), (from, to)) in flows.iter_mut().zip(&path.flows).zip(&pairs) {
            let way = guide.routes().path(*from, *to).filter(|way| !is_silent(path, topology, way));
            look(pair, path, topology, ends.stations, way);
        }
        if guide.next() > end {
            break;
        }
        guide.advance()?;
    }
    for pair in &mut flows {
        pair.summary = Summary::new(pair, length);
    }
    Ok(Survey {
        constellation: path.name.clone(),
        satellites: network.satellites(),
        begins: network.begins().to_string(),
        length_s: length.as_secs_f64(),
        step_s: pause.map(Span::as_secs_f64),
        flows,
    })
}

/// Whether a station on `way` is turning to another satellite.
fn is_silent(path: &OrbitPath, topology: &Topology, way: &Path) -> bool {
    let stations = way.nodes.iter().filter_map(|node| path.network.station_of(*node));
    stations.into_iter().any(|station| topology.outage_until(station) > topology.at())
}

fn look(
    pair: &mut Pair,
    path: &OrbitPath,
    topology: &Topology,
    ends: (usize, usize),
    way: Option<Path>,
) {
    let at = topology.at();
    let counts = |count: &dyn Fn(usize) -> usize| [count(ends.0), count(ends.1)];
    pair.samples.push(Sample {
        t_s: at.as_secs_f64(),
        rtt_ms: way.as_ref().map(round_trip_ms),
        hops: way.as_ref().map(|way| way.nodes.len().saturating_sub(1)),
        visible: counts(&|station| topology.visible(station).len()),
        attached: counts(&|station| topology.attached(station).len()),
    });
    let nodes: &[Node] = way.as_ref().map_or(&[], |way| &way.nodes);
    if pair.routes.last().is_none_or(|last| last.ids != nodes) {
        pair.routes.push(way_from(path, at, way));
    }
}

fn round_trip_ms(way: &Path) -> f64 {
    (way.delay * 2).as_millis_f64()
}

fn way_from(path: &OrbitPath, at: Time, way: Option<Path>) -> WayFrom {
    let rtt_ms = way.as_ref().map(round_trip_ms);
    let ids = way.map_or_else(Vec::new, |way| way.nodes);
    let nodes = ids.iter().map(|node| path.network.name(*node).to_owned()).collect();
    WayFrom { t_s: at.as_secs_f64(), rtt_ms, nodes, ids }
}

impl Survey {
    /// The flows' routes in the order of their times.
    fn routes(&self) -> Vec<Route> {
        let routes = self.flows.iter().flat_map(|pair| {
            pair.routes.iter().map(|way| Route {
                flow: pair.flow.clone(),
                t_s: way.t_s,
                nodes: way.ids.iter().map(|node| node.0).collect(),
            })
        });
        let mut routes: Vec<Route> = routes.collect();
        routes.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        routes
    }
}
