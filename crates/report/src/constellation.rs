//! What stands above a run: satellites over time, stations, links; for the page's globe, and as
//! CZML.
//!
//! Positions lie in the blob of the time series: for each time and each satellite geodetic latitude
//! and longitude in degrees and altitude in kilometres, as little-endian 32-bit floats.

use crate::traces::Trace;
use bentpipe_orbit::{Ecef, Network, OrbitError, RouteUpdates};
use bentpipe_units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Positions of a constellation, over all times: 2.4 MB.
const MOST_POSITIONS: usize = 200_000;
/// Shortest time between two positions of a satellite. A straight line between them is off by 28 m
/// at 7.6 km/s in a low orbit.
const SHORTEST_STEP: Span = Span::from_secs(5);
/// Beyond so many, links are not listed: nobody could tell them apart.
const MOST_LINKS: usize = 5000;

/// Satellites, stations and links over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConstellationView {
    /// When the run begins, as RFC 3339 has it.
    pub begins: String,
    /// The satellites.
    pub satellites: Satellites,
    /// The stations, in the network's order.
    pub stations: Vec<StationPlace>,
    /// Pairs of satellites that have a link, by index.
    pub isls: Vec<(u32, u32)>,
}

/// Satellites over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Satellites {
    /// Their names.
    pub names: Vec<String>,
    /// The shell that each belongs to.
    pub shell: Vec<u32>,
    /// Where they are.
    pub positions: Positions,
}

/// Where in the blob positions lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Positions {
    /// First byte; a multiple of 8.
    pub offset: usize,
    /// How many times, the first at the run's beginning.
    pub times: usize,
    /// Time between two.
    pub step_s: f64,
}

/// A station on the ground.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StationPlace {
    /// Its name.
    pub name: String,
    /// Degrees north.
    pub latitude_deg: f64,
    /// Degrees east.
    pub longitude_deg: f64,
    /// Metres above the ellipsoid.
    pub altitude_m: f64,
}

/// A way that a flow's data takes from a time until the flow's next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Route {
    /// The flow.
    pub flow: String,
    /// From when, since the run began.
    pub t_s: f64,
    /// Satellites by index, stations after them; none where there is no way.
    pub nodes: Vec<u32>,
}

impl ConstellationView {
    /// The constellation over `network` from its beginning to `end`, positions appended to `blob`.
    ///
    /// # Errors
    /// A satellite that cannot be followed to `end`.
    pub fn new(
        network: &Network,
        step: RouteUpdates,
        end: Time,
        blob: &mut Vec<u8>,
    ) -> Result<Self, OrbitError> {
        let (times, pause) = instants(network.satellites(), step, end);
        blob.resize(blob.len().next_multiple_of(8), 0);
        let offset = blob.len();
        let mut places: Vec<Ecef> = Vec::new();
        for index in 0..times {
            let at = Time::ZERO + pause * index as u64;
            network.constellation().positions(network.begins(), at, &mut places)?;
            for place in &places {
                let place = place.to_geodetic();
                let values = [place.latitude_deg, place.longitude_deg, place.altitude_m / 1e3];
                blob.extend(values.into_iter().flat_map(|value| (value as f32).to_le_bytes()));
            }
        }
        blob.resize(blob.len().next_multiple_of(8), 0);
        let constellation = network.constellation();
        let satellites = 0..network.satellites();
        let isls = network.isls();
        Ok(Self {
            begins: network.begins().to_string(),
            satellites: Satellites {
                names: satellites
                    .clone()
                    .map(|index| constellation.name(index).to_owned())
                    .collect(),
                shell: satellites
                    .map(|index| constellation.slot(index).map_or(0, |slot| slot.shell))
                    .collect(),
                positions: Positions { offset, times, step_s: pause.as_secs_f64() },
            },
            stations: network
                .stations()
                .iter()
                .map(|station| StationPlace {
                    name: station.name.clone(),
                    latitude_deg: station.place.latitude_deg,
                    longitude_deg: station.place.longitude_deg,
                    altitude_m: station.place.altitude_m,
                })
                .collect(),
            isls: if isls.len() > MOST_LINKS {
                Vec::new()
            } else {
                isls.iter().map(|(a, b)| (a.0, b.0)).collect()
            },
        })
    }
}

/// How many instants, and the time between two: whole seconds, such that the last is not before
/// `end`.
fn instants(satellites: usize, step: RouteUpdates, end: Time) -> (usize, Span) {
    if step == RouteUpdates::Static {
        return (1, SHORTEST_STEP);
    }
    let most = (MOST_POSITIONS / satellites.max(1)).max(2) as u64;
    let seconds = end.as_nanos().div_ceil(1_000_000_000);
    let pause = seconds.div_ceil(most - 1).max(SHORTEST_STEP.as_nanos() / 1_000_000_000);
    ((seconds.div_ceil(pause) + 1) as usize, Span::from_secs(pause))
}

/// A network that a traced run was over, and how long.
#[derive(Debug, Clone)]
pub struct TracedNetwork {
    /// The network.
    pub network: Arc<Network>,
    /// How its routes are updated.
    pub step: RouteUpdates,
    /// End of the run.
    pub end: Time,
}

/// The constellations of `traces` (each with what was seen in it, where it has an orbit), each once: runs
/// over the same network that begin at the same time share one. Sets their [`Trace::constellation`].
pub fn constellations(
    traces: &mut [(Trace, Option<TracedNetwork>)],
    blob: &mut Vec<u8>,
) -> Result<Vec<ConstellationView>, OrbitError> {
    let mut groups: Vec<TracedNetwork> = Vec::new();
    for (trace, seen) in traces.iter_mut() {
        let Some(seen) = seen else { continue };
        let place = groups.iter().position(|group| same(group, seen)).unwrap_or_else(|| {
            groups.push(seen.clone());
            groups.len() - 1
        });
        groups[place].end = groups[place].end.max(seen.end);
        trace.constellation = Some(place);
    }
    let drawn = groups
        .iter()
        .map(|group| ConstellationView::new(&group.network, group.step, group.end, blob));
    drawn.collect()
}

/// Whether both look the same at every time.
fn same(a: &TracedNetwork, b: &TracedNetwork) -> bool {
    if Arc::ptr_eq(&a.network, &b.network) {
        return true;
    }
    let satellites = |seen: &TracedNetwork| {
        let mut places = Vec::new();
        let found =
            seen.network.constellation().positions(seen.network.begins(), Time::ZERO, &mut places);
        found.map(|()| places)
    };
    let still = |seen: &TracedNetwork| seen.step == RouteUpdates::Static;
    a.network.begins() == b.network.begins()
        && still(a) == still(b)
        && a.network.stations() == b.network.stations()
        && a.network.isls() == b.network.isls()
        && satellites(a) == satellites(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_orbit::{Constellation, IslPattern, NetworkSpec, PhaseShift, Shell};
    use bentpipe_units::Epoch;

    fn network(planes: u32) -> Arc<Network> {
        let begins = Epoch::from_unix_secs(946_684_800);
        let shell = Shell {
            name: "test".to_owned(),
            planes,
            per_plane: 3,
            inclination_deg: 53.0,
            mean_motion_rev_per_day: 15.0,
            raan_spread_deg: 360.0,
            phase_deg: PhaseShift::OddHalf,
            min_elevation_deg: 25.0,
        };
        let spec = NetworkSpec {
            constellation: Constellation::from_shells(&[shell], begins).unwrap(),
            begins,
            stations: Vec::new(),
            isl: IslPattern::IntraPlane,
            max_isl_length_m: None,
            max_ground_link_length_m: None,
            fibres: Vec::new(),
            metric: Default::default(),
            avoid: Vec::new(),
        };
        Arc::new(Network::new(spec).unwrap())
    }

    #[test]
    fn positions_reach_the_end_and_stay_within_what_a_page_can_hold() {
        for satellites in [1, 66, 1584, 4408, 10_000, 150_000] {
            for seconds in [0, 1, 7, 200, 3600, 86_400] {
                let (times, pause) = instants(
                    satellites,
                    RouteUpdates::Stepped(SHORTEST_STEP),
                    Time::ZERO + Span::from_secs(seconds),
                );
                assert!(pause >= SHORTEST_STEP);
                assert!(
                    pause * (times as u64 - 1) >= Span::from_secs(seconds),
                    "{satellites} {seconds}"
                );
                assert!(
                    times * satellites <= MOST_POSITIONS.max(2 * satellites),
                    "{satellites} {seconds}"
                );
            }
        }
        assert_eq!(instants(66, RouteUpdates::Static, Time::MAX).0, 1);
    }

    #[test]
    fn positions_are_those_of_the_constellation() {
        let network = network(2);
        let mut blob = vec![1, 2, 3];
        let constellation = ConstellationView::new(
            &network,
            RouteUpdates::Stepped(SHORTEST_STEP),
            Time::ZERO + Span::from_secs(60),
            &mut blob,
        )
        .unwrap();
        let positions = &constellation.satellites.positions;
        assert_eq!((positions.offset, positions.times, positions.step_s), (8, 13, 5.0));
        assert_eq!(blob.len(), 8 + 13 * 6 * 12);
        let mut places = Vec::new();
        network
            .constellation()
            .positions(network.begins(), Time::ZERO + Span::from_secs(60), &mut places)
            .unwrap();
        let at = 8 + (12 * 6 + 5) * 12;
        let value = |index: usize| {
            f32::from_le_bytes(blob[at + index * 4..at + index * 4 + 4].try_into().unwrap())
        };
        let place = places[5].to_geodetic();
        assert_eq!((value(0), value(1)), (place.latitude_deg as f32, place.longitude_deg as f32));
        assert_eq!(value(2), (place.altitude_m / 1e3) as f32);
        assert_eq!(
            (constellation.satellites.names.len(), constellation.begins.as_str()),
            (6, "2000-01-01T00:00:00Z")
        );
    }

    #[test]
    fn runs_over_the_same_network_share_a_sky_that_is_long_enough_for_each() {
        let trace = |network: &Arc<Network>, seconds| {
            let trace = Trace { run: seconds, ..Trace::default() };
            let end = Time::ZERO + Span::from_secs(seconds);
            (
                trace,
                Some(TracedNetwork {
                    network: Arc::clone(network),
                    step: RouteUpdates::Stepped(SHORTEST_STEP),
                    end,
                }),
            )
        };
        let mut traces = vec![
            trace(&network(2), 10),
            trace(&network(2), 30),
            trace(&network(3), 10),
            (Trace::default(), None),
        ];
        let mut blob = Vec::new();
        let constellations = constellations(&mut traces, &mut blob).unwrap();
        let places: Vec<Option<usize>> =
            traces.iter().map(|(trace, _)| trace.constellation).collect();
        assert_eq!(places, [Some(0), Some(0), Some(1), None]);
        let times: Vec<usize> = constellations
            .iter()
            .map(|constellation| constellation.satellites.positions.times)
            .collect();
        assert_eq!(times, [7, 3]);
    }
}
