//! The path of a scenario: profiles filled in and overridden, traces read, round trip added up.

use super::orbit::{Kind, OrbitPath, resolve_orbit};
use bentpipe_link::{
    CapacityAllocation, DelayConfig, DirectionConfig, DirectionPatch, LossModel, PolicerConfig,
    QueueConfig, QueueLimit,
};
use bentpipe_results::{Direction, HopSummary, PathSummary};
use bentpipe_scenario::profiles::{
    Profile, describe, describe_without_delay, idle_delay, profile, profiles,
};
use bentpipe_scenario::{ONLY_HOP, Scenario};
use bentpipe_scenario::{Problem, nearest};
use bentpipe_sim::HopSpec;
use bentpipe_units::{Bytes, Rate, Span};
use serde_spanned::Spanned;
use std::path::Path;
use std::sync::Arc;

/// A hop that each run draws anew.
#[derive(Debug, Clone)]
pub(crate) struct DrawnHop {
    pub index: usize,
    pub profile: &'static Profile,
    pub forward: Vec<DirectionPatch>,
    pub reverse: Vec<DirectionPatch>,
}

/// A path, resolved.
pub(crate) struct Resolved {
    pub hops: Vec<HopSpec>,
    pub configs: Vec<(DirectionConfig, DirectionConfig)>,
    pub drawn: Vec<DrawnHop>,
    pub rtt: Span,
    pub profile: Option<&'static Profile>,
    pub orbit: Option<Arc<OrbitPath>>,
}

impl Resolved {
    /// Rate and queue of every link that data may meet on its way in `direction`; on an orbit, of
    /// every kind of link.
    pub fn links(&self, direction: Direction) -> Vec<(Rate, QueueLimit)> {
        if let Some(orbit) = &self.orbit {
            return orbit
                .kinds
                .used()
                .map(|kind| (kind.model.nominal_rate(), kind.config.queue.limit))
                .collect();
        }
        let hops = self.hops.iter().zip(&self.configs);
        hops.map(|(hop, (forward, reverse))| match direction {
            Direction::Download => (hop.forward.nominal_rate(), forward.queue.limit),
            Direction::Upload => (hop.reverse.nominal_rate(), reverse.queue.limit),
        })
        .collect()
    }

    /// True where two runs may meet it differently.
    pub fn is_random(&self) -> bool {
        let orbit = self.orbit.as_ref();
        !self.drawn.is_empty()
            || self
                .configs
                .iter()
                .any(|(forward, reverse)| is_random(forward) || is_random(reverse))
            || orbit.is_some_and(|orbit| {
                orbit.random.is_some() || orbit.kinds.used().any(|kind| is_random(&kind.config))
            })
    }
}

pub(crate) fn resolve_path(scenario: &Scenario, base_dir: &Path) -> Result<Resolved, Problem> {
    let section = scenario.path.get_ref();
    let mut path = Resolved {
        hops: Vec::new(),
        configs: Vec::new(),
        drawn: Vec::new(),
        rtt: Span::ZERO,
        profile: None,
        orbit: None,
    };
    if let Some(orbit) = resolve_orbit(scenario, base_dir)? {
        path.rtt = orbit.rtt;
        path.orbit = Some(Arc::new(orbit));
        return Ok(path);
    }
    if section.hop.is_empty() {
        let place = scenario.path.span();
        let half = section.rtt.as_ref().map(|rtt| DirectionPatch {
            delay: Some(DelayConfig::Constant(*rtt.get_ref() / 2)),
            ..DirectionPatch::default()
        });
        path.profile = lookup(section.profile.as_ref())?;
        let hop = HopText {
            name: ONLY_HOP,
            profile: path.profile,
            forward: section.forward.as_ref(),
            reverse: section.reverse.as_ref(),
            half: half.as_ref(),
            shared: section.shared.unwrap_or(true),
            place,
        };
        add_hop(&mut path, &hop, scenario, base_dir)?;
    }
    for spanned in &section.hop {
        let hop = spanned.get_ref();
        let text = HopText {
            name: hop.name.get_ref(),
            profile: lookup(hop.profile.as_ref())?,
            forward: hop.forward.as_ref(),
            reverse: hop.reverse.as_ref(),
            half: None,
            shared: hop.shared.or(section.shared).unwrap_or(true),
            place: spanned.span(),
        };
        add_hop(&mut path, &text, scenario, base_dir)?;
    }
    Ok(path)
}

/// One hop as the scenario writes it.
struct HopText<'a> {
    name: &'a str,
    profile: Option<&'static Profile>,
    forward: Option<&'a Spanned<DirectionPatch>>,
    reverse: Option<&'a Spanned<DirectionPatch>>,
    half: Option<&'a DirectionPatch>,
    shared: bool,
    place: std::ops::Range<usize>,
}

fn lookup(name: Option<&Spanned<String>>) -> Result<Option<&'static Profile>, Problem> {
    let Some(name) = name else { return Ok(None) };
    if let Some(found) = profile(name.get_ref()) {
        return Ok(Some(found));
    }
    let names: Vec<&str> = profiles().iter().map(|profile| profile.name.as_str()).collect();
    let problem =
        Problem::not_one_of(name.span(), "profile", name.get_ref(), names.iter().copied());
    // The profile's own suggestion, or the way to the table of all.
    Err(if nearest(name.get_ref(), &names).is_some() {
        problem
    } else {
        problem.help("`bentpipe profiles` says what each is")
    })
}

fn add_hop(
    path: &mut Resolved,
    hop: &HopText<'_>,
    scenario: &Scenario,
    base_dir: &Path,
) -> Result<(), Problem> {
    let mut models = Vec::new();
    let mut configs = Vec::new();
    for (key, patch, base) in [
        ("forward", hop.forward, hop.profile.map(|profile| &profile.forward)),
        ("return", hop.reverse, hop.profile.map(|profile| &profile.reverse)),
    ] {
        let place = patch.map_or(hop.place.clone(), Spanned::span);
        let config = direction(key, base, hop.half, patch.map(Spanned::get_ref))
            .map_err(|message| Problem::new(place.clone(), message))?;
        // Terminals that share the carrier are known here only.
        let terminals = if hop.shared { *scenario.path.get_ref().terminals.get_ref() } else { 1 };
        fits(&config, terminals as u64).map_err(|message| Problem::new(place.clone(), message))?;
        // Files are named by the patch: an error in reading them points there.
        models.push(config.load(base_dir).map_err(|error| Problem::new(place, chain(&error)))?);
        path.rtt += idle_delay(&config);
        configs.push(config);
    }
    let (Some(reverse), Some(forward)) = (models.pop(), models.pop()) else { return Ok(()) };
    let (Some(reverse_config), Some(forward_config)) = (configs.pop(), configs.pop()) else {
        return Ok(());
    };
    if let Some(profile) = hop.profile.filter(|profile| profile.reconfiguration.is_some()) {
        let patches = |own: Option<&Spanned<DirectionPatch>>| {
            hop.half
                .into_iter()
                .chain(own.map(Spanned::get_ref))
                .map(|patch| absolute(patch, base_dir))
                .collect()
        };
        path.drawn.push(DrawnHop {
            index: path.hops.len(),
            profile,
            forward: patches(hop.forward),
            reverse: patches(hop.reverse),
        });
    }
    let alone = *scenario.path.get_ref().terminals.get_ref() == 1;
    path.configs.push((forward_config, reverse_config));
    path.hops.push(HopSpec {
        name: hop.name.to_owned(),
        forward,
        reverse,
        shared: hop.shared || alone,
    });
    Ok(())
}

/// `patch` with its files found from anywhere.
fn absolute(patch: &DirectionPatch, base_dir: &Path) -> DirectionPatch {
    let mut patch = patch.clone();
    if let Some(bentpipe_link::RateConfig::Trace { file }) = &mut patch.rate {
        *file = base_dir.join(&*file);
    }
    for process in patch.loss.iter_mut().flat_map(|loss| &mut loss.processes) {
        if let LossModel::Trace(trace) = &mut process.model {
            trace.file = base_dir.join(&trace.file);
        }
    }
    patch
}

pub(super) fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}

fn direction(
    key: &str,
    base: Option<&DirectionConfig>,
    half: Option<&DirectionPatch>,
    patch: Option<&DirectionPatch>,
) -> Result<DirectionConfig, String> {
    let patch = patch.cloned().unwrap_or_default();
    let mut config = match base {
        Some(base) => base.clone(),
        None => {
            let missing = |what: &str, example: &str| {
                format!(
                    "`{key}` has no `{what}`, and there is no profile to take it from; allowed: \
                        {what} = \"{example}\", or a `profile`"
                )
            };
            let delay = half.and_then(|half| half.delay.clone()).or_else(|| patch.delay.clone());
            DirectionConfig {
                rate: patch.rate.clone().ok_or_else(|| missing("rate", "50 Mbps"))?,
                delay: delay.ok_or_else(|| missing("delay", "300 ms"))?,
                loss: patch.loss.clone().unwrap_or_default(),
                queue: QueueConfig::default(),
                policer: PolicerConfig::None,
                frame: None,
                allocation: CapacityAllocation::None,
            }
        }
    };
    for patch in half.into_iter().chain([&patch]) {
        patch.apply_to(&mut config);
    }
    Ok(config)
}

/// Constant rates that are promised to `terminals` are there.
fn fits(config: &DirectionConfig, terminals: u64) -> Result<(), String> {
    let (Some(dama), Some(rate)) = (config.allocation.dama(), config.rate.highest()) else {
        return Ok(());
    };
    if dama.cra.as_bps().saturating_mul(terminals) <= rate.as_bps() {
        return Ok(());
    }
    let most = Rate::from_bps(rate.as_bps() / terminals.max(1));
    Err(format!(
        "cra = {} for each of {terminals} terminals is more than the {rate} that they share; \
            allowed: up to {most}",
        dama.cra
    ))
}

/// True where two runs may meet this direction differently.
fn is_random(direction: &DirectionConfig) -> bool {
    let loss = direction.loss.processes.iter().any(|process| process.model.is_random());
    let jitter = matches!(direction.delay, DelayConfig::Jitter { jitter, .. } if !jitter.is_zero());
    // Where frames begin, and when terminals may ask, is drawn for each run.
    let frames =
        direction.frame.is_some_and(|frame| !frame.is_zero()) || !direction.allocation.is_none();
    loss || jitter || frames
}

pub(super) fn summary(path: &Resolved, bdp: Bytes) -> PathSummary {
    if let Some(orbit) = &path.orbit {
        return orbit_summary(orbit, bdp);
    }
    let hops = path.hops.iter().zip(&path.configs).enumerate().map(
        |(index, (hop, (forward, reverse)))| {
            let drawn = path.drawn.iter().find(|drawn| drawn.index == index);
            let period = drawn
                .and_then(|drawn| drawn.profile.reconfiguration.as_ref())
                .map(|change| change.period);
            let changes =
                period.map_or_else(String::new, |period| format!("; changes every {period}"));
            HopSummary {
                name: hop.name.clone(),
                forward: describe(forward) + &changes,
                reverse: describe(reverse) + &changes,
            }
        },
    );
    let hops: Vec<HopSummary> = hops.collect();
    let name = match path.profile {
        Some(profile) => profile.title.clone(),
        None => hops.iter().map(|hop| hop.name.as_str()).collect::<Vec<_>>().join(" + "),
    };
    PathSummary {
        name,
        hops,
        rtt_ms: path.rtt.as_millis_f64(),
        bdp_bytes: bdp.get(),
        profile: path.profile.map(|profile| profile.name.clone()),
        source: path.profile.map(|profile| profile.source.clone()),
    }
}

/// Links of a network by their kind: what goes towards satellites as the way to the server, what
/// comes from them as the way to the client.
fn orbit_summary(orbit: &OrbitPath, bdp: Bytes) -> PathSummary {
    let words = |kind: &Kind| describe_without_delay(&kind.config);
    let kinds = &orbit.kinds;
    let mut hops = vec![HopSummary {
        name: "ground".to_owned(),
        forward: words(&kinds.down),
        reverse: words(&kinds.up),
    }];
    for (name, kind) in [("inter-satellite", &kinds.isl), ("fibre", &kinds.fibre)] {
        if kind.used {
            hops.push(HopSummary {
                name: name.to_owned(),
                forward: words(kind),
                reverse: words(kind),
            });
        }
    }
    let network = &orbit.network;
    let (satellites, begins) = (network.satellites(), network.begins());
    let count =
        if satellites == 1 { "1 satellite".to_owned() } else { format!("{satellites} satellites") };
    PathSummary {
        name: match orbit.random {
            None => format!("{} ({count}) from {begins}", orbit.name),
            Some(within) => {
                format!("{} ({count}) from anywhere within {within} after {begins}", orbit.name)
            }
        },
        hops,
        rtt_ms: orbit.rtt.as_millis_f64(),
        bdp_bytes: bdp.get(),
        profile: None,
        source: None,
    }
}
