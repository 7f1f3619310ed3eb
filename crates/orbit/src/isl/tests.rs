use super::*;
use crate::presets;
use bentpipe_units::{Epoch, Time};
use std::collections::BTreeMap;

fn shell(planes: u32, per_plane: u32) -> Shell {
    Shell { planes, per_plane, ..presets::shells("starlink-550").unwrap().remove(0) }
}

fn of(shell: &Shell) -> Constellation {
    Constellation::from_shells(std::slice::from_ref(shell), Epoch::from_unix_secs(946_684_800))
        .unwrap()
}

fn grid(shell: &Shell) -> Vec<(u32, u32)> {
    links(&of(shell), &IslPattern::PlusGrid).unwrap()
}

fn degrees(links: &[(u32, u32)]) -> BTreeMap<u32, usize> {
    let mut counted = BTreeMap::new();
    for &(a, b) in links {
        *counted.entry(a).or_insert(0) += 1;
        *counted.entry(b).or_insert(0) += 1;
    }
    counted
}

#[test]
fn on_a_full_grid_every_satellite_has_four_links() {
    let links = grid(&shell(72, 22));
    assert_eq!(links.len(), 2 * 1584);
    assert!(degrees(&links).values().all(|&degree| degree == 4));
}

#[test]
fn tiny_constellations_have_no_link_twice_and_none_to_itself() {
    // Planes, satellites per plane, links of +grid, links of intra-plane.
    for (planes, per_plane, across, along) in [
        (1, 1, 0, 0),
        (1, 2, 1, 1),
        (1, 5, 5, 5),
        (2, 1, 1, 0),
        (2, 2, 4, 2),
        (2, 3, 9, 6),
        (3, 1, 3, 0),
        (3, 2, 9, 3),
    ] {
        let shell = shell(planes, per_plane);
        for (pattern, expected) in
            [(IslPattern::PlusGrid, across), (IslPattern::IntraPlane, along), (IslPattern::None, 0)]
        {
            let links = links(&of(&shell), &pattern).unwrap();
            assert_eq!(links.len(), expected, "{planes} x {per_plane} {pattern:?}");
            assert!(links.iter().all(|(a, b)| a < b));
            assert!(links.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}

#[test]
fn across_the_seam_of_a_star_there_are_no_links() {
    let iridium = presets::shells("iridium").unwrap().remove(0);
    let constellation = of(&iridium);
    let links = links(&constellation, &IslPattern::PlusGrid).unwrap();
    assert_eq!(links.len(), 66 + 5 * 11);
    assert!(!links.iter().any(|&(a, b)| {
        let plane = |index: u32| constellation.slot(index as usize).unwrap().plane;
        (plane(a), plane(b)) == (0, 5)
    }));
}

/// With any phase, neighbours across the wrap are as close as elsewhere: no link may be longer than
/// the longest that does not cross the wrap.
#[test]
fn links_across_the_wrap_are_no_longer_than_others() {
    for factor in [0.0, 1.0, 5.0, 13.0, 17.0, 39.0, 71.0] {
        let shell = Shell { phase_deg: PhaseShift::Each(360.0 * factor / 1584.0), ..shell(72, 22) };
        let constellation = of(&shell);
        let links = links(&constellation, &IslPattern::PlusGrid).unwrap();
        assert_eq!(links.len(), 2 * 1584, "f = {factor}");
        let mut at = Vec::new();
        constellation.positions(constellation.epoch().unwrap(), Time::ZERO, &mut at).unwrap();
        let plane = |index: u32| constellation.slot(index as usize).unwrap().plane;
        let longest = |wrap: bool| {
            let chosen = links.iter().filter(|(a, b)| {
                plane(*a) != plane(*b) && (plane(*a).abs_diff(plane(*b)) > 1) == wrap
            });
            chosen.map(|&(a, b)| at[a as usize].distance_m(at[b as usize])).fold(0.0, f64::max)
        };
        assert!(
            longest(true) <= longest(false) * 1.001,
            "f = {factor}: {} and {}",
            longest(true),
            longest(false)
        );
    }
}

#[test]
fn listed_links_are_used_and_wrong_names_are_rejected_with_similar_ones() {
    let constellation = of(&shell(2, 3));
    let pair = |a: &str, b: &str| (format!("starlink-550-{a}"), format!("starlink-550-{b}"));
    let list = IslPattern::List(vec![pair("1-2", "0-0"), pair("0-0", "1-2"), pair("0-1", "0-2")]);
    assert_eq!(links(&constellation, &list).unwrap(), [(0, 5), (1, 2)]);
    let error =
        links(&constellation, &IslPattern::List(vec![pair("0-0", "1-7")])).unwrap_err().to_string();
    assert!(error.contains("`starlink-550-1-7`") && error.contains("`starlink-550-1-"), "{error}");
    assert!(links(&constellation, &IslPattern::List(vec![pair("0-0", "0-0")])).is_err());
}

#[test]
fn shells_are_linked_within_themselves() {
    let shells = presets::shells("kuiper").unwrap();
    let constellation =
        Constellation::from_shells(&shells, Epoch::from_unix_secs(946_684_800)).unwrap();
    let links = links(&constellation, &IslPattern::PlusGrid).unwrap();
    assert_eq!(links.len(), 2 * 3236);
    let shell = |index: u32| constellation.slot(index as usize).unwrap().shell;
    assert!(links.iter().all(|&(a, b)| shell(a) == shell(b)));
}
