//! `[path.orbit]`: satellites that move, ground stations, and the links between them.

use super::orbit_text::{Begin, ConstellationText, IslText, PhaseText};
use bentpipe_link::DirectionPatch;
use bentpipe_orbit::HandoverLoss;
use bentpipe_orbit::{Metric, SatelliteSelection};
use bentpipe_units::{Epoch, Length, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::collections::BTreeMap;

/// Network of satellites, instead of hops. Flows name their endpoints with `from` and `to`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrbitSection {
    /// One or more presets (`bentpipe constellations` lists them), or a file of published orbital
    /// elements: { tle = "FILE" } or { omm = "FILE" }.
    #[schemars(with = "Option<ConstellationText>")]
    pub constellation: Option<Spanned<ConstellationText>>,
    /// Walker shells, instead of `constellation`.
    #[serde(default)]
    #[schemars(with = "Vec<ShellSection>")]
    pub shell: Vec<Spanned<ShellSection>>,
    /// Time that `at` counts from. For shells, the epoch of their elements, by default
    /// 2000-01-01T00:00:00Z; for published elements, by default the latest epoch in the file.
    #[schemars(with = "Option<Epoch>")]
    pub epoch: Option<Spanned<Epoch>>,
    /// Start of the run, as a time after `epoch`; 0 s by default. `random` draws a time within
    /// `start_window` for each run.
    #[schemars(with = "Option<Begin>")]
    pub at: Option<Spanned<Begin>>,
    /// Range of at = "random", starting at `epoch`; 1 h by default.
    #[schemars(with = "Option<Span>")]
    pub start_window: Option<Spanned<Span>>,
    /// Freeze every satellite at its position at the start of the run; false by default.
    #[serde(rename = "static", default)]
    pub is_static: bool,
    /// Interval between computations of the routes; 100 ms by default.
    #[schemars(with = "Option<Span>")]
    pub step: Option<Spanned<Span>>,
    /// When routes change: `stepped` (the default) at the next step, `event-driven` when the
    /// topology changes, to the millisecond.
    #[serde(default)]
    pub route_updates: RouteUpdatesName,
    /// Inter-satellite links: `+grid` (the default), `intra-plane`, `none`, or a list of pairs of
    /// satellite names.
    #[schemars(with = "Option<IslText>")]
    pub isl: Option<Spanned<IslText>>,
    /// Maximum length of an inter-satellite link. By default, only the horizon limits it: the
    /// line of sight must stay 80 km above the ground.
    #[schemars(with = "Option<Length>")]
    pub max_isl_length: Option<Spanned<Length>>,
    /// Maximum length of a link between ground and satellite; by default the shell's, which the
    /// presets of the Hypatia study have. Without one, only the minimum elevation limits links.
    #[schemars(with = "Option<Length>")]
    pub max_ground_link_length: Option<Spanned<Length>>,
    /// Minimum elevation in degrees; the shell's own by default.
    #[schemars(with = "Option<f64>", range(min = 0, max = 90))]
    pub min_elevation_deg: Option<Spanned<f64>>,
    /// How stations choose among the satellites in view; `all` by default.
    pub satellite_selection: Option<SatelliteSelection>,
    /// Duration of the outage of a station's link at each handover; 0 s by default.
    #[schemars(with = "Option<Span>")]
    pub handover_outage: Option<Spanned<Span>>,
    /// Packets lost in a handover: `none` (the default), `queued`, or `in-flight`.
    pub handover_loss: Option<HandoverLoss>,
    /// Routing metric: `delay` (the default) or `hops`.
    pub metric: Option<Metric>,
    /// Names of satellites and stations that routes avoid.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub avoid: Vec<Spanned<String>>,
    /// Rate, queue and loss for each kind of link.
    #[serde(default)]
    pub links: LinksSection,
    /// True if a satellite has one transmitter for all stations, as in the Hypatia study; false
    /// (the default) if it has one for each station.
    #[serde(default)]
    pub shared_ground_link: bool,
    /// Ground stations in addition to the cities that flows name.
    #[serde(default)]
    #[schemars(with = "Vec<StationSection>")]
    pub station: Vec<Spanned<StationSection>>,
    /// Terrestrial links.
    #[serde(default)]
    #[schemars(with = "Vec<FibreSection>")]
    pub fibre: Vec<Spanned<FibreSection>>,
    /// Time in advance at which senders are notified of a path change. By default, they are not
    /// notified.
    #[schemars(with = "Option<Span>")]
    pub path_change_notice: Option<Spanned<Span>>,
}

/// When routes change after a change of the topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RouteUpdatesName {
    /// At the next step.
    #[default]
    Stepped,
    /// Immediately, to the millisecond.
    EventDriven,
}

/// Rate, queue and loss for each kind of link. Positions determine the delays.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinksSection {
    /// Defaults for all kinds of links.
    #[schemars(with = "Option<DirectionPatch>")]
    pub all: Option<Spanned<DirectionPatch>>,
    /// Each direction of an inter-satellite link.
    #[schemars(with = "Option<DirectionPatch>")]
    pub isl: Option<Spanned<DirectionPatch>>,
    /// Links from a station to satellites.
    #[schemars(with = "Option<DirectionPatch>")]
    pub up: Option<Spanned<DirectionPatch>>,
    /// Links from a satellite to stations.
    #[schemars(with = "Option<DirectionPatch>")]
    pub down: Option<Spanned<DirectionPatch>>,
    /// Each direction of a terrestrial link; 10 Gbps if neither this nor `all` sets a rate.
    #[schemars(with = "Option<DirectionPatch>")]
    pub fibre: Option<Spanned<DirectionPatch>>,
    /// Links of single shells, by name: what differs from the links of the same kind.
    #[schemars(with = "BTreeMap<String, ShellLinksSection>")]
    pub shell: BTreeMap<Spanned<String>, ShellLinksSection>,
}

/// Links of the satellites of one shell, as differences from the links of the same kind.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShellLinksSection {
    /// Inter-satellite links, in the direction away from the shell's satellites.
    #[schemars(with = "Option<DirectionPatch>")]
    pub isl: Option<Spanned<DirectionPatch>>,
    /// Links from a station to the shell's satellites.
    #[schemars(with = "Option<DirectionPatch>")]
    pub up: Option<Spanned<DirectionPatch>>,
    /// Links from the shell's satellites to stations.
    #[schemars(with = "Option<DirectionPatch>")]
    pub down: Option<Spanned<DirectionPatch>>,
}

impl LinksSection {
    /// Returns every direction that the section sets.
    pub fn directions(&self) -> impl Iterator<Item = &Spanned<DirectionPatch>> {
        let kinds = [&self.all, &self.isl, &self.up, &self.down, &self.fibre];
        let shells = self.shell.values().flat_map(|shell| [&shell.isl, &shell.up, &shell.down]);
        kinds.into_iter().chain(shells).flatten()
    }
}

/// A Walker shell: circular orbits of equal inclination in evenly spaced planes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShellSection {
    /// Name of the shell. Its satellites are named NAME-PLANE-INDEX.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Number of orbital planes.
    pub planes: u32,
    /// Satellites per plane.
    pub per_plane: u32,
    /// Inclination in degrees.
    pub inclination_deg: f64,
    /// Altitude above the equatorial radius, 150 to 50000 km; or `mean_motion_rev_per_day`.
    #[schemars(with = "Option<Length>")]
    pub altitude: Option<Spanned<Length>>,
    /// Mean motion in revolutions per day, as in a TLE; or `altitude`.
    #[schemars(with = "Option<f64>")]
    pub mean_motion_rev_per_day: Option<Spanned<f64>>,
    /// Range of right ascensions of the ascending nodes, in degrees: 360 (Walker delta, the
    /// default) or 180 (Walker star).
    pub raan_spread_deg: Option<f64>,
    /// Phase shift between neighbouring planes: `odd-half` (the default; odd planes are shifted by
    /// half the spacing of satellites), or degrees of mean anomaly.
    pub phase_deg: Option<PhaseText>,
    /// Minimum elevation of the shell's satellites in degrees; 25 by default.
    pub min_elevation_deg: Option<f64>,
}

/// A ground station.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationSection {
    /// Name of the station, 1 to 64 characters; flows and fibres refer to it.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// City of the station (`bentpipe cities` lists them); or `latitude_deg` and `longitude_deg`.
    #[schemars(with = "Option<String>")]
    pub city: Option<Spanned<String>>,
    /// Latitude in degrees north.
    #[schemars(with = "Option<f64>", range(min = -90, max = 90))]
    pub latitude_deg: Option<Spanned<f64>>,
    /// Longitude in degrees east.
    #[schemars(with = "Option<f64>", range(min = -180, max = 180))]
    pub longitude_deg: Option<Spanned<f64>>,
    /// Altitude in metres above the ellipsoid, -500 to 50000; 0 by default.
    #[schemars(with = "Option<f64>")]
    pub altitude_m: Option<Spanned<f64>>,
    /// How the station chooses among the satellites in view; that of the orbit by default.
    pub satellite_selection: Option<SatelliteSelection>,
    /// Minimum elevation in degrees; that of the orbit by default.
    #[schemars(with = "Option<f64>", range(min = 0, max = 90))]
    pub min_elevation_deg: Option<Spanned<f64>>,
    /// True if the station forwards packets of others, as a gateway or ground relay does; false by
    /// default.
    #[serde(default)]
    pub forwards: bool,
    /// Duration of the outage of the station's link at each handover; that of the orbit by
    /// default.
    #[schemars(with = "Option<Span>")]
    pub handover_outage: Option<Spanned<Span>>,
}

/// A bidirectional terrestrial link between two stations.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FibreSection {
    /// One end: a station or a city. A city named only here has no antenna.
    #[schemars(with = "String")]
    pub from: Spanned<String>,
    /// The other end: a station or a city.
    #[schemars(with = "String")]
    pub to: Spanned<String>,
    /// One-way delay. Defaults to 1.5 times the geodesic distance at two thirds of the speed of
    /// light.
    pub delay: Option<Span>,
}
