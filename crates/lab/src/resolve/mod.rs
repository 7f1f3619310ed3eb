//! Converts a scenario at one sweep point to run specifications. Everything that all runs share is
//! resolved once. Each run's random values are drawn when it starts.

mod bottleneck;
mod clock;
mod contacts;
mod coverage;
mod decayed;
mod error_chain;
mod extremes;
mod flow;
mod light_time;
mod orbit;
mod orbit_links;
mod orbit_path;
mod path;
mod path_changes;
mod path_extremes;
mod path_summary;
mod probes;
mod quic;
mod recording;
mod repeat;
mod replay;
mod settings;
mod stations;
mod tcp;
#[cfg(test)]
mod tests;
mod transport;
mod visits;
mod work;

pub use orbit_path::{FlowEnds, OrbitPath};
pub(crate) use path::{ResolvedPath, resolve_path};
pub(crate) use visits::object;

use crate::error::LabError;
use crate::outcome;
use crate::population::{self, Expansion, Population};
use crate::task_id::CaseDigest;
use bentpipe_link::DirectionConfig;
use bentpipe_link::random::stream;
use bentpipe_quic::Handshake;
use bentpipe_results::Point;
use bentpipe_results::{Direction, FlowSettings, PathSummary};
use bentpipe_scenario::leo;
use bentpipe_scenario::workload::Work;
use bentpipe_scenario::{PathSection, Problem, Scenario, Users, Variant};
use bentpipe_sim::{DatagramTraffic, FlowSpec, RunSpec, Stack};
use bentpipe_units::{Span, Time};
use bottleneck::bottleneck;
use clock::ClockSupport;
use flow::flow;
use path::DrawnHop;
use path_changes::HopChanges;
use path_summary::summary;
use replay::Replay;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest RTT over which a server takes early data, in milliseconds, unless it
/// [expects long flights](bentpipe_quic::QuicSettings::expects_long_flights). The age of a ticket
/// that a client states lacks an RTT, and one that is off by more than this may be a replay (RFC
/// 8446 §8.3).
const MAX_EARLY_DATA_RTT: f64 = 60_000.0;

/// One variant at one sweep point. Its runs differ in their random values only.
#[derive(Debug, Clone)]
pub struct Case {
    /// Name of the variant.
    pub variant: String,
    /// The sweep point.
    pub point: Point,
    /// Description of the path.
    pub path: PathSummary,
    /// Settings of the flows, without repetition.
    pub settings: Vec<FlowSettings>,
    /// True if runs can differ.
    pub random: bool,
    /// Identity of its results. `None` if they do not follow from the scenario alone.
    pub(crate) digest: Option<CaseDigest>,
    /// Time after the start of the last flow that fairness ignores.
    pub(crate) warmup: Option<Span>,
    /// Everything that all runs have in common.
    spec: RunSpec,
    /// `start_jitter` of each flow.
    jitters: Vec<Span>,
    /// Populations of users, and single flows with drawn sizes.
    pub(crate) expansions: Vec<Expansion>,
    /// Names of the flows and shares of populations.
    pub(crate) flow_names: Vec<String>,
    /// Names of the flows whose windows and buffers the scenario leaves to the defaults.
    pub(crate) default_windows: Vec<String>,
    /// Names of the workloads of each flow, by visit; one if all visits have the same.
    workloads: Vec<Vec<&'static str>>,
    /// Clocks on which each flow can run.
    clocks: Vec<ClockSupport>,
    drawn: Vec<DrawnHop>,
    replay: Option<Replay>,
    /// Time before a change of the hops at which senders get notice of it.
    path_change_notice: Option<Span>,
    notes: Vec<String>,
    orbit: Option<Arc<OrbitPath>>,
}

/// Resolves variant number `variant` of `scenario`, which has `populations`, on `path`.
///
/// # Errors
/// A key of a flow is invalid on this path.
pub(crate) fn resolve(
    scenario: &Scenario,
    variant: usize,
    point: &Point,
    path: &ResolvedPath,
    populations: &[Arc<Population>],
) -> Result<Case, Problem> {
    let section = scenario.path.get_ref();
    let mtu = *section.mtu.get_ref();
    let variant = &scenario.variants[variant];
    let mut flows = Vec::new();
    let mut jitters = Vec::new();
    for keys in &variant.flows {
        flows.push(flow(keys, path, scenario)?);
        jitters.push(keys.ends.start_jitter.unwrap_or_default());
    }
    probes::share_connections(&variant.flows, &mut flows);
    let mut settings = Vec::new();
    for (keys, flow) in variant.flows.iter().zip(&flows) {
        settings::add(&mut settings, keys, flow);
    }

    for flow in &flows {
        // Values that QUIC cannot express, such as a window beyond 2^62, are refused here rather
        // than during a run.
        let Stack::Quic(settings) = &flow.stack else { continue };
        settings.check().map_err(|error| {
            Problem::new(
                scenario.path.span(),
                format!("flow `{}` on this path: {error}", flow.name),
            )
        })?;
    }

    let direction = flows
        .first()
        .and_then(|flow| flow.visits.first())
        .map_or(Direction::Download, |visit| outcome::direction(visit.direction));
    let bursts = |flow: &FlowSpec| {
        matches!(
            flow.stack,
            Stack::DatagramTraffic(DatagramTraffic::Constant { bursts: Some(_), .. })
        )
    };
    let random = jitters.iter().any(|jitter| !jitter.is_zero())
        || flows.iter().any(bursts)
        || populations.iter().any(|population| population.is_random())
        || path.is_random();
    let expansions = expansions(variant, populations, path, section, &flows);
    Ok(Case {
        variant: variant.name.get_ref().clone(),
        point: point.clone(),
        path: summary(path, bottleneck(path, direction, mtu).bdp),
        settings,
        random,
        digest: None,
        warmup: scenario.fairness.warmup,
        jitters,
        expansions,
        flow_names: flows.iter().map(|flow| flow.name.clone()).collect(),
        default_windows: default_windows(variant),
        workloads: variant.flows.iter().map(|flow| workloads(&flow.work)).collect(),
        clocks: variant.flows.iter().map(clock::clock_support).collect(),
        drawn: path.drawn.clone(),
        replay: path.replay.clone(),
        path_change_notice: section.path_change_notice.as_ref().map(|notice| *notice.get_ref()),
        notes: path.notes.clone(),
        orbit: path.orbit.clone(),
        spec: RunSpec {
            seed: scenario.seed,
            run: 0,
            base_rtt: path.rtt,
            mesh: None,
            hops: path.hops.clone(),
            reconfigurations: Vec::new(),
            path_changes: Vec::new(),
            terminals: terminals(variant, section),
            flows,
            time_limit: *scenario.time_limit.get_ref(),
            trace: None,
            qlog: Default::default(),
            capture: None,
            controller_state: false,
            encrypt: false,
        },
    })
}

/// Returns the names of the flows of `variant` whose windows and buffers have their defaults.
fn default_windows(variant: &Variant) -> Vec<String> {
    let defaults = variant.flows.iter().filter(|flow| flow.transport.has_default_windows());
    defaults.map(|flow| flow.name().to_owned()).collect()
}

/// Returns the names of the workloads of a flow, in the order of its visits.
fn workloads(work: &Work) -> Vec<&'static str> {
    match work {
        Work::Once(workload) => vec![workload.name()],
        Work::Visits(visits) => visits.iter().map(|visit| visit.workload.name()).collect(),
    }
}

/// Returns the number of terminals of a path: those of single flows, then one for each user.
fn terminals(variant: &Variant, section: &PathSection) -> usize {
    let users: usize = variant
        .flows
        .iter()
        .filter_map(|flow| flow.users.as_ref())
        .fold(0, |sum, users| sum + users.members.len());
    if section.orbit.is_some() { 1 } else { first_terminal(variant, section) + users }
}

/// Returns the terminal of the first user.
fn first_terminal(variant: &Variant, section: &PathSection) -> usize {
    let single = variant.flows.iter().any(|flow| flow.users.is_none());
    if single { *section.terminals.get_ref() } else { 0 }
}

/// Returns how the flows of `variant` become users, for each of the `populations`.
fn expansions(
    variant: &Variant,
    populations: &[Arc<Population>],
    path: &ResolvedPath,
    section: &PathSection,
    flows: &[FlowSpec],
) -> Vec<Expansion> {
    let mut next = first_terminal(variant, section);
    let expansion = |population: &Arc<Population>| {
        let named = variant.flows.iter().enumerate().filter(|(_, flow)| match &flow.users {
            Some(users) => users.population == population.name(),
            None => flow.name() == population.name(),
        });
        let shares: Vec<(usize, Option<Users>)> =
            named.map(|(index, flow)| (index, flow.users.clone())).collect();
        let direction = shares
            .first()
            .and_then(|(index, _)| flows[*index].visits.first())
            .map_or(Direction::Download, |visit| outcome::direction(visit.direction));
        let slowest = path.links(direction).into_iter().map(|link| link.nominal).min();
        let first_terminal = next;
        let users = shares.iter().filter_map(|(_, users)| users.as_ref());
        next += users.map(|users| users.members.len()).sum::<usize>();
        Expansion {
            population: Arc::clone(population),
            bottleneck: population::Bottleneck {
                rate: slowest.unwrap_or_default(),
                rtt: path.rtt,
                mtu: *section.mtu.get_ref(),
            },
            shares,
            first_terminal,
            own_terminals: section.orbit.is_none(),
        }
    };
    populations.iter().map(expansion).collect()
}

impl Case {
    /// Returns the name of the workload of visit number `visit`, from 1, of a flow; empty for an
    /// unknown flow.
    pub(crate) fn workload(&self, flow: &str, visit: usize) -> &'static str {
        let flows = self.flow_names.iter().zip(&self.workloads);
        let own = flows.into_iter().find(|(name, _)| *name == flow).map(|(_, own)| own.as_slice());
        match own {
            Some([only]) => only,
            Some(all) => all.get(visit.saturating_sub(1)).copied().unwrap_or_default(),
            None => "",
        }
    }

    /// Returns the controller of each flow under congestion control, by the name of the flow.
    pub(crate) fn controllers(&self) -> BTreeMap<&str, &str> {
        let flows = self.spec.flows.iter().filter_map(|flow| {
            Some((flow.name.as_str(), flow.stack.congestion()?.controller.as_str()))
        });
        flows.collect()
    }

    /// Returns the names of the flows under congestion control.
    pub(crate) fn controlled_flows(&self) -> Vec<String> {
        let flows = self.spec.flows.iter().enumerate();
        let controlled = flows
            .filter(|(index, flow)| self.users(*index) == 1 && flow.stack.congestion().is_some());
        controlled.map(|(_, flow)| flow.name.clone()).collect()
    }

    /// Returns the number of users that flow number `index` stands for; 1 for a single flow.
    fn users(&self, index: usize) -> usize {
        let mut shares = self.expansions.iter().flat_map(|expansion| &expansion.shares);
        let share = shares.find(|(own, _)| *own == index);
        share.and_then(|(_, users)| users.as_ref()).map_or(1, |users| users.members.len())
    }

    /// Returns the name of the first hop. `None` for a satellite network.
    pub(crate) fn first_hop(&self) -> Option<&str> {
        self.spec.hops.first().map(|hop| hop.name.as_str())
    }

    /// Returns the number of flows.
    pub(crate) fn flow_count(&self) -> usize {
        // Users of populations record no time series.
        (0..self.spec.flows.len()).filter(|index| self.users(*index) == 1).count().max(1)
    }

    /// Returns true if no flow uses a controller that the calling program has registered.
    pub(crate) fn has_built_in_controllers(&self) -> bool {
        let mut configs = self.spec.flows.iter().filter_map(|flow| flow.stack.congestion());
        configs.all(|config| config.controller.is_built_in())
    }

    /// Returns true if a simulated server refuses the early data of a measured visit.
    pub(crate) fn refuses_early_data(&self) -> bool {
        let is_refused = |flow: &FlowSpec| {
            let quic = match &flow.stack {
                Stack::Quic(quic) => Some(&**quic),
                Stack::Call(call) => call.quic(),
                _ => None,
            };
            let measured = flow.visits.iter().rfind(|visit| visit.measured);
            measured.is_some_and(|visit| visit.handshake == Handshake::ZeroRtt)
                && quic.is_some_and(|quic| !quic.expects_long_flights())
        };
        self.path.rtt_ms > MAX_EARLY_DATA_RTT && self.spec.flows.iter().any(is_refused)
    }

    /// Returns roughly how long a run takes, in bytes transferred over TCP.
    pub(crate) fn work(&self) -> u64 {
        work::of(&self.path, &self.spec.flows, |index| self.users(index))
    }

    /// Returns when rates, delays, times of loss or routes of the path change for the last time:
    /// [`Time::MAX`] if they change again and again, `None` if they never change.
    pub(crate) fn last_path_change(&self) -> Option<Time> {
        let endless = self.orbit.is_some() || !self.drawn.is_empty();
        path::last_change(&self.spec.hops, endless)
    }

    /// Returns true if visits begin at multiples of a step.
    pub(crate) fn visits_are_aligned(&self) -> bool {
        let visits = self.spec.flows.iter().flat_map(|flow| &flow.visits);
        visits.into_iter().any(|visit| visit.align.is_some())
    }

    /// Returns the specification of run number `run` with `seed`.
    ///
    /// # Errors
    /// The path drawn for the run is invalid. No profile allows that.
    pub fn spec(&self, seed: u64, run: u64) -> Result<RunSpec, LabError> {
        let mut spec = self.spec.clone();
        spec.seed = seed;
        spec.run = run;
        if let Some(orbit) = &self.orbit {
            let mesh =
                orbit.mesh(seed, run).map_err(|error| self.run_error(run, error.to_string()))?;
            spec.mesh = Some(mesh);
        }
        let mut changes = Vec::new();
        for hop in &self.drawn {
            let name = &self.spec.hops[hop.index].name;
            let base = (&hop.base.0, &hop.base.1);
            let drawn = leo::draw(base, &hop.change, seed, run, name);
            let (mut forward, mut reverse) = (drawn.forward, drawn.reverse);
            changes.extend(HopChanges::drawn(name, &hop.change, drawn.changes));
            hop.forward.iter().for_each(|patch| patch.apply_to(&mut forward));
            hop.reverse.iter().for_each(|patch| patch.apply_to(&mut reverse));
            // `resolve_path` has read the traces already.
            let load = |config: &DirectionConfig| config.load(&*hop.files);
            let invalid = |error: bentpipe_link::LinkError| self.run_error(run, error.to_string());
            let target = &mut spec.hops[hop.index];
            target.forward = load(&forward).map_err(invalid)?;
            target.reverse = load(&reverse).map_err(invalid)?;
        }
        if let Some(replay) = &self.replay {
            changes.extend(replay.apply(&mut spec.hops, seed, run));
        }
        if let Some(ahead) = self.path_change_notice {
            spec.path_changes = path_changes::notices(&changes, &spec.hops, ahead, spec.time_limit);
        }
        spec.reconfigurations = changes.into_iter().map(|hop| hop.regular).collect();
        let jitters = self.expand(&mut spec);
        for (flow, jitter) in spec.flows.iter_mut().zip(jitters) {
            for (index, visit) in flow.visits.iter_mut().enumerate() {
                // The name of the stream fixes the drawn values, so it stays as it is.
                let share = stream(seed, run, &format!("think/{}/{index}", flow.name)).unit();
                visit.start_jitter = jitter.mul_f64(share);
            }
        }
        Ok(spec)
    }

    /// Replaces each population in `spec` by the flows of its users. Returns the `start_jitter` of
    /// each flow.
    fn expand(&self, spec: &mut RunSpec) -> Vec<Span> {
        if self.expansions.is_empty() {
            return self.jitters.clone();
        }
        let expand = |expansion: &Expansion| expansion.expand(spec.seed, spec.run, &spec.flows);
        let mut shares: BTreeMap<usize, Vec<FlowSpec>> =
            self.expansions.iter().flat_map(expand).collect();
        let (mut flows, mut jitters) = (Vec::new(), Vec::new());
        for (index, flow) in std::mem::take(&mut spec.flows).into_iter().enumerate() {
            let users = shares.remove(&index).unwrap_or_else(|| vec![flow]);
            jitters.extend(users.iter().map(|_| self.jitters[index]));
            flows.extend(users);
        }
        spec.flows = flows;
        jitters
    }

    /// Checks that all flows can run on the virtual clock.
    ///
    /// # Errors
    /// A flow needs real time.
    pub(crate) fn check_virtual_clock(&self) -> Result<(), String> {
        self.clocks.iter().try_for_each(ClockSupport::virtual_clock)
    }

    /// Checks that all flows can run on the real clock.
    ///
    /// # Errors
    /// A workload or a key is supported on the virtual clock only.
    pub(crate) fn check_real_clock(&self) -> Result<(), String> {
        self.clocks.iter().try_for_each(ClockSupport::real_clock)
    }

    /// Returns for how long a run replays recordings which no run may outlast (`loop = "end"`).
    pub fn recordings_left(&self) -> Option<Span> {
        self.replay.as_ref().and_then(Replay::left)
    }

    /// Returns the path if it has an orbit.
    pub fn orbit(&self) -> Option<&OrbitPath> {
        self.orbit.as_deref()
    }

    /// Returns notes for the reader of the results.
    pub(crate) fn notes(&self) -> &[String] {
        self.orbit.as_ref().map_or(&self.notes, |orbit| &orbit.notes)
    }

    /// Returns a usage error about `argument` and this variant.
    pub(crate) fn usage_error(&self, argument: &'static str, reason: String) -> LabError {
        LabError::Usage { argument, reason: format!("variant `{}`: {reason}", self.variant) }
    }

    fn run_error(&self, run: u64, reason: String) -> LabError {
        LabError::Run { variant: self.variant.clone(), point: String::new(), run, reason }
    }
}
