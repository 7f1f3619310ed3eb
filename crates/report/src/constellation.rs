//! The constellation of a run: satellites over time, stations and links, for the page's globe and
//! for CZML.
//!
//! Positions are in the blob of the time series. Each time has, for each satellite, the geodetic
//! latitude and longitude in degrees and the altitude in kilometres, as little-endian 32-bit
//! floats.

use bentpipe_orbit::{Ecef, Network, OrbitError, RouteUpdates};
use bentpipe_units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of positions of a constellation, over all times: 2.4 MB.
const MAX_POSITIONS: usize = 200_000;
/// Minimum time between two positions of a satellite. A straight line between them deviates from
/// a low orbit by 28 m at 7.6 km/s.
const MIN_STEP: Span = Span::from_secs(5);
/// Maximum number of links that are listed. More would be indistinguishable.
const MAX_LINKS: usize = 5000;

/// Satellites, stations and links over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConstellationView {
    /// Start of the run (RFC 3339).
    pub begins: String,
    /// The satellites.
    pub satellites: Satellites,
    /// The stations, in the order of the network.
    pub stations: Vec<StationPlace>,
    /// Inter-satellite links, as pairs of indices; empty if there are more than 5000.
    pub isls: Vec<(u32, u32)>,
}

/// Satellites over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Satellites {
    /// Names of the satellites.
    pub names: Vec<String>,
    /// Index of each satellite's shell.
    pub shell: Vec<u32>,
    /// Positions of the satellites.
    pub positions: Positions,
}

/// Reference to positions in the blob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Positions {
    /// Offset of the first byte, a multiple of 8.
    pub offset: usize,
    /// Number of times. The first is the start of the run.
    pub times: usize,
    /// Interval between times, in seconds.
    pub step_s: f64,
}

/// A ground station.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StationPlace {
    /// Name of the station.
    pub name: String,
    /// Latitude in degrees north.
    pub latitude_deg: f64,
    /// Longitude in degrees east.
    pub longitude_deg: f64,
    /// Altitude in metres above the ellipsoid.
    pub altitude_m: f64,
}

/// Route of a flow's data, valid until the flow's next route.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Route {
    /// Name of the flow.
    pub flow: String,
    /// Start of validity, in seconds since the start of the run.
    pub t_s: f64,
    /// Indices of the nodes; empty without a route. Satellites have the first indices, stations
    /// the following ones.
    pub nodes: Vec<u32>,
}

impl ConstellationView {
    /// Returns where the binary data has the positions of the satellites.
    pub(crate) fn positions(&self) -> Range<usize> {
        let Positions { offset, times, .. } = self.satellites.positions;
        let size = times.saturating_mul(self.satellites.names.len()).saturating_mul(12);
        offset..offset.saturating_add(size)
    }

    /// Creates the view of `network` from the start of the run to `end`, and appends the positions
    /// to `blob`.
    ///
    /// # Errors
    /// Returns an error if a satellite cannot be propagated to `end`.
    pub fn new(
        network: &Network,
        step: RouteUpdates,
        end: Time,
        blob: &mut Vec<u8>,
    ) -> Result<Self, OrbitError> {
        let (times, interval) = instants(network.satellites(), step, end);
        blob.resize(blob.len().next_multiple_of(8), 0);
        let offset = blob.len();
        let mut places: Vec<Ecef> = Vec::new();
        for index in 0..times {
            let at = Time::ZERO + interval * index as u64;
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
                positions: Positions { offset, times, step_s: interval.as_secs_f64() },
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
            isls: if isls.len() > MAX_LINKS {
                Vec::new()
            } else {
                isls.iter().map(|(a, b)| (a.0, b.0)).collect()
            },
        })
    }
}

/// Returns the number of times and the interval between them, in whole seconds. The last time is
/// not before `end`.
fn instants(satellites: usize, step: RouteUpdates, end: Time) -> (usize, Span) {
    if step == RouteUpdates::Static {
        return (1, MIN_STEP);
    }
    let max_times = (MAX_POSITIONS / satellites.max(1)).max(2) as u64;
    let seconds = end.as_nanos().div_ceil(1_000_000_000);
    let interval = seconds.div_ceil(max_times - 1).max(MIN_STEP.as_nanos() / 1_000_000_000);
    ((seconds.div_ceil(interval) + 1) as usize, Span::from_secs(interval))
}

/// The network of a run with time series.
#[derive(Debug, Clone)]
pub struct TracedNetwork {
    /// The network.
    pub network: Arc<Network>,
    /// How its routes are updated.
    pub step: RouteUpdates,
    /// End of the run.
    pub end: Time,
}

/// Creates the distinct constellations of runs, and appends their positions to `blob`.
///
/// `runs` holds the network of each run with an orbit. The second list holds the index of each
/// run's constellation.
///
/// # Errors
/// Returns an error if a satellite cannot be propagated to the end of a run.
pub fn distinct<'a>(
    runs: impl Iterator<Item = Option<&'a TracedNetwork>>,
    blob: &mut Vec<u8>,
) -> Result<(Vec<ConstellationView>, Vec<Option<usize>>), OrbitError> {
    let mut groups: Vec<TracedNetwork> = Vec::new();
    let mut add = |run: &TracedNetwork| {
        let index = groups.iter().position(|group| same(group, run)).unwrap_or_else(|| {
            groups.push(run.clone());
            groups.len() - 1
        });
        groups[index].end = groups[index].end.max(run.end);
        index
    };
    let indices: Vec<Option<usize>> = runs.map(|run| run.map(&mut add)).collect();
    let views = groups
        .iter()
        .map(|group| ConstellationView::new(&group.network, group.step, group.end, blob));
    Ok((views.collect::<Result<_, _>>()?, indices))
}

/// Returns true if both networks have the same nodes, links and positions at every time.
fn same(a: &TracedNetwork, b: &TracedNetwork) -> bool {
    if Arc::ptr_eq(&a.network, &b.network) {
        return true;
    }
    let satellites = |run: &TracedNetwork| {
        let mut places = Vec::new();
        let found =
            run.network.constellation().positions(run.network.begins(), Time::ZERO, &mut places);
        found.map(|()| places)
    };
    let is_static = |run: &TracedNetwork| run.step == RouteUpdates::Static;
    a.network.begins() == b.network.begins()
        && is_static(a) == is_static(b)
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
            max_ground_link_length_m: None,
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
    fn positions_reach_the_end_and_stay_within_the_maximum() {
        for satellites in [1, 66, 1584, 4408, 10_000, 150_000] {
            for seconds in [0, 1, 7, 200, 3600, 86_400] {
                let (times, interval) = instants(
                    satellites,
                    RouteUpdates::Stepped(MIN_STEP),
                    Time::ZERO + Span::from_secs(seconds),
                );
                assert!(interval >= MIN_STEP);
                assert!(
                    interval * (times as u64 - 1) >= Span::from_secs(seconds),
                    "{satellites} {seconds}"
                );
                assert!(
                    times * satellites <= MAX_POSITIONS.max(2 * satellites),
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
            RouteUpdates::Stepped(MIN_STEP),
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
    fn runs_over_the_same_network_share_a_constellation_that_covers_the_longest_run() {
        let run = |network: Arc<Network>, seconds| {
            let end = Time::ZERO + Span::from_secs(seconds);
            Some(TracedNetwork { network, step: RouteUpdates::Stepped(MIN_STEP), end })
        };
        let runs = [run(network(2), 10), run(network(2), 30), run(network(3), 10), None];
        let mut blob = Vec::new();
        let (constellations, indices) =
            distinct(runs.iter().map(Option::as_ref), &mut blob).unwrap();
        assert_eq!(indices, [Some(0), Some(0), Some(1), None]);
        let times: Vec<usize> = constellations
            .iter()
            .map(|constellation| constellation.satellites.positions.times)
            .collect();
        assert_eq!(times, [7, 3]);
    }
}
