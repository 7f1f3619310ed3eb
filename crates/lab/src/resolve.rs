//! From a scenario at one sweep point to what the simulator is told: profiles filled in, `BDP` and `auto` turned into
//! bytes, the implied first visit added, and each run's draws made.

use crate::error::{LabError, Problem, nearest};
use crate::leo;
use crate::profiles::{Profile, describe, idle_delay, profile, profiles, queue_bytes};
use crate::results::Point;
use crate::scenario::{Direction, Flow, Scenario, Transport, VisitSection, Window, Workload};
use bentpipe_link::random::stream;
use bentpipe_link::{DelayConfig, DirectionConfig, DirectionPatch, LossModel, QueueConfig};
use bentpipe_quic::{Handshake, Settings};
use bentpipe_sim::{FlowSpec, HopSpec, Object, RunSpec, Visit};
use bentpipe_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};
use serde_spanned::Spanned;
use std::path::Path;

/// Name of the hop of a path that is not given as a list of hops.
pub(crate) const ONLY_HOP: &str = "access";
/// Smallest window that `auto` gives.
const SMALLEST_AUTO_WINDOW: Bytes = Bytes::from_mb(1);
/// Wait between the implied first visit and the one that is measured.
const DEFAULT_WAIT: Span = Span::from_secs(10);

/// One variant at one point: all of its runs differ by their draws alone.
#[derive(Debug, Clone)]
pub struct Case {
    /// The variant's name.
    pub variant: String,
    /// Where in the sweep.
    pub point: Point,
    /// What the path is, in words.
    pub path: PathSummary,
    /// True where runs differ.
    pub random: bool,
    spec: RunSpec,
    thinks: Vec<Span>,
    drawn: Vec<DrawnHop>,
}

/// A hop that each run draws anew.
#[derive(Debug, Clone)]
struct DrawnHop {
    index: usize,
    profile: &'static Profile,
    forward: Vec<DirectionPatch>,
    reverse: Vec<DirectionPatch>,
}

/// A path in words, for reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathSummary {
    /// The profile's title, or what the hops are called.
    pub name: String,
    /// Each hop, from the client to the server.
    pub hops: Vec<HopSummary>,
    /// The idle round trip.
    pub rtt_ms: f64,
    /// Bandwidth-delay product of the direction of the data.
    pub bdp_bytes: u64,
    /// The profile's name, where the path is one.
    pub profile: Option<String>,
    /// Where the profile's figures come from.
    pub source: Option<String>,
}

/// A hop in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HopSummary {
    /// Its name.
    pub name: String,
    /// Towards the client.
    pub forward: String,
    /// Towards the server.
    #[serde(rename = "return")]
    pub reverse: String,
}

/// The sizes that windows are made of.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    bdp: Bytes,
    queue: Bytes,
}

struct Resolved {
    hops: Vec<HopSpec>,
    configs: Vec<(DirectionConfig, DirectionConfig)>,
    drawn: Vec<DrawnHop>,
    rtt: Span,
    profile: Option<&'static Profile>,
}

/// Everything about variant number `variant` of `scenario` that does not change from run to run.
///
/// # Errors
/// A profile that does not exist, a direction without rate or delay, a trace that cannot be read.
pub(crate) fn resolve(scenario: &Scenario, variant: usize, point: &Point, base_dir: &Path) -> Result<Case, Problem> {
    let path = resolve_path(scenario, base_dir)?;
    let section = scenario.path.get_ref();
    let mtu = *section.mtu.get_ref();
    let own = scenario.variant.get(variant).map(|variant| variant.get_ref());
    let keys = own.map_or_else(|| scenario.defaults.clone(), |own| own.transport_keys().or(&scenario.defaults));

    let mut flows = Vec::new();
    let mut thinks = Vec::new();
    if let Some(work) = &scenario.workload {
        flows.push(flow("main", None, work.get_ref(), &keys, &path, mtu));
        thinks.push(work.get_ref().think.unwrap_or_default());
    }
    for spanned in &scenario.flow {
        let section = spanned.get_ref();
        let keys = section.transport_keys().or(&keys);
        flows.push(flow(section.name.get_ref(), Some(section), &section.workload_keys(), &keys, &path, mtu));
        thinks.push(section.think.unwrap_or_default());
    }

    let direction =
        flows.first().and_then(|flow| flow.visits.first()).map_or(Direction::Download, |visit| visit.direction.into());
    let random = thinks.iter().any(|think| !think.is_zero())
        || !path.drawn.is_empty()
        || path.configs.iter().any(|(forward, reverse)| is_random(forward) || is_random(reverse));
    Ok(Case {
        variant: own.map_or_else(|| "default".to_owned(), |own| own.name.get_ref().clone()),
        point: point.clone(),
        path: summary(&path, sizes(&path, direction, mtu).bdp),
        random,
        thinks,
        drawn: path.drawn,
        spec: RunSpec {
            seed: scenario.seed,
            run: 0,
            base_rtt: path.rtt,
            hops: path.hops,
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
    /// What the simulator is told for run number `run` with `seed`.
    ///
    /// # Errors
    /// A drawn path that cannot be built, which no profile allows.
    pub fn spec(&self, seed: u64, run: u64) -> Result<RunSpec, LabError> {
        let mut spec = self.spec.clone();
        spec.seed = seed;
        spec.run = run;
        for hop in &self.drawn {
            let name = &self.spec.hops[hop.index].name;
            let (mut forward, mut reverse) = leo::draw(hop.profile, seed, run, name);
            hop.forward.iter().for_each(|patch| patch.apply_to(&mut forward));
            hop.reverse.iter().for_each(|patch| patch.apply_to(&mut reverse));
            // Traces that patches name were read once already, by `resolve`; here they may only be asked for again.
            let load = |config: &DirectionConfig| config.load(Path::new(""));
            let failed = |error: bentpipe_link::LinkError| LabError::Run {
                variant: self.variant.clone(),
                point: String::new(),
                run,
                reason: error.to_string(),
            };
            let target = &mut spec.hops[hop.index];
            target.forward = load(&forward).map_err(failed)?;
            target.reverse = load(&reverse).map_err(failed)?;
        }
        for (flow, think) in spec.flows.iter_mut().zip(&self.thinks) {
            for (index, visit) in flow.visits.iter_mut().enumerate() {
                let share = stream(seed, run, &format!("think/{}/{index}", flow.name)).unit();
                visit.think = think.mul_f64(share);
            }
        }
        Ok(spec)
    }
}

fn resolve_path(scenario: &Scenario, base_dir: &Path) -> Result<Resolved, Problem> {
    let section = scenario.path.get_ref();
    let mut path =
        Resolved { hops: Vec::new(), configs: Vec::new(), drawn: Vec::new(), rtt: Span::ZERO, profile: None };
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
    let problem = Problem::not_one_of(name.span(), "profile", name.get_ref(), names.iter().copied());
    // The profile's own suggestion, or the way to the table of all.
    Err(if nearest(name.get_ref(), &names).is_some() {
        problem
    } else {
        problem.help("`bentpipe profiles` says what each is")
    })
}

fn add_hop(path: &mut Resolved, hop: &HopText<'_>, scenario: &Scenario, base_dir: &Path) -> Result<(), Problem> {
    let mut models = Vec::new();
    let mut configs = Vec::new();
    for (key, patch, base) in [
        ("forward", hop.forward, hop.profile.map(|profile| &profile.forward)),
        ("return", hop.reverse, hop.profile.map(|profile| &profile.reverse)),
    ] {
        let place = patch.map_or(hop.place.clone(), Spanned::span);
        let config = direction(key, base, hop.half, patch.map(Spanned::get_ref))
            .map_err(|message| Problem::new(place.clone(), message))?;
        // Files are named by the patch: an error in reading them points there.
        models.push(config.load(base_dir).map_err(|error| Problem::new(place, chain(&error)))?);
        path.rtt += idle_delay(&config);
        configs.push(config);
    }
    let (Some(reverse), Some(forward)) = (models.pop(), models.pop()) else { return Ok(()) };
    let (Some(reverse_config), Some(forward_config)) = (configs.pop(), configs.pop()) else { return Ok(()) };
    if let Some(profile) = hop.profile.filter(|profile| profile.reconfiguration.is_some()) {
        let patches = |own: Option<&Spanned<DirectionPatch>>| {
            hop.half.into_iter().chain(own.map(Spanned::get_ref)).map(|patch| absolute(patch, base_dir)).collect()
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
    path.hops.push(HopSpec { name: hop.name.to_owned(), forward, reverse, shared: hop.shared || alone });
    Ok(())
}

/// `patch` with its files found from anywhere.
fn absolute(patch: &DirectionPatch, base_dir: &Path) -> DirectionPatch {
    let mut patch = patch.clone();
    if let Some(bentpipe_link::RateConfig::Trace { file }) = &mut patch.rate {
        *file = base_dir.join(&*file);
    }
    for process in patch.loss.iter_mut().flat_map(|loss| &mut loss.processes) {
        if let LossModel::Trace { file } = &mut process.model {
            *file = base_dir.join(&*file);
        }
    }
    patch
}

fn chain(error: &dyn std::error::Error) -> String {
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
                    "`{key}` has no `{what}`, and there is no profile to take it from; allowed: {what} = \"{example}\", or a `profile`"
                )
            };
            let delay = half.and_then(|half| half.delay.clone()).or_else(|| patch.delay.clone());
            DirectionConfig {
                rate: patch.rate.clone().ok_or_else(|| missing("rate", "50 Mbps"))?,
                delay: delay.ok_or_else(|| missing("delay", "300 ms"))?,
                loss: patch.loss.clone().unwrap_or_default(),
                queue: QueueConfig::default(),
                frame: None,
            }
        }
    };
    for patch in half.into_iter().chain([&patch]) {
        patch.apply_to(&mut config);
    }
    Ok(config)
}

/// True where two runs may meet this direction differently.
fn is_random(direction: &DirectionConfig) -> bool {
    let loss = direction.loss.processes.iter().any(|process| match process.model {
        LossModel::Periodic { .. } | LossModel::Trace { .. } => false,
        LossModel::Bernoulli { ratio } => ratio.get() > 0.0 && ratio.get() < 1.0,
        _ => true,
    });
    let jitter = matches!(direction.delay, DelayConfig::Jitter { jitter, .. } if !jitter.is_zero());
    // Where frames begin is drawn for each run.
    loss || jitter || direction.frame.is_some_and(|frame| !frame.is_zero())
}

fn flow(name: &str, own: Option<&Flow>, work: &Workload, keys: &Transport, path: &Resolved, mtu: Bytes) -> FlowSpec {
    let visits = visits(work, keys.handshake.unwrap_or_default(), path, mtu);
    let direction = visits.first().map_or(Direction::Download, |visit| visit.direction.into());
    FlowSpec {
        name: name.to_owned(),
        terminal: own.and_then(|own| own.terminal.as_ref()).map_or(0, |terminal| *terminal.get_ref()),
        start: own.and_then(|own| own.at).unwrap_or_default(),
        settings: settings(keys, sizes(path, direction, mtu), mtu),
        visits,
    }
}

/// BDP and queue of the bottleneck in the direction of the data.
fn sizes(path: &Resolved, direction: Direction, mtu: Bytes) -> Sizes {
    let links = path.hops.iter().zip(&path.configs).map(|(hop, (forward, reverse))| match direction {
        Direction::Download => (hop.forward.nominal_rate(), forward.queue.limit),
        Direction::Upload => (hop.reverse.nominal_rate(), reverse.queue.limit),
    });
    let bottleneck = links.min_by_key(|(rate, _)| *rate);
    bottleneck.map_or(Sizes { bdp: Bytes::ZERO, queue: Bytes::ZERO }, |(rate, limit): (Rate, _)| Sizes {
        bdp: rate.bytes_in(path.rtt),
        queue: queue_bytes(limit, rate, path.rtt, mtu),
    })
}

fn settings(keys: &Transport, sizes: Sizes, mtu: Bytes) -> Settings {
    // A window that never limits: what fits on the path and in its queue, twice, since credit returns a round trip late.
    let auto = (sizes.bdp + sizes.queue).mul_f64(2.0).max(SMALLEST_AUTO_WINDOW);
    let window = |key: Option<Window>| match key.unwrap_or_default() {
        Window::Auto => auto,
        Window::Bytes(bytes) => bytes,
        // Never below a packet: a window of nothing would wait for ever.
        Window::Bdp(factor) => sizes.bdp.mul_f64(factor).max(mtu),
    };
    let largest = payload(mtu);
    let discovery = keys.mtu_discovery.unwrap_or(false);
    let default = Settings::default();
    // Without discovery the path's size is known; with it, it starts from what every path carries (RFC 9000 §14).
    let initial = keys.initial_mtu.as_ref().map(|bytes| u16::try_from(bytes.get_ref().get()).unwrap_or(largest));
    let initial = initial.unwrap_or(if discovery { 1200 } else { largest });
    Settings {
        congestion: keys.congestion.unwrap_or_default(),
        http: keys.http.unwrap_or_default(),
        ack: keys.ack.unwrap_or_default(),
        max_ack_delay: keys.max_ack_delay.unwrap_or(default.max_ack_delay),
        initial_rtt: keys.initial_rtt.as_ref().map_or(default.initial_rtt, |rtt| *rtt.get_ref()),
        initial_window: keys
            .initial_window
            .as_ref()
            .map_or(default.initial_window, |window| u32::try_from(*window.get_ref()).unwrap_or(u32::MAX)),
        stream_window: window(keys.stream_window),
        connection_window: window(keys.connection_window),
        send_window: window(keys.send_window),
        initial_mtu: initial,
        max_mtu: if discovery { largest } else { initial },
        idle_timeout: default.idle_timeout,
    }
}

fn payload(mtu: Bytes) -> u16 {
    let headers = crate::scenario::HEADERS;
    u16::try_from(mtu.get().saturating_sub(headers)).unwrap_or(u16::MAX)
}

fn visits(work: &Workload, handshake: Handshake, path: &Resolved, mtu: Bytes) -> Vec<Visit> {
    if let Some(sections) = &work.visits {
        let sections = sections.get_ref().iter().map(Spanned::get_ref).enumerate();
        return sections.map(|(index, section)| explicit_visit(section, index == 0, handshake)).collect();
    }
    let (direction, objects) =
        transfer(work.download.as_ref(), work.upload.as_ref(), work.objects.as_ref(), work.direction.as_ref());
    let visit =
        Visit { handshake, wait: Span::ZERO, think: Span::ZERO, direction: direction.into(), objects, reported: true };
    if handshake == Handshake::OneRtt {
        return vec![visit];
    }
    // A first visit gets the ticket and the token, and fills the path so that there is something to remember.
    let fill = sizes(path, direction, mtu).bdp.mul_f64(2.0).max(Bytes::from_mb(1));
    let first = Visit {
        handshake: Handshake::OneRtt,
        objects: vec![Object { name: "first-visit".to_owned(), bytes: fill }],
        reported: false,
        ..visit.clone()
    };
    let wait = work.wait.as_ref().map_or(DEFAULT_WAIT, |wait| *wait.get_ref());
    vec![first, Visit { wait, ..visit }]
}

fn explicit_visit(section: &VisitSection, first: bool, handshake: Handshake) -> Visit {
    let (direction, objects) = transfer(
        section.download.as_ref(),
        section.upload.as_ref(),
        section.objects.as_ref(),
        section.direction.as_ref(),
    );
    let later = if first { Handshake::OneRtt } else { handshake };
    Visit {
        handshake: section.handshake.as_ref().map_or(later, |handshake| *handshake.get_ref()),
        wait: section.wait.unwrap_or_default(),
        think: Span::ZERO,
        direction: direction.into(),
        objects,
        reported: section.report.unwrap_or(true),
    }
}

fn transfer(
    download: Option<&Spanned<Bytes>>,
    upload: Option<&Spanned<Bytes>>,
    objects: Option<&Spanned<Vec<crate::scenario::Object>>>,
    direction: Option<&Spanned<Direction>>,
) -> (Direction, Vec<Object>) {
    let single = |size: &Spanned<Bytes>| vec![Object { name: "object".to_owned(), bytes: *size.get_ref() }];
    match (download, upload, objects) {
        (Some(size), _, _) => (Direction::Download, single(size)),
        (None, Some(size), _) => (Direction::Upload, single(size)),
        (None, None, objects) => (
            direction.map_or(Direction::Download, |direction| *direction.get_ref()),
            objects
                .iter()
                .flat_map(|objects| objects.get_ref())
                .map(|object| Object { name: object.name.clone(), bytes: *object.size.get_ref() })
                .collect(),
        ),
    }
}

fn summary(path: &Resolved, bdp: Bytes) -> PathSummary {
    let hops = path.hops.iter().zip(&path.configs).map(|(hop, (forward, reverse))| HopSummary {
        name: hop.name.clone(),
        forward: describe(forward),
        reverse: describe(reverse),
    });
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
