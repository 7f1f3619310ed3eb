//! Checks of `[path.orbit]` beyond the types.

use crate::error::Problem;
use crate::limits::{Check, above_zero, one_of};
use crate::orbit::{FibreSection, OrbitSection, ShellSection, StationSection};
use crate::orbit_text::Begin;
use crate::recording::not_recorded;
use crate::scenario::{PathSection, Scenario};
use bentpipe_link::DirectionPatch;
use bentpipe_orbit::SatelliteSelection;
use bentpipe_units::Length;
use serde_spanned::Spanned;
use std::ops::{Range, RangeInclusive};

/// Checks `[path.orbit]`, and that no key excludes it.
pub(super) fn orbit(scenario: &Scenario) -> Check {
    let path = scenario.path.get_ref();
    let Some(spanned) = &path.orbit else { return ends_without_orbit(scenario) };
    beside(path)?;
    if let Some(capture) = &scenario.output.capture {
        let message =
            "`capture` names a hop, and a path with an orbit has none; allowed: no `capture`";
        return Err(Problem::new(capture.span(), message));
    }
    let orbit = spanned.get_ref();
    satellites(orbit, spanned.span())?;
    time(orbit)?;
    links(orbit)?;
    let all = orbit.satellite_selection.unwrap_or_default();
    elevation(orbit.min_elevation_deg.as_ref())?;
    if all == SatelliteSelection::All
        && orbit.station.iter().all(|station| handover_selection(station.get_ref(), all).is_none())
    {
        handover_outage(orbit.handover_outage.as_ref())?;
    }
    let mut seen: Vec<&str> = Vec::new();
    for station in &orbit.station {
        let name = &station.get_ref().name;
        if name.get_ref().trim().is_empty() || name.get_ref().len() > 64 {
            let message =
                format!("`{name}` is not a valid name for a station; allowed: 1 to 64 characters");
            return Err(Problem::new(name.span(), message));
        }
        if seen.contains(&name.get_ref().as_str()) {
            let message =
                format!("a station named `{name}` already exists; allowed: each name once");
            return Err(Problem::new(name.span(), message));
        }
        seen.push(name.get_ref());
        self::station(station.get_ref(), station.span(), all)?;
    }
    orbit.fibre.iter().try_for_each(|fibre| self::fibre(fibre.get_ref()))?;
    ends(scenario)
}

/// Returns an error for keys of a path with hops.
fn beside(path: &PathSection) -> Check {
    let beside = [
        ("profile", path.profile.as_ref().map(Spanned::span)),
        ("hop", path.hop.first().map(Spanned::span)),
        ("forward", path.forward.as_ref().map(Spanned::span)),
        ("return", path.reverse.as_ref().map(Spanned::span)),
        ("rtt", path.rtt.as_ref().map(Spanned::span)),
        ("light_time", path.light_time.as_ref().map(Spanned::span)),
        ("reconfiguration", path.reconfiguration.as_ref().map(Spanned::span)),
        ("pep", path.pep.as_ref().map(Spanned::span)),
        ("path_change_notice", path.path_change_notice.as_ref().map(Spanned::span)),
    ];
    if let Some((key, Some(span))) = beside.into_iter().find(|(_, span)| span.is_some()) {
        let message = format!(
            "`path.{key}` and [path.orbit] exclude each other; allowed: either hops or an orbit"
        );
        return Err(Problem::new(span, message));
    }
    if *path.terminals.get_ref() != 1 {
        let message =
            "`terminals` has no effect on a path with an orbit; allowed: `from` and `to` of each \
                flow"
                .to_owned();
        return Err(Problem::new(path.terminals.span(), message));
    }
    Ok(())
}

fn satellites(orbit: &OrbitSection, span: Range<usize>) -> Check {
    match (&orbit.constellation, orbit.shell.as_slice()) {
        (None, []) => Err(Problem::new(
            span,
            "the orbit has no satellite; allowed: `constellation`, or a [[path.orbit.shell]]",
        )
        .help("constellation = \"kuiper-630\" (`bentpipe constellations` lists them)")),
        (Some(_), [shell, ..]) => Err(Problem::new(
            shell.span(),
            "`shell` and `constellation` exclude each other; allowed: one of them",
        )),
        (_, shells) => {
            shells.iter().try_for_each(|shell| self::shell(shell.get_ref(), shell.span()))
        }
    }
}

fn shell(shell: &ShellSection, span: Range<usize>) -> Check {
    let given = [
        ("altitude", shell.altitude.is_some()),
        ("mean_motion_rev_per_day", shell.mean_motion_rev_per_day.is_some()),
    ];
    one_of(&given, span, "the shell has no height")?;
    // The upper bound lies above the geostationary orbit; a larger value is a typing error.
    match &shell.altitude {
        Some(altitude) => {
            length("altitude", altitude, Length::from_km(150)..=Length::from_km(50_000))
        }
        None => Ok(()),
    }
}

fn time(orbit: &OrbitSection) -> Check {
    if let Some(step) = &orbit.step {
        above_zero("step", step)?;
    }
    if let Some(notice) = &orbit.path_change_notice {
        above_zero("path_change_notice", notice)?;
    }
    if let Some(window) = &orbit.start_window {
        above_zero("start_window", window)?;
        if orbit.at.as_ref().is_none_or(|at| *at.get_ref() != Begin::Random) {
            let message = "`start_window` is the range of at = \"random\"; allowed only beside it";
            return Err(Problem::new(window.span(), message));
        }
    }
    match &orbit.path_change_notice {
        Some(notice) if orbit.is_static => {
            let message =
                "`path_change_notice` has no effect if `static` is true; allowed: one of the two";
            Err(Problem::new(notice.span(), message))
        }
        _ => Ok(()),
    }
}

fn links(orbit: &OrbitSection) -> Check {
    orbit.links.directions().try_for_each(|direction| {
        no_delay(direction)?;
        no_allocation(direction)?;
        not_recorded(direction)
    })?;
    if let Some(range) = &orbit.max_isl_length {
        length("max_isl_length", range, Length::from_km(1)..=Length::from_km(100_000))?;
    }
    if let Some(range) = &orbit.max_ground_link_length {
        length("max_ground_link_length", range, Length::from_km(1)..=Length::from_km(100_000))?;
    }
    Ok(())
}

fn no_delay(patch: &Spanned<DirectionPatch>) -> Check {
    if patch.get_ref().delay.is_none() {
        return Ok(());
    }
    let message = "the positions of their ends determine the `delay` of these links; allowed: \
        `rate`, `queue`, `loss`, `policer`, `flow_meter`, `frame`";
    Err(Problem::new(patch.span(), message))
}

fn no_allocation(patch: &Spanned<DirectionPatch>) -> Check {
    if patch.get_ref().allocation.as_ref().is_none_or(|allocation| allocation.is_none()) {
        return Ok(());
    }
    let message = "the capacity of these links cannot be allocated on demand: they have no \
        terminals; allowed: `rate`, `queue`, `loss`, `policer`, `flow_meter`, `frame`";
    Err(Problem::new(patch.span(), message))
}

fn length(key: &str, value: &Spanned<Length>, allowed: RangeInclusive<Length>) -> Check {
    if allowed.contains(value.get_ref()) {
        return Ok(());
    }
    let message = format!(
        "`{key}` of {value} is out of range; allowed: {} to {}",
        allowed.start(),
        allowed.end()
    );
    Err(Problem::new(value.span(), message))
}

fn degrees(key: &str, value: Option<&Spanned<f64>>, allowed: RangeInclusive<f64>) -> Check {
    match value {
        Some(value) if !allowed.contains(value.get_ref()) => {
            let message = format!(
                "`{key}` of {value} is out of range; allowed: {} to {}",
                allowed.start(),
                allowed.end()
            );
            Err(Problem::new(value.span(), message))
        }
        _ => Ok(()),
    }
}

fn elevation(value: Option<&Spanned<f64>>) -> Check {
    degrees("min_elevation_deg", value, 0.0..=90.0)
}

/// Returns the selection of a station if it uses one satellite at a time, and so hands over.
fn handover_selection(
    station: &StationSection,
    all: SatelliteSelection,
) -> Option<SatelliteSelection> {
    Some(station.satellite_selection.unwrap_or(all))
        .filter(|selection| *selection != SatelliteSelection::All)
}

fn handover_outage(value: Option<&Spanned<bentpipe_units::Span>>) -> Check {
    match value {
        Some(value) if !value.get_ref().is_zero() => {
            let message = "a station with links to all satellites in view has no handovers; \
                allowed: `handover_outage` with `satellite_selection` `highest`, `nearest`, \
                `longest` or `slots`";
            Err(Problem::new(value.span(), message))
        }
        _ => Ok(()),
    }
}

fn station(station: &StationSection, span: Range<usize>, all: SatelliteSelection) -> Check {
    elevation(station.min_elevation_deg.as_ref())?;
    if handover_selection(station, all).is_none() {
        handover_outage(station.handover_outage.as_ref())?;
    }
    degrees("latitude_deg", station.latitude_deg.as_ref(), -90.0..=90.0)?;
    degrees("longitude_deg", station.longitude_deg.as_ref(), -180.0..=180.0)?;
    // From below the shore of the Dead Sea to the altitude of balloons.
    degrees("altitude_m", station.altitude_m.as_ref(), -500.0..=50_000.0)?;
    let allowed = "allowed: `city`, or `latitude_deg` and `longitude_deg`";
    match (&station.city, &station.latitude_deg, &station.longitude_deg) {
        (Some(_), None, None) | (None, Some(_), Some(_)) => Ok(()),
        (Some(city), _, _) => Err(Problem::new(
            city.span(),
            format!("a `city` and coordinates exclude each other; {allowed}"),
        )),
        (None, _, _) => {
            Err(Problem::new(span, format!("the position of this station is missing; {allowed}")))
        }
    }
}

fn fibre(fibre: &FibreSection) -> Check {
    different(&fibre.from, &fibre.to, "a link")
}

fn different(from: &Spanned<String>, to: &Spanned<String>, what: &str) -> Check {
    if from.get_ref() != to.get_ref() {
        return Ok(());
    }
    Err(Problem::new(
        to.span(),
        format!("{what} from `{from}` to itself is impossible; allowed: two places"),
    ))
}

/// `from` and `to` of a flow in the scenario, and the flow's position in the text.
type WrittenEnds<'a> = (Option<&'a Spanned<String>>, Option<&'a Spanned<String>>, Range<usize>);

fn written_ends(scenario: &Scenario) -> Vec<WrittenEnds<'_>> {
    let flows = scenario.flows().iter();
    flows.map(|flow| (flow.ends.from.as_ref(), flow.ends.to.as_ref(), flow.span.clone())).collect()
}

fn ends(scenario: &Scenario) -> Check {
    for (from, to, span) in written_ends(scenario) {
        match (from, to) {
            (Some(from), Some(to)) => different(from, to, "a flow")?,
            _ => {
                let message = "a flow on a path with an orbit needs two places; allowed: `from` \
                    for its client and `to` for its server";
                return Err(
                    Problem::new(span, message).help("from = \"Toronto\"\nto = \"Washington\"")
                );
            }
        }
    }
    Ok(())
}

fn ends_without_orbit(scenario: &Scenario) -> Check {
    for (from, to, _) in written_ends(scenario) {
        if let Some(given) = from.or(to) {
            let message = format!(
                "`{given}` has no effect on a path without an orbit; allowed: `from` and `to` with \
                    [path.orbit]"
            );
            return Err(Problem::new(given.span(), message));
        }
    }
    Ok(())
}
