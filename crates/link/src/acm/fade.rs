//! Attenuation over time.

use super::curve::Curve;
use crate::ConfigError;
use crate::multi_format::{MultiFormat, read_multi_format};
use crate::schedule::check_starts;
use bentpipe_units::{DecibelSlope, Decibels, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Attenuation over time: a list of points with linear interpolation, an event, or a recording.
#[derive(Debug, Clone, PartialEq)]
pub enum FadeConfig {
    /// Points in ascending time, the first at zero. The last value applies from then on.
    Points(Vec<FadePoint>),
    /// One rain event.
    Event(FadeEvent),
    /// The column `attenuation_db` of a recording, with linear interpolation.
    Recording(FadeRecording),
}

/// A point of a fade.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FadePoint {
    /// Time since the start of the run.
    pub at: Span,
    /// Attenuation in dB; 0 to 300.
    #[serde(rename = "attenuation_db")]
    pub db: f64,
}

/// A fade with a linear onset, a period of full depth and a linear recovery.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FadeEvent {
    /// Start of the onset, since the start of the run.
    pub at: Span,
    /// Slope of onset and recovery; above zero.
    pub slope: DecibelSlope,
    /// Depth; above zero.
    pub depth: Decibels,
    /// Duration of the full depth.
    pub hold: Span,
}

/// A recorded fade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FadeRecording {
    /// A recording: a CSV file, of which the column `attenuation_db` is used.
    pub recording: PathBuf,
}

/// The table of an event or of a recording.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FadeTable {
    at: Option<Span>,
    slope: Option<DecibelSlope>,
    depth: Option<Decibels>,
    hold: Option<Span>,
    recording: Option<PathBuf>,
}

impl FadeConfig {
    /// Returns the fade that the scenario gives.
    ///
    /// # Errors
    /// It is a recording: the file.
    pub(crate) fn curve(&self) -> Result<Curve, &Path> {
        match self {
            Self::Points(points) => {
                let points = points.iter().map(|point| (point.at.as_secs_f64(), point.db));
                Ok(Curve::once(points.collect()))
            }
            Self::Recording(fade) => Err(&fade.recording),
            Self::Event(event) => {
                let (begin, depth) = (event.at.as_secs_f64(), event.depth.get());
                let (ramp, hold) = (depth / event.slope.get(), event.hold.as_secs_f64());
                let mut points = vec![(begin, 0.0), (begin + ramp, depth)];
                if hold > 0.0 {
                    points.push((begin + ramp + hold, depth));
                }
                points.push((begin + ramp + hold + ramp, 0.0));
                Ok(Curve::once(points))
            }
        }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Points(points) => {
                check_starts("fade", points.iter().map(|point| point.at), None)?;
                match points.iter().find(|point| !(0.0..=300.0).contains(&point.db)) {
                    Some(point) => {
                        let value = format!("attenuation_db = {}", point.db);
                        Err(ConfigError::refused(value, "is not a valid attenuation", "0 to 300"))
                    }
                    None => Ok(()),
                }
            }
            Self::Event(event) if event.slope.get() <= 0.0 => {
                let problem = "never reaches the full depth";
                Err(ConfigError::refused(
                    format!("slope = {}", event.slope),
                    problem,
                    "above 0 dB/s",
                ))
            }
            Self::Event(event) if event.depth.get() <= 0.0 => Err(ConfigError::refused(
                format!("depth = {}", event.depth),
                "is not a fade",
                "above 0 dB",
            )),
            Self::Event(_) | Self::Recording(_) => Ok(()),
        }
    }
}

impl MultiFormat for FadeConfig {
    const EXPECTED: &'static str = "a list of points [{ at = \"0 s\", attenuation_db = 0 }, …], an \
        event { at = \"20 s\", slope = \"0.5 dB/s\", depth = \"8 dB\", hold = \"30 s\" } or \
        { recording = \"file\" }";
    type Table = FadeTable;
    type List = Vec<FadePoint>;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        Err(ConfigError::refused(text, "is not a fade", Self::EXPECTED))
    }
    fn from_table(table: FadeTable) -> Result<Self, ConfigError> {
        let fade = match table {
            FadeTable {
                at: None,
                slope: None,
                depth: None,
                hold: None,
                recording: Some(recording),
            } => Self::Recording(FadeRecording { recording }),
            FadeTable { recording: Some(file), .. } => {
                let value = format!("recording = {}", file.display());
                let problem = "cannot be combined with the keys of an event";
                return Err(ConfigError::refused(value, problem, "`recording` alone"));
            }
            FadeTable {
                at: Some(at),
                slope: Some(slope),
                depth: Some(depth),
                hold: Some(hold),
                recording: None,
            } => Self::Event(FadeEvent { at, slope, depth, hold }),
            FadeTable { at, slope, depth, .. } => {
                let missing = match (at, slope, depth) {
                    (None, ..) => "missing field `at`",
                    (_, None, _) => "missing field `slope`",
                    (_, _, None) => "missing field `depth`",
                    _ => "missing field `hold`",
                };
                return Err(ConfigError::refused("fade", missing, Self::EXPECTED));
            }
        };
        fade.check().map(|()| fade)
    }
    fn from_list(points: Vec<FadePoint>) -> Option<Result<Self, ConfigError>> {
        let fade = Self::Points(points);
        Some(fade.check().map(|()| fade))
    }
}
read_multi_format!(FadeConfig);

impl Serialize for FadeConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Points(points) => points.serialize(serializer),
            Self::Event(event) => event.serialize(serializer),
            Self::Recording(recording) => recording.serialize(serializer),
        }
    }
}

impl JsonSchema for FadeConfig {
    fn schema_name() -> Cow<'static, str> {
        "FadeConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Attenuation over time: points with straight lines between them, an \
                event, or a recording",
            "anyOf": [
                generator.subschema_for::<Vec<FadePoint>>(),
                generator.subschema_for::<FadeEvent>(),
                generator.subschema_for::<FadeRecording>(),
            ],
        })
    }
}
