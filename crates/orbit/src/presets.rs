//! Constellations by name.
//!
//! Names with an altitude are shells as generated in the Hypatia study (Kassing et al., IMC 2020,
//! table 1 and its scripts), with its mean motions and its limit of ground links, for comparison
//! with its figures: the table `study`. The others are whole systems as filed or built by their
//! operators. Their mean motions follow from the altitude by [`mean_motion_rev_per_day`]; the
//! Earth's flattening shifts them by up to 4 km.
//!
//! Filings state altitudes, inclinations, planes and satellites per plane, but no phase between
//! planes. [`PhaseShift::OddHalf`], which Hypatia uses, is our choice if no source is named.

use crate::{OrbitError, PhaseShift, Shell, mean_motion_rev_per_day};

/// Names of all presets, with one-line descriptions.
pub fn names() -> &'static [(&'static str, &'static str)] {
    &[
        ("kuiper-630", "34 x 34 at 51.9 degrees, as in the Hypatia study"),
        ("starlink-550", "72 x 22 at 53 degrees, as in the Hypatia study"),
        ("telesat-1015", "27 x 13 at 98.98 degrees, as in the Hypatia study"),
        ("oneweb", "12 x 49 at 87.9 degrees and 1,200 km, as flown"),
        ("iridium", "6 x 11 at 86.4 degrees and 780 km"),
        ("kuiper", "3,236 satellites in three shells at 630, 610 and 590 km"),
        ("starlink", "the first generation: 4,408 satellites in five shells at 540 to 570 km"),
        ("telesat", "1,671 satellites in two shells at 1,015 and 1,325 km"),
    ]
}

/// Returns the shells of the constellation `name`.
///
/// Single shells: `kuiper-630`, `starlink-550`, `telesat-1015` (as in the Hypatia study), `oneweb`,
/// `iridium`. Several shells: `kuiper`, `starlink`, `telesat`.
///
/// # Errors
///
/// If the name is unknown. The error lists the most similar ones.
pub fn shells(name: &str) -> Result<Vec<Shell>, OrbitError> {
    Ok(match name {
        // Altitude, and radius of the cone on the ground: from an elevation for Kuiper and Telesat,
        // as a number of the filing for Starlink.
        "kuiper-630" => {
            let radius_km = 630.0 / libm::tan(30_f64.to_radians());
            vec![study(delta(name, 34, 34, 51.9, 14.80, 0.0), 630.0, radius_km)]
        }
        "starlink-550" => {
            vec![study(delta(name, 72, 22, 53.0, 15.19, 0.0), 550.0, 940.7)]
        }
        "telesat-1015" => {
            let radius_km = 1015.0 / libm::tan(10_f64.to_radians());
            vec![study(delta(name, 27, 13, 98.98, 13.66, 0.0), 1015.0, radius_km)]
        }
        "oneweb" => vec![oneweb()],
        "iridium" => vec![iridium()],
        // Kuiper Systems, FCC file SAT-LOA-20190704-00057 (granted by FCC 20-102), technical
        // appendix: shells, and 35 degrees for customers.
        "kuiper" => vec![
            delta("kuiper-630", 34, 34, 51.9, mean_motion_rev_per_day(630.0), 35.0),
            delta("kuiper-610", 36, 36, 42.0, mean_motion_rev_per_day(610.0), 35.0),
            delta("kuiper-590", 28, 28, 33.0, mean_motion_rev_per_day(590.0), 35.0),
        ],
        // SpaceX, FCC file SAT-MOD-20200417-00037 (granted by FCC 21-48): shells, and 25 degrees
        // for customers. Its two shells at 97.6 degrees share an altitude.
        "starlink" => vec![
            delta("starlink-550", 72, 22, 53.0, mean_motion_rev_per_day(550.0), 25.0),
            delta("starlink-540", 72, 22, 53.2, mean_motion_rev_per_day(540.0), 25.0),
            delta("starlink-570", 36, 20, 70.0, mean_motion_rev_per_day(570.0), 25.0),
            delta("starlink-560a", 6, 58, 97.6, mean_motion_rev_per_day(560.0), 25.0),
            delta("starlink-560b", 4, 43, 97.6, mean_motion_rev_per_day(560.0), 25.0),
        ],
        // Telesat, FCC file SAT-MPL-20200526-00053: 351 and 1,320 satellites, 10 degrees.
        "telesat" => vec![
            delta("telesat-1015", 27, 13, 98.98, mean_motion_rev_per_day(1015.0), 10.0),
            delta("telesat-1325", 40, 33, 50.88, mean_motion_rev_per_day(1325.0), 10.0),
        ],
        _ => {
            return Err(OrbitError::Unknown {
                what: "constellation",
                name: name.to_owned(),
                help: crate::suggestions::help(name, names().iter().map(|(known, _)| *known)),
            });
        }
    })
}

/// Returns a shell whose planes are spread over 360 degrees.
fn delta(
    name: &str,
    planes: u32,
    per_plane: u32,
    inclination: f64,
    revolutions: f64,
    elevation: f64,
) -> Shell {
    Shell {
        name: name.to_owned(),
        planes,
        per_plane,
        inclination_deg: inclination,
        mean_motion_rev_per_day: revolutions,
        raan_spread_deg: 360.0,
        phase_deg: PhaseShift::OddHalf,
        min_elevation_deg: elevation,
        max_ground_link_length_m: None,
    }
}

/// Limits the length of ground links as the Hypatia study does: `MAX_GSL_LENGTH_M` of
/// `paper/satellite_networks_state/main_*.py` in `snkas/hypatia`.
///
/// The study takes the satellite's coverage for a cone over a flat Earth. Its slant length, of
/// `altitude_km` and the cone's `radius_km`, is the only limit: 1,260 km for Kuiper, 1,089.7 for
/// Starlink and 5,845.2 for Telesat. On the round Earth links of that length stand at 25.2 and 23.6
/// degrees, and Telesat's below the horizon, where this crate allows none.
fn study(shell: Shell, altitude_km: f64, radius_km: f64) -> Shell {
    let length_m = libm::hypot(altitude_km, radius_km) * 1e3;
    Shell { max_ground_link_length_m: Some(length_m), ..shell }
}

/// Returns OneWeb as flown: 12 planes of 49 at 1,200 km (ISRO on its launches LVM3-M2 and M3),
/// 15.225 degrees apart with a narrower seam (operator's figures as printed by resellers).
///
/// The licence has 18 planes of 40 (FCC 17-77), and many descriptions 18 of 36. Real planes differ
/// by 4 km in altitude; these do not. The licence's minimum elevation of 55 degrees requires 18
/// planes. With 12, the equator midway between two planes is always covered down to 45 degrees, our
/// choice: half the plane spacing and half the in-plane spacing, as angles at the Earth's centre,
/// combine to 8.4 degrees.
fn oneweb() -> Shell {
    Shell {
        raan_spread_deg: 12.0 * 15.225,
        ..delta("oneweb", 12, 49, 87.9, mean_motion_rev_per_day(1200.0), 45.0)
    }
}

/// Returns Iridium: 6 planes of 11 at 780 km and 86.4 degrees; co-rotating planes are 31.6 degrees
/// apart, the seam 22 degrees; minimum elevation 8.2 degrees (Pratt et al., "An operational and
/// performance overview of the IRIDIUM low earth orbit satellite system", IEEE Communications
/// Surveys 2 (2), 1999).
fn iridium() -> Shell {
    Shell {
        raan_spread_deg: 6.0 * 31.6,
        ..delta("iridium", 6, 11, 86.4, mean_motion_rev_per_day(780.0), 8.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_gives_valid_shells() {
        for (name, _) in names() {
            for shell in shells(name).unwrap() {
                shell.check().unwrap();
            }
        }
    }

    #[test]
    fn systems_have_as_many_satellites_as_their_filings() {
        let sizes = [
            ("kuiper-630", 1156),
            ("starlink-550", 1584),
            ("telesat-1015", 351),
            ("oneweb", 588),
            ("iridium", 66),
            ("kuiper", 3236),
            ("starlink", 4408),
            ("telesat", 1671),
        ];
        assert_eq!(sizes.len(), names().len());
        for (name, size) in sizes {
            assert_eq!(
                shells(name).unwrap().iter().map(Shell::satellites).sum::<usize>(),
                size,
                "{name}"
            );
        }
    }

    #[test]
    fn the_study_limits_the_length_of_ground_links_instead_of_the_elevation() {
        for (name, km) in
            [("kuiper-630", 1260.0), ("starlink-550", 1089.69), ("telesat-1015", 5845.2)]
        {
            let shell = shells(name).unwrap().remove(0);
            let length_km = shell.max_ground_link_length_m.unwrap() / 1e3;
            assert!((length_km - km).abs() < 0.05, "{name}: {length_km} km");
            assert!(shell.min_elevation_deg.abs() < f64::EPSILON, "{name}");
        }
        for name in ["oneweb", "iridium", "kuiper", "starlink", "telesat"] {
            for shell in shells(name).unwrap() {
                assert!(shell.max_ground_link_length_m.is_none() && shell.min_elevation_deg > 0.0);
            }
        }
    }

    #[test]
    fn an_unknown_name_is_rejected_with_similar_ones() {
        let error = shells("starlink550").unwrap_err().to_string();
        assert!(error.contains("`starlink550`") && error.contains("`starlink-550`"), "{error}");
    }
}
