//! Path descriptions for the results.

use super::orbit_path::{LinkKind, OrbitPath};
use super::path::ResolvedPath;
use bentpipe_results::{HopSummary, PathSummary};
use bentpipe_scenario::profiles::{describe, describe_without_delay};
use bentpipe_units::Bytes;

/// Describes `path`, whose bottleneck has a bandwidth-delay product of `bdp`.
pub(super) fn summary(path: &ResolvedPath, bdp: Bytes) -> PathSummary {
    if let Some(orbit) = &path.orbit {
        return orbit_summary(orbit, bdp);
    }
    let hops = path.hops.iter().zip(&path.configs).enumerate().map(
        |(index, (hop, (forward, reverse)))| {
            let drawn = path.drawn.iter().find(|drawn| drawn.index == index);
            let period = drawn.map(|drawn| drawn.change.period);
            let changes =
                period.map_or_else(String::new, |period| format!("; changes every {period}"));
            HopSummary {
                name: hop.name.clone(),
                forward: describe(forward) + &changes,
                reverse: describe(reverse) + &changes,
            }
        },
    );
    let hops: Vec<HopSummary> = hops.collect();
    let name = match path.profile {
        Some(profile) => profile.title.clone(),
        None => hops.iter().map(|hop| hop.name.as_str()).collect::<Vec<_>>().join(" + "),
    };
    PathSummary {
        name,
        hops,
        rtt_ms: path.rtt.as_millis_f64(),
        bdp_bytes: bdp.get(),
        profile: path.profile.map(|profile| profile.name.clone()),
        source: path.profile.map(|profile| profile.source.clone()),
    }
}

/// Describes each kind of link as a hop. Downlinks stand for its forward direction, uplinks for its
/// return direction.
fn orbit_summary(orbit: &OrbitPath, bdp: Bytes) -> PathSummary {
    let text = |kind: &LinkKind| describe_without_delay(&kind.config);
    let kinds = &orbit.kinds;
    let hop = |name: String, forward: &LinkKind, reverse: &LinkKind| HopSummary {
        name,
        forward: text(forward),
        reverse: text(reverse),
    };
    let mut hops = Vec::new();
    // Shells with links of their own can leave no satellite with those of all.
    if kinds.down.used || kinds.up.used {
        hops.push(hop("ground".to_owned(), &kinds.down, &kinds.up));
    }
    for own in &kinds.shells {
        hops.push(hop(format!("ground ({})", own.name), &own.down, &own.up));
    }
    if kinds.isl.used {
        hops.push(hop("inter-satellite".to_owned(), &kinds.isl, &kinds.isl));
    }
    for own in kinds.shells.iter().filter(|own| own.isl.used) {
        hops.push(hop(format!("inter-satellite ({})", own.name), &own.isl, &own.isl));
    }
    if kinds.fibre.used {
        hops.push(hop("fibre".to_owned(), &kinds.fibre, &kinds.fibre));
    }
    let network = &orbit.network;
    let (satellites, begins) = (network.satellites(), network.begins());
    let count =
        if satellites == 1 { "1 satellite".to_owned() } else { format!("{satellites} satellites") };
    PathSummary {
        name: match orbit.start_window {
            None => format!("{} ({count}) from {begins}", orbit.name),
            Some(window) => {
                format!("{} ({count}), starting within {window} after {begins}", orbit.name)
            }
        },
        hops,
        rtt_ms: orbit.rtt.as_millis_f64(),
        bdp_bytes: bdp.get(),
        profile: None,
        source: None,
    }
}
