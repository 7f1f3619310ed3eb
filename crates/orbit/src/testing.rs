//! Small networks for the tests of this crate.

use crate::{
    Constellation, Geodetic, IslPattern, Metric, Network, NetworkSpec, PhaseShift,
    SatelliteSelection, Shell, Station, mean_motion_rev_per_day,
};
use bentpipe_units::{Epoch, Span};

/// Returns a shell at 1,200 km and 60 degrees, `planes x satellites`.
pub(crate) fn shell(size: &str) -> Shell {
    let (planes, per_plane) = size.split_once(" x ").unwrap();
    Shell {
        name: "test".into(),
        planes: planes.parse().unwrap(),
        per_plane: per_plane.parse().unwrap(),
        inclination_deg: 60.0,
        mean_motion_rev_per_day: mean_motion_rev_per_day(1_200.0),
        raan_spread_deg: 360.0,
        phase_deg: PhaseShift::OddHalf,
        min_elevation_deg: 10.0,
        max_ground_link_length_m: None,
    }
}

/// Returns a station that uses all visible satellites.
pub(crate) fn station(name: &str, latitude_deg: f64, longitude_deg: f64) -> Station {
    Station {
        name: name.into(),
        place: Geodetic { latitude_deg, longitude_deg, altitude_m: 0.0 },
        min_elevation_deg: None,
        selection: SatelliteSelection::All,
        handover_outage: Span::ZERO,
        forwards: false,
    }
}

/// Returns five stations under such a shell with +grid.
pub(crate) fn spec(size: &str) -> NetworkSpec {
    let begins = Epoch::from_unix_secs(1_750_000_000);
    NetworkSpec {
        constellation: Constellation::from_shells(&[shell(size)], begins).unwrap(),
        begins,
        stations: vec![
            station("Toronto", 43.7, -79.4),
            station("Washington", 38.9, -77.0),
            station("Wuhan", 30.6, 114.3),
            station("Nairobi", -1.3, 36.8),
            station("Sydney", -33.9, 151.2),
        ],
        isl: IslPattern::PlusGrid,
        max_isl_length_m: None,
        max_ground_link_length_m: None,
        fibres: Vec::new(),
        metric: Metric::Delay,
        avoid: Vec::new(),
    }
}

/// Builds the network of a valid description.
pub(crate) fn network(spec: NetworkSpec) -> Network {
    Network::new(spec).unwrap()
}
