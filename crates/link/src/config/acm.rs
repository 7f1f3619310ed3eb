//! A carrier whose coding adapts to the weather.

use super::schedule::check_starts;
use super::written::{Written, read_as_written};
use crate::ConfigError;
use crate::acm::{Fade, ModcodTable};
use bentpipe_units::{DecibelSlope, Decibels, Ratio, Span, SymbolRate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;

/// Adaptive coding and modulation over a fade; see [`crate::ModcodTable`] for what it chooses from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcmConfig {
    /// Symbols per second of the carrier.
    pub symbol_rate: SymbolRate,
    /// What it chooses from.
    pub modcods: ModcodTable,
    /// Es/N0 at the receiver without any fade.
    #[serde(rename = "clear_sky_esn0")]
    pub clear_sky: Decibels,
    /// How much more than a MODCOD needs must be there for it to be chosen; "0.5 dB" unless told.
    #[serde(default = "margin")]
    pub margin: Decibels,
    /// From a change of Es/N0 at the receiver until packets with the new MODCOD leave the transmitter: reports and a satellite hop; "1.5 s" unless told.
    #[serde(default = "loop_delay")]
    pub loop_delay: Span,
    /// Share of the bits that IP packets have: pilots and encapsulation take the rest; 0.97 unless told.
    #[serde(default = "framing")]
    pub framing: Ratio,
    /// Attenuation over time.
    pub fade: FadeConfig,
    /// Share of packets lost while the MODCOD in use cannot be decoded; all unless told, since thresholds of these codes are steep.
    #[serde(default = "all")]
    pub loss: Ratio,
}

/// 0.5 to 1 dB are usual; a choice.
fn margin() -> Decibels {
    Decibels::new(0.5).unwrap_or_default()
}
/// 0.5 s for a report over a satellite hop and back, and a report a second.
const fn loop_delay() -> Span {
    Span::from_millis(1500)
}
/// Pilots are 36 symbols for each 1440 (EN 302 307 §5.5.3): 0.976 is left. The rest is a guess at encapsulation.
fn framing() -> Ratio {
    Ratio::new(0.97).unwrap_or_default()
}
fn all() -> Ratio {
    Ratio::ONE
}

/// Attenuation over time: a list of points with straight lines between them, or an event.
#[derive(Debug, Clone, PartialEq)]
pub enum FadeConfig {
    /// Points in time, the first at zero, rising; the last value stays.
    Points(Vec<FadePoint>),
    /// One shower.
    Event(FadeEvent),
}

/// A point of a fade.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FadePoint {
    /// When, since the run began.
    pub at: Span,
    /// Attenuation in dB; zero or more.
    #[serde(rename = "attenuation_db")]
    pub db: f64,
}

/// A fade that comes, stays and goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FadeEvent {
    /// When it begins, since the run began.
    pub at: Span,
    /// How fast it comes and goes; above zero.
    pub slope: DecibelSlope,
    /// How deep it becomes; above zero.
    pub depth: Decibels,
    /// How long it stays so deep.
    pub hold: Span,
}

impl FadeConfig {
    /// As seconds and decibels.
    pub(crate) fn line(&self) -> Fade {
        match self {
            Self::Points(points) => Fade(points.iter().map(|point| (point.at.as_secs_f64(), point.db)).collect()),
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

    fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Points(points) => {
                check_starts("fade", points.iter().map(|point| point.at), None)?;
                match points.iter().find(|point| !(0.0..=300.0).contains(&point.db)) {
                    Some(point) => {
                        let value = format!("attenuation_db = {}", point.db);
                        Err(ConfigError::refused(value, "is no attenuation", "0 to 300"))
                    }
                    None => Ok(()),
                }
            }
            Self::Event(event) if event.slope.get() <= 0.0 => {
                let problem = "never reaches the depth of the fade";
                Err(ConfigError::refused(format!("slope = {}", event.slope), problem, "above 0 dB/s"))
            }
            Self::Event(event) if event.depth.get() <= 0.0 => {
                Err(ConfigError::refused(format!("depth = {}", event.depth), "is no fade", "above 0 dB"))
            }
            Self::Event(_) => Ok(()),
        }
    }
}

impl AcmConfig {
    /// Refuses what cannot be.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.symbol_rate.is_zero() {
            return Err(ConfigError::refused("symbol_rate = 0 Bd", "sends nothing", "above 0 Bd"));
        }
        if self.margin.get() < 0.0 {
            let value = format!("margin = {}", self.margin);
            return Err(ConfigError::refused(value, "chooses what cannot be decoded", "0 dB or more"));
        }
        if self.framing.is_zero() {
            return Err(ConfigError::refused("framing = 0", "leaves nothing for packets", "above 0, up to 1"));
        }
        let robust = self.modcods.most_robust();
        let least = robust.threshold + self.margin.get();
        if self.clear_sky.get() < least {
            let problem = format!("is not enough for {}, the most robust MODCOD, and the margin", robust.name);
            let value = format!("clear_sky_esn0 = {}", self.clear_sky);
            return Err(ConfigError::refused(value, problem, format!("{least} dB or more")));
        }
        self.fade.check()?;
        if self.course().steps.iter().any(|step| step.rate.is_zero()) {
            let value = format!("symbol_rate = {}", self.symbol_rate);
            return Err(ConfigError::refused(value, "carries less than a bit in a second", "more symbols"));
        }
        Ok(())
    }
}

impl Written for FadeConfig {
    const EXPECTED: &'static str = "a list of points [{ at = \"0 s\", attenuation_db = 0 }, …] or an event { at = \"20 s\", slope = \"0.5 dB/s\", depth = \"8 dB\", hold = \"30 s\" }";
    type Table = FadeEvent;
    type List = Vec<FadePoint>;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        Err(ConfigError::refused(text, "is no fade", Self::EXPECTED))
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
read_as_written!(FadeConfig);

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
            "description": "Attenuation over time: points with straight lines between them, or an event",
            "anyOf": [generator.subschema_for::<Vec<FadePoint>>(), generator.subschema_for::<FadeEvent>()],
        })
    }
}
