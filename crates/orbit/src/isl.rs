//! Patterns of inter-satellite links.

use crate::constellation::Slot;
use crate::planes;
use crate::{Constellation, OrbitError, PhaseShift, Shell};
use std::collections::{BTreeMap, BTreeSet};

/// A pattern of inter-satellite links (ISLs). Each pair is one bidirectional link.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum IslPattern {
    /// +grid: the next satellite in the plane, and the same index in the next plane, with
    /// wrap-around. No link crosses the seam if planes are spread over 180 degrees.
    #[default]
    PlusGrid,
    /// The next satellite in the plane only.
    IntraPlane,
    /// No links: bent pipes.
    None,
    /// The listed pairs, by name.
    List(Vec<(String, String)>),
}

/// Returns the pairs of satellites that `pattern` links: indices in ascending order, each pair
/// once, lower index first.
///
/// With one or two satellites per plane, or one or two planes, no link is doubled and none is a
/// loop.
///
/// # Errors
///
/// If the list names an unknown satellite, or the pattern needs planes and none can be identified.
pub(crate) fn links(
    constellation: &Constellation,
    pattern: &IslPattern,
) -> Result<Vec<(u32, u32)>, OrbitError> {
    let mut links = BTreeSet::new();
    match pattern {
        IslPattern::None => {}
        IslPattern::List(pairs) => listed(constellation, pairs, &mut links)?,
        IslPattern::PlusGrid | IslPattern::IntraPlane => {
            let across = *pattern == IslPattern::PlusGrid;
            for (number, shell) in constellation.shells().iter().enumerate() {
                walker(constellation, number as u32, shell, across, &mut links);
            }
            if constellation.shells().is_empty() {
                for (a, b) in planes::links(constellation, across)? {
                    join(&mut links, a, b);
                }
            }
        }
    }
    Ok(links.into_iter().collect())
}

fn join(links: &mut BTreeSet<(u32, u32)>, a: u32, b: u32) {
    if a != b {
        links.insert((a.min(b), a.max(b)));
    }
}

/// Adds the links of one Walker shell. A missing satellite leaves its neighbours without a link to
/// it.
fn walker(
    constellation: &Constellation,
    number: u32,
    shell: &Shell,
    across: bool,
    links: &mut BTreeSet<(u32, u32)>,
) {
    let at: BTreeMap<Slot, u32> = (0..constellation.len())
        .filter_map(|index| constellation.slot(index).map(|slot| (slot, index as u32)))
        .filter(|(slot, _)| slot.shell == number)
        .collect();
    let (along, wrap) = index_shifts(shell);
    for (&slot, &satellite) in &at {
        let mut to = |plane: u32, index: u32| {
            if let Some(&other) = at.get(&Slot { plane, index, ..slot }) {
                join(links, satellite, other);
            }
        };
        to(slot.plane, (slot.index + 1) % shell.per_plane);
        if !across {
            continue;
        }
        let shifted =
            |by: i64| (i64::from(slot.index) + by).rem_euclid(i64::from(shell.per_plane)) as u32;
        if slot.plane + 1 < shell.planes {
            to(slot.plane + 1, shifted(along));
        } else if shell.planes > 2 && shell.raan_spread_deg >= 360.0 {
            to(0, shifted(wrap));
        }
    }
}

/// Returns the index offset of the neighbour in the next plane, and of the neighbour in the first
/// plane for satellites of the last.
///
/// With a phase shift of `s` spacings between planes, the same index is ahead by `s`, so the
/// nearest satellite is `round(s)` back: the same index for shifts of up to half a spacing. Around
/// the Earth, shifts add up to `s` times the number of planes. The offset across the wrap keeps
/// neighbours there as close as elsewhere, within whole indices (exactly, with Walker's 360 f / t).
fn index_shifts(shell: &Shell) -> (i64, i64) {
    match shell.phase_deg {
        PhaseShift::OddHalf => (0, 0),
        PhaseShift::Each(shift) => {
            let spacings = shift / shell.spacing_deg();
            let back = libm::round(spacings) as i64;
            (-back, libm::round(spacings * f64::from(shell.planes)) as i64 - back)
        }
    }
}

fn listed(
    constellation: &Constellation,
    pairs: &[(String, String)],
    links: &mut BTreeSet<(u32, u32)>,
) -> Result<(), OrbitError> {
    let by_name: BTreeMap<&str, u32> =
        (0..constellation.len()).map(|index| (constellation.name(index), index as u32)).collect();
    let find = |name: &str| {
        by_name.get(name).copied().ok_or_else(|| OrbitError::Unknown {
            what: "satellite",
            name: name.to_owned(),
            help: crate::suggestions::help(name, by_name.keys().copied()),
        })
    };
    for (a, b) in pairs {
        let (from, to) = (find(a)?, find(b)?);
        if from == to {
            return Err(OrbitError::Value {
                what: "inter-satellite link".into(),
                value: format!("`{a}` to itself"),
                allowed: "two different satellites".into(),
            });
        }
        join(links, from, to);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
