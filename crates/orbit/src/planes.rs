//! Orbital planes of published elements, which do not name them, and the links within and between
//! them.
//!
//! Gaps in inclination or mean motion separate groups of satellites, and gaps in the ascending
//! nodes of a group separate planes, at the latest epoch of the elements. Within a plane, each
//! satellite links to the next. Between planes, two satellites link if each is the nearest to the
//! other, so that none has two neighbours on one side.

use crate::constellation::PlanePosition;
use crate::{Constellation, OrbitError};

/// Gap in inclination that separates groups, in degrees. Shells of one system differ by 0.2 or more
/// (Starlink: 53.0 and 53.2), satellites within one by about 0.02.
const INCLINATION_GAP: f64 = 0.1;
/// Gap in mean motion that separates groups, in revolutions per day: about 6 km of altitude.
const MOTION_GAP: f64 = 0.02;
/// Gap in ascending node that separates planes, in degrees. The closest planes in use are 5 degrees
/// apart (Starlink), and satellites stay within one degree.
const NODE_GAP: f64 = 2.0;
/// Maximum spread of nodes within a plane, in degrees. Beyond it, no planes can be identified.
const WIDEST_PLANE: f64 = 8.0;
/// The last plane links to the first if their distance is at most this multiple of the usual one.
const WRAP: f64 = 1.5;

/// A plane: satellite indices in orbit order, and the mean node in degrees.
struct Plane {
    satellites: Vec<u32>,
    node_deg: f64,
}

/// Returns the links along planes and, if `across`, between neighbouring planes. A pair may be
/// listed twice.
///
/// # Errors
///
/// If the nodes are too evenly spread to identify planes.
pub(crate) fn links(
    constellation: &Constellation,
    across: bool,
) -> Result<Vec<(u32, u32)>, OrbitError> {
    let plane_positions = constellation.plane_positions()?;
    let all = (0..plane_positions.len() as u32).collect();
    let of = |key: fn(&PlanePosition) -> f64| {
        let plane_positions = &plane_positions;
        move |index: u32| key(&plane_positions[index as usize])
    };
    let mut links = Vec::new();
    for tilted in parted(all, INCLINATION_GAP, of(|b| b.inclination_deg)) {
        for group in parted(tilted, MOTION_GAP, of(|b| b.mean_motion_rev_per_day)) {
            let planes = planes(group, &plane_positions)?;
            for plane in &planes {
                let on = &plane.satellites;
                links.extend((0..on.len()).map(|at| (on[at], on[(at + 1) % on.len()])));
            }
            if across {
                for (a, b) in neighbours(&planes) {
                    between(a, b, &plane_positions, &mut links);
                }
            }
        }
    }
    Ok(links)
}

/// Sorts `items` by `key` and splits them at gaps wider than `gap`.
fn parted(mut items: Vec<u32>, gap: f64, key: impl Fn(u32) -> f64) -> Vec<Vec<u32>> {
    items.sort_by(|&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
    items.chunk_by(|&a, &b| key(b) - key(a) <= gap).map(<[u32]>::to_vec).collect()
}

/// Returns the planes of one group, in the order of their nodes.
fn planes(group: Vec<u32>, plane_positions: &[PlanePosition]) -> Result<Vec<Plane>, OrbitError> {
    let node = |index: u32| plane_positions[index as usize].node_deg;
    let mut parts = parted(group, NODE_GAP, node);
    // Nodes wrap around: a plane may lie on both sides of 0 degrees.
    if parts.len() > 1
        && let (Some(first), Some(last)) =
            (parts[0].first().copied(), parts[parts.len() - 1].last().copied())
        && node(first) + 360.0 - node(last) <= NODE_GAP
    {
        let head = parts.remove(0);
        if let Some(last) = parts.last_mut() {
            last.extend(head);
        }
    }
    let mut planes = Vec::with_capacity(parts.len());
    for mut satellites in parts {
        let (from, to) = (node(satellites[0]), node(satellites[satellites.len() - 1]));
        let width = degrees_ahead(from, to);
        if width > WIDEST_PLANE {
            return Err(OrbitError::Value {
                what: format!(
                    "ascending nodes of {} satellites without a gap of {NODE_GAP} degrees",
                    satellites.len()
                ),
                value: format!("{width:.1} degrees from first to last"),
                allowed: format!(
                    "up to {WIDEST_PLANE} degrees in one plane; leave out satellites that move to \
                     another plane, or give inter-satellite links as a list"
                ),
            });
        }
        satellites.sort_by(|&a, &b| {
            let latitude = |index: u32| plane_positions[index as usize].latitude_deg;
            latitude(a).total_cmp(&latitude(b)).then(a.cmp(&b))
        });
        planes.push(Plane { satellites, node_deg: (from + width / 2.0) % 360.0 });
    }
    planes.sort_by(|a, b| a.node_deg.total_cmp(&b.node_deg));
    Ok(planes)
}

/// Angle from one direction forward to another, 0 to 360 degrees.
fn degrees_ahead(from: f64, to: f64) -> f64 {
    let difference = (to - from) % 360.0;
    if difference < 0.0 { difference + 360.0 } else { difference }
}

/// Returns pairs of neighbouring planes. If planes are spread over half the circle, the seam is the
/// one wide gap, which no link crosses.
fn neighbours(planes: &[Plane]) -> Vec<(&Plane, &Plane)> {
    if planes.len() < 2 {
        return Vec::new();
    }
    let gap =
        |at: usize| degrees_ahead(planes[at].node_deg, planes[(at + 1) % planes.len()].node_deg);
    let mut gaps: Vec<f64> = (0..planes.len()).map(gap).collect();
    gaps.sort_by(f64::total_cmp);
    // With two planes, only the narrower of the two gaps counts: one link is enough.
    let usual = gaps[(gaps.len() - 1) / 2];
    let mut pairs: Vec<usize> = (0..planes.len()).filter(|&at| gap(at) <= WRAP * usual).collect();
    if planes.len() == 2 {
        pairs.truncate(1);
    }
    pairs.into_iter().map(|at| (&planes[at], &planes[(at + 1) % planes.len()])).collect()
}

/// Links each satellite of `a` to the nearest of `b` by argument of latitude, if that is mutual.
fn between(a: &Plane, b: &Plane, plane_positions: &[PlanePosition], links: &mut Vec<(u32, u32)>) {
    let latitude = |index: u32| plane_positions[index as usize].latitude_deg;
    let nearest = |to: u32, among: &[u32]| {
        let away = |index: u32| {
            let around = degrees_ahead(latitude(to), latitude(index));
            around.min(360.0 - around)
        };
        among.iter().copied().min_by(|&x, &y| away(x).total_cmp(&away(y)).then(x.cmp(&y)))
    };
    for &satellite in &a.satellites {
        if let Some(partner) = nearest(satellite, &b.satellites)
            && nearest(partner, &a.satellites) == Some(satellite)
        {
            links.push((satellite, partner));
        }
    }
}

#[cfg(test)]
mod tests;
