//! Configuration of a transmission rate.

use crate::ConfigError;
use crate::acm::config::AcmConfig;
use crate::fields::check_scale;
use crate::multi_format::{MultiFormat, read_multi_format};
use crate::rate::demand::DemandConfig;
use crate::schedule::{RateStep, check_starts};
use bentpipe_units::{Rate, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::path::PathBuf;

/// Transmission rate: `"50 Mbps"`, or a table with `schedule`, `acm`, `demand`, `trace` or
/// `recording`.
#[derive(Debug, Clone, PartialEq)]
pub enum RateConfig {
    /// Constant, above zero.
    Constant(Rate),
    /// Steps in time.
    Schedule {
        /// The steps in ascending time, the first at zero. A rate of zero is an outage; not all
        /// rates may be zero.
        schedule: Vec<RateStep>,
        /// Period of repetition.
        repeat: Option<Span>,
    },
    /// Steps that result from adaptive coding over a fade, with losses if the fade is faster than
    /// the control loop.
    Acm(Box<AcmConfig>),
    /// A rate that grows while packets wait.
    Demand(Box<DemandConfig>),
    /// Delivery opportunities in mahimahi's format: one line per opportunity, its time in whole
    /// milliseconds.
    ///
    /// [`DirectionConfig::load`](crate::DirectionConfig::load) describes how packets use them.
    Trace {
        /// The file, relative to the scenario.
        file: PathBuf,
    },
    /// The rates of a recording, each held until the next. Zero is an outage.
    Recording {
        /// The file, relative to the scenario.
        file: PathBuf,
        /// Factor, above zero, by which the recorded rates are multiplied.
        scale: f64,
    },
}

/// A rate as a table: `schedule`, `acm`, `demand`, `trace` or `recording`.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RateTable")]
pub(crate) struct Table {
    /// Steps in ascending time, the first at "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<Vec<RateStep>>,
    /// Period of repetition.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<Span>,
    /// Adaptive coding and modulation over a fade.
    #[serde(skip_serializing_if = "Option::is_none")]
    acm: Option<Box<AcmConfig>>,
    /// Growth while packets wait, without other keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    demand: Option<Box<DemandConfig>>,
    /// A mahimahi trace: a file with one line per delivery opportunity of 1504 bytes, its time in
    /// milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<PathBuf>,
    /// A recording: a CSV file, of which the column `rate_bps` is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<PathBuf>,
    /// Factor of the recorded rates, above 0; 1 by default. A scaled recording is a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 1000))]
    scale: Option<f64>,
}

const FORMATS: &str = "a rate such as \"50 Mbps\", a table \
    { schedule = [{ at = \"0 s\", rate = \"50 Mbps\" }, …] }, { acm = { … } }, { demand = { … } }, \
    { trace = \"file\" } or { recording = \"file\" }";

impl RateConfig {
    /// Checks that the rate is not always zero, and that schedules are valid.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Constant(rate) if rate.is_zero() => Err(ConfigError::refused(
                format!("rate = {rate}"),
                "never sends anything",
                "a rate above zero",
            )),
            Self::Schedule { schedule, repeat } => {
                check_starts("rate", schedule.iter().map(|step| step.at), *repeat)?;
                if schedule.iter().all(|step| step.rate.is_zero()) {
                    let problem =
                        "is the rate of every step in the schedule, so that nothing is ever sent";
                    return Err(ConfigError::refused(
                        "rate = 0 bps",
                        problem,
                        "at least one step above zero",
                    ));
                }
                Ok(())
            }
            Self::Acm(acm) => acm.check(),
            Self::Demand(demand) => demand.check(),
            Self::Recording { scale, .. } => check_scale(*scale),
            Self::Constant(_) | Self::Trace { .. } => Ok(()),
        }
    }

    /// Returns the rate, or the highest rate of a schedule or on demand. `None` for a trace, a
    /// recording or a recorded fade: files that have not been read yet.
    pub fn highest(&self) -> Option<Rate> {
        match self {
            Self::Constant(rate) => Some(*rate),
            Self::Schedule { schedule, .. } => schedule.iter().map(|step| step.rate).max(),
            Self::Acm(acm) => acm.timeline().ok().map(|timeline| timeline.highest()),
            Self::Demand(demand) => Some(demand.ceiling),
            Self::Trace { .. } | Self::Recording { .. } => None,
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
                scale,
                schedule: None,
                repeat: None,
                acm: None,
                trace: None,
                demand: None,
            } => Self::Recording { file, scale: scale.unwrap_or(1.0) }.checked(),
            Table { recording: Some(file), .. } => Err(ConfigError::refused(
                format!("recording = {}", file.display()),
                "cannot be combined with `schedule`, `repeat`, `acm`, `demand` or `trace`",
                "`recording` and `scale`",
            )),
            _ => Err(ConfigError::refused("scale", "needs a `recording`", FORMATS)),
        }
    }
}

impl MultiFormat for RateConfig {
    const EXPECTED: &'static str = FORMATS;
    type Table = Table;
    type List = IgnoredAny;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        match text.parse::<Rate>()? {
            rate if rate.is_zero() => {
                Err(ConfigError::refused(text, "never sends anything", "a rate above zero"))
            }
            rate => Ok(Self::Constant(rate)),
        }
    }
    fn from_table(table: Table) -> Result<Self, ConfigError> {
        match table {
            Table {
                demand: Some(demand),
                schedule: None,
                repeat: None,
                acm: None,
                trace: None,
                recording: None,
                scale: None,
            } => Self::Demand(demand).checked(),
            Table { demand: Some(demand), .. } => Err(ConfigError::refused(
                format!("demand with base = {}", demand.base),
                "cannot be combined with other keys of `rate`",
                "only `demand`, with its `resets` and `repeat`",
            )),
            Table { recording: Some(_), .. } | Table { scale: Some(_), .. } => {
                Self::from_recording(table)
            }
            Table { schedule: Some(schedule), repeat, acm: None, trace: None, .. } => {
                Self::Schedule { schedule, repeat }.checked()
            }
            Table { schedule: None, repeat: None, acm: Some(acm), trace: None, .. } => {
                Self::Acm(acm).checked()
            }
            Table { schedule: None, repeat: None, acm: None, trace: Some(file), .. } => {
                Ok(Self::Trace { file })
            }
            Table { schedule: None, repeat: Some(repeat), acm: None, trace: Some(_), .. } => {
                Err(ConfigError::refused(
                    format!("repeat = {repeat}"),
                    "cannot be combined with `trace`, which always repeats",
                    "no `repeat`",
                ))
            }
            Table { acm: Some(_), repeat: Some(repeat), .. } => Err(ConfigError::refused(
                format!("repeat = {repeat}"),
                "cannot be combined with `acm`",
                "no `repeat`",
            )),
            Table { acm: Some(acm), .. } => {
                let value = format!("acm with symbol_rate = {}", acm.symbol_rate);
                Err(ConfigError::refused(
                    value,
                    "cannot be combined with `schedule` or `trace`",
                    "one of the three",
                ))
            }
            Table { schedule: Some(_), trace: Some(file), .. } => {
                let value = format!("trace = {}", file.display());
                Err(ConfigError::refused(
                    value,
                    "cannot be combined with `schedule`",
                    "one of the two",
                ))
            }
            Table { schedule: None, acm: None, trace: None, .. } => Err(ConfigError::refused(
                "rate",
                "has neither `schedule`, `acm`, `demand`, `trace` nor `recording`",
                FORMATS,
            )),
        }
    }
}
read_multi_format!(RateConfig);

impl Serialize for RateConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            Self::Constant(rate) => rate.serialize(serializer),
            Self::Schedule { schedule, repeat } => {
                Table { schedule: Some(schedule), repeat, ..Table::default() }.serialize(serializer)
            }
            Self::Acm(acm) => Table { acm: Some(acm), ..Table::default() }.serialize(serializer),
            Self::Demand(demand) => {
                Table { demand: Some(demand), ..Table::default() }.serialize(serializer)
            }
            Self::Trace { file } => {
                Table { trace: Some(file), ..Table::default() }.serialize(serializer)
            }
            Self::Recording { file, scale } => {
                let scale = Some(scale).filter(|scale| *scale != 1.0);
                Table { recording: Some(file), scale, ..Table::default() }.serialize(serializer)
            }
        }
    }
}

impl JsonSchema for RateConfig {
    fn schema_name() -> Cow<'static, str> {
        "RateConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Transmission rate: a rate, steps in time, adaptive coding over a \
                fade, growth on demand, a trace, or a recording",
            "anyOf": [generator.subschema_for::<Rate>(), generator.subschema_for::<Table>()],
        })
    }
}
