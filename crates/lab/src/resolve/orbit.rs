//! Resolves `[path.orbit]`: constellation, stations, links and flows.

use super::coverage::{Coverage, coverage};
use super::decayed::decayed_note;
use super::extremes::Extremes;
use super::orbit_links::link_kinds;
use super::orbit_path::OrbitPath;
use super::repeat::last_end;
use super::stations::{StationDefaults, Stations};
use bentpipe_link::{InputFiles, ReadFiles};
use bentpipe_orbit::{
    Constellation, Fibre, IslPattern, Network, NetworkSpec, OrbitError, PhaseShift, RouteUpdates,
    Shell, mean_motion_rev_per_day, presets,
};
use bentpipe_scenario::Problem;
use bentpipe_scenario::{
    Begin, ConstellationText, IslText, OrbitSection, PhaseText, RouteUpdatesName, Scenario,
    ShellSection,
};
use bentpipe_units::{Epoch, Span};
use serde_spanned::Spanned;
use std::sync::Arc;
/// Default epoch of shells: the start of 2000, UTC, as in the Hypatia study.
const SHELLS_EPOCH: Epoch = Epoch::from_unix_secs(946_684_800);
/// Default `step`: that of the Hypatia study.
const STEP: Span = Span::from_millis(100);
/// Default `start_window` of `at = "random"`.
const START_WINDOW: Span = Span::from_secs(3600);
/// Default minimum elevation of shells, in degrees: that of Starlink's first shells.
const SHELL_MIN_ELEVATION_DEG: f64 = 25.0;

/// Resolves the orbit of `scenario`, if it has one. Elements are read from `files`.
///
/// # Errors
/// The constellation, a station, a flow or a link is invalid. The error points to its key.
pub(super) fn resolve_orbit(
    scenario: &Scenario,
    files: &InputFiles,
) -> Result<Option<OrbitPath>, Problem> {
    let Some(spanned) = &scenario.path.get_ref().orbit else { return Ok(None) };
    let (section, whole) = (spanned.get_ref(), spanned.span());
    let (mut constellation, name, span) = constellation(section, files)?;
    let epoch = match &section.epoch {
        Some(epoch) => *epoch.get_ref(),
        None => constellation.epoch().map_err(|e| Problem::new(span.clone(), e.to_string()))?,
    };
    let (begins, start_window) = begins(section, epoch);
    let latest = scenario
        .flows()
        .iter()
        .filter_map(|flow| flow.placement.start_time)
        .max()
        .unwrap_or_default();
    let limit = *scenario.time_limit.get_ref();
    let length = if section.is_static { Span::ZERO } else { limit + latest };
    let decayed = constellation
        .drop_decayed(begins, length + start_window.unwrap_or_default())
        .map_err(|error| Problem::new(span.clone(), error.to_string()))?;

    let defaults = StationDefaults::new(section);
    let mut stations = Stations::default();
    for station in &section.station {
        stations.add(station.get_ref(), &defaults)?;
    }
    let fibres = fibres(section, &mut stations, &defaults)?;
    let flows = flow_ends(scenario, &mut stations, &defaults)?;
    let kinds = link_kinds(section, &constellation, !fibres.is_empty(), whole.clone(), files)?;
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
        Problem::new(network_span(section, &error).unwrap_or(whole.clone()), error.to_string())
    })?;
    let mut path = OrbitPath {
        network: Arc::new(network),
        step: route_updates(section),
        flows: Vec::new(),
        name,
        kinds,
        rtt: Span::ZERO,
        extremes: Extremes::default(),
        start_window,
        notes: decayed_note(&decayed).into_iter().collect(),
        spec,
        defaults,
        shared_ground: section.shared_ground_link,
        handover: section.handover_loss.unwrap_or_default(),
        path_change_notice: section.path_change_notice.as_ref().map(|notice| *notice.get_ref()),
    };
    path.flows =
        flows.into_iter().map(|(name, from, to)| path.flow_between(name, from, to)).collect();
    // A run begins within the window.
    let window = start_window.unwrap_or_default();
    let end = last_end(scenario).map(|end| end + window);
    let Coverage { rtt, extremes, notes } =
        coverage(&path.network, &path.flows, length + window, end)
            .map_err(|error| Problem::new(whole, error.to_string()))?;
    path.rtt = rtt;
    path.extremes = extremes;
    path.notes.extend(notes);
    Ok(Some(path))
}

/// Returns the epoch at which runs begin, or the first one and the window in which each draws its
/// own.
fn begins(section: &OrbitSection, epoch: Epoch) -> (Epoch, Option<Span>) {
    match section.at.as_ref().map(Spanned::get_ref) {
        Some(Begin::Random) => {
            let window = section.start_window.as_ref();
            (epoch, Some(window.map_or(START_WINDOW, |window| *window.get_ref())))
        }
        Some(Begin::At(at)) => (epoch + *at, None),
        None => (epoch, None),
    }
}

/// Returns the fibres, whose ends become stations.
fn fibres(
    section: &OrbitSection,
    stations: &mut Stations,
    defaults: &StationDefaults,
) -> Result<Vec<Fibre>, Problem> {
    let mut end = |name: &Spanned<String>| {
        let index = stations.fibre_end(name, defaults)?;
        Ok(stations.list[index].name.clone())
    };
    let each = section.fibre.iter().map(Spanned::get_ref);
    each.map(|fibre| Ok(Fibre { from: end(&fibre.from)?, to: end(&fibre.to)?, delay: fibre.delay }))
        .collect()
}

/// Returns the name of each flow and the indices of its stations.
fn flow_ends(
    scenario: &Scenario,
    stations: &mut Stations,
    defaults: &StationDefaults,
) -> Result<Vec<(String, usize, usize)>, Problem> {
    let mut flows = Vec::new();
    for flow in scenario.flows() {
        let (Some(from), Some(to)) = (&flow.ends.from, &flow.ends.to) else { continue };
        let from = stations.find_or_add_spanned(from, defaults)?;
        flows.push((flow.name().to_owned(), from, stations.find_or_add_spanned(to, defaults)?));
    }
    Ok(flows)
}

fn route_updates(section: &OrbitSection) -> RouteUpdates {
    let step = section.step.as_ref().map_or(STEP, |step| *step.get_ref());
    match (section.is_static, section.route_updates) {
        (true, _) => RouteUpdates::Static,
        (false, RouteUpdatesName::EventDriven) => RouteUpdates::EventDriven(step),
        (false, RouteUpdatesName::Stepped) => RouteUpdates::Stepped(step),
    }
}

/// Returns the location of the key that made the network invalid, if it can be identified.
fn network_span(section: &OrbitSection, error: &OrbitError) -> Option<std::ops::Range<usize>> {
    let OrbitError::Unknown { what, name, .. } = error else { return None };
    let avoided = section.avoid.iter().find(|avoided| avoided.get_ref() == name);
    let isl = section.isl.as_ref().filter(|_| *what == "satellite");
    avoided.map(Spanned::span).or_else(|| isl.map(Spanned::span))
}

/// Returns the constellation, its name, and its location in the text of the scenario.
fn constellation(
    section: &OrbitSection,
    files: &InputFiles,
) -> Result<(Constellation, String, std::ops::Range<usize>), Problem> {
    let epoch = section.epoch.as_ref().map_or(SHELLS_EPOCH, |epoch| *epoch.get_ref());
    let Some(given) = &section.constellation else {
        let span = section.shell.first().map_or(0..0, Spanned::span);
        let mut shells = Vec::new();
        for shell in &section.shell {
            let checked = own_shell(shell.get_ref());
            checked.check().map_err(|error| Problem::new(shell.span(), error.to_string()))?;
            shells.push(checked);
        }
        let names: Vec<&str> = shells.iter().map(|shell| shell.name.as_str()).collect();
        let name = names.join(" + ");
        return Constellation::from_shells(&shells, epoch)
            .map(|constellation| (constellation, name, span.clone()))
            .map_err(|error| Problem::new(span, error.to_string()));
    };
    let invalid = |message: String| Problem::new(given.span(), message);
    let (constellation, name) = match given.get_ref() {
        ConstellationText::Presets(names) => {
            let mut shells = Vec::new();
            for name in names {
                shells.extend(presets::shells(name).map_err(|error| invalid(error.to_string()))?);
            }
            let constellation = Constellation::from_shells(&shells, epoch)
                .map_err(|error| invalid(error.to_string()))?;
            (constellation, names.join(" + "))
        }
        ConstellationText::Elements(file) => {
            let path = files.location(file);
            let text = files
                .read(file)
                .map_err(|error| invalid(format!("cannot read {}: {error}", path.display())))?;
            let constellation = Constellation::from_elements(&text)
                .map_err(|error| invalid(format!("{}: {error}", path.display())))?;
            (constellation, file.display().to_string())
        }
    };
    Ok((constellation, name, given.span()))
}

/// Returns a shell that the scenario defines, with the defaults filled in.
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
        max_ground_link_length_m: None,
    }
}

/// Returns the pattern of inter-satellite links.
fn isl(section: &OrbitSection) -> IslPattern {
    match section.isl.as_ref().map(Spanned::get_ref) {
        None | Some(IslText::PlusGrid) => IslPattern::PlusGrid,
        Some(IslText::IntraPlane) => IslPattern::IntraPlane,
        Some(IslText::None) => IslPattern::None,
        Some(IslText::List(pairs)) => IslPattern::List(pairs.clone()),
    }
}
