//! Routes of a satellite network over time, without packets, for `bentpipe orbit`.

mod page;
mod sharing;
mod summary;

pub(crate) use page::paths_page;
pub use sharing::{SharedLink, sharing};
pub use summary::Summary;

use crate::resolve::OrbitPath;
use bentpipe_orbit::{
    Node, OrbitError, Path, RouteTimeline, RouteUpdates, Topology, disjoint_paths,
};
use bentpipe_report::Route;
use bentpipe_units::{Span, Time};
use serde::Serialize;
use std::sync::Arc;

/// Routes of flows over a period.
#[derive(Debug, Clone, Serialize)]
pub struct Survey {
    /// Name of the constellation.
    pub constellation: String,
    /// Number of satellites.
    pub satellites: usize,
    /// Start of the period (RFC 3339).
    pub begins: String,
    /// Length of the period, in seconds.
    pub length_s: f64,
    /// Time between samples, in seconds. `None` if the satellites do not move.
    pub step_s: Option<f64>,
    /// One entry per flow.
    pub flows: Vec<FlowRoutes>,
}

/// Routes of one flow over time.
#[derive(Debug, Clone, Serialize)]
pub struct FlowRoutes {
    /// Name of the flow.
    pub flow: String,
    /// Station of the client.
    pub from: String,
    /// Station of the server.
    pub to: String,
    /// Length of the geodesic between them, in kilometres.
    pub distance_km: f64,
    /// Summary of all samples.
    pub summary: Summary,
    /// All routes in order, each valid until the next.
    pub routes: Vec<TimedRoute>,
    /// Routes at the start that share no link, shortest first, up to the requested number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disjoint: Vec<TimedRoute>,
    /// Samples in order of time.
    pub samples: Vec<Sample>,
}

/// A route and the time from which it is valid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimedRoute {
    /// Time since the start, in seconds.
    pub t_s: f64,
    /// Propagation RTT at that time, in milliseconds. `None` without a route.
    pub rtt_ms: Option<f64>,
    /// Names of the nodes from client to server. Empty without a route.
    pub nodes: Vec<String>,
    /// The nodes from client to server. Empty without a route.
    #[serde(skip)]
    pub ids: Vec<Node>,
}

/// The state of a flow's route at one time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// Time since the start, in seconds.
    pub t_s: f64,
    /// Propagation RTT, in milliseconds. `None` without a route or during a handover on it.
    pub rtt_ms: Option<f64>,
    /// Number of links of the route.
    pub hops: Option<usize>,
    /// Satellites visible to client and server.
    pub visible: [usize; 2],
    /// Satellites that client and server are attached to.
    pub attached: [usize; 2],
}

/// Largest number of samples of all flows: an hour at 1 ms.
const MAX_SAMPLES: u64 = 3_600_000;

/// Returns a scenario (TOML) over the built-in `constellation` with a flow between two cities.
pub fn constellation_scenario(constellation: &str, from: &str, to: &str) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    format!(
        "name = \"orbit\"\ntitle = {0}\n[path.orbit]\nconstellation = {0}\n\
         links.all = {{ rate = \"10 Mbps\" }}\n[workload]\nfrom = {1}\nto = {2}\n\
         download = \"1 MB\"\n",
        quoted(constellation),
        quoted(from),
        quoted(to)
    )
}

/// Samples the routes of the flows on `path` for `length`, at the times given by `step`. Also finds
/// up to `disjoint` disjoint routes of each flow at the start.
///
/// # Errors
/// The orbit of a satellite cannot be propagated that far, or `step` gives too many samples.
pub fn survey(
    path: &OrbitPath,
    step: RouteUpdates,
    length: Span,
    disjoint: usize,
) -> Result<Survey, OrbitError> {
    let network = &path.network;
    let interval = match step {
        RouteUpdates::Stepped(interval) | RouteUpdates::EventDriven(interval) => Some(interval),
        RouteUpdates::Static => None,
    };
    let samples = interval.map_or(1, |interval| length.as_nanos() / interval.as_nanos().max(1));
    if samples.saturating_mul(path.flows.len() as u64) > MAX_SAMPLES {
        return Err(OrbitError::Value {
            what: "a step".to_owned(),
            value: interval.unwrap_or_default().to_string(),
            allowed: format!("one that makes up to {MAX_SAMPLES} samples in {length}"),
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
    let mut timeline = RouteTimeline::watching_pairs(Arc::clone(network), step, &ends, &pairs)?;
    let mut flows: Vec<FlowRoutes> = path
        .flows
        .iter()
        .map(|flow| FlowRoutes {
            flow: flow.name.clone(),
            from: network.stations()[flow.stations.0].name.clone(),
            to: network.stations()[flow.stations.1].name.clone(),
            distance_km: flow.distance_m / 1e3,
            summary: Summary::default(),
            routes: Vec::new(),
            disjoint: disjoint_paths(
                network,
                timeline.topology(),
                network.station(flow.stations.0),
                network.station(flow.stations.1),
                disjoint,
            )
            .into_iter()
            .map(|route| timed_route(path, Time::ZERO, Some(route)))
            .collect(),
            samples: Vec::new(),
        })
        .collect();
    let end = Time::ZERO + length;
    loop {
        let topology = timeline.topology();
        for ((flow, ends), (from, to)) in flows.iter_mut().zip(&path.flows).zip(&pairs) {
            let route = timeline.routes().path(*from, *to);
            let route = route.filter(|route| !has_outage(path, topology, route));
            add_sample(flow, path, topology, ends.stations, route);
        }
        if timeline.next() > end {
            break;
        }
        timeline.advance()?;
    }
    for flow in &mut flows {
        flow.summary = Summary::new(flow, length);
    }
    Ok(Survey {
        constellation: path.name.clone(),
        satellites: network.satellites(),
        begins: network.begins().to_string(),
        length_s: length.as_secs_f64(),
        step_s: interval.map(Span::as_secs_f64),
        flows,
    })
}

/// Returns true if a station on `route` has a handover outage.
fn has_outage(path: &OrbitPath, topology: &Topology, route: &Path) -> bool {
    let stations = route.nodes.iter().filter_map(|node| path.network.station_of(*node));
    stations.into_iter().any(|station| topology.outage_until(station) > topology.at())
}

/// Adds a sample, and the route if it has changed.
fn add_sample(
    flow: &mut FlowRoutes,
    path: &OrbitPath,
    topology: &Topology,
    ends: (usize, usize),
    route: Option<Path>,
) {
    let at = topology.at();
    let counts = |count: &dyn Fn(usize) -> usize| [count(ends.0), count(ends.1)];
    flow.samples.push(Sample {
        t_s: at.as_secs_f64(),
        rtt_ms: route.as_ref().map(rtt_ms),
        hops: route.as_ref().map(|route| route.nodes.len().saturating_sub(1)),
        visible: counts(&|station| topology.visible(station).len()),
        attached: counts(&|station| topology.attached(station).len()),
    });
    let nodes: &[Node] = route.as_ref().map_or(&[], |route| &route.nodes);
    if flow.routes.last().is_none_or(|last| last.ids != nodes) {
        flow.routes.push(timed_route(path, at, route));
    }
}

/// Returns the propagation RTT of `route`, in milliseconds.
fn rtt_ms(route: &Path) -> f64 {
    (route.delay * 2).as_millis_f64()
}

fn timed_route(path: &OrbitPath, at: Time, route: Option<Path>) -> TimedRoute {
    let rtt_ms = route.as_ref().map(rtt_ms);
    let ids = route.map_or_else(Vec::new, |route| route.nodes);
    let nodes = ids.iter().map(|node| path.network.name(*node).to_owned()).collect();
    TimedRoute { t_s: at.as_secs_f64(), rtt_ms, nodes, ids }
}

impl Survey {
    /// Returns the routes of all flows in order of time.
    fn routes(&self) -> Vec<Route> {
        let routes = self.flows.iter().flat_map(|flow| {
            flow.routes.iter().map(|route| Route {
                flow: flow.flow.clone(),
                t_s: route.t_s,
                nodes: route.ids.iter().map(|node| node.0).collect(),
            })
        });
        let mut routes: Vec<Route> = routes.collect();
        routes.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        routes
    }
}
