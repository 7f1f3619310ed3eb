//! Visibility: elevation above the ellipsoid's horizon, range, and lines of sight past the Earth.

use crate::selection::VisibleSatellite;
use crate::{Ecef, Network};

/// Radius of the Earth as a sphere in metres: the mean radius (IUGG).
const EARTH_RADIUS_M: f64 = 6_371_000.0;
/// Clearance of lines of sight above the ground in metres: the denser atmosphere. Hypatia uses the
/// same.
const CLEARANCE_M: f64 = 80_000.0;

/// Returns the satellites visible from each station, highest first.
///
/// The sine of the elevation above the tangent plane is the height over that plane divided by the
/// distance. The height alone rejects satellites below the horizon, which are nearly all.
pub(super) fn visible_satellites(
    network: &Network,
    satellites: &[Ecef],
    visible: &mut Vec<VisibleSatellite>,
    starts: &mut Vec<u32>,
) {
    visible.clear();
    starts.clear();
    starts.push(0);
    for (index, station) in network.stations().iter().enumerate() {
        let (place, up) = (network.station_positions()[index], network.up(index));
        let own_sine = station.min_elevation_deg.map(|elevation| libm::sin(elevation.to_radians()));
        let first = visible.len();
        for (satellite, (position, limit)) in
            satellites.iter().zip(network.ground_limits()).enumerate()
        {
            let height = height_m(place, up, *position);
            if height < 0.0 {
                continue;
            }
            let distance_m = place.distance_m(*position);
            if height >= own_sine.unwrap_or(limit.min_sine) * distance_m
                && distance_m <= limit.max_length_m
            {
                let elevation_deg = elevation_deg(height, distance_m);
                visible.push(VisibleSatellite {
                    satellite: satellite as u32,
                    elevation_deg,
                    distance_m,
                });
            }
        }
        let highest_first = |a: &VisibleSatellite, b: &VisibleSatellite| {
            b.elevation_deg.total_cmp(&a.elevation_deg).then_with(|| a.satellite.cmp(&b.satellite))
        };
        visible[first..].sort_unstable_by(highest_first);
        starts.push(visible.len() as u32);
    }
}

/// Returns true if `satellite` at `position` is visible from station `index`.
pub(super) fn sees(network: &Network, index: usize, satellite: u32, position: Ecef) -> bool {
    let place = network.station_positions()[index];
    let own_sine = network.stations()[index]
        .min_elevation_deg
        .map(|elevation| libm::sin(elevation.to_radians()));
    let height = height_m(place, network.up(index), position);
    let distance_m = place.distance_m(position);
    let limit = network.ground_limits()[satellite as usize];
    height >= 0.0
        && height >= own_sine.unwrap_or(limit.min_sine) * distance_m
        && distance_m <= limit.max_length_m
}

/// Height of `position` above the plane through `place` with normal `up`, in metres.
fn height_m(place: Ecef, up: [f64; 3], position: Ecef) -> f64 {
    (position.x - place.x) * up[0] + (position.y - place.y) * up[1] + (position.z - place.z) * up[2]
}

fn elevation_deg(height: f64, distance_m: f64) -> f64 {
    if distance_m > 0.0 { libm::asin((height / distance_m).min(1.0)).to_degrees() } else { 90.0 }
}

/// Returns a length in metres below which every line between two of `satellites` clears the ground.
///
/// The chord of length `d` between two points at radius `r` or more comes no nearer to the centre
/// than `√(r² - d²/4)`. Rounding errors of [`clear_of_ground`] are far below the metre subtracted.
pub(super) fn clear_length_m(satellites: &[Ecef]) -> f64 {
    let square = |at: &Ecef| at.x * at.x + at.y * at.y + at.z * at.z;
    let lowest = satellites.iter().map(square).fold(f64::INFINITY, f64::min);
    let limit = EARTH_RADIUS_M + CLEARANCE_M + 1.0;
    2.0 * libm::sqrt((lowest - limit * limit).max(0.0))
}

/// Returns true if the line between two satellites clears the ground.
pub(super) fn clear_of_ground(a: Ecef, b: Ecef) -> bool {
    let along = [b.x - a.x, b.y - a.y, b.z - a.z];
    let square = along.iter().map(|part| part * part).sum::<f64>();
    // Position of the point nearest to the Earth's centre, from 0 at `a` to 1 at `b`.
    let nearest = -(a.x * along[0] + a.y * along[1] + a.z * along[2]) / square;
    let nearest = if nearest.is_finite() { nearest.clamp(0.0, 1.0) } else { 0.0 };
    let point = Ecef {
        x: a.x + along[0] * nearest,
        y: a.y + along[1] * nearest,
        z: a.z + along[2] * nearest,
    };
    point.distance_m(Ecef::default()) >= EARTH_RADIUS_M + CLEARANCE_M
}
