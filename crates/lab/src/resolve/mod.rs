//! From a scenario at one sweep point to what the simulator is told: everything that does not
//! change from run to run is settled once, each run's draws are made when it begins.

mod clock;
mod flow;
mod orbit;
mod outlook;
mod path;
mod settings;
mod stations;
mod tcp;

pub use orbit::{FlowEnds, OrbitPath};
pub(crate) use path::{Resolved, resolve_path};

use crate::error::LabError;
use crate::outcome;
use bentpipe_link::DirectionConfig;
use bentpipe_link::random::stream;
use bentpipe_results::Point;
use bentpipe_results::{Direction, FlowSettings, PathSummary};
use bentpipe_scenario::Problem;
use bentpipe_scenario::Scenario;
use bentpipe_scenario::leo;
use bentpipe_sim::{DatagramTraffic, FlowSpec, RunSpec, Stack};
use bentpipe_units::Span;
use clock::Needs;
use flow::{flow, sizes};
use path::{DrawnHop, summary};
use std::path::Path;
use std::sync::Arc;

/// One variant at one point: all of its runs differ by their draws alone.
#[derive(Debug, Clone)]
pub struct Case {
    /// The variant's name.
    pub variant: String,
    /// Where in the sweep.
    pub point: Point,
    /// What the path is, in words.
    pub path: PathSummary,
    /// What its flows use, without repetition.
    pub settings: Vec<FlowSettings>,
    /// True where runs differ.
    pub random: bool,
    /// Time after the start of the last flow that is not counted in shares.
    pub(crate) warmup: Option<Span>,
    spec: RunSpec,
    jitters: Vec<Span>,
    /// What each flow needs of the clock.
    clocks: Vec<Needs>,
    drawn: Vec<DrawnHop>,
    orbit: Option<Arc<OrbitPath>>,
}

/// Everything about variant number `variant` of `scenario` on `path` that does not change from run
/// to run.
///
/// # Errors
/// A profile that does not exist, a direction without rate or delay, a trace that cannot be read.
pub(crate) fn resolve(
    scenario: &Scenario,
    variant: usize,
    point: &Point,
    path: &Resolved,
) -> Result<Case, Problem> {
    let section = scenario.path.get_ref();
    let mtu = *section.mtu.get_ref();
    let own = &scenario.variants[variant];
    let mut flows = Vec::new();
    let mut jitters = Vec::new();
    let mut settings = Vec::new();
    for one in &own.flows {
        let flow = flow(one, path, scenario)?;
        let used = settings::settings(one, &flow);
        if !settings.contains(&used) {
            settings.push(used);
        }
        flows.push(flow);
        jitters.push(one.ends.start_jitter.unwrap_or_default());
    }

    for flow in &flows {
        // What QUIC itself cannot express, such as a window beyond 2^62 on an absurd path, is wrong
        // here and not in a run.
        let Stack::Quic(settings) = &flow.stack else { continue };
        let refused = settings.transport().map(drop).and_then(|()| settings.controller().map(drop));
        refused.map_err(|error| {
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
        || path.is_random();
    Ok(Case {
        variant: own.name.get_ref().clone(),
        point: point.clone(),
        path: summary(path, sizes(path, direction, mtu).bdp),
        settings,
        random,
        warmup: scenario.fairness.warmup,
        jitters,
        clocks: own.flows.iter().map(clock::needs).collect(),
        drawn: path.drawn.clone(),
        orbit: path.orbit.clone(),
        spec: RunSpec {
            seed: scenario.seed,
            run: 0,
            base_rtt: path.rtt,
            mesh: None,
            hops: path.hops.clone(),
            terminals: *section.terminals.get_ref(),
            flows,
            time_limit: *scenario.time_limit.get_ref(),
            trace: false,
            qlog: false,
            capture: None,
        },
    })
}

impl Case {
    /// The flows that congestion control holds back.
    pub(crate) fn controlled_flows(&self) -> Vec<String> {
        let controlled = self.spec.flows.iter().filter(|flow| flow.stack.congestion().is_some());
        controlled.map(|flow| flow.name.clone()).collect()
    }

    /// What the simulator is told for run number `run` with `seed`.
    ///
    /// # Errors
    /// A drawn path that cannot be built, which no profile allows.
    pub fn spec(&self, seed: u64, run: u64) -> Result<RunSpec, LabError> {
        let mut spec = self.spec.clone();
        spec.seed = seed;
        spec.run = run;
        if let Some(orbit) = &self.orbit {
            let mesh =
                orbit.mesh(seed, run).map_err(|error| self.failed(run, error.to_string()))?;
            spec.mesh = Some(mesh);
        }
        for hop in &self.drawn {
            let name = &self.spec.hops[hop.index].name;
            let (mut forward, mut reverse) = leo::draw(hop.profile, seed, run, name);
            hop.forward.iter().for_each(|patch| patch.apply_to(&mut forward));
            hop.reverse.iter().for_each(|patch| patch.apply_to(&mut reverse));
            // Traces that patches name were read once already, by `resolve`; here they may only be
            // asked for again.
            let load = |config: &DirectionConfig| config.load(Path::new(""));
            let failed = |error: bentpipe_link::LinkError| self.failed(run, error.to_string());
            let target = &mut spec.hops[hop.index];
            target.forward = load(&forward).map_err(failed)?;
            target.reverse = load(&reverse).map_err(failed)?;
        }
        for (flow, jitter) in spec.flows.iter_mut().zip(&self.jitters) {
            for (index, visit) in flow.visits.iter_mut().enumerate() {
                let share = stream(seed, run, &format!("think/{}/{index}", flow.name)).unit();
                visit.start_jitter = jitter.mul_f64(share);
            }
        }
        Ok(spec)
    }

    /// Refuses flows that the virtual clock cannot run.
    ///
    /// # Errors
    /// What needs real time.
    pub(crate) fn virtual_clock(&self) -> Result<(), String> {
        self.clocks.iter().try_for_each(Needs::virtual_clock)
    }

    /// Refuses flows that the real clock cannot run as the scenario says.
    ///
    /// # Errors
    /// The workload or the key, and what is allowed.
    #[cfg(feature = "real-clock")]
    pub(crate) fn real_clock(&self) -> Result<(), String> {
        self.clocks.iter().try_for_each(Needs::real_clock)
    }

    /// The network, where its path has an orbit.
    pub fn orbit(&self) -> Option<&OrbitPath> {
        self.orbit.as_deref()
    }

    /// Things that the reader of its results should know.
    pub(crate) fn notes(&self) -> &[String] {
        self.orbit.as_ref().map_or(&[], |orbit| &orbit.notes)
    }

    /// `reason` against `argument`, about this variant.
    pub(crate) fn refused(&self, argument: &'static str, reason: String) -> LabError {
        LabError::Usage { argument, reason: format!("variant `{}`: {reason}", self.variant) }
    }

    fn failed(&self, run: u64, reason: String) -> LabError {
        LabError::Run { variant: self.variant.clone(), point: String::new(), run, reason }
    }
}
