//! Checks of a network's description.

use super::spec::{FIBRE_FACTOR, NetworkSpec, Node};
use crate::{OrbitError, SPEED_OF_LIGHT, SatelliteSelection};
use bentpipe_units::Span;
use std::collections::BTreeMap;

/// Longest delay of a fibre: more than three times around the Earth.
const LONGEST_FIBRE: Span = Span::from_secs(1);

fn wrong(what: String, value: impl ToString, allowed: &str) -> OrbitError {
    OrbitError::Value { what, value: value.to_string(), allowed: allowed.into() }
}

/// Checks coordinates, elevations, lengths and outages.
pub(super) fn ranges(spec: &NetworkSpec) -> Result<(), OrbitError> {
    if spec.constellation.len() + spec.stations.len() > u32::MAX as usize / 2 {
        let nodes = spec.constellation.len() + spec.stations.len();
        return Err(wrong("a number of satellites and stations".into(), nodes, "up to 2147483647"));
    }
    for station in &spec.stations {
        let within = |what: &str, value: f64, low: f64, high: f64, unit: &str| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            let what = format!("{what} of station `{}`", station.name);
            Err(wrong(what, value, &format!("{low} to {high} {unit}")))
        };
        within("a latitude", station.place.latitude_deg, -90.0, 90.0, "degrees")?;
        within("a longitude", station.place.longitude_deg, -180.0, 180.0, "degrees")?;
        within("an altitude", station.place.altitude_m, -1_000.0, 100_000.0, "metres")?;
        if let Some(elevation) = station.min_elevation_deg {
            within("a minimum elevation", elevation, 0.0, 90.0, "degrees")?;
        }
        if station.selection == SatelliteSelection::All && !station.handover_outage.is_zero() {
            let what = format!("a handover outage of station `{}`", station.name);
            return Err(wrong(
                what,
                station.handover_outage,
                "0, unless its selection has one satellite at a time",
            ));
        }
    }
    for (what, range) in [
        ("a maximum ISL length", spec.max_isl_length_m),
        ("a maximum ground link length", spec.max_ground_link_length_m),
    ] {
        if range.is_some_and(|range| !(range > 0.0 && range.is_finite())) {
            return Err(wrong(what.into(), range.unwrap_or_default(), "more than 0 metres"));
        }
    }
    Ok(())
}

/// Returns all nodes by name. Station names are unique; of satellites that share a name, the first
/// counts.
pub(super) fn names(spec: &NetworkSpec) -> Result<BTreeMap<String, Node>, OrbitError> {
    let satellites = spec.constellation.len();
    let mut names = BTreeMap::new();
    for index in 0..satellites {
        names.entry(spec.constellation.name(index).to_owned()).or_insert(Node(index as u32));
    }
    for (index, station) in spec.stations.iter().enumerate() {
        if names.insert(station.name.clone(), Node((satellites + index) as u32)).is_some() {
            let what = "a name of a station".into();
            return Err(wrong(
                what,
                format!("`{}`", station.name),
                "one that no other station or satellite has",
            ));
        }
    }
    Ok(names)
}

/// Returns fibres with their ends resolved and their delays computed.
pub(super) fn fibres(
    spec: &NetworkSpec,
    names: &BTreeMap<String, Node>,
) -> Result<Vec<(Node, Node, Span)>, OrbitError> {
    let satellites = spec.constellation.len();
    let station = |name: &str| {
        let index = names.get(name).and_then(|node| (node.0 as usize).checked_sub(satellites));
        index.ok_or_else(|| OrbitError::Unknown {
            what: "station at the end of a fibre",
            name: name.into(),
            help: "a fibre connects two stations of this network".into(),
        })
    };
    let mut fibres: Vec<(Node, Node, Span)> = Vec::with_capacity(spec.fibres.len());
    for fibre in &spec.fibres {
        let (from, to) = (station(&fibre.from)?, station(&fibre.to)?);
        let ends = [from, to].map(|index| Node((satellites + index) as u32));
        let named = format!("`{}` to `{}`", fibre.from, fibre.to);
        if from == to {
            return Err(wrong("a fibre".into(), named, "one between two different stations"));
        }
        if fibres.iter().any(|&(a, b, _)| [a, b] == ends || [b, a] == ends) {
            return Err(wrong("a second fibre".into(), named, "one between two stations"));
        }
        let geodesic = || {
            let length = spec.stations[from].place.distance_m(spec.stations[to].place);
            Span::from_secs_f64(length * FIBRE_FACTOR / SPEED_OF_LIGHT)
        };
        let delay = fibre.delay.unwrap_or_else(geodesic);
        if delay > LONGEST_FIBRE {
            return Err(wrong(format!("a delay of the fibre {named}"), delay, "up to 1 s"));
        }
        fibres.push((ends[0], ends[1], delay.max(Span::from_nanos(1))));
    }
    Ok(fibres)
}
