use super::*;
use crate::{PhaseShift, mean_motion_rev_per_day, presets};

const EPOCH: Epoch = Epoch::from_unix_secs(946_684_800);
const DAY: Span = Span::from_secs(86_400);
/// COSMOS 2405 in June 2006, shortly before its decay, and CBERS 2, a lasting satellite (for the
/// source, see `tests/vectors/elements.txt`).
const FALLING: &str = "COSMOS 2405
1 28350U 04020A   06167.21788666  .16154492  76267-5  18678-3 0  8894
2 28350  64.9977 345.6130 0024870 260.7578  99.9590 16.47856722116490
CBERS 2
1 28057U 03049A   06177.78615833  .00000060  00000-0  35940-4 0  1836
2 28057  98.4283 247.6961 0000884  88.1964 271.9322 14.35478080140550
";

fn radius(at: Ecef) -> f64 {
    at.distance_m(Ecef::default())
}

#[test]
fn satellites_of_a_shell_keep_their_altitude_over_a_day() {
    for (name, km) in [("iridium", 780.0), ("oneweb", 1200.0)] {
        let constellation =
            Constellation::from_shells(&presets::shells(name).unwrap(), EPOCH).unwrap();
        let mut at = Vec::new();
        for hours in [0, 1, 7, 24] {
            constellation.positions(EPOCH, Time::from_secs(hours * 3600), &mut at).unwrap();
            for each in &at {
                // The Earth's flattening moves a circular orbit up and down by about 10 km, and
                // Kozai's mean motion differs by a few km.
                let altitude = radius(*each) / 1000.0 - 6378.135;
                assert!((altitude - km).abs() < 16.0, "{name}: {altitude} km");
            }
        }
    }
}

#[test]
fn satellites_have_the_positions_of_their_shell() {
    let shell = Shell {
        name: "s".into(),
        planes: 4,
        per_plane: 2,
        inclination_deg: 90.0,
        mean_motion_rev_per_day: 15.0,
        raan_spread_deg: 180.0,
        phase_deg: PhaseShift::Each(30.0),
        min_elevation_deg: 20.0,
        max_ground_link_length_m: None,
    };
    let constellation = Constellation::from_shells(&[shell], EPOCH).unwrap();
    assert_eq!(
        (constellation.len(), constellation.name(0), constellation.name(7)),
        (8, "s-0-0", "s-3-1")
    );
    assert_eq!(constellation.slot(5), Some(Slot { shell: 0, plane: 2, index: 1 }));
    assert!((constellation.min_elevation_deg(5) - 20.0).abs() < f64::EPSILON);
    assert_eq!(constellation.epoch().unwrap(), EPOCH);
    let mut at = Vec::new();
    constellation.positions(EPOCH, Time::ZERO, &mut at).unwrap();
    // The height above the equator is the sine of the anomaly in a polar orbit: 0, 180; 30, 210;
    // 60, 240; 90, 270 degrees.
    for (index, sine) in [0.0, 0.0, 0.5, -0.5, 0.866, -0.866, 1.0, -1.0].into_iter().enumerate() {
        let measured = at[index].z / radius(at[index]);
        assert!((measured - sine).abs() < 0.005, "{index}: {measured}");
    }
}

#[test]
fn invalid_shells_are_rejected_with_the_value() {
    let good = presets::shells("kuiper-630").unwrap().remove(0);
    let cases: [(Shell, &str); 10] = [
        (Shell { planes: 0, ..good.clone() }, "0"),
        (Shell { per_plane: 0, ..good.clone() }, "0"),
        (Shell { planes: u32::MAX, per_plane: u32::MAX, ..good.clone() }, "100000"),
        (Shell { inclination_deg: 190.0, ..good.clone() }, "190"),
        (Shell { inclination_deg: f64::NAN, ..good.clone() }, "NaN"),
        (Shell { mean_motion_rev_per_day: 17.5, ..good.clone() }, "17.5"),
        (Shell { mean_motion_rev_per_day: 0.0, ..good.clone() }, "0.1"),
        (Shell { raan_spread_deg: 0.0, ..good.clone() }, "360"),
        (Shell { phase_deg: PhaseShift::Each(f64::INFINITY), ..good.clone() }, "inf"),
        (Shell { min_elevation_deg: 90.0, ..good.clone() }, "90"),
    ];
    for (shell, word) in cases {
        let error = Constellation::from_shells(&[shell], EPOCH).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("`kuiper-630`"), "{error}");
    }
    assert!(Constellation::from_shells(&[], EPOCH).unwrap().is_empty());
}

#[test]
fn mean_motion_follows_from_the_altitude() {
    for (km, revolutions) in [(550.0, 15.05), (780.0, 14.33), (35_786.0, 1.0027)] {
        assert!(
            (mean_motion_rev_per_day(km) / revolutions - 1.0).abs() < 1e-3,
            "{km}: {}",
            mean_motion_rev_per_day(km)
        );
    }
}

#[test]
fn each_satellite_is_propagated_from_its_own_epoch() {
    let both = Constellation::from_elements(FALLING).unwrap();
    // The later of the two epochs: day 177 of 2006.
    assert_eq!(both.epoch().unwrap().to_string(), "2006-06-26T18:52:04.079Z");
    let alone: String = FALLING.lines().skip(3).map(|line| format!("{line}\n")).collect();
    let alone = Constellation::from_elements(&alone).unwrap();
    let begins = Epoch::from_unix_secs(1_150_437_600);
    let (mut of_both, mut of_one) = (Vec::new(), Vec::new());
    both.positions(begins, Time::ZERO, &mut of_both).unwrap();
    alone.positions(begins, Time::ZERO, &mut of_one).unwrap();
    assert_eq!(of_both[1], of_one[0]);
    assert_eq!(both.slot(0), None);
    assert!((both.min_elevation_deg(0) - 25.0).abs() < f64::EPSILON);
}

#[test]
fn a_decaying_satellite_is_named_and_can_be_dropped() {
    let mut constellation = Constellation::from_elements(FALLING).unwrap();
    let mut at = Vec::new();
    // Forty days after its epoch.
    let begins = Epoch::from_unix_secs(1_153_900_000);
    match constellation.positions(begins, Time::ZERO, &mut at) {
        Err(OrbitError::Propagation { name, .. }) => assert_eq!(name, "COSMOS 2405"),
        other => panic!("{other:?}"),
    }
    let removed_links = constellation.drop_decayed(begins, DAY).unwrap();
    assert_eq!(removed_links.len(), 1);
    assert_eq!(removed_links[0].name, "COSMOS 2405");
    assert!(!removed_links[0].reason.is_empty());
    assert_eq!((constellation.len(), constellation.name(0)), (1, "CBERS 2"));
    constellation.positions(begins, Time::ZERO, &mut at).unwrap();
    assert_eq!(at.len(), 1);
}

#[test]
fn a_satellite_that_decays_during_the_run_is_dropped_and_none_left_is_an_error() {
    let first: String = FALLING.lines().take(3).map(|line| format!("{line}\n")).collect();
    let mut constellation = Constellation::from_elements(&first).unwrap();
    let begins = constellation.epoch().unwrap();
    assert!(constellation.clone().drop_decayed(begins, Span::from_secs(3600)).unwrap().is_empty());
    let error =
        constellation.drop_decayed(begins, Span::from_secs(60 * 86_400)).unwrap_err().to_string();
    assert!(error.contains("0 of 1") && error.contains("COSMOS 2405"), "{error}");
}

#[test]
fn extreme_times_give_errors_or_positions_without_a_panic() {
    let shells =
        Constellation::from_shells(&presets::shells("iridium").unwrap(), Epoch::MAX).unwrap();
    let published = Constellation::from_elements(FALLING).unwrap();
    let mut at = Vec::new();
    for begins in [Epoch::default(), EPOCH, Epoch::MAX] {
        for time in [Time::ZERO, Time::from_nanos(u64::MAX)] {
            for constellation in [&shells, &published] {
                if constellation.positions(begins, time, &mut at).is_ok() {
                    assert!(at.iter().all(|at| radius(*at).is_finite()));
                }
            }
        }
    }
}

/// The satellite is where it is at its own epoch, and another start has to be given.
#[test]
fn elements_before_1970_need_a_start_time() {
    let set = |year: &str, checksum: u32| {
        format!(
            "1 28057U 03049A   {year}100.50000000  .00000060  00000-0  35940-4 0  183{checksum}\n\
             2 28057  98.4283 247.6961 0000884  88.1964 271.9322 14.35478080140550\n"
        )
    };
    let old = Constellation::from_elements(&set("65", 1)).unwrap();
    let error = old.epoch().unwrap_err().to_string();
    for part in ["1965-04-10T12:00:00Z", "`NORAD 28057`", "from 1970 on", "`epoch`"] {
        assert!(error.contains(part), "{error}");
    }
    assert!(old.positions(Epoch::default(), Time::ZERO, &mut Vec::new()).is_ok());
    assert!(old.plane_positions().is_ok());
    let new = Constellation::from_elements(&set("70", 7)).unwrap();
    assert_eq!(new.epoch().unwrap().to_string(), "1970-04-10T12:00:00Z");
}
