//! Coordinates on and above the WGS84 ellipsoid.

use geographiclib_rs::{Geodesic, InverseGeodesic};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Semi-major axis of WGS84 in metres (NGA.STND.0036, table 3.1).
const A: f64 = 6_378_137.0;
/// Flattening of WGS84 (same table).
const F: f64 = 1.0 / 298.257_223_563;
/// Semi-minor axis in metres.
const B: f64 = A * (1.0 - F);
/// First eccentricity squared.
const E2: f64 = F * (2.0 - F);
/// Second eccentricity squared.
const E2_PRIME: f64 = E2 / (1.0 - E2);

/// Geodesics of the ellipsoid. Their series are computed once.
static GEODESIC: LazyLock<Geodesic> = LazyLock::new(Geodesic::wgs84);

/// A position in geodetic coordinates (WGS84).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Geodetic {
    /// Latitude in degrees north, -90 to 90.
    pub latitude_deg: f64,
    /// Longitude in degrees east, -180 to 180.
    pub longitude_deg: f64,
    /// Altitude above the ellipsoid in metres.
    pub altitude_m: f64,
}

/// An Earth-centred, Earth-fixed (ECEF) position in metres.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Ecef {
    /// Towards latitude 0, longitude 0.
    pub x: f64,
    /// Towards latitude 0, longitude 90 degrees east.
    pub y: f64,
    /// Towards the north pole.
    pub z: f64,
}

impl Geodetic {
    /// Converts to Earth-fixed coordinates.
    pub fn to_ecef(self) -> Ecef {
        let (sin_lat, cos_lat) = libm::sincos(self.latitude_deg.to_radians());
        let (sin_lon, cos_lon) = libm::sincos(self.longitude_deg.to_radians());
        // Radius of curvature in the prime vertical.
        let n = A / libm::sqrt(1.0 - E2 * sin_lat * sin_lat);
        let from_axis = (n + self.altitude_m) * cos_lat;
        Ecef {
            x: from_axis * cos_lon,
            y: from_axis * sin_lon,
            z: (n * (1.0 - E2) + self.altitude_m) * sin_lat,
        }
    }

    /// Returns the length of the geodesic to `other` in metres (Karney 2013). Ignores altitudes.
    pub fn distance_m(self, other: Self) -> f64 {
        GEODESIC.inverse(
            self.latitude_deg,
            self.longitude_deg,
            other.latitude_deg,
            other.longitude_deg,
        )
    }
}

impl Ecef {
    /// Straight-line distance in metres.
    pub fn distance_m(self, other: Self) -> f64 {
        let (x, y, z) = (self.x - other.x, self.y - other.y, self.z - other.z);
        // One instruction, and correctly rounded everywhere (IEEE 754), unlike a call of libm's.
        (x * x + y * y + z * z).sqrt()
    }

    /// Converts to geodetic coordinates by Bowring's iteration on the reduced latitude (Bowring
    /// 1976).
    ///
    /// Three iterations converge to less than a micrometre from 1,000 km below the ground to far
    /// beyond the Moon. Within about 100 km of the Earth's centre, latitudes are meaningless.
    pub fn to_geodetic(self) -> Geodetic {
        let from_axis = libm::sqrt(self.x * self.x + self.y * self.y);
        let (mut sin_beta, mut cos_beta) = libm::sincos(libm::atan2(A * self.z, B * from_axis));
        let mut latitude = 0.0;
        for _ in 0..3 {
            latitude = libm::atan2(
                self.z + E2_PRIME * B * sin_beta * sin_beta * sin_beta,
                from_axis - E2 * A * cos_beta * cos_beta * cos_beta,
            );
            let (sin_lat, cos_lat) = libm::sincos(latitude);
            (sin_beta, cos_beta) = libm::sincos(libm::atan2(B * sin_lat, A * cos_lat));
        }
        let (sin_lat, cos_lat) = libm::sincos(latitude);
        Geodetic {
            latitude_deg: latitude.to_degrees(),
            longitude_deg: libm::atan2(self.y, self.x).to_degrees(),
            // Stable at the poles and at the equator, unlike the usual quotients.
            altitude_m: from_axis * cos_lat + self.z * sin_lat
                - A * libm::sqrt(1.0 - E2 * sin_lat * sin_lat),
        }
    }
}

/// Elevation of `target` above the horizon of `observer` in degrees: the angle to the tangent plane
/// of the ellipsoid.
pub fn elevation_deg(observer: Geodetic, target: Ecef) -> f64 {
    let (sin_lat, cos_lat) = libm::sincos(observer.latitude_deg.to_radians());
    let (sin_lon, cos_lon) = libm::sincos(observer.longitude_deg.to_radians());
    let from = observer.to_ecef();
    let (x, y, z) = (target.x - from.x, target.y - from.y, target.z - from.z);
    let out = x * cos_lon + y * sin_lon;
    let east = y * cos_lon - x * sin_lon;
    let north = z * cos_lat - out * sin_lat;
    let up = out * cos_lat + z * sin_lat;
    libm::atan2(up, libm::sqrt(east * east + north * north)).to_degrees()
}
