//! A path with an orbit: its network, links, flows' ends, and what is known of it before anything
//! runs.

use super::outlook::{Outlook, outlook};
use super::stations::{Defaults, Stations};
use bentpipe_link::random::stream;
use bentpipe_link::{
    CapacityAllocation, DelayConfig, DirectionConfig, DirectionModel, DirectionPatch,
    PolicerConfig, QueueConfig, RateConfig,
};
use bentpipe_orbit::HandoverLoss;
use bentpipe_orbit::{
    Constellation, Decayed, Fibre, IslPattern, Network, NetworkSpec, OrbitError, PhaseShift,
    RouteUpdates, Shell, cities, mean_motion_rev_per_day, presets,
};
use bentpipe_scenario::Problem;
use bentpipe_scenario::{
    Begin, ConstellationText, IslText, OrbitSection, PhaseText, RouteUpdatesName, Scenario,
    ShellSection,
};
use bentpipe_sim::MeshSpec;
use bentpipe_units::{Epoch, Rate, Span};
use serde_spanned::Spanned;
use std::path::Path;
use std::sync::Arc;

/// The beginning of 2000, UTC: the epoch of the Hypatia study's elements.
const SHELLS_EPOCH: Epoch = Epoch::from_unix_secs(946_684_800);
/// The Hypatia study's step.
const STEP: Span = Span::from_millis(100);
/// How far at = "random" goes where nothing is said.
const WITHIN: Span = Span::from_secs(3600);
/// Lowest elevation of shells that state none, degrees: that of Starlink's first shells.
const SHELL_MIN_ELEVATION_DEG: f64 = 25.0;
/// What fibres carry where nothing is said: more than any satellite link of ours.
const FIBRE_RATE: Rate = Rate::from_mbps(10_000);

/// A network of satellites, as a scenario's runs meet it.
#[derive(Debug, Clone)]
pub struct OrbitPath {
    /// The constellation and the stations when runs begin; where each run draws that, at the
    /// earliest.
    pub network: Arc<Network>,
    /// When routes are computed anew.
    pub step: RouteUpdates,
    /// The flows in order.
    pub flows: Vec<FlowEnds>,
    /// What satellites these are, in words.
    pub name: String,
    /// Rate, queue and loss by kind of link: inter-satellite, up, down, fibre.
    pub(super) kinds: Kinds,
    /// The longest of the flows' round trips when the run begins, or when there is a way for the
    /// first time.
    pub(super) rtt: Span,
    pub(super) random: Option<Span>,
    /// What the reader of results should know.
    pub(super) notes: Vec<String>,
    spec: NetworkSpec,
    defaults: Defaults,
    pub(crate) shared_ground: bool,
    handover: HandoverLoss,
    hints: Option<Span>,
}

/// Where a flow's client and server are.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowEnds {
    /// The flow.
    pub name: String,
    /// Client and server, by station.
    pub stations: (usize, usize),
    /// Length of the geodesic between them, metres.
    pub distance_m: f64,
}

/// Links by kind.
#[derive(Debug, Clone)]
pub(super) struct Kinds {
    pub isl: Kind,
    pub up: Kind,
    pub down: Kind,
    pub fibre: Kind,
}

/// A kind of link.
#[derive(Debug, Clone)]
pub(super) struct Kind {
    pub config: DirectionConfig,
    pub model: DirectionModel,
    /// False where the network has no such link.
    pub used: bool,
}

impl Kinds {
    /// Those that the network has.
    pub fn used(&self) -> impl Iterator<Item = &Kind> {
        [&self.isl, &self.up, &self.down, &self.fibre].into_iter().filter(|kind| kind.used)
    }
}

/// The orbit of `scenario`, where it has one.
///
/// # Errors
/// Satellites, places or links that cannot be, each at its own place.
pub(super) fn resolve_orbit(
    scenario: &Scenario,
    base_dir: &Path,
) -> Result<Option<OrbitPath>, Problem> {
    let Some(spanned) = &scenario.path.get_ref().orbit else { return Ok(None) };
    let (section, whole) = (spanned.get_ref(), spanned.span());
    let (mut constellation, name, place) = satellites(section, base_dir)?;
    let epoch = section.epoch.as_ref().map_or(constellation.epoch(), |epoch| *epoch.get_ref());
    let (begins, random) = match section.at.as_ref().map(Spanned::get_ref) {
        Some(Begin::Random) => {
            (epoch, Some(section.start_window.as_ref().map_or(WITHIN, |within| *within.get_ref())))
        }
        Some(Begin::At(at)) => (epoch + *at, None),
        None => (epoch, None),
    };
    let latest = scenario
        .flows()
        .iter()
        .filter_map(|flow| flow.placement.start_time)
        .max()
        .unwrap_or_default();
    let limit = *scenario.time_limit.get_ref();
    let length = if section.is_static { Span::ZERO } else { limit + latest };
    let decayed = constellation
        .drop_decayed(begins, length + random.unwrap_or_default())
        .map_err(|error| Problem::new(place.clone(), error.to_string()))?;

    let defaults = Defaults::new(section);
    let mut stations = Stations::default();
    for station in &section.station {
        stations.add(station.get_ref(), &defaults)?;
    }
    let mut fibres = Vec::new();
    for fibre in section.fibre.iter().map(Spanned::get_ref) {
        let mut end = |name: &Spanned<String>| {
            let index = stations.fibre_end(name, &defaults)?;
            Ok(stations.list[index].name.clone())
        };
        fibres.push(Fibre { from: end(&fibre.from)?, to: end(&fibre.to)?, delay: fibre.delay });
    }
    let mut flows = Vec::new();
    for flow in scenario.flows() {
        let (Some(from), Some(to)) = (&flow.ends.from, &flow.ends.to) else { continue };
        flows.push((
            flow.name().to_owned(),
            stations.spanned(from, &defaults)?,
            stations.spanned(to, &defaults)?,
        ));
    }
    let kinds = kinds(section, !fibres.is_empty(), whole.clone(), base_dir)?;
    let spec = NetworkSpec {
        constellation,
        begins,
        stations: stations.list,
        isl: isl(section),
        max_isl_length_m: section
            .max_isl_length
            .as_ref()
            .map(|range| range.get_ref().as_metres_f64()),
        max_ground_link_length_m: section
            .max_ground_link_length
            .as_ref()
            .map(|range| range.get_ref().as_metres_f64()),
        fibres,
        metric: section.metric.unwrap_or_default(),
        avoid: section.avoid.iter().map(|name| name.get_ref().clone()).collect(),
    };
    let network = Network::new(spec.clone()).map_err(|error| {
        let avoided = section
            .avoid
            .iter()
            .find(|name| matches!(&error, OrbitError::Unknown { name: unknown, .. } if unknown == name.get_ref()));
        let isl = section.isl.as_ref().filter(|_| matches!(error, OrbitError::Unknown { what: "satellite", .. }));
        let place = avoided.map(Spanned::span).or_else(|| isl.map(Spanned::span)).unwrap_or(whole.clone());
        Problem::new(place, error.to_string())
    })?;
    let step = section.step.as_ref().map_or(STEP, |step| *step.get_ref());
    let mut path = OrbitPath {
        network: Arc::new(network),
        step: match (section.is_static, section.route_updates) {
            (true, _) => RouteUpdates::Static,
            (false, RouteUpdatesName::EventDriven) => RouteUpdates::EventDriven(step),
            (false, RouteUpdatesName::Stepped) => RouteUpdates::Stepped(step),
        },
        flows: Vec::new(),
        name,
        kinds,
        rtt: Span::ZERO,
        random,
        notes: decayed_note(&decayed).into_iter().collect(),
        spec,
        defaults,
        shared_ground: section.shared_ground_link,
        handover: section.handover_loss.unwrap_or_default(),
        hints: section.path_change_notice.as_ref().map(|hints| *hints.get_ref()),
    };
    path.flows =
        flows.into_iter().map(|(name, from, to)| path.flow_between(name, from, to)).collect();
    let Outlook { rtt, notes } =
        outlook(&path.network, &path.flows, length + random.unwrap_or_default())
            .map_err(|error| Problem::new(whole, error.to_string()))?;
    path.rtt = rtt;
    path.notes.extend(notes);
    Ok(Some(path))
}

impl OrbitPath {
    /// The network as run number `run` with `seed` meets it.
    ///
    /// # Errors
    /// A satellite that cannot be followed to where the run begins.
    pub(super) fn mesh(&self, seed: u64, run: u64) -> Result<MeshSpec, OrbitError> {
        let network = match self.random {
            None => Arc::clone(&self.network),
            Some(within) => {
                let begins =
                    self.spec.begins + within.mul_f64(stream(seed, run, "orbit/at").unit());
                Arc::new(Network::new(NetworkSpec { begins, ..self.spec.clone() })?)
            }
        };
        Ok(MeshSpec {
            network,
            step: self.step,
            isl: self.kinds.isl.model.clone(),
            up: self.kinds.up.model.clone(),
            down: self.kinds.down.model.clone(),
            fibre: self.kinds.fibre.model.clone(),
            shared_ground: self.shared_ground,
            handover: self.handover,
            path_change_notice: self.hints,
        })
    }

    /// The ends of the flow `name`.
    pub(super) fn ends(&self, name: &str) -> Option<&FlowEnds> {
        self.flows.iter().find(|flow| flow.name == name)
    }

    /// The same network with one flow between two places instead of its own: stations of the
    /// scenario, or cities.
    ///
    /// # Errors
    /// A name that stands for neither.
    pub fn between(&self, from: &str, to: &str) -> Result<Self, OrbitError> {
        let mut stations = Stations { list: self.spec.stations.clone() };
        let ends = (stations.named(from, &self.defaults)?, stations.named(to, &self.defaults)?);
        if ends.0 == ends.1 {
            return Err(OrbitError::Value {
                what: "a flow to itself".to_owned(),
                value: format!("`{from}`"),
                allowed: "two places".to_owned(),
            });
        }
        let spec = NetworkSpec { stations: stations.list, ..self.spec.clone() };
        let mut path =
            Self { network: Arc::new(Network::new(spec.clone())?), spec, ..self.clone() };
        path.flows = vec![path.flow_between("main".to_owned(), ends.0, ends.1)];
        Ok(path)
    }

    /// The same network with a flow between any two of the `count` largest cities instead of its
    /// own.
    ///
    /// # Errors
    /// Fewer than two cities.
    pub fn among_cities(&self, count: usize) -> Result<Self, OrbitError> {
        let mut stations = Stations { list: self.spec.stations.clone() };
        let cities =
            cities::all().iter().take(count).map(|(city, _)| stations.named(city, &self.defaults));
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
        let names = |index: usize| path.network.stations()[index].name.clone();
        let pairs = cities
            .iter()
            .enumerate()
            .flat_map(|(at, from)| cities[at + 1..].iter().map(move |to| (*from, *to)));
        path.flows = pairs
            .map(|(from, to)| path.flow_between(format!("{}–{}", names(from), names(to)), from, to))
            .collect();
        Ok(path)
    }

    fn flow_between(&self, name: String, from: usize, to: usize) -> FlowEnds {
        let stations = self.network.stations();
        FlowEnds {
            name,
            stations: (from, to),
            distance_m: stations[from].place.distance_m(stations[to].place),
        }
    }
}

/// The satellites, what they are in words, and where in the text they stand.
fn satellites(
    section: &OrbitSection,
    base_dir: &Path,
) -> Result<(Constellation, String, std::ops::Range<usize>), Problem> {
    let epoch = section.epoch.as_ref().map_or(SHELLS_EPOCH, |epoch| *epoch.get_ref());
    let Some(given) = &section.constellation else {
        let place = section.shell.first().map_or(0..0, Spanned::span);
        let mut shells = Vec::new();
        for shell in &section.shell {
            let made = own_shell(shell.get_ref());
            made.check().map_err(|error| Problem::new(shell.span(), error.to_string()))?;
            shells.push(made);
        }
        let names: Vec<&str> = shells.iter().map(|shell| shell.name.as_str()).collect();
        let name = names.join(" + ");
        let made = Constellation::from_shells(&shells, epoch);
        return made
            .map(|made| (made, name, place.clone()))
            .map_err(|error| Problem::new(place, error.to_string()));
    };
    let wrong = |message: String| Problem::new(given.span(), message);
    let (constellation, name) = match given.get_ref() {
        ConstellationText::Presets(names) => {
            let mut shells = Vec::new();
            for name in names {
                shells.extend(presets::shells(name).map_err(|error| wrong(error.to_string()))?);
            }
            let made = Constellation::from_shells(&shells, epoch)
                .map_err(|error| wrong(error.to_string()))?;
            (made, names.join(" + "))
        }
        ConstellationText::Elements(file) => {
            let path = base_dir.join(file);
            let text = std::fs::read_to_string(&path)
                .map_err(|error| wrong(format!("cannot read {}: {error}", path.display())))?;
            let made = Constellation::from_elements(&text)
                .map_err(|error| wrong(format!("{}: {error}", path.display())))?;
            (made, file.display().to_string())
        }
    };
    Ok((constellation, name, given.span()))
}

fn own_shell(section: &ShellSection) -> Shell {
    let revolutions =
        section.mean_motion_rev_per_day.as_ref().map(|revolutions| *revolutions.get_ref());
    let altitude = section.altitude.as_ref().map(|altitude| altitude.get_ref().as_km_f64());
    Shell {
        name: section.name.get_ref().clone(),
        planes: section.planes,
        per_plane: section.per_plane,
        inclination_deg: section.inclination_deg,
        mean_motion_rev_per_day: revolutions
            .unwrap_or_else(|| mean_motion_rev_per_day(altitude.unwrap_or_default())),
        raan_spread_deg: section.raan_spread_deg.unwrap_or(360.0),
        phase_deg: match section.phase_deg {
            None | Some(PhaseText::OddHalf) => PhaseShift::OddHalf,
            Some(PhaseText::Degrees(degrees)) => PhaseShift::Each(degrees),
        },
        min_elevation_deg: section.min_elevation_deg.unwrap_or(SHELL_MIN_ELEVATION_DEG),
    }
}

fn isl(section: &OrbitSection) -> IslPattern {
    match section.isl.as_ref().map(Spanned::get_ref) {
        None | Some(IslText::PlusGrid) => IslPattern::PlusGrid,
        Some(IslText::IntraPlane) => IslPattern::IntraPlane,
        Some(IslText::None) => IslPattern::None,
        Some(IslText::List(pairs)) => IslPattern::List(pairs.clone()),
    }
}

fn kinds(
    section: &OrbitSection,
    fibres: bool,
    whole: std::ops::Range<usize>,
    base_dir: &Path,
) -> Result<Kinds, Problem> {
    let links = &section.links;
    let isls = section.isl.as_ref().is_none_or(|isl| *isl.get_ref() != IslText::None);
    let make = |name: &'static str, own: &Option<Spanned<DirectionPatch>>, used: bool| {
        let patches: Vec<&Spanned<DirectionPatch>> = links.all.iter().chain(own).collect();
        let place = patches.last().map_or(whole.clone(), |patch| patch.span());
        let rate = patches.iter().rev().find_map(|patch| patch.get_ref().rate.clone());
        // What is not there has a rate all the same, which nobody meets.
        let otherwise =
            if used && name != "fibre" { None } else { Some(RateConfig::Constant(FIBRE_RATE)) };
        let rate = rate.or(otherwise).ok_or_else(|| {
            let message = format!(
                "links of the kind `{name}` have no rate; allowed: `rate` in \
                [path.orbit.links.{name}], or in [path.orbit.links.all]"
            );
            Problem::new(place.clone(), message).help(
                "links.all = \
                { rate = \"10 Mbps\", queue = \"100 packets\" }",
            )
        })?;
        let mut config = DirectionConfig {
            rate,
            delay: DelayConfig::Constant(Span::ZERO),
            loss: Default::default(),
            queue: QueueConfig::default(),
            policer: PolicerConfig::None,
            frame: None,
            allocation: CapacityAllocation::None,
        };
        patches.iter().for_each(|patch| patch.get_ref().apply_to(&mut config));
        let model = config
            .load(base_dir)
            .map_err(|error| Problem::new(place, super::path::chain(&error)))?;
        Ok(Kind { config, model, used })
    };
    Ok(Kinds {
        isl: make("isl", &links.isl, isls)?,
        up: make("up", &links.up, true)?,
        down: make("down", &links.down, true)?,
        fibre: make("fibre", &links.fibre, fibres)?,
    })
}

/// Which satellites were left out.
fn decayed_note(decayed: &[Decayed]) -> Option<String> {
    let first = decayed.first()?;
    let names: Vec<&str> =
        decayed.iter().take(3).map(|satellite| satellite.name.as_str()).collect();
    let more = if decayed.len() > names.len() { ", …" } else { "" };
    Some(format!(
        "{} satellites cannot be followed to the end of the run and are left out: {}{more} ({})",
        decayed.len(),
        names.join(", "),
        first.reason
    ))
}
