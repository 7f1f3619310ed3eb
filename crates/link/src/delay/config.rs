//! Configuration of propagation delay.

use crate::ConfigError;
use crate::fields::check_scale;
use crate::multi_format::{MultiFormat, read_multi_format};
use crate::schedule::{DelayStep, check_starts};
use bentpipe_units::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::path::PathBuf;

/// Propagation delay: `"300 ms"`, or a table with `base` and `jitter`, `schedule`, or `recording`.
#[derive(Debug, Clone, PartialEq)]
pub enum DelayConfig {
    /// Constant.
    Constant(Span),
    /// Random for each packet.
    Jitter {
        /// Centre of the uniform and of the normal distribution; least delay of the Wi-Fi one.
        base: Span,
        /// Half the width of the uniform distribution, or the standard deviation of the normal one,
        /// as in netem: at most `base`. About the mean of the Wi-Fi one.
        jitter: Span,
        /// Distribution of the draws. A normal draw below zero counts as zero.
        distribution: Distribution,
        /// True if packets never overtake: each arrives no earlier than the previous one.
        keep_order: bool,
    },
    /// Steps in time. The time at which a packet leaves the transmitter selects its step.
    Schedule {
        /// The steps in ascending time, the first at zero.
        schedule: Vec<DelayStep>,
        /// True if the delay changes linearly from step to step, and back to the first one if it
        /// repeats.
        interpolate: bool,
        /// Period of repetition.
        repeat: Option<Span>,
        /// Distribution of the jitter of the steps that have some.
        distribution: Distribution,
        /// True if packets never overtake those sent before a step down.
        keep_order: bool,
    },
    /// The delays of a recording. The time at which a packet leaves the transmitter selects its
    /// delay.
    Recording(RecordedDelayConfig),
}

/// A recorded delay, and what is done with it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedDelayConfig {
    /// The file, relative to the scenario.
    pub file: PathBuf,
    /// True if the delay changes linearly between measurements, except over gaps and at the
    /// multiples of the period of the path's recordings.
    pub interpolate: bool,
    /// True if packets never overtake those sent before the delay fell.
    pub keep_order: bool,
    /// Factor, above zero, by which the recorded delays are multiplied.
    pub scale: f64,
    /// What is added to each.
    pub offset: Span,
}

/// Largest jitter of the Wi-Fi distribution: from there on every packet waits for long slots, whose
/// length does not depend on it.
const LONGEST_WIFI: Span = Span::from_millis(85);

/// Distribution of jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Uniform from base - jitter to base + jitter.
    #[default]
    Uniform,
    /// Normal, with the jitter as its standard deviation.
    Normal,
    /// Delays of a poor Wi-Fi, added to the base: about the jitter on average, with tens of
    /// milliseconds for a few packets.
    Wifi,
}

/// A delay as a table: `base` with `jitter`, `schedule`, or `recording`.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DelayTable")]
pub(crate) struct Table {
    /// Centre of the delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<Span>,
    /// Half the width (uniform), the standard deviation (normal), or the mean (wifi), up to 85 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<Span>,
    /// Distribution of jitter. Default: uniform.
    #[serde(skip_serializing_if = "Option::is_none")]
    distribution: Option<Distribution>,
    /// Packets arrive in the order in which they were sent. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_order: Option<bool>,
    /// Steps in ascending time, the first at "0 s", each with its `delay` and `jitter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<Vec<DelayStep>>,
    /// The delay changes linearly between steps. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    interpolate: Option<bool>,
    /// Period of repetition.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<Span>,
    /// A recording: a CSV file, of which the column `delay_ms` is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<PathBuf>,
    /// Factor of the recorded delays, above 0; 1 by default. A scaled recording is a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 1000))]
    scale: Option<f64>,
    /// What is added to the recorded delays; 0 s by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<Span>,
}

const FORMATS: &str = "a delay such as \"300 ms\", a table \
    { base = \"300 ms\", jitter = \"5 ms\" }, \
    { schedule = [{ at = \"0 s\", delay = \"300 ms\" }, …] } or { recording = \"file\" }";

impl DelayConfig {
    /// Checks all values.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Constant(_) => Ok(()),
            Self::Jitter { base, jitter, distribution, .. } => {
                check_jitter(*base, *jitter, *distribution)
            }
            Self::Schedule { schedule, repeat, distribution, .. } => {
                let mut steps = schedule.iter();
                steps.try_for_each(|step| check_jitter(step.delay, step.jitter, *distribution))?;
                check_starts("delay", schedule.iter().map(|step| step.at), *repeat)
            }
            Self::Recording(delay) => check_scale(delay.scale),
        }
    }

    fn checked(self) -> Result<Self, ConfigError> {
        self.check().map(|()| self)
    }

    /// Reads a table with keys of a recording.
    fn from_recording(table: Table) -> Result<Self, ConfigError> {
        match table {
            Table {
                recording: Some(file),
                base: None,
                jitter: None,
                distribution: None,
                schedule: None,
                repeat: None,
                interpolate,
                keep_order,
                scale,
                offset,
            } => Self::Recording(RecordedDelayConfig {
                file,
                interpolate: interpolate.unwrap_or(false),
                keep_order: keep_order.unwrap_or(true),
                scale: scale.unwrap_or(1.0),
                offset: offset.unwrap_or_default(),
            })
            .checked(),
            Table { recording: Some(file), .. } => {
                let allowed =
                    "`recording`, `interpolate`, `keep_order`, `scale` and `offset` together";
                let problem = "cannot be combined with keys of jitter or of a schedule";
                let value = format!("recording = {}", file.display());
                Err(ConfigError::refused(value, problem, allowed))
            }
            _ => Err(ConfigError::refused("`scale` or `offset`", "needs a `recording`", FORMATS)),
        }
    }
}

/// Returns an error if a delay of `base` cannot have this jitter.
fn check_jitter(base: Span, jitter: Span, distribution: Distribution) -> Result<(), ConfigError> {
    // That of a Wi-Fi only adds to the base.
    let (most, problem) = match distribution {
        Distribution::Wifi => (
            LONGEST_WIFI,
            "is more than the model of a poor Wi-Fi has: every packet waits then".to_owned(),
        ),
        Distribution::Uniform | Distribution::Normal => (
            base,
            format!(
                "is more than the base delay of {base}, and no packet arrives before it was sent"
            ),
        ),
    };
    if jitter <= most {
        return Ok(());
    }
    let allowed = format!("0 s to {most}");
    Err(ConfigError::refused(format!("jitter = {jitter}"), problem, allowed))
}

impl MultiFormat for DelayConfig {
    const EXPECTED: &'static str = FORMATS;
    type Table = Table;
    type List = IgnoredAny;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        Ok(Self::Constant(text.parse()?))
    }
    fn from_table(table: Table) -> Result<Self, ConfigError> {
        if table.recording.is_some() || table.scale.is_some() || table.offset.is_some() {
            return Self::from_recording(table);
        }
        let keep_order = table.keep_order.unwrap_or(true);
        match table {
            Table {
                base: Some(base),
                schedule: None,
                interpolate: None,
                repeat: None,
                jitter,
                distribution,
                ..
            } => {
                let jitter = jitter.unwrap_or_default();
                Self::Jitter {
                    base,
                    jitter,
                    distribution: distribution.unwrap_or_default(),
                    keep_order,
                }
                .checked()
            }
            Table {
                schedule: Some(schedule),
                base: None,
                jitter: None,
                distribution,
                interpolate,
                repeat,
                ..
            } => Self::Schedule {
                schedule,
                interpolate: interpolate.unwrap_or(false),
                repeat,
                distribution: distribution.unwrap_or_default(),
                keep_order,
            }
            .checked(),
            Table { base: None, schedule: None, .. } => Err(ConfigError::refused(
                "delay",
                "has neither `base`, `schedule` nor `recording`",
                FORMATS,
            )),
            Table { base: Some(base), .. } => {
                let problem = "cannot be combined with keys of a schedule";
                Err(ConfigError::refused(
                    format!("base = {base}"),
                    problem,
                    "`base`, `jitter`, `distribution` and `keep_order` together",
                ))
            }
            Table { .. } => {
                let problem = "cannot be combined with `jitter`: each step has its own";
                Err(ConfigError::refused(
                    "schedule",
                    problem,
                    "`schedule`, `interpolate`, `repeat`, `distribution` and `keep_order` together",
                ))
            }
        }
    }
}
read_multi_format!(DelayConfig);

impl Serialize for DelayConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            Self::Constant(delay) => delay.serialize(serializer),
            Self::Jitter { base, jitter, distribution, keep_order } => Table {
                base: Some(base),
                jitter: Some(jitter),
                distribution: Some(distribution),
                keep_order: Some(keep_order),
                ..Table::default()
            }
            .serialize(serializer),
            Self::Schedule { schedule, interpolate, repeat, distribution, keep_order } => Table {
                distribution: schedule
                    .iter()
                    .any(|step| !step.jitter.is_zero())
                    .then_some(distribution),
                schedule: Some(schedule),
                interpolate: Some(interpolate),
                repeat,
                keep_order: Some(keep_order),
                ..Table::default()
            }
            .serialize(serializer),
            Self::Recording(delay) => Table {
                recording: Some(delay.file),
                interpolate: Some(delay.interpolate),
                keep_order: Some(delay.keep_order),
                scale: Some(delay.scale).filter(|scale| *scale != 1.0),
                offset: Some(delay.offset).filter(|offset| !offset.is_zero()),
                ..Table::default()
            }
            .serialize(serializer),
        }
    }
}

impl JsonSchema for DelayConfig {
    fn schema_name() -> Cow<'static, str> {
        "DelayConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Propagation delay: constant, with jitter, steps in time, or \
                a recording",
            "anyOf": [generator.subschema_for::<Span>(), generator.subschema_for::<Table>()],
        })
    }
}
