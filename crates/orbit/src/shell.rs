//! Walker shells: circular orbits of one inclination, evenly spaced planes, evenly spaced
//! satellites.

use crate::OrbitError;
use crate::elements::MAX_SATELLITES;
use std::f64::consts::TAU;

/// Gravitational parameter of the Earth in km³/s² (WGS72, as used by the propagator for shells).
const MU: f64 = 398_600.8;
/// Equatorial radius in km (WGS72).
const RADIUS_KM: f64 = 6_378.135;
/// Lowest altitude of a shell in km. Our choice: below it, drag brings a satellite down within
/// about a day.
const LOWEST_KM: f64 = 120.0;
/// Lowest mean motion of a shell in revolutions per day. Our choice: half way to the Moon.
const SLOWEST: f64 = 0.1;

/// A Walker shell (`i: t/p/f`), with the parameters of the Hypatia study.
#[derive(Debug, Clone, PartialEq)]
pub struct Shell {
    /// Name: satellites are called `name-plane-index`.
    pub name: String,
    /// Number of orbital planes.
    pub planes: u32,
    /// Satellites per plane.
    pub per_plane: u32,
    /// Inclination in degrees.
    pub inclination_deg: f64,
    /// Mean motion in revolutions per day (Kozai, as in a TLE).
    pub mean_motion_rev_per_day: f64,
    /// Range of right ascension (RAAN) over which planes are spread, in degrees: 360 (Walker delta)
    /// or 180 (Walker star).
    ///
    /// Planes are `raan_spread_deg / planes` apart. Below 360 there is a seam between the last
    /// plane and the first, which the grid does not cross.
    pub raan_spread_deg: f64,
    /// Shift in mean anomaly from one plane to the next.
    pub phase_deg: PhaseShift,
    /// Minimum elevation in degrees.
    pub min_elevation_deg: f64,
    /// Maximum length of a link to a ground station in metres, where a source limits that instead
    /// of the elevation. `None` only requires the elevation.
    pub max_ground_link_length_m: Option<f64>,
}

/// Phase shift between neighbouring planes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PhaseShift {
    /// Odd planes are shifted by half the in-plane spacing (Hypatia).
    OddHalf,
    /// Each plane is shifted by this many degrees relative to the previous one (Walker: 360 f / t).
    Each(f64),
}

impl Shell {
    /// Total number of satellites.
    pub fn satellites(&self) -> usize {
        self.planes as usize * self.per_plane as usize
    }

    /// Checks the parameters: planes, inclination, altitude.
    ///
    /// # Errors
    ///
    /// Returns the invalid value.
    pub fn check(&self) -> Result<(), OrbitError> {
        let fastest = mean_motion_rev_per_day(LOWEST_KM);
        let refuse = |what: &str, value: String, allowed: String| {
            Err(OrbitError::Value {
                what: format!("{what} of shell `{}`", self.name),
                value,
                allowed,
            })
        };
        if self.planes == 0 {
            return refuse("number of planes", "0".into(), "1 or more".into());
        }
        if self.per_plane == 0 {
            return refuse("number of satellites in a plane", "0".into(), "1 or more".into());
        }
        if self.satellites() > MAX_SATELLITES {
            return refuse(
                "number of satellites",
                self.satellites().to_string(),
                format!("up to {MAX_SATELLITES}"),
            );
        }
        if !(0.0..=180.0).contains(&self.inclination_deg) {
            return refuse(
                "inclination",
                self.inclination_deg.to_string(),
                "0 to 180 degrees".into(),
            );
        }
        if !(SLOWEST..=fastest).contains(&self.mean_motion_rev_per_day) {
            return refuse(
                "mean motion in revolutions per day",
                self.mean_motion_rev_per_day.to_string(),
                format!("{SLOWEST} to {fastest:.2} (at an altitude of {LOWEST_KM} km)"),
            );
        }
        if !(self.raan_spread_deg > 0.0 && self.raan_spread_deg <= 360.0) {
            return refuse(
                "spread of planes",
                self.raan_spread_deg.to_string(),
                "above 0, up to 360 degrees; usual: 360 (delta), 180 (star)".into(),
            );
        }
        if let PhaseShift::Each(shift) = self.phase_deg
            && !(-360.0..=360.0).contains(&shift)
        {
            return refuse("phase shift", shift.to_string(), "-360 to 360 degrees".into());
        }
        if !(0.0..90.0).contains(&self.min_elevation_deg) {
            return refuse(
                "minimum elevation",
                self.min_elevation_deg.to_string(),
                "0 to less than 90 degrees".into(),
            );
        }
        if let Some(length) = self.max_ground_link_length_m
            && !(length > 0.0 && length.is_finite())
        {
            return refuse(
                "maximum ground link length",
                length.to_string(),
                "more than 0 metres".into(),
            );
        }
        Ok(())
    }

    /// Right ascension of the ascending node of `plane`, degrees.
    pub(crate) fn node_deg(&self, plane: u32) -> f64 {
        f64::from(plane) * self.raan_spread_deg / f64::from(self.planes)
    }

    /// Mean anomaly of satellite `index` of `plane`, degrees, 0 to 360.
    pub(crate) fn anomaly_deg(&self, plane: u32, index: u32) -> f64 {
        let shift = match self.phase_deg {
            PhaseShift::OddHalf if plane % 2 == 1 => self.spacing_deg() / 2.0,
            PhaseShift::OddHalf => 0.0,
            PhaseShift::Each(shift) => f64::from(plane) * shift,
        };
        let angle = f64::from(index) * self.spacing_deg() + shift;
        angle - 360.0 * libm::floor(angle / 360.0)
    }

    /// In-plane spacing in degrees.
    pub(crate) fn spacing_deg(&self) -> f64 {
        360.0 / f64::from(self.per_plane)
    }
}

/// Mean motion of a circular orbit at an altitude above the equatorial radius, in revolutions per
/// day (two-body).
pub fn mean_motion_rev_per_day(altitude_km: f64) -> f64 {
    let a = RADIUS_KM + altitude_km;
    86_400.0 / TAU * libm::sqrt(MU / (a * a * a))
}
