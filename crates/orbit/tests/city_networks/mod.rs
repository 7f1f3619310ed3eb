//! Networks of a preset's shells with cities as stations, and rows of `vectors/`.

use bentpipe_orbit::{
    Constellation, IslPattern, Metric, Network, NetworkSpec, SatelliteSelection, Station, cities,
    presets,
};
use bentpipe_units::{Epoch, Span};
use std::collections::{BTreeMap, BTreeSet};

/// The epoch of the generated shells: 2000-01-01.
pub const EPOCH: Epoch = Epoch::from_unix_secs(946_684_800);

/// Returns the rows of a file of vectors, without its two header lines.
pub fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(2).map(|line| line.split(',').collect())
}

pub fn number<T: std::str::FromStr>(field: &str) -> T {
    field.parse().ok().unwrap_or_else(|| panic!("`{field}` is not a number"))
}

/// Returns a network of the preset's shells with +grid, and with `names` as stations that use all
/// visible satellites: above `min_elevation_deg`, or by the preset's own rule.
pub fn network(preset: &str, names: &BTreeSet<&str>, min_elevation_deg: Option<f64>) -> Network {
    let shells = presets::shells(preset).unwrap();
    let station = |name: &&str| Station {
        name: (*name).to_owned(),
        place: cities::find(name).unwrap(),
        min_elevation_deg,
        selection: SatelliteSelection::All,
        handover_outage: Span::ZERO,
        forwards: false,
    };
    Network::new(NetworkSpec {
        constellation: Constellation::from_shells(&shells, EPOCH).unwrap(),
        begins: EPOCH,
        stations: names.iter().map(station).collect(),
        isl: IslPattern::PlusGrid,
        max_isl_length_m: None,
        max_ground_link_length_m: None,
        fibres: Vec::new(),
        metric: Metric::Delay,
        avoid: Vec::new(),
    })
    .unwrap()
}

/// Returns the stations of `network` by name.
pub fn stations(network: &Network) -> BTreeMap<&str, usize> {
    network.stations().iter().enumerate().map(|(index, one)| (one.name.as_str(), index)).collect()
}
