//! Places on and above the ellipsoid (WGS84).

use serde::{Deserialize, Serialize};

/// A place by geodetic coordinates on WGS84.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Geodetic {
    /// Degrees north, -90 to 90.
    pub latitude_deg: f64,
    /// Degrees east, -180 to 180.
    pub longitude_deg: f64,
    /// Metres above the ellipsoid.
    pub altitude_m: f64,
}

/// A place in metres from the Earth's centre in the Earth-fixed frame: x towards Greenwich, z towards the north pole.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Ecef {
    /// Metres towards latitude 0, longitude 0.
    pub x: f64,
    /// Metres towards latitude 0, longitude 90 degrees east.
    pub y: f64,
    /// Metres towards the north pole.
    pub z: f64,
}

impl Geodetic {
    /// The same place, Earth-fixed.
    pub fn to_ecef(self) -> Ecef {
        todo!()
    }

    /// Length of the geodesic to `other` on the ellipsoid, metres (Karney 2013); altitudes count for nothing.
    pub fn distance_m(self, other: Self) -> f64 {
        let _ = other;
        todo!()
    }
}

impl Ecef {
    /// Straight-line distance, metres.
    pub fn distance_m(self, other: Self) -> f64 {
        let _ = other;
        todo!()
    }

    /// The same place by geodetic coordinates.
    pub fn to_geodetic(self) -> Geodetic {
        todo!()
    }
}

/// How high `target` stands above the horizon of `observer`, degrees: the angle to the plane that touches the ellipsoid there.
pub fn elevation_deg(observer: Geodetic, target: Ecef) -> f64 {
    let _ = (observer, target);
    todo!()
}
