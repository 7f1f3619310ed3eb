//! Follows a constellation in small steps without propagating every satellite at each.

use crate::{Constellation, Ecef, OrbitError};
use bentpipe_units::{Epoch, Span, Time};
use std::sync::Arc;

/// Interval between propagated positions.
///
/// A cubic through positions and velocities at both ends deviates by up to `r w⁴ h⁴ / 384` on a
/// circle of radius `r` at `w` radians per second: 0.3 mm at 550 km. SGP4's velocities are not
/// exactly the derivatives of its positions, which increases the error to 3 mm. Our choice: a
/// negligible error at a hundredth of the work with steps of 100 ms.
const KNOT: Span = Span::from_secs(10);

/// Positions of a constellation at times that advance in small steps.
///
/// Propagates at multiples of ten seconds and interpolates between them, to within a centimetre in
/// low orbits and a few in others. Results depend only on the constellation and the time, not on
/// earlier calls.
#[derive(Debug, Clone)]
pub struct Ephemeris {
    begins: Epoch,
    /// The two knots around the time of the last call: time, and each satellite's position and
    /// velocity. Clones share them.
    knots: [Arc<Knot>; 2],
}

#[derive(Debug, Clone, Default)]
struct Knot {
    at: Option<Time>,
    states: Vec<(Ecef, Ecef)>,
}

impl Ephemeris {
    /// Creates an ephemeris whose times count from `begins`.
    pub fn new(begins: Epoch) -> Self {
        Self { begins, knots: Default::default() }
    }

    /// Writes the Earth-fixed position of every satellite of `constellation` at `at` to `into`,
    /// which is cleared first.
    ///
    /// All calls must pass the same constellation. Takes about ten nanoseconds per satellite, plus
    /// one propagation per ten seconds of simulated time.
    ///
    /// # Errors
    ///
    /// If a satellite cannot be propagated to the next multiple of ten seconds.
    pub fn positions(
        &mut self,
        constellation: &Constellation,
        at: Time,
        into: &mut Vec<Ecef>,
    ) -> Result<(), OrbitError> {
        let into_step = at.as_nanos() % KNOT.as_nanos();
        let before = Time::from_nanos(at.as_nanos() - into_step);
        if self.knots[0].at != Some(before) && self.knots[1].at == Some(before) {
            self.knots.swap(0, 1);
        }
        self.fill(0, constellation, before)?;
        into.clear();
        if into_step == 0 {
            into.extend(self.knots[0].states.iter().map(|(position, _)| *position));
            return Ok(());
        }
        self.fill(1, constellation, before + KNOT)?;
        let weights = Weights::new(into_step as f64 / KNOT.as_nanos() as f64);
        let [from, to] = &self.knots;
        into.extend(from.states.iter().zip(&to.states).map(|(from, to)| weights.between(from, to)));
        Ok(())
    }

    /// Propagates every satellite to `at` for knot number `knot`, unless that is its time already.
    fn fill(
        &mut self,
        knot: usize,
        constellation: &Constellation,
        at: Time,
    ) -> Result<(), OrbitError> {
        if self.knots[knot].at != Some(at) {
            let mut states = Vec::new();
            constellation.states(self.begins, at, &mut states)?;
            self.knots[knot] = Arc::new(Knot { at: Some(at), states });
        }
        Ok(())
    }
}

/// Weights of the cubic Hermite interpolation between two knots.
struct Weights {
    from: f64,
    from_velocity: f64,
    to: f64,
    to_velocity: f64,
}

impl Weights {
    fn new(s: f64) -> Self {
        let (rest, h) = (1.0 - s, KNOT.as_nanos() as f64 / 1e9);
        Self {
            from: (1.0 + 2.0 * s) * rest * rest,
            from_velocity: s * rest * rest * h,
            to: s * s * (3.0 - 2.0 * s),
            to_velocity: -s * s * rest * h,
        }
    }

    fn between(&self, from: &(Ecef, Ecef), to: &(Ecef, Ecef)) -> Ecef {
        let mix = |p0: f64, v0: f64, p1: f64, v1: f64| {
            self.from * p0 + self.from_velocity * v0 + self.to * p1 + self.to_velocity * v1
        };
        Ecef {
            x: mix(from.0.x, from.1.x, to.0.x, to.1.x),
            y: mix(from.0.y, from.1.y, to.0.y, to.1.y),
            z: mix(from.0.z, from.1.z, to.0.z, to.1.z),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets;

    #[test]
    fn interpolated_positions_match_the_propagator_to_a_centimetre() {
        let shells = presets::shells("starlink-550").unwrap();
        let constellation =
            Constellation::from_shells(&shells, Epoch::from_unix_secs(946_684_800)).unwrap();
        let begins = constellation.epoch().unwrap();
        let mut ephemeris = Ephemeris::new(begins);
        let (mut exact, mut interpolated) = (Vec::new(), Vec::new());
        for millis in [0, 1, 4_700, 9_999, 10_000, 15_000, 95_300, 5_003, 7_200_500] {
            let at = Time::from_nanos(millis * 1_000_000);
            constellation.positions(begins, at, &mut exact).unwrap();
            ephemeris.positions(&constellation, at, &mut interpolated).unwrap();
            assert_eq!(exact.len(), interpolated.len());
            let worst =
                exact.iter().zip(&interpolated).map(|(a, b)| a.distance_m(*b)).fold(0.0, f64::max);
            assert!(worst < 1e-2, "{worst} m at {millis} ms");
        }
    }

    #[test]
    fn a_position_does_not_depend_on_earlier_calls() {
        let constellation = Constellation::from_shells(
            &presets::shells("iridium").unwrap(),
            Epoch::from_unix_secs(0),
        )
        .unwrap();
        let at = Time::from_nanos(123_456_789_012);
        let (mut fresh, mut used) = (Vec::new(), Vec::new());
        Ephemeris::new(constellation.epoch().unwrap())
            .positions(&constellation, at, &mut fresh)
            .unwrap();
        let mut ephemeris = Ephemeris::new(constellation.epoch().unwrap());
        for millis in [0, 119_999, 120_000, 130_100, 9_000] {
            ephemeris
                .positions(&constellation, Time::from_nanos(millis * 1_000_000), &mut used)
                .unwrap();
        }
        ephemeris.positions(&constellation, at, &mut used).unwrap();
        assert_eq!(fresh, used);
    }
}
