//! Slant ranges, bent-pipe RTTs and drift, compared with textbooks and the survey behind our
//! profiles.

use bentpipe_orbit::{
    Constellation, Ecef, Geodetic, PhaseShift, SPEED_OF_LIGHT, Shell, elevation_deg,
    mean_motion_rev_per_day,
};
use bentpipe_units::{Epoch, Time};

const EPOCH: Epoch = Epoch::from_unix_secs(946_684_800);

/// On the equator, where the radius of the ellipsoid is 6,378 km.
const HERE: Geodetic = Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 };

/// Returns the point at `altitude_m` over the equator that appears at `elevation` degrees from
/// [`HERE`], found by bisecting its longitude.
fn standing_at(elevation: f64, altitude_m: f64) -> Ecef {
    let over = |longitude_deg| Geodetic { longitude_deg, altitude_m, ..HERE }.to_ecef();
    let (mut near, mut far) = (0.0, 90.0);
    for _ in 0..60 {
        let middle = (near + far) / 2.0;
        if elevation_deg(HERE, over(middle)) > elevation { near = middle } else { far = middle }
    }
    over(near)
}

fn leg_ms(at: Ecef) -> f64 {
    HERE.to_ecef().distance_m(at) / SPEED_OF_LIGHT * 1e3
}

#[test]
fn slant_ranges_to_a_low_orbit_match_the_survey() {
    for (elevation, km, ms) in [(90.0, 550.0, 1.83), (40.0, 812.0, 2.71), (25.0, 1123.0, 3.75)] {
        let at = standing_at(elevation, 550e3);
        let range = HERE.to_ecef().distance_m(at) / 1000.0;
        assert!((range - km).abs() < 1.0, "{elevation}: {range} km");
        assert!((leg_ms(at) - ms).abs() < 0.01, "{elevation}: {} ms", leg_ms(at));
    }
    // A bent pipe's RTT has four legs.
    assert!((4.0 * leg_ms(standing_at(90.0, 550e3)) - 7.3).abs() < 0.05);
    assert!((4.0 * leg_ms(standing_at(25.0, 550e3)) - 15.0).abs() < 0.05);
}

#[test]
fn legs_and_rtts_over_the_geostationary_orbit_match_the_survey() {
    for (elevation, leg, rtt) in [
        (90.0, 119.4, 477.0),
        (40.0, 126.0, 504.0),
        (30.0, 129.0, 515.0),
        (10.0, 135.0, 542.0),
        (5.0, 137.0, 549.0),
    ] {
        let measured = leg_ms(standing_at(elevation, 35_786e3));
        assert!((measured - leg).abs() < 0.7, "{elevation}: {measured} ms");
        assert!((4.0 * measured - rtt).abs() < 2.0, "{elevation}: {} ms", 4.0 * measured);
    }
}

/// A satellite at 550 km that passes overhead, seen from the equator: at 25 degrees the delay of
/// its leg drifts by 21 microseconds per second. The survey assumes that the Earth does not rotate;
/// under an equatorial orbit it follows at 6 % of the speed, under a polar one it moves sideways.
#[test]
fn delay_drifts_by_twenty_one_microseconds_a_second_at_twenty_five_degrees() {
    let shell = Shell {
        name: "polar".into(),
        planes: 1,
        per_plane: 1,
        inclination_deg: 90.0,
        mean_motion_rev_per_day: mean_motion_rev_per_day(550.0),
        raan_spread_deg: 360.0,
        phase_deg: PhaseShift::OddHalf,
        min_elevation_deg: 25.0,
        max_ground_link_length_m: None,
    };
    let constellation = Constellation::from_shells(&[shell], EPOCH).unwrap();
    let mut at = Vec::new();
    let mut place = |seconds: u64| {
        constellation.positions(EPOCH, Time::from_secs(seconds), &mut at).unwrap();
        at[0]
    };
    // The pass starts at the ascending node, where the observer is.
    let below = place(0).to_geodetic();
    let observer = Geodetic { altitude_m: 0.0, ..below };
    let leaves = (0..600).find(|&seconds| elevation_deg(observer, place(seconds)) < 25.0).unwrap();
    let delay = |at: Ecef| observer.to_ecef().distance_m(at) / SPEED_OF_LIGHT * 1e6;
    let drift = delay(place(leaves)) - delay(place(leaves - 1));
    assert!((drift - 21.0).abs() < 0.5, "{drift} us/s");
}

#[test]
fn positions_survive_conversion_to_earth_fixed_coordinates_and_back() {
    for latitude_deg in [-90.0, -67.3, -0.001, 0.0, 33.0, 45.0, 89.999, 90.0] {
        for longitude_deg in [-179.99, -90.0, 0.0, 12.5, 180.0] {
            for altitude_m in [-400.0, 0.0, 8848.0, 550e3, 35_786e3, 4e8] {
                let place = Geodetic { latitude_deg, longitude_deg, altitude_m };
                let back = place.to_ecef().to_geodetic();
                assert!((back.latitude_deg - latitude_deg).abs() < 1e-9, "{place:?} {back:?}");
                assert!(
                    (back.altitude_m - altitude_m).abs() < 1e-6 * (1.0 + altitude_m.abs() / 1e6),
                    "{place:?} {back:?}"
                );
                if latitude_deg.abs() < 89.9999 {
                    assert!(
                        (back.longitude_deg - longitude_deg).abs() < 1e-9,
                        "{place:?} {back:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_poles_the_equator_and_the_centre_match_the_ellipsoid() {
    let pole = Geodetic { latitude_deg: 90.0, longitude_deg: 0.0, altitude_m: 0.0 }.to_ecef();
    assert!((pole.z - 6_356_752.314_2).abs() < 1e-3 && pole.x.abs() < 1e-6);
    let equator = Geodetic { latitude_deg: 0.0, longitude_deg: 90.0, altitude_m: 0.0 }.to_ecef();
    assert!((equator.y - 6_378_137.0).abs() < 1e-6);
    let centre = Ecef::default().to_geodetic();
    assert!(
        centre.latitude_deg.is_finite()
            && centre.longitude_deg.is_finite()
            && centre.altitude_m.is_finite()
    );
}

/// A plumb line at 45 degrees misses the Earth's centre: elevation refers to the ellipsoid's
/// horizon, which differs by 0.19 degrees from that of a sphere.
#[test]
fn elevation_counts_from_the_horizon_of_the_ellipsoid() {
    let observer = Geodetic { latitude_deg: 45.0, longitude_deg: 10.0, altitude_m: 0.0 };
    let zenith = Geodetic { altitude_m: 550e3, ..observer }.to_ecef();
    assert!((elevation_deg(observer, zenith) - 90.0).abs() < 1e-6);
    let from = observer.to_ecef();
    let outwards = Ecef { x: from.x * 1.1, y: from.y * 1.1, z: from.z * 1.1 };
    assert!((90.0 - elevation_deg(observer, outwards) - 0.192).abs() < 0.002);
    let nadir = Geodetic { altitude_m: -1000.0, ..observer }.to_ecef();
    assert!((elevation_deg(observer, nadir) + 90.0).abs() < 1e-6);
}

/// Vincenty's distances on WGS84 between well-known pairs: a quarter of a meridian and of the
/// equator, and nearly antipodal points, where simple formulas fail.
#[test]
fn geodesics_are_those_of_the_ellipsoid() {
    let at =
        |latitude_deg, longitude_deg| Geodetic { latitude_deg, longitude_deg, altitude_m: 1234.0 };
    assert!((at(0.0, 0.0).distance_m(at(90.0, 0.0)) - 10_001_965.729).abs() < 1e-2);
    assert!((at(0.0, 0.0).distance_m(at(0.0, 90.0)) - 10_018_754.171).abs() < 1e-2);
    assert!((at(0.0, 0.0).distance_m(at(0.5, 179.5)) - 19_936_288.579).abs() < 1e-2);
    assert!(at(10.0, 20.0).distance_m(at(10.0, 20.0)).abs() < 1e-9);
}
