//! Light times between Earth, the Moon and Mars, from centre to centre.
//!
//! Earth and Mars: Keplerian elements and their rates for 1800 to 2050 (E. M. Standish, J. G.
//! Williams, "Approximate Positions of the Planets", JPL Solar System Dynamics, table 1), with the
//! barycentre of Earth and Moon for Earth. The Moon: the twelve largest terms of its distance (J.
//! Meeus, Astronomical Algorithms, chapter 47). Beside pyerfa's `epv00`, `plan94` and `moon98` from
//! 2026 to 2035, a light time to Mars is wrong by at most 0.17 s, one to the Moon by 1 ms.
//! Stations on the surfaces are up to 27 ms nearer than the centres.

use crate::OrbitError;
use bentpipe_units::{Epoch, Span};

/// Speed of light in km/s.
const C: f64 = 299_792.458;
/// Astronomical unit in km (IAU 2012).
const AU: f64 = 149_597_870.7;
/// Noon of 2000-01-01 (J2000) in seconds since 1970.
const J2000: f64 = 946_728_000.0;
/// Terrestrial time minus UTC since 2017, in seconds: 32.184 s and 37 leap seconds.
const TT_MINUS_UTC: f64 = 69.184;
/// Seconds of a Julian century.
const CENTURY: f64 = 36_525.0 * 86_400.0;
/// First time after those for which the elements are given, 2050-01-01, in milliseconds since 1970.
const END_MS: u64 = 2_524_608_000_000;

/// A body of the solar system whose distance is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// Earth.
    Earth,
    /// Earth's Moon.
    Moon,
    /// Mars.
    Mars,
}

impl Body {
    /// The names of all bodies.
    pub const NAMES: [&'static str; 3] = ["earth", "moon", "mars"];

    /// Returns the body of this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Earth, Self::Moon, Self::Mars];
        Self::NAMES.iter().position(|known| *known == name).map(|index| all[index])
    }
}

/// Returns how long a signal that leaves `from` at `at` takes to `to`.
///
/// # Errors
/// The time is not before 2050, or the bodies are not Earth and one of the others.
pub fn light_time(from: Body, to: Body, at: Epoch) -> Result<Span, OrbitError> {
    if at.as_unix_millis() >= END_MS {
        return Err(OrbitError::Value {
            what: "a date".to_owned(),
            value: format!("{at} for a light time"),
            allowed: "1970 to 2049".to_owned(),
        });
    }
    let t = (at.as_unix_millis() as f64 / 1e3 - J2000 + TT_MINUS_UTC) / CENTURY;
    let seconds = match (from, to) {
        (Body::Earth, Body::Moon) | (Body::Moon, Body::Earth) => moon_km(t) / C,
        (Body::Earth, Body::Mars) => travel_s(&EARTH, &MARS, t),
        (Body::Mars, Body::Earth) => travel_s(&MARS, &EARTH, t),
        _ => {
            return Err(OrbitError::Value {
                what: "a pair".to_owned(),
                value: format!("{from:?} and {to:?} for a light time"),
                allowed: "Earth and the Moon, or Earth and Mars".to_owned(),
            });
        }
    };
    Ok(Span::from_secs_f64(seconds))
}

/// Keplerian elements at J2000, and their change in a century: semi-major axis in AU,
/// eccentricity, and in degrees inclination, mean longitude, longitude of the perihelion and of the
/// ascending node.
type Elements = [(f64, f64); 6];

const EARTH: Elements = [
    (1.000_002_61, 0.000_005_62),
    (0.016_711_23, -0.000_043_92),
    (-0.000_015_31, -0.012_946_68),
    (100.464_571_66, 35_999.372_449_81),
    (102.937_681_93, 0.323_273_64),
    (0.0, 0.0),
];
const MARS: Elements = [
    (1.523_710_34, 0.000_018_47),
    (0.093_394_10, 0.000_078_82),
    (1.849_691_42, -0.008_131_31),
    (-4.553_432_05, 19_140.302_684_99),
    (-23.943_629_59, 0.444_410_88),
    (49.559_538_91, -0.292_573_43),
];

/// Returns how long a signal takes that leaves one planet `t` centuries after J2000, in seconds.
fn travel_s(from: &Elements, to: &Elements, t: f64) -> f64 {
    let start = position_au(from, t);
    let mut seconds = 0.0;
    // The planet moves by less than 40 km/s, so each step divides the error by 7,500: two of them
    // leave microseconds.
    for _ in 0..3 {
        let end = position_au(to, t + seconds / CENTURY);
        let square: f64 = start.iter().zip(end).map(|(a, b)| (a - b) * (a - b)).sum();
        seconds = libm::sqrt(square) * AU / C;
    }
    seconds
}

/// Returns the heliocentric position in the ecliptic of J2000.
fn position_au(elements: &Elements, t: f64) -> [f64; 3] {
    let [axis, e, inclination, longitude, perihelion, node] =
        elements.map(|(start, rate)| start + rate * t);
    let mean = ((longitude - perihelion) % 360.0).to_radians();
    // Kepler's equation by Newton's method; eccentricities here are below 0.1.
    let mut anomaly = mean;
    for _ in 0..6 {
        let excess = anomaly - e * libm::sin(anomaly) - mean;
        anomaly -= excess / (1.0 - e * libm::cos(anomaly));
    }
    let x = axis * (libm::cos(anomaly) - e);
    let y = axis * libm::sqrt(1.0 - e * e) * libm::sin(anomaly);
    let (sin_w, cos_w) = libm::sincos((perihelion - node).to_radians());
    let (sin_n, cos_n) = libm::sincos(node.to_radians());
    let (sin_i, cos_i) = libm::sincos(inclination.to_radians());
    let (along, across) = (cos_w * x - sin_w * y, sin_w * x + cos_w * y);
    [cos_n * along - sin_n * cos_i * across, sin_n * along + cos_n * cos_i * across, sin_i * across]
}

/// Returns the distance of the centres of Earth and Moon in km, `t` centuries after J2000.
fn moon_km(t: f64) -> f64 {
    let d = 297.850_192_1 + 445_267.111_403_4 * t - 0.001_881_9 * t * t;
    let sun = 357.529_109_2 + 35_999.050_290_9 * t;
    let moon = 134.963_396_4 + 477_198.867_505_5 * t + 0.008_741_4 * t * t;
    // Terms with the Sun's anomaly shrink with the eccentricity of Earth's orbit.
    let e = 1.0 - 0.002_516 * t;
    let terms = [
        (-20_905.355, moon),
        (-3_699.111, 2.0 * d - moon),
        (-2_955.968, 2.0 * d),
        (-569.925, 2.0 * moon),
        (246.158, 2.0 * d - 2.0 * moon),
        (-204.586 * e, 2.0 * d - sun),
        (-170.733, 2.0 * d + moon),
        (-152.138 * e, 2.0 * d - sun - moon),
        (-129.620 * e, sun - moon),
        (108.743, d),
        (104.755 * e, sun + moon),
        (48.888 * e, sun),
    ];
    let cosines = terms.iter().map(|(km, degrees)| km * libm::cos((degrees % 360.0).to_radians()));
    385_000.56 + cosines.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(from: Body, to: Body, date: &str) -> f64 {
        let at: Epoch = format!("{date}T00:00:00Z").parse().unwrap();
        light_time(from, to, at).unwrap().as_secs_f64()
    }

    /// One-way light times in seconds by pyerfa 2.0.1.5: `epv00`, `plan94` and `moon98`.
    const MARS_VECTORS: [(&str, f64); 7] = [
        ("2026-11-28", 600.693),
        ("2027-02-20", 338.284),
        ("2027-06-01", 664.463),
        ("2028-05-12", 1203.681),
        ("2031-05-12", 276.121),
        ("2033-07-06", 211.100),
        ("2035-01-01", 1049.441),
    ];
    const MOON_VECTORS: [(&str, f64); 4] = [
        ("2026-11-28", 1.21105),
        ("2027-06-01", 1.27657),
        ("2029-03-10", 1.30662),
        ("2030-08-21", 1.34625),
    ];

    #[test]
    fn light_times_are_those_of_other_ephemerides() {
        for (date, expected) in MARS_VECTORS {
            let found = seconds(Body::Earth, Body::Mars, date);
            assert!((found - expected).abs() < 0.17, "{date}: {found} s, not {expected}");
        }
        for (date, expected) in MOON_VECTORS {
            let found = seconds(Body::Earth, Body::Moon, date);
            assert!((found - expected).abs() < 0.001, "{date}: {found} s, not {expected}");
        }
    }

    #[test]
    fn a_signal_there_and_one_back_differ_by_the_motion_of_the_planets() {
        let there = seconds(Body::Earth, Body::Mars, "2027-06-01");
        let back = seconds(Body::Mars, Body::Earth, "2027-06-01");
        assert!((there - back).abs() < 0.2 && there != back, "{there} s, {back} s");
    }

    #[test]
    fn other_bodies_and_times_are_refused() {
        let at = Epoch::from_unix_secs(0);
        let error = light_time(Body::Moon, Body::Mars, at).unwrap_err().to_string();
        assert!(error.contains("Earth and the Moon, or Earth and Mars"), "{error}");
        let late = light_time(Body::Earth, Body::Mars, Epoch::MAX).unwrap_err().to_string();
        assert!(late.contains("1970 to 2049"), "{late}");
        assert_eq!(Body::named("mars"), Some(Body::Mars));
        assert_eq!(Body::named("Mars"), None);
    }
}
