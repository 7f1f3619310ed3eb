//! Attenuation as a function of time.

/// Attenuation as a piecewise linear function: time in seconds, attenuation in dB.
///
/// Times do not fall; where two points have the same time, the function jumps, and the later point
/// counts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curve {
    points: Vec<(f64, f64)>,
    /// Period in seconds, from zero to which the points reach. Without one the function is constant
    /// before the first point and after the last.
    period: Option<f64>,
}

impl Curve {
    /// Creates a fade that does not repeat.
    pub fn once(points: Vec<(f64, f64)>) -> Self {
        Self { points, period: None }
    }

    /// Creates a fade that repeats after `period` seconds, from zero to which its points reach.
    pub fn repeating(points: Vec<(f64, f64)>, period: f64) -> Self {
        Self { points, period: Some(period) }
    }

    /// Returns the period in seconds.
    pub fn period(&self) -> Option<f64> {
        self.period
    }

    /// Returns the lowest attenuation.
    pub fn lowest(&self) -> f64 {
        self.points.iter().map(|(_, db)| *db).min_by(f64::total_cmp).unwrap_or_default()
    }

    /// Returns the attenuation at `t`, which may be before zero.
    pub fn at(&self, t: f64) -> f64 {
        let t = self.within(t);
        let next = self.points.partition_point(|(at, _)| *at <= t);
        match (next.checked_sub(1).and_then(|last| self.points.get(last)), self.points.get(next)) {
            (Some((t0, a)), Some((t1, b))) => a + (b - a) * (t - t0) / (t1 - t0),
            (Some((_, db)), None) | (None, Some((_, db))) => *db,
            (None, None) => 0.0,
        }
    }

    /// Returns the times at which the attenuation, `later` seconds before, crosses `level`: within
    /// the period, if there is one, and in no order.
    pub fn crossings(&self, level: f64, later: f64) -> impl Iterator<Item = f64> {
        let lines = self.points.iter().zip(self.points.iter().skip(1));
        let inner = lines
            .filter(move |((_, a), (_, b))| (a < &level) != (b < &level))
            .map(move |((t0, a), (t1, b))| t0 + (t1 - t0) * (level - a) / (b - a));
        // From the end of a period to its start.
        let ends = self.points.first().zip(self.points.last());
        let jumps = ends.is_some_and(|((_, a), (_, b))| (a < &level) != (b < &level));
        let wrapped = (self.period.is_some() && jumps).then_some(0.0);
        inner.chain(wrapped).map(move |at| self.within(at + later))
    }

    /// Returns the time within the period.
    fn within(&self, t: f64) -> f64 {
        self.period.map_or(t, |period| t.rem_euclid(period))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fade_once_is_constant_before_and_after() {
        let curve = Curve::once(vec![(0.0, 1.0), (2.0, 3.0)]);
        for (at, db) in [(-1.0, 1.0), (0.0, 1.0), (1.0, 2.0), (2.0, 3.0), (9.0, 3.0)] {
            assert_eq!(curve.at(at), db, "{at}");
        }
        assert_eq!(curve.crossings(2.0, 0.5).collect::<Vec<_>>(), [1.5]);
        assert_eq!(curve.lowest(), 1.0);
    }

    #[test]
    fn a_fade_that_repeats_jumps_at_its_end() {
        let curve = Curve::repeating(vec![(0.0, 0.0), (1.0, 0.0), (1.0, 5.0), (4.0, 5.0)], 4.0);
        for (at, db) in [(0.5, 0.0), (1.0, 5.0), (3.9, 5.0), (4.0, 0.0), (-0.1, 5.0), (8.5, 0.0)] {
            assert_eq!(curve.at(at), db, "{at}");
        }
        let mut times: Vec<f64> = curve.crossings(2.0, 3.5).collect();
        times.sort_by(f64::total_cmp);
        assert_eq!(times, [0.5, 3.5]);
    }
}
