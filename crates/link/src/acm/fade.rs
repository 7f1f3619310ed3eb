//! Attenuation over time.

use crate::ConfigError;
use crate::multi_format::{MultiFormat, read_multi_format};
use crate::schedule::check_starts;
use bentpipe_units::{DecibelSlope, Decibels, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;

/// Attenuation over time: a list of points with linear interpolation, or an event.
#[derive(Debug, Clone, PartialEq)]
pub enum FadeConfig {
    /// Points in ascending time, the first at zero. The last value applies from then on.
    Points(Vec<FadePoint>),
    /// One rain event.
    Event(FadeEvent),
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

impl FadeConfig {
    /// Returns the fade as points in seconds and decibels.
    pub(crate) fn line(&self) -> Fade {
        match self {
            Self::Points(points) => {
                Fade(points.iter().map(|point| (point.at.as_secs_f64(), point.db)).collect())
            }
            Self::Event(event) => {
                let (begin, depth) = (event.at.as_secs_f64(), event.depth.get());
                let (ramp, hold) = (depth / event.slope.get(), event.hold.as_secs_f64());
                let mut points = vec![(begin, 0.0), (begin + ramp, depth)];
                if hold > 0.0 {
                    points.push((begin + ramp + hold, depth));
                }
                points.push((begin + ramp + hold + ramp, 0.0));
                Fade(points)
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
            Self::Event(_) => Ok(()),
        }
    }
}

/// A fade as a piecewise linear function: time in seconds, attenuation in dB. Constant before the
/// first point and after the last.
pub(crate) struct Fade(pub Vec<(f64, f64)>);

impl Fade {
    pub fn at(&self, t: f64) -> f64 {
        let next = self.0.partition_point(|(at, _)| *at <= t);
        match (next.checked_sub(1).and_then(|last| self.0.get(last)), self.0.get(next)) {
            (Some((t0, a)), Some((t1, b))) => a + (b - a) * (t - t0) / (t1 - t0),
            (Some((_, db)), None) | (None, Some((_, db))) => *db,
            (None, None) => 0.0,
        }
    }

    /// Returns the times at which the attenuation crosses `level`.
    pub fn crossings(&self, level: f64) -> impl Iterator<Item = f64> {
        let lines = self.0.iter().zip(self.0.iter().skip(1));
        lines
            .filter(move |((_, a), (_, b))| (a < &level) != (b < &level))
            .map(move |((t0, a), (t1, b))| t0 + (t1 - t0) * (level - a) / (b - a))
    }
}

impl MultiFormat for FadeConfig {
    const EXPECTED: &'static str = "a list of points [{ at = \"0 s\", attenuation_db = 0 }, …] or \
        an event { at = \"20 s\", slope = \"0.5 dB/s\", depth = \"8 dB\", hold = \"30 s\" }";
    type Table = FadeEvent;
    type List = Vec<FadePoint>;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        Err(ConfigError::refused(text, "is not a fade", Self::EXPECTED))
    }
    fn from_table(event: FadeEvent) -> Result<Self, ConfigError> {
        let fade = Self::Event(event);
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
        }
    }
}

impl JsonSchema for FadeConfig {
    fn schema_name() -> Cow<'static, str> {
        "FadeConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Attenuation over time: points with straight lines between them, or an \
                event",
            "anyOf": [
                generator.subschema_for::<Vec<FadePoint>>(),
                generator.subschema_for::<FadeEvent>(),
            ],
        })
    }
}
