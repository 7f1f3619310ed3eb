use super::*;
use crate::{IslPattern, isl};
use std::collections::{BTreeMap, BTreeSet};

/// The Iridium system in January 2025: six planes of eleven satellites and a spare at their
/// altitude, 13 spares and failed satellites in other orbits.
const IRIDIUM: &str = include_str!("../../tests/data/iridium.txt");

fn iridium() -> Constellation {
    Constellation::from_elements(IRIDIUM).unwrap()
}

/// Returns the satellites in service and the spare among them, which have the mean motion of the
/// system.
fn serving(constellation: &Constellation) -> BTreeSet<u32> {
    let plane_positions = constellation.plane_positions().unwrap();
    (0..constellation.len() as u32)
        .filter(|&index| {
            (plane_positions[index as usize].mean_motion_rev_per_day - 14.3422).abs() < 0.001
        })
        .collect()
}

#[test]
fn intra_plane_links_of_a_real_system_form_its_six_planes() {
    let constellation = iridium();
    let serving = serving(&constellation);
    assert_eq!(serving.len(), 67);
    let links = isl::links(&constellation, &IslPattern::IntraPlane).unwrap();
    // Follows the links from each satellite: a connected set is a plane.
    let mut plane: BTreeMap<u32, u32> =
        (0..constellation.len() as u32).map(|index| (index, index)).collect();
    for _ in 0..constellation.len() {
        for &(a, b) in &links {
            let least = plane[&a].min(plane[&b]);
            plane.insert(a, least);
            plane.insert(b, least);
        }
    }
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    for index in &serving {
        *sizes.entry(plane[index]).or_insert(0) += 1;
    }
    let mut sizes: Vec<usize> = sizes.into_values().collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [11, 11, 11, 11, 11, 12]);
    // No link connects a satellite in service to a spare.
    assert!(links.iter().all(|(a, b)| serving.contains(a) == serving.contains(b)));
}

#[test]
fn the_grid_of_a_real_system_links_neighbours_except_across_the_seam() {
    let constellation = iridium();
    let serving = serving(&constellation);
    let links = isl::links(&constellation, &IslPattern::PlusGrid).unwrap();
    let among: Vec<_> = links.iter().filter(|(a, _)| serving.contains(a)).collect();
    // 67 along planes; across, five pairs of planes of eleven, if nearest neighbours are mutual.
    assert!((67 + 50..=67 + 55).contains(&among.len()), "{}", among.len());
    let mut at = Vec::new();
    constellation
        .positions(constellation.epoch().unwrap(), bentpipe_units::Time::ZERO, &mut at)
        .unwrap();
    let longest =
        among.iter().map(|(a, b)| at[*a as usize].distance_m(at[*b as usize])).fold(0.0, f64::max);
    // Neighbours in a plane are 4,030 km apart, planes at most 31.6 degrees: 3,900 km, plus half a
    // spacing along.
    assert!(longest < 4_600e3, "{longest}");
    let mut degree: BTreeMap<u32, usize> = BTreeMap::new();
    for (a, b) in &links {
        *degree.entry(*a).or_insert(0) += 1;
        *degree.entry(*b).or_insert(0) += 1;
    }
    assert!(degree.values().all(|&degree| degree <= 4));
}

#[test]
fn satellites_without_planes_are_rejected_with_the_remedy() {
    // Nodes every 1.5 degrees all around. The checksum counts digits.
    let lines: String = (0..240)
        .map(|index| {
            let sum = |body: &str| body.chars().filter_map(|c| c.to_digit(10)).sum::<u32>() % 10;
            let first = format!(
                "1 {:05}U 00000A   25001.00000000  .00000000  00000+0  00000+0 0    1",
                index + 1
            );
            let second = format!(
                "2 {:05}  53.0000 {:8.4} 0001000   0.0000   0.0000 15.05000000    1",
                index + 1,
                f64::from(index) * 1.5
            );
            format!("{first}{}\n{second}{}\n", sum(&first), sum(&second))
        })
        .collect();
    let constellation = Constellation::from_elements(&lines).unwrap();
    let error = isl::links(&constellation, &IslPattern::IntraPlane).unwrap_err().to_string();
    assert!(error.contains("240 satellites") && error.contains("as a list"), "{error}");
    assert!(isl::links(&constellation, &IslPattern::None).unwrap().is_empty());
}
