//! Walker shells: circular orbits of one inclination, evenly spread planes, evenly spread satellites.

use crate::OrbitError;

/// One shell, as the Hypatia study writes them down, and as Walker's `i: t/p/f`.
#[derive(Debug, Clone, PartialEq)]
pub struct Shell {
    /// Its name: satellites are called `name-plane-index`.
    pub name: String,
    /// Orbital planes.
    pub planes: u32,
    /// Satellites in each.
    pub per_plane: u32,
    /// Inclination, degrees.
    pub inclination_deg: f64,
    /// Revolutions a day (Kozai mean motion, as in a TLE).
    pub revolutions_per_day: f64,
    /// Range of ascending nodes over which planes are spread, degrees: 360 (Walker delta) or 180 (Walker star).
    pub spread_deg: f64,
    /// Shift in mean anomaly from one plane to the next, degrees.
    pub phase_deg: PhaseShift,
    /// Lowest usable elevation that the operator states, degrees.
    pub min_elevation_deg: f64,
}

/// How satellites of neighbouring planes are shifted against each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PhaseShift {
    /// Odd planes by half of the spacing in a plane (Hypatia).
    OddHalf,
    /// Each plane by so many degrees more than the one before (Walker: 360 f / t).
    Each(f64),
}

impl Shell {
    /// Satellites in all.
    pub fn satellites(&self) -> usize {
        self.planes as usize * self.per_plane as usize
    }

    /// Refuses what cannot be: no planes, an inclination beyond 180 degrees, orbits under the ground.
    ///
    /// # Errors
    /// The value that is wrong.
    pub fn check(&self) -> Result<(), OrbitError> {
        todo!()
    }
}

/// Mean motion of a circular orbit at this altitude above the equator's radius, revolutions a day (two bodies).
pub fn revolutions_per_day(altitude_km: f64) -> f64 {
    let _ = altitude_km;
    todo!()
}
