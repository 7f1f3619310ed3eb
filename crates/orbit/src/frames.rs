//! Time scales, and the rotation from TEME to the Earth-fixed frame.

use crate::Ecef;
use bentpipe_units::{Epoch, Span};
use std::f64::consts::TAU;

/// Milliseconds from 1970 to J2000 (2000-01-01 12:00, in UTC like [`Epoch`]).
const J2000_MILLIS: i64 = 946_728_000_000;
const DAY_MILLIS: i64 = 86_400_000;
const DAY_SECS: f64 = 86_400.0;
const CENTURY_DAYS: f64 = 36_525.0;

/// Returns the Greenwich mean sidereal time in radians at `span` after `epoch` (IAU 1982), with UT1
/// taken as UTC.
///
/// Aoki et al. 1982, as in Vallado's "Fundamentals of Astrodynamics", equation 3-47. Whole days and
/// the fraction of a day are kept separate, so that nanoseconds stay significant over centuries.
pub(crate) fn sidereal_rad(epoch: Epoch, span: Span) -> f64 {
    let since = i128::from(epoch.as_unix_millis()) - i128::from(J2000_MILLIS);
    let (days, millis) =
        (since.div_euclid(i128::from(DAY_MILLIS)), since.rem_euclid(i128::from(DAY_MILLIS)));
    let nanos = millis * 1_000_000 + i128::from(span.as_nanos());
    let day_nanos = i128::from(DAY_MILLIS) * 1_000_000;
    let days = days + nanos / day_nanos;
    let of_day = (nanos % day_nanos) as f64 / day_nanos as f64;
    let t = (days as f64 + of_day) / CENTURY_DAYS;
    // 876,600 h per century is one revolution per day: whole days drop out, and the rest is the
    // fraction of the day.
    let secs = 67_310.548_41 + (8_640_184.812_866 + (0.093_104 - 6.2e-6 * t) * t) * t;
    let turns = of_day + libm::fmod(secs, DAY_SECS) / DAY_SECS;
    (turns - libm::floor(turns)) * TAU
}

/// Rotation rate of the Earth under TEME in radians per second: 1.002737909350795 revolutions per
/// day (Aoki et al. 1982).
const EARTH_RATE: f64 = 1.002_737_909_350_795 * TAU / DAY_SECS;

/// Julian years (365.25 days) from J2000 to `nanos` nanoseconds after 1970, as the propagator
/// counts epochs.
pub(crate) fn julian_years(nanos: i128) -> f64 {
    (nanos - i128::from(J2000_MILLIS) * 1_000_000) as f64 / (365.25 * DAY_SECS * 1e9)
}

/// The rotation from TEME to the Earth-fixed frame at one time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EarthRotation {
    sin: f64,
    cos: f64,
}

impl EarthRotation {
    /// Creates the rotation at a sidereal time in radians.
    pub(crate) fn new(sidereal_rad: f64) -> Self {
        let (sin, cos) = libm::sincos(sidereal_rad);
        Self { sin, cos }
    }

    /// Converts a position in TEME (km) to Earth-fixed coordinates (m).
    pub(crate) fn position(self, teme_km: [f64; 3]) -> Ecef {
        let [x, y, z] = teme_km.map(|km| km * 1000.0);
        Ecef { x: x * self.cos + y * self.sin, y: y * self.cos - x * self.sin, z }
    }

    /// Returns the velocity relative to the rotating Earth in metres per second, of an object at
    /// the Earth-fixed `position` with velocity `teme_km_s` in TEME.
    pub(crate) fn velocity(self, position: Ecef, teme_km_s: [f64; 3]) -> Ecef {
        let handovers = self.position(teme_km_s);
        Ecef {
            x: handovers.x + EARTH_RATE * position.y,
            y: handovers.y - EARTH_RATE * position.x,
            z: handovers.z,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidereal_time_matches_vallados_example() {
        // Vallado, "Fundamentals of Astrodynamics", example 3-5: 1992-08-20 12:14 UT1, 152.5787878
        // degrees. The further digits follow from the formula in rational numbers.
        let at = Epoch::from_unix_secs(714_312_840);
        assert_eq!(at.to_string(), "1992-08-20T12:14:00Z");
        assert!((sidereal_rad(at, Span::ZERO).to_degrees() - 152.578_787_851_66).abs() < 1e-10);
    }

    #[test]
    fn the_earth_rotates_by_the_same_angle_per_second_in_every_decade() {
        for year in [0_u64, 20, 55, 130] {
            let epoch = Epoch::from_unix_secs(year * 31_557_600 + 86_399);
            // The same from the epoch, and as a span from a much earlier one.
            let early = Epoch::from_unix_secs(0);
            let span = Span::from_nanos(epoch.since(early).as_nanos() + 500_000_000);
            let near = sidereal_rad(epoch, Span::from_millis(500));
            assert!((near - sidereal_rad(early, span)).abs() < 1e-12);
            let handovers = sidereal_rad(epoch, Span::from_millis(1500)) - near;
            assert!((handovers.rem_euclid(TAU) - EARTH_RATE).abs() < 1e-11, "{year}: {handovers}");
        }
    }

    #[test]
    fn the_rotation_keeps_lengths_and_moves_fixed_points_in_teme_westward() {
        let turn = EarthRotation::new(1.0);
        let at = turn.position([7000.0, 0.0, 100.0]);
        assert!(
            (libm::sqrt(at.x * at.x + at.y * at.y) - 7_000_000.0).abs() < 1e-6
                && (at.z - 100_000.0).abs() < 1e-9
        );
        let velocity = turn.velocity(at, [0.0, 0.0, 0.0]);
        let west = velocity.x * at.y - velocity.y * at.x;
        assert!(west > 0.0);
        assert!(
            (libm::sqrt(velocity.x * velocity.x + velocity.y * velocity.y) - 7e6 * EARTH_RATE)
                .abs()
                < 1e-6
        );
    }
}
