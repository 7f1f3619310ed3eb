//! `[path.orbit]`: satellites that move, stations on the ground, and the links between them, instead of hops.

use super::orbit_text::{Begin, ConstellationText, IslText, PhaseText};
use bentpipe_link::DirectionPatch;
use bentpipe_orbit::{Metric, SatelliteSelection};
use bentpipe_sim::HandoverLoss;
use bentpipe_units::{Epoch, Length, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// A network of satellites instead of hops. Flows say between which places they go, with `from` and `to`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrbitSection {
    /// A preset or several of them (`bentpipe constellations` lists them), or published elements: { tle = "FILE" }, { omm = "FILE" }.
    #[schemars(with = "Option<ConstellationText>")]
    pub constellation: Option<Spanned<ConstellationText>>,
    /// Walker shells of one's own, instead of `constellation`.
    #[serde(default)]
    #[schemars(with = "Vec<ShellSection>")]
    pub shell: Vec<Spanned<ShellSection>>,
    /// For shells, the time that their elements are of, 2000-01-01T00:00:00Z where left out; for published elements, the time that `at`
    /// counts from, the latest of the elements' own where left out.
    #[schemars(with = "Option<Epoch>")]
    pub epoch: Option<Spanned<Epoch>>,
    /// When after `epoch` runs begin; zero where left out. `random`: each run draws it within `within`.
    #[schemars(with = "Option<Begin>")]
    pub at: Option<Spanned<Begin>>,
    /// The longest time after `epoch` that at = "random" draws; 1 h where left out.
    #[schemars(with = "Option<Span>")]
    pub within: Option<Spanned<Span>>,
    /// True where everything stands still where it is when the run begins.
    #[serde(default)]
    pub frozen: bool,
    /// How often routes are computed anew; 100 ms where left out.
    #[schemars(with = "Option<Span>")]
    pub step: Option<Spanned<Span>>,
    /// True where routes change when the topology does, to the millisecond, and not with the next step.
    #[serde(default)]
    pub exact: bool,
    /// Inter-satellite links: `grid` (the default), `rings`, `none`, or a list of pairs of names.
    #[schemars(with = "Option<IslText>")]
    pub isl: Option<Spanned<IslText>>,
    /// Longest inter-satellite link; as far as its line stays 80 km above the ground where left out.
    #[schemars(with = "Option<Length>")]
    pub isl_range: Option<Spanned<Length>>,
    /// Longest link between ground and satellite; where left out, only elevation counts.
    #[schemars(with = "Option<Length>")]
    pub ground_range: Option<Spanned<Length>>,
    /// Lowest elevation at which stations talk to satellites, degrees; the shell's own where left out.
    #[schemars(with = "Option<f64>", range(min = 0, max = 90))]
    pub min_elevation_deg: Option<Spanned<f64>>,
    /// Which of the satellites that it sees a station talks to, for stations that do not say; `all` where left out.
    pub selection: Option<SatelliteSelection>,
    /// Silence while a station turns to another satellite, for stations that do not say; none where left out.
    #[schemars(with = "Option<Span>")]
    pub interruption: Option<Spanned<Span>>,
    /// Which packets are lost when a station turns to another satellite: `nothing` (the default), `queued`, `flying`.
    pub handover: Option<HandoverLoss>,
    /// What routes are chosen by: `delay` (the default) or `hops`.
    pub metric: Option<Metric>,
    /// Satellites and stations, by name, that routes avoid.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub avoid: Vec<Spanned<String>>,
    /// Rate, queue and loss of links, by their kind.
    #[serde(default)]
    pub links: LinksSection,
    /// True where a satellite has one transmitter for all stations that it talks to, as in the Hypatia study; false where it has one for each.
    #[serde(default)]
    pub shared_ground: bool,
    /// Stations besides the cities that flows name.
    #[serde(default)]
    #[schemars(with = "Vec<StationSection>")]
    pub station: Vec<Spanned<StationSection>>,
    /// Links on the ground.
    #[serde(default)]
    #[schemars(with = "Vec<FibreSection>")]
    pub fibre: Vec<Spanned<FibreSection>>,
    /// How long before a change of path senders are told of it; they are not told where left out.
    #[schemars(with = "Option<Span>")]
    pub hints: Option<Spanned<Span>>,
}

/// Links by kind. Delays follow from where their ends are.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinksSection {
    /// Every link, where its kind does not say otherwise.
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
    /// Each direction of a link on the ground; where neither this nor `all` gives a rate, 10 Gbps.
    #[schemars(with = "Option<DirectionPatch>")]
    pub fibre: Option<Spanned<DirectionPatch>>,
}

/// A Walker shell: circular orbits of one inclination in evenly spread planes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShellSection {
    /// Its name: satellites are called NAME-PLANE-INDEX.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Orbital planes.
    pub planes: u32,
    /// Satellites in each.
    pub per_plane: u32,
    /// Inclination, degrees.
    pub inclination_deg: f64,
    /// Altitude above the equator's radius; or `revolutions_per_day`.
    #[schemars(with = "Option<Length>")]
    pub altitude: Option<Spanned<Length>>,
    /// Revolutions a day, as a TLE has them; or `altitude`.
    #[schemars(with = "Option<f64>")]
    pub revolutions_per_day: Option<Spanned<f64>>,
    /// Range of ascending nodes over which planes are spread, degrees: 360 (Walker delta, the default) or 180 (Walker star).
    pub spread_deg: Option<f64>,
    /// Shift from one plane to the next: `odd-half` (the default: odd planes by half the spacing), or degrees of mean anomaly.
    pub phase_deg: Option<PhaseText>,
    /// Lowest elevation at which stations talk to its satellites, degrees; 25 where left out.
    pub min_elevation_deg: Option<f64>,
}

/// A station on the ground.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationSection {
    /// Its name, for flows and fibres.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The city where it stands; or `latitude_deg` and `longitude_deg`.
    #[schemars(with = "Option<String>")]
    pub place: Option<Spanned<String>>,
    /// Degrees north.
    #[schemars(with = "Option<f64>", range(min = -90, max = 90))]
    pub latitude_deg: Option<Spanned<f64>>,
    /// Degrees east.
    #[schemars(with = "Option<f64>", range(min = -180, max = 180))]
    pub longitude_deg: Option<Spanned<f64>>,
    /// Metres above the ellipsoid; zero where left out.
    #[schemars(with = "Option<f64>")]
    pub altitude_m: Option<Spanned<f64>>,
    /// Which of the satellites that it sees it talks to.
    pub selection: Option<SatelliteSelection>,
    /// Lowest elevation at which it talks to satellites, degrees.
    #[schemars(with = "Option<f64>", range(min = 0, max = 90))]
    pub min_elevation_deg: Option<Spanned<f64>>,
    /// True where it passes on packets of others: a gateway, a relay on the ground.
    #[serde(default)]
    pub relays: bool,
    /// Silence while it turns to another satellite.
    #[schemars(with = "Option<Span>")]
    pub interruption: Option<Spanned<Span>>,
}

/// A link on the ground between two stations, both ways.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FibreSection {
    /// One end: a station, or a city, which has no antenna then.
    #[schemars(with = "String")]
    pub from: Spanned<String>,
    /// The other end.
    #[schemars(with = "String")]
    pub to: Spanned<String>,
    /// Its delay one way; where left out, one and a half times the geodesic distance at two thirds of the speed of light.
    pub delay: Option<Span>,
}
