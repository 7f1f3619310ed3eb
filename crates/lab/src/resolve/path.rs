//! The path of a scenario: profiles with their overrides, traces, and the RTT.

use super::contacts::contact_hops;
use super::error_chain::error_chain;
use super::extremes::Extremes;
use super::light_time::light_time_delays;
use super::orbit::resolve_orbit;
use super::orbit_path::OrbitPath;
use super::replay::Replay;
use bentpipe_link::{
    CapacityAllocation, DelayConfig, DirectionConfig, DirectionModel, DirectionPatch,
    FlowMeterConfig, InputFiles, PolicerConfig, QueueConfig, QueueLimit, RateConfig,
};
use bentpipe_results::Direction;
use bentpipe_scenario::profiles::{Profile, idle_delay, profile, profiles, queue_bytes};
use bentpipe_scenario::{LightTimeSection, ONLY_HOP, Reconfiguration, Scenario};
use bentpipe_scenario::{Problem, nearest};
use bentpipe_sim::HopSpec;
use bentpipe_units::{Bytes, Rate, Span, Time};
use serde_spanned::Spanned;
use std::sync::Arc;

/// A hop whose directions are drawn for each run.
#[derive(Debug, Clone)]
pub(crate) struct DrawnHop {
    /// Index into the hops of the path.
    pub index: usize,
    /// Directions that change: those of the profile or, with changes that the scenario gives, its
    /// own.
    pub base: (DirectionConfig, DirectionConfig),
    pub change: Reconfiguration,
    /// Overrides of the scenario, applied in order.
    pub forward: Vec<DirectionPatch>,
    /// Overrides of the scenario, applied in order.
    pub reverse: Vec<DirectionPatch>,
    /// Files that the overrides name.
    pub files: Arc<InputFiles>,
}

/// A path at one sweep point. It has either hops or an orbit.
pub(crate) struct ResolvedPath {
    pub hops: Vec<HopSpec>,
    /// Forward and return configuration of each hop.
    pub configs: Vec<(DirectionConfig, DirectionConfig)>,
    pub drawn: Vec<DrawnHop>,
    /// RTT without queues, at the start.
    pub rtt: Span,
    /// Longest RTT and gap.
    pub extremes: Extremes,
    /// Profile of a path without `[[path.hop]]`.
    pub profile: Option<&'static Profile>,
    pub orbit: Option<Arc<OrbitPath>>,
    /// Clock of its recordings.
    pub replay: Option<Replay>,
    /// Notes for the reader of the results.
    pub notes: Vec<String>,
}

/// A link that carries data.
pub(crate) struct PathLink {
    /// Rate that queues are sized by.
    pub nominal: Rate,
    /// Lowest rate above zero during a run.
    pub least: Rate,
    /// Highest rate over an RTT during a run.
    pub peak: Rate,
    queue: QueueLimit,
}

impl PathLink {
    /// Returns the capacity of the link's queue on `path`.
    pub fn queue_bytes(&self, path: &ResolvedPath, mtu: Bytes) -> Bytes {
        queue_bytes(self.queue, self.nominal, path.rtt, mtu)
    }
}

impl ResolvedPath {
    /// Returns true if rates, delays, times of loss or routes change in the course of a run.
    pub fn changes(&self) -> bool {
        let endless = self.orbit.is_some() || !self.drawn.is_empty();
        last_change(&self.hops, endless).is_some()
    }

    /// Checks that something changes of which `notice` is given.
    fn check_notice(&self, notice: Option<&Spanned<Span>>) -> Result<(), Problem> {
        let recorded = self.replay.as_ref().is_some_and(|replay| replay.change.is_some());
        match notice {
            Some(notice) if self.drawn.is_empty() && !recorded => Err(Problem::new(
                notice.span(),
                "`path_change_notice` has no effect on a path without known changes; allowed: \
                    beside a `reconfiguration`, also that of a profile, or `change` in \
                    [path.recording]",
            )),
            _ => Ok(()),
        }
    }

    /// Returns every link that carries data in `direction`; with an orbit, every kind of link.
    pub fn links(&self, direction: Direction) -> Vec<PathLink> {
        if let Some(orbit) = &self.orbit {
            let kinds = orbit.kinds.used();
            return kinds.map(|kind| self.link(None, &kind.model, &kind.config)).collect();
        }
        let hops = self.hops.iter().zip(&self.configs).enumerate();
        hops.map(|(index, (hop, (forward, reverse)))| match direction {
            Direction::Download => self.link(Some(index), &hop.forward, forward),
            Direction::Upload => self.link(Some(index), &hop.reverse, reverse),
        })
        .collect()
    }

    fn link(
        &self,
        hop: Option<usize>,
        model: &DirectionModel,
        config: &DirectionConfig,
    ) -> PathLink {
        let (least, peak) = self.rates(hop, model);
        PathLink { nominal: model.nominal_rate(), least, peak, queue: config.queue.limit }
    }

    /// Returns true if two runs can differ on this path.
    pub fn is_random(&self) -> bool {
        let orbit = self.orbit.as_ref();
        !self.drawn.is_empty()
            || self.replay.as_ref().is_some_and(Replay::is_random)
            || self
                .configs
                .iter()
                .any(|(forward, reverse)| is_random(forward) || is_random(reverse))
            || orbit.is_some_and(|orbit| {
                orbit.start_window.is_some()
                    || orbit.kinds.used().any(|kind| is_random(&kind.config))
            })
    }
}

/// Returns when `hops` change for the last time: [`Time::MAX`] if they change again and again, or
/// if the path is `endless` for another reason; `None` if they never change.
pub(super) fn last_change(hops: &[HopSpec], endless: bool) -> Option<Time> {
    let changes = hops.iter().flat_map(|hop| [&hop.forward, &hop.reverse]);
    let changes = changes.filter_map(DirectionModel::last_change);
    changes.chain(endless.then_some(Time::MAX)).max()
}

/// Resolves the path of `scenario`. Traces are read from `files`.
///
/// # Errors
/// The profile does not exist, a direction has no rate or delay, or a trace cannot be read.
pub(crate) fn resolve_path(
    scenario: &Scenario,
    files: &Arc<InputFiles>,
) -> Result<ResolvedPath, Problem> {
    let section = scenario.path.get_ref();
    let mut path = ResolvedPath {
        hops: Vec::new(),
        configs: Vec::new(),
        drawn: Vec::new(),
        rtt: Span::ZERO,
        extremes: Extremes::default(),
        profile: None,
        orbit: None,
        replay: None,
        notes: Vec::new(),
    };
    if let Some(orbit) = resolve_orbit(scenario, files)? {
        path.rtt = orbit.rtt;
        path.extremes = orbit.extremes;
        path.orbit = Some(Arc::new(orbit));
        path.add_hop_extremes();
        return Ok(path);
    }
    if let Some(contacts) = &section.contacts {
        for hop in contact_hops(contacts, files)? {
            let section = HopSection {
                name: &hop.name,
                profile: None,
                forward: Some(&hop.forward),
                reverse: Some(&hop.reverse),
                delays: None,
                shared: section.shared.unwrap_or(true),
                change: None,
                span: contacts.span(),
            };
            add_hop(&mut path, &section, scenario, files)?;
        }
        known_hops(&path, scenario)?;
    } else if section.hop.is_empty() {
        let span = scenario.path.span();
        let half = section.rtt.as_ref().map(|rtt| {
            let half = DirectionPatch {
                delay: Some(DelayConfig::Constant(*rtt.get_ref() / 2)),
                ..DirectionPatch::default()
            };
            [half.clone(), half]
        });
        let light = light(section.light_time.as_ref(), scenario)?;
        path.profile = lookup(section.profile.as_ref())?;
        let hop = HopSection {
            name: ONLY_HOP,
            profile: path.profile,
            forward: section.forward.as_ref(),
            reverse: section.reverse.as_ref(),
            delays: half.as_ref().or(light.as_ref()),
            shared: section.shared.unwrap_or(true),
            change: section.reconfiguration.as_ref(),
            span,
        };
        add_hop(&mut path, &hop, scenario, files)?;
    }
    for spanned in &section.hop {
        let hop = spanned.get_ref();
        let light = light(hop.light_time.as_ref(), scenario)?;
        let section = HopSection {
            name: hop.name.get_ref(),
            profile: lookup(hop.profile.as_ref())?,
            forward: hop.forward.as_ref(),
            reverse: hop.reverse.as_ref(),
            delays: light.as_ref(),
            shared: hop.shared.or(section.shared).unwrap_or(true),
            change: hop.reconfiguration.as_ref(),
            span: spanned.span(),
        };
        add_hop(&mut path, &section, scenario, files)?;
    }
    path.add_recordings(scenario)?;
    path.check_notice(section.path_change_notice.as_ref())?;
    path.add_hop_extremes();
    Ok(path)
}

/// Checks that the captured hop and that of proxies are hops of a contact plan, whose names are
/// known only now.
fn known_hops(path: &ResolvedPath, scenario: &Scenario) -> Result<(), Problem> {
    let pep = scenario.path.get_ref().pep.as_ref().and_then(|pep| pep.get_ref().hop.as_ref());
    let names = || path.hops.iter().map(|hop| hop.name.as_str());
    for hop in scenario.output.capture.iter().chain(pep) {
        if !names().any(|name| name == hop.get_ref()) {
            return Err(Problem::not_one_of(hop.span(), "hop", hop.get_ref(), names()));
        }
    }
    Ok(())
}

/// A hop of the scenario.
struct HopSection<'a> {
    name: &'a str,
    profile: Option<&'static Profile>,
    forward: Option<&'a Spanned<DirectionPatch>>,
    reverse: Option<&'a Spanned<DirectionPatch>>,
    /// Delays towards the client and towards the server, of `path.rtt` or a `light_time`.
    delays: Option<&'a [DirectionPatch; 2]>,
    shared: bool,
    /// Changes that the scenario gives.
    change: Option<&'a Spanned<Reconfiguration>>,
    /// Location in the text of the scenario.
    span: std::ops::Range<usize>,
}

/// Returns the delays of a `light_time` over the longest run of `scenario`.
fn light(
    section: Option<&Spanned<LightTimeSection>>,
    scenario: &Scenario,
) -> Result<Option<[DirectionPatch; 2]>, Problem> {
    let limit = *scenario.time_limit.get_ref();
    section.map(|section| light_time_delays(section, limit)).transpose()
}

/// Finds the profile called `name`.
fn lookup(name: Option<&Spanned<String>>) -> Result<Option<&'static Profile>, Problem> {
    let Some(name) = name else { return Ok(None) };
    if let Some(found) = profile(name.get_ref()) {
        return Ok(Some(found));
    }
    let names: Vec<&str> = profiles().iter().map(|profile| profile.name.as_str()).collect();
    let problem =
        Problem::not_one_of(name.span(), "profile", name.get_ref(), names.iter().copied());
    // Without a similar name to suggest, point to the list.
    Err(if nearest(name.get_ref(), &names).is_some() {
        problem
    } else {
        problem.help("`bentpipe profiles` lists them")
    })
}

fn add_hop(
    path: &mut ResolvedPath,
    hop: &HopSection<'_>,
    scenario: &Scenario,
    files: &Arc<InputFiles>,
) -> Result<(), Problem> {
    let mut models = Vec::new();
    let mut configs = Vec::new();
    let forward = recorded(hop.forward, hop, files)?;
    let reverse = recorded(hop.reverse, hop, files)?;
    let [towards_client, towards_server] =
        hop.delays.map_or([None, None], |both| both.each_ref().map(Some));
    for (key, patch, base, delay) in [
        ("forward", &forward, hop.profile.map(|profile| &profile.forward), towards_client),
        ("return", &reverse, hop.profile.map(|profile| &profile.reverse), towards_server),
    ] {
        let patch = patch.as_ref();
        let span = patch.map_or(hop.span.clone(), Spanned::span);
        let config = direction(key, base, delay, patch.map(Spanned::get_ref))
            .map_err(|message| Problem::new(span.clone(), message))?;
        // The number of terminals that share the carrier is not known earlier.
        let terminals = if hop.shared { *scenario.path.get_ref().terminals.get_ref() } else { 1 };
        check_cra(&config, terminals as u64)
            .map_err(|message| Problem::new(span.clone(), message))?;
        // Only patches name files, so a read error points to the patch.
        models
            .push(config.load(&**files).map_err(|error| Problem::new(span, error_chain(&error)))?);
        path.rtt += idle_delay(&config);
        configs.push(config);
    }
    let (Some(reverse_model), Some(forward_model)) = (models.pop(), models.pop()) else {
        return Ok(());
    };
    let (Some(reverse_config), Some(forward_config)) = (configs.pop(), configs.pop()) else {
        return Ok(());
    };
    let index = path.hops.len();
    if let Some(change) = hop.change {
        changeable(change, &forward_config, &reverse_config)?;
        path.drawn.push(DrawnHop {
            index,
            base: (forward_config.clone(), reverse_config.clone()),
            change: change.get_ref().clone(),
            forward: Vec::new(),
            reverse: Vec::new(),
            files: Arc::clone(files),
        });
    } else if let Some((profile, change)) = hop.profile.and_then(|profile| {
        profile.reconfiguration.as_ref().map(|change| (profile, change.clone()))
    }) {
        let patches = |delay: Option<&DirectionPatch>, own: &Option<Spanned<DirectionPatch>>| {
            delay.into_iter().chain(own.as_ref().map(Spanned::get_ref)).cloned().collect()
        };
        path.drawn.push(DrawnHop {
            index,
            base: (profile.forward.clone(), profile.reverse.clone()),
            change,
            forward: patches(towards_client, &forward),
            reverse: patches(towards_server, &reverse),
            files: Arc::clone(files),
        });
    }
    let alone = *scenario.path.get_ref().terminals.get_ref() == 1;
    path.configs.push((forward_config, reverse_config));
    path.hops.push(HopSpec {
        name: hop.name.to_owned(),
        forward: forward_model,
        reverse: reverse_model,
        shared: hop.shared || alone,
    });
    Ok(())
}

/// Checks that the directions of a hop can follow the changes that the scenario gives.
fn changeable(
    change: &Spanned<Reconfiguration>,
    forward: &DirectionConfig,
    reverse: &DirectionConfig,
) -> Result<(), Problem> {
    let refused = |message: String| Err(Problem::new(change.span(), message));
    for (key, direction) in [("forward", forward), ("return", reverse)] {
        let (DelayConfig::Constant(delay), RateConfig::Constant(_) | RateConfig::Demand(_)) =
            (&direction.delay, &direction.rate)
        else {
            return refused(format!(
                "`reconfiguration` changes a constant rate and delay, and those of `{key}` change \
                    already; allowed: a rate and a delay"
            ));
        };
        if matches!(direction.rate, RateConfig::Demand(_)) {
            check_demand(key, change.get_ref()).or_else(refused)?;
        }
        let most = change.get_ref().rtt.map_or(change.get_ref().rtt_step, |levels| levels.spread);
        if most / 2 > *delay {
            return refused(format!(
                "an RTT that falls by {most} needs a delay of {} in each direction, and `{key}` \
                    has {delay}; allowed: more delay, or less `spread`",
                most / 2
            ));
        }
    }
    Ok(())
}

/// Checks that a rate on demand can follow the changes: growth replaces factors and ramps.
fn check_demand(key: &str, change: &Reconfiguration) -> Result<(), String> {
    let ramp = if key == "forward" { &change.ramp.forward } else { &change.ramp.reverse };
    if change.rate_factor != (1.0, 1.0) || !ramp.is_empty() {
        return Err(format!(
            "`rate_factor` and `ramp` change a constant rate, and that of `{key}` grows on demand; \
                allowed: neither of them, or a constant rate"
        ));
    }
    Ok(())
}

/// Returns the patch of a direction with the columns of its recording.
fn recorded(
    patch: Option<&Spanned<DirectionPatch>>,
    hop: &HopSection<'_>,
    files: &InputFiles,
) -> Result<Option<Spanned<DirectionPatch>>, Problem> {
    let Some(patch) = patch else { return Ok(None) };
    let whole = patch
        .get_ref()
        .with_recording(files)
        .map_err(|error| Problem::new(patch.span(), error_chain(&error)))?;
    if hop.delays.is_some() && patch.get_ref().delay.is_none() && whole.delay.is_some() {
        let message = "`rtt` sets the delay of both directions, or `light_time` does, and this \
            recording has delays too; allowed: one of the two";
        return Err(Problem::new(patch.span(), message));
    }
    Ok(Some(Spanned::new(patch.span(), whole)))
}

/// Returns one direction of a hop: the profile `base` with its overrides, or `patch` alone.
fn direction(
    key: &str,
    base: Option<&DirectionConfig>,
    delay: Option<&DirectionPatch>,
    patch: Option<&DirectionPatch>,
) -> Result<DirectionConfig, String> {
    let patch = patch.cloned().unwrap_or_default();
    let mut config = match base {
        Some(base) => base.clone(),
        None => {
            let missing = |what: &str, example: &str| {
                format!(
                    "`{key}` has no `{what}`, and no profile provides one; allowed: \
                        {what} = \"{example}\", or a `profile`"
                )
            };
            let delay = delay.and_then(|given| given.delay.clone()).or_else(|| patch.delay.clone());
            DirectionConfig {
                rate: patch.rate.clone().ok_or_else(|| missing("rate", "50 Mbps"))?,
                delay: delay.ok_or_else(|| missing("delay", "300 ms"))?,
                loss: patch.loss.clone().unwrap_or_default(),
                queue: QueueConfig::default(),
                policer: PolicerConfig::None,
                flow_meter: FlowMeterConfig::None,
                frame: None,
                allocation: CapacityAllocation::None,
            }
        }
    };
    for patch in delay.into_iter().chain([&patch]) {
        patch.apply_to(&mut config);
    }
    Ok(config)
}

/// Checks that the link can carry the constant rate assignment of all `terminals` together.
fn check_cra(config: &DirectionConfig, terminals: u64) -> Result<(), String> {
    let (Some(dama), Some(rate)) = (config.allocation.dama(), config.rate.highest()) else {
        return Ok(());
    };
    if dama.cra.as_bps().saturating_mul(terminals) <= rate.as_bps() {
        return Ok(());
    }
    let max = Rate::from_bps(rate.as_bps() / terminals.max(1));
    Err(format!(
        "cra = {} for each of {terminals} terminals exceeds the {rate} that they share; \
            allowed: up to {max}",
        dama.cra
    ))
}

/// Returns true if two runs can differ in this direction.
fn is_random(direction: &DirectionConfig) -> bool {
    let loss = direction.loss.processes.iter().any(|process| process.model.is_random());
    let jitter = match &direction.delay {
        DelayConfig::Jitter { jitter, .. } => !jitter.is_zero(),
        DelayConfig::Schedule { schedule, .. } => {
            schedule.iter().any(|step| !step.jitter.is_zero())
        }
        DelayConfig::Constant(_) | DelayConfig::Recording(_) => false,
    };
    // The phase of frames and of capacity requests is drawn for each run.
    let frames =
        direction.frame.is_some_and(|frame| !frame.is_zero()) || !direction.allocation.is_none();
    loss || jitter || frames || direction.queue.discipline.is_random()
}
