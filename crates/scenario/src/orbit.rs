//! `[path.orbit]`: satellites that move, ground stations, and the links between them.

use super::orbit_text::{Begin, ConstellationText, IslText, PhaseText};
use bentpipe_link::DirectionPatch;
use bentpipe_orbit::HandoverLoss;
use bentpipe_orbit::{Metric, SatelliteSelection};
use bentpipe_units::{Epoch, Length, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// A network of satellites instead of hops. Flows name their ends with `from` and `to`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrbitSection {
    /// One or more presets (`bentpipe constellations` lists them), or a file of published
    /// elements: { tle = "FILE" }, { omm = "FILE" }.
    #[schemars(with = "Option<ConstellationText>")]
    pub constellation: Option<Spanned<ConstellationText>>,
    /// Walker shells, instead of `constellation`.
    #[serde(default)]
    #[schemars(with = "Vec<ShellSection>")]
    pub shell: Vec<Spanned<ShellSection>>,
    /// Epoch of a shell's elements, by default 2000-01-01T00:00:00Z. With published elements, the
    /// time that `at` counts from, by default the latest epoch in the file.
    #[schemars(with = "Option<Epoch>")]
    pub epoch: Option<Spanned<Epoch>>,
    /// Start of the run, counted from `epoch`; 0 s by default. `random` draws it for each run from
    /// `start_window`.
    #[schemars(with = "Option<Begin>")]
    pub at: Option<Spanned<Begin>>,
    /// Range of at = "random", counted from `epoch`; 1 h by default.
    #[schemars(with = "Option<Span>")]
    pub start_window: Option<Spanned<Span>>,
    /// Freeze every satellite at its position when the run starts.
    #[serde(rename = "static", default)]
    pub is_static: bool,
    /// Time between two computations of the routes; 100 ms by default.
    #[schemars(with = "Option<Span>")]
    pub step: Option<Spanned<Span>>,
    /// When routes change: at the next step (`stepped`, the default), or as soon as the topology
    /// does, to the millisecond (`event-driven`).
    #[serde(default)]
    pub route_updates: RouteUpdatesName,
    /// Inter-satellite links: `+grid` (the default), `intra-plane`, `none`, or a list of pairs of
    /// satellite names.
    #[schemars(with = "Option<IslText>")]
    pub isl: Option<Spanned<IslText>>,
    /// Maximum length of an inter-satellite link. By default, only the horizon limits it: the line
    /// of sight stays 80 km above the ground.
    #[schemars(with = "Option<Length>")]
    pub max_isl_length: Option<Spanned<Length>>,
    /// Maximum length of a link between ground and satellite. By default, only the minimum
    /// elevation limits it.
    #[schemars(with = "Option<Length>")]
    pub max_ground_link_length: Option<Spanned<Length>>,
    /// Minimum elevation in degrees; the shell's own by default.
    #[schemars(with = "Option<f64>", range(min = 0, max = 90))]
    pub min_elevation_deg: Option<Spanned<f64>>,
    /// How stations choose among the satellites in view; `all` by default.
    pub satellite_selection: Option<SatelliteSelection>,
    /// Outage of a station's link during each handover; none by default.
    #[schemars(with = "Option<Span>")]
    pub handover_outage: Option<Spanned<Span>>,
    /// Packets lost in a handover: `none` (the default), `queued`, or `in-flight`.
    pub handover_loss: Option<HandoverLoss>,
    /// Routing metric: `delay` (the default) or `hops`.
    pub metric: Option<Metric>,
    /// Satellites and stations that routes avoid, by name.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub avoid: Vec<Spanned<String>>,
    /// Rate, queue and loss by kind of link.
    #[serde(default)]
    pub links: LinksSection,
    /// True if a satellite has one transmitter for all stations, as in the Hypatia study; false if
    /// it has one for each.
    #[serde(default)]
    pub shared_ground_link: bool,
    /// Stations besides the cities that flows name.
    #[serde(default)]
    #[schemars(with = "Vec<StationSection>")]
    pub station: Vec<Spanned<StationSection>>,
    /// Terrestrial links.
    #[serde(default)]
    #[schemars(with = "Vec<FibreSection>")]
    pub fibre: Vec<Spanned<FibreSection>>,
    /// Notify senders of a path change this long in advance; by default they are not notified.
    #[schemars(with = "Option<Span>")]
    pub path_change_notice: Option<Spanned<Span>>,
}

/// When routes follow the topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RouteUpdatesName {
    /// At the next step.
    #[default]
    Stepped,
    /// At once, to the millisecond.
    EventDriven,
}

/// Rate, queue and loss by kind of link. Positions determine the delays.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinksSection {
    /// Defaults for every kind.
    #[schemars(with = "Option<DirectionPatch>")]
    pub all: Option<Spanned<DirectionPatch>>,
    /// Each direction of an inter-satellite link.
    #[schemars(with = "Option<DirectionPatch>")]
    pub isl: Option<Spanned<DirectionPatch>>,
    /// From a station to satellites.
    #[schemars(with = "Option<DirectionPatch>")]
    pub up: Option<Spanned<DirectionPatch>>,
    /// From a satellite to stations.
    #[schemars(with = "Option<DirectionPatch>")]
    pub down: Option<Spanned<DirectionPatch>>,
    /// Each direction of a terrestrial link; 10 Gbps if neither this nor `all` sets a rate.
    #[schemars(with = "Option<DirectionPatch>")]
    pub fibre: Option<Spanned<DirectionPatch>>,
}

/// A Walker shell: circular orbits of equal inclination in evenly spaced planes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShellSection {
    /// Name of the shell. Its satellites are called NAME-PLANE-INDEX.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Number of orbital planes.
    pub planes: u32,
    /// Satellites per plane.
    pub per_plane: u32,
    /// Inclination in degrees.
    pub inclination_deg: f64,
    /// Altitude above the equatorial radius; or `mean_motion_rev_per_day`.
    #[schemars(with = "Option<Length>")]
    pub altitude: Option<Spanned<Length>>,
    /// Mean motion in revolutions per day, as in a TLE; or `altitude`.
    #[schemars(with = "Option<f64>")]
    pub mean_motion_rev_per_day: Option<Spanned<f64>>,
    /// Range of right ascensions of the ascending node over which planes are spread, in degrees:
    /// 360 (Walker delta, the default) or 180 (Walker star).
    pub raan_spread_deg: Option<f64>,
    /// Phase shift between neighbouring planes: `odd-half` (the default; odd planes are shifted by
    /// half the spacing), or degrees of mean anomaly.
    pub phase_deg: Option<PhaseText>,
    /// Minimum elevation of its satellites, in degrees; 25 by default.
    pub min_elevation_deg: Option<f64>,
}

/// A ground station.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationSection {
    /// Name of the station, for flows and fibres.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// City of the station; or `latitude_deg` and `longitude_deg`.
    #[schemars(with = "Option<String>")]
    pub city: Option<Spanned<String>>,
    /// Degrees north.
    #[schemars(with = "Option<f64>", range(min = -90, max = 90))]
    pub latitude_deg: Option<Spanned<f64>>,
    /// Degrees east.
    #[schemars(with = "Option<f64>", range(min = -180, max = 180))]
    pub longitude_deg: Option<Spanned<f64>>,
    /// Metres above the ellipsoid; 0 by default.
    #[schemars(with = "Option<f64>")]
    pub altitude_m: Option<Spanned<f64>>,
    /// How the station chooses among the satellites in view.
    pub satellite_selection: Option<SatelliteSelection>,
    /// Minimum elevation in degrees.
    #[schemars(with = "Option<f64>", range(min = 0, max = 90))]
    pub min_elevation_deg: Option<Spanned<f64>>,
    /// True if the station forwards packets of others, as a gateway or ground relay does.
    #[serde(default)]
    pub forwards: bool,
    /// Outage of the station's link during each handover.
    #[schemars(with = "Option<Span>")]
    pub handover_outage: Option<Spanned<Span>>,
}

/// A terrestrial link between two stations, in both directions.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FibreSection {
    /// One end: a station, or a city, which then has no antenna.
    #[schemars(with = "String")]
    pub from: Spanned<String>,
    /// The other end.
    #[schemars(with = "String")]
    pub to: Spanned<String>,
    /// One-way delay. Defaults to 1.5 times the geodesic distance at two thirds of the speed of
    /// light.
    pub delay: Option<Span>,
}
