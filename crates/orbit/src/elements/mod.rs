//! Published orbital elements: two-line element sets (with or without a name line) and OMM messages
//! in JSON.

mod element_set;
mod omm;
mod tle;

use crate::OrbitError;
use element_set::{Elements, refuse};

pub(crate) use element_set::MAX_SATELLITES;

/// Format of orbital elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementsFormat {
    /// Two-line elements: two or three lines per satellite.
    Tle,
    /// CCSDS Orbit Mean-elements Messages (CCSDS 502.0-B) in JSON, as published by CelesTrak and
    /// Space-Track.
    OmmJson,
}

impl ElementsFormat {
    /// Detects the format of `text`: JSON begins with a bracket or a brace.
    pub fn detect(text: &str) -> Self {
        match text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).chars().next() {
            Some('[' | '{') => Self::OmmJson,
            _ => Self::Tle,
        }
    }
}

/// Reads all satellites of `text`.
///
/// Skips empty lines, and lines in two-line sets that start with `#`. Satellites of the same name
/// get their catalogue numbers appended.
///
/// # Errors
///
/// Returns the first line that cannot be read: wrong checksum (with the computed one), wrong
/// length, invalid numbers, or two lines of different satellites.
pub(crate) fn read(text: &str, format: ElementsFormat) -> Result<Vec<Elements>, OrbitError> {
    let mut found = match format {
        ElementsFormat::Tle => tle::read(text),
        ElementsFormat::OmmJson => omm::read(text),
    }?;
    if found.is_empty() {
        return Err(refuse(
            1,
            "no satellite in the text; give two-line element sets, or OMM messages as JSON",
        ));
    }
    for each in &found {
        check(each)?;
    }
    make_names_unique(&mut found)?;
    Ok(found)
}

/// Rejects values that no orbit has: the propagator would turn some into invalid positions.
fn check(each: &Elements) -> Result<(), OrbitError> {
    let e = &each.elements;
    let ranges = [
        ("inclination", e.inclination, 0.0, 180.0),
        ("right ascension of the ascending node", e.right_ascension, -360.0, 360.0),
        ("eccentricity", e.eccentricity, 0.0, 1.0),
        ("argument of perigee", e.argument_of_perigee, -360.0, 360.0),
        ("mean anomaly", e.mean_anomaly, -360.0, 360.0),
        ("mean motion (revolutions per day)", e.mean_motion, 1e-6, 20.0),
        ("drag term B* (per Earth radius)", e.drag_term, -10.0, 10.0),
    ];
    for (what, value, low, high) in ranges {
        if !(low..=high).contains(&value) {
            let name = &each.name;
            return Err(refuse(
                each.line,
                format!("{what} of `{name}` is {value}; allowed: {low} to {high}"),
            ));
        }
    }
    Ok(())
}

/// Appends catalogue numbers to names that occur more than once. Rejects satellites that share name
/// and number.
fn make_names_unique(found: &mut [Elements]) -> Result<(), OrbitError> {
    let mut by_name: Vec<usize> = (0..found.len()).collect();
    by_name.sort_by(|&a, &b| found[a].name.cmp(&found[b].name).then(a.cmp(&b)));
    let shared: Vec<usize> = by_name
        .chunk_by(|&a, &b| found[a].name == found[b].name)
        .filter(|group| group.len() > 1)
        .flatten()
        .copied()
        .collect();
    for &index in &shared {
        let each = &mut found[index];
        each.name = format!("{} ({})", each.name, each.elements.norad_id);
    }
    let mut names: Vec<(&str, usize)> =
        found.iter().map(|each| (each.name.as_str(), each.line)).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(refuse(
            pair[1].1,
            format!("`{}` is already in line {}; keep only the newer one", pair[1].0, pair[0].1),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
