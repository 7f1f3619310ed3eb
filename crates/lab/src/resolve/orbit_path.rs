//! A path over satellites: its network, its links and the ends of its flows.

use super::decayed::decayed_note;
use super::extremes::Extremes;
use super::stations::{StationDefaults, Stations};
use bentpipe_link::random::stream;
use bentpipe_link::{DirectionConfig, DirectionModel};
use bentpipe_orbit::{HandoverLoss, Network, NetworkSpec, OrbitError, RouteUpdates, cities};
use bentpipe_sim::{MeshSpec, SatelliteLinks};
use bentpipe_units::Span;
use std::sync::Arc;

/// The path of a scenario with an orbit: satellites, ground stations and the links between them.
#[derive(Debug, Clone)]
pub struct OrbitPath {
    /// Constellation and stations at the start of the runs; if each run draws its start, at the
    /// earliest one.
    pub network: Arc<Network>,
    /// When routes are recomputed.
    pub step: RouteUpdates,
    /// Ends of the flows, in the order of the scenario.
    pub flows: Vec<FlowEnds>,
    /// Name of the constellation: its presets, shells or file of elements.
    pub name: String,
    /// Configuration of the links, by kind.
    pub(super) kinds: LinkKinds,
    /// Longest RTT of any flow, each measured when the flow first has a route.
    pub(super) rtt: Span,
    /// Longest RTT of any flow, and longest time without a route, as sampled.
    pub(super) extremes: Extremes,
    /// Length of the window in which each run draws its start. `None` for a fixed start.
    pub(super) start_window: Option<Span>,
    /// Notes for the reader of the results.
    pub(super) notes: Vec<String>,
    pub(super) spec: NetworkSpec,
    pub(super) defaults: StationDefaults,
    /// True if all ground links of a satellite share one transmitter.
    pub(crate) shared_ground: bool,
    pub(super) handover: HandoverLoss,
    /// How long before a path change endpoints are notified. `None` without notices.
    pub(super) path_change_notice: Option<Span>,
}

/// Ground stations of a flow's client and server.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowEnds {
    /// Name of the flow.
    pub name: String,
    /// Indices of the client's and the server's station in the network.
    pub stations: (usize, usize),
    /// Length of the geodesic between them, in metres.
    pub distance_m: f64,
}

/// Configuration of the links, by kind.
#[derive(Debug, Clone)]
pub(super) struct LinkKinds {
    /// Inter-satellite links.
    pub isl: LinkKind,
    pub up: LinkKind,
    pub down: LinkKind,
    pub fibre: LinkKind,
    /// Those of single shells.
    pub shells: Vec<ShellKinds>,
}

/// Configuration of the links of a shell's satellites, by kind.
#[derive(Debug, Clone)]
pub(super) struct ShellKinds {
    /// Index of the shell.
    pub shell: u32,
    pub name: String,
    pub isl: LinkKind,
    pub up: LinkKind,
    pub down: LinkKind,
}

/// Configuration of one kind of link.
#[derive(Debug, Clone)]
pub(super) struct LinkKind {
    pub config: DirectionConfig,
    pub model: DirectionModel,
    /// False if the network has no such link.
    pub used: bool,
}

impl LinkKinds {
    /// Returns the kinds of link that the network has.
    pub fn used(&self) -> impl Iterator<Item = &LinkKind> {
        let shells = self.shells.iter().flat_map(|shell| [&shell.isl, &shell.up, &shell.down]);
        let kinds = [&self.isl, &self.up, &self.down, &self.fibre].into_iter().chain(shells);
        kinds.filter(|kind| kind.used)
    }
}

fn links(isl: &LinkKind, up: &LinkKind, down: &LinkKind) -> SatelliteLinks {
    let [isl, up, down] = [isl, up, down].map(|kind| kind.model.clone());
    SatelliteLinks { isl, up, down }
}

impl OrbitPath {
    /// Returns the network of run number `run` with `seed`.
    ///
    /// # Errors
    /// The orbit of a satellite cannot be propagated to the start of the run.
    pub(super) fn mesh(&self, seed: u64, run: u64) -> Result<MeshSpec, OrbitError> {
        let network = match self.start_window {
            None => Arc::clone(&self.network),
            Some(window) => {
                let begins =
                    self.spec.begins + window.mul_f64(stream(seed, run, "orbit/at").unit());
                Arc::new(Network::new(NetworkSpec { begins, ..self.spec.clone() })?)
            }
        };
        Ok(MeshSpec {
            network,
            step: self.step,
            links: links(&self.kinds.isl, &self.kinds.up, &self.kinds.down),
            shells: self
                .kinds
                .shells
                .iter()
                .map(|own| (own.shell, links(&own.isl, &own.up, &own.down)))
                .collect(),
            fibre: self.kinds.fibre.model.clone(),
            shared_ground: self.shared_ground,
            handover: self.handover,
            path_change_notice: self.path_change_notice,
        })
    }

    /// Returns the ends of the flow `name`.
    pub(super) fn ends(&self, name: &str) -> Option<&FlowEnds> {
        self.flows.iter().find(|flow| flow.name == name)
    }

    /// Returns the same network with a single flow between two places. A place is a station of the
    /// scenario or a city.
    ///
    /// # Errors
    /// A place is unknown, or both are the same.
    pub fn between(&self, from: &str, to: &str) -> Result<Self, OrbitError> {
        let mut stations = Stations { list: self.spec.stations.clone() };
        let from_index = stations.find_or_add(from, &self.defaults)?;
        let to_index = stations.find_or_add(to, &self.defaults)?;
        if from_index == to_index {
            return Err(OrbitError::Value {
                what: "a flow to itself".to_owned(),
                value: format!("`{from}`"),
                allowed: "two places".to_owned(),
            });
        }
        let spec = NetworkSpec { stations: stations.list, ..self.spec.clone() };
        let mut path =
            Self { network: Arc::new(Network::new(spec.clone())?), spec, ..self.clone() };
        path.flows = vec![path.flow_between("main".to_owned(), from_index, to_index)];
        Ok(path)
    }

    /// Returns the same network without satellites that cannot be propagated for `length`, as for
    /// runs of that length, and a note if there are any.
    ///
    /// # Errors
    /// No satellite is left, or a satellite that has to be avoided or linked is not.
    pub fn lasting(&self, length: Span) -> Result<(Self, Option<String>), OrbitError> {
        let mut spec = self.spec.clone();
        let decayed = match self.step {
            RouteUpdates::Static => Vec::new(),
            _ => spec.constellation.drop_decayed(spec.begins, length)?,
        };
        let Some(note) = decayed_note(&decayed) else { return Ok((self.clone(), None)) };
        let network = Arc::new(Network::new(spec.clone())?);
        Ok((Self { network, spec, ..self.clone() }, Some(note)))
    }

    /// Returns the same network with a flow between every two of the `count` largest cities.
    ///
    /// # Errors
    /// `count` is below two.
    pub fn among_cities(&self, count: usize) -> Result<Self, OrbitError> {
        let mut stations = Stations { list: self.spec.stations.clone() };
        let cities = cities::all()
            .iter()
            .take(count)
            .map(|(city, _)| stations.find_or_add(city, &self.defaults));
        let cities: Vec<usize> = cities.collect::<Result<_, _>>()?;
        if cities.len() < 2 {
            return Err(OrbitError::Value {
                what: "a number of cities".to_owned(),
                value: count.to_string(),
                allowed: format!("2 to {}", cities::all().len()),
            });
        }
        let spec = NetworkSpec { stations: stations.list, ..self.spec.clone() };
        let mut path =
            Self { network: Arc::new(Network::new(spec.clone())?), spec, ..self.clone() };
        let name = |index: usize| path.network.stations()[index].name.clone();
        let pairs = cities
            .iter()
            .enumerate()
            .flat_map(|(at, from)| cities[at + 1..].iter().map(move |to| (*from, *to)));
        path.flows = pairs
            .map(|(from, to)| path.flow_between(format!("{}–{}", name(from), name(to)), from, to))
            .collect();
        Ok(path)
    }

    /// Returns the ends of a flow between two stations, given by index.
    pub(super) fn flow_between(&self, name: String, from: usize, to: usize) -> FlowEnds {
        let stations = self.network.stations();
        FlowEnds {
            name,
            stations: (from, to),
            distance_m: stations[from].place.distance_m(stations[to].place),
        }
    }
}
