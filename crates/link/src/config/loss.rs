//! Which packets a link loses.

use super::written::{Written, read_as_written};
use crate::presets::LossPreset;
use crate::{ConfigError, LongBursts};
use bentpipe_units::{Ratio, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::path::PathBuf;

/// Which packets a link loses: a ratio, the name of a measured process, a table, or a list of these. A packet is lost if
/// any process says so; an empty list loses nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LossConfig {
    /// The processes. Each has its own random stream, keyed by its place in the list.
    pub processes: Vec<LossProcessConfig>,
}

/// One loss process and when it is active.
#[derive(Debug, Clone, PartialEq)]
pub struct LossProcessConfig {
    /// What it does to each packet.
    pub model: LossModel,
    /// When it is active; always, if there are none. Outside its windows it loses nothing and stands still.
    pub windows: Vec<Window>,
    /// The windows come again with this period.
    pub repeat: Option<Span>,
}

/// A time in which a loss process is active, by when packets leave the transmitter: `from` included, `to` excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The beginning.
    pub from: Span,
    /// The end.
    pub to: Span,
}

/// What a loss process does to each packet.
#[derive(Debug, Clone, PartialEq)]
pub enum LossModel {
    /// Each packet is lost with the same probability, whatever happened to others.
    Bernoulli {
        /// The probability.
        ratio: Ratio,
    },
    /// Two states that change from packet to packet (Gilbert 1960, Elliott 1963); as netem's `gemodel`.
    GilbertElliott {
        /// Probability of going from good to bad, per packet.
        p: Ratio,
        /// Probability of going from bad to good, per packet; above zero.
        r: Ratio,
        /// Loss in the good state (1 - k in Elliott's notation).
        loss_good: Ratio,
        /// Loss in the bad state (1 - h).
        loss_bad: Ratio,
    },
    /// The two-state process without loss in the good state and with nothing else in the bad one, by what it shows:
    /// r = 1 / `mean_burst`, p = `loss` · r / (1 - `loss`).
    Gilbert {
        /// Share of packets lost in the long run.
        loss: Ratio,
        /// Mean number of packets lost in a row.
        mean_burst: f64,
    },
    /// Bursts of two regimes, short ones and rare long ones, both geometric; see [`crate::presets`].
    LongBurst {
        /// Share of packets lost in the long run.
        loss: Ratio,
        /// Mean number of packets lost in a row, over both regimes.
        mean_burst: f64,
        /// The long ones.
        long: LongBursts,
    },
    /// Every so-manieth packet is lost.
    Periodic {
        /// One packet of this many.
        every: u64,
        /// The first packet lost, counted from 0; below `every`.
        offset: u64,
    },
    /// As a file says: one `0` (received) or `1` (lost) per packet, blanks and line ends between them as you like, `#`
    /// begins a comment; starts over at its end.
    Trace {
        /// The file, relative to the scenario.
        file: PathBuf,
    },
    /// A measured process.
    Preset(&'static LossPreset),
}

/// The transition probabilities of a process of bursts: good to bad, and per regime its share and its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bursts {
    pub p: f64,
    pub end_short: f64,
    pub long_share: f64,
    pub end_long: f64,
}

impl Bursts {
    /// Bursts that begin with probability `p` after a good packet, have `mean` packets on average, and are `long` at times.
    pub fn new(p: f64, mean: f64, long: Option<LongBursts>) -> Self {
        let Some(long) = long else {
            return Self { p, end_short: 1.0 / mean, long_share: 0.0, end_long: 1.0 };
        };
        let short = (mean - long.share * long.mean) / (1.0 - long.share);
        Self { p, end_short: 1.0 / short, long_share: long.share, end_long: 1.0 / long.mean }
    }
}

impl LossConfig {
    /// No loss.
    pub const fn none() -> Self {
        Self { processes: Vec::new() }
    }
    /// Uniform random loss.
    pub fn bernoulli(ratio: Ratio) -> Self {
        if ratio.is_zero() { Self::none() } else { LossModel::Bernoulli { ratio }.into() }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        // Causes count processes in a byte.
        if self.processes.len() > 256 {
            return Err(ConfigError::refused(self.processes.len(), "loss processes are too many", "up to 256"));
        }
        self.processes.iter().try_for_each(LossProcessConfig::check)
    }
}

impl From<LossModel> for LossConfig {
    fn from(model: LossModel) -> Self {
        Self { processes: vec![model.into()] }
    }
}
impl From<LossModel> for LossProcessConfig {
    fn from(model: LossModel) -> Self {
        Self { model, windows: Vec::new(), repeat: None }
    }
}

impl LossModel {
    fn check(&self) -> Result<(), ConfigError> {
        match *self {
            Self::GilbertElliott { r, .. } if r.is_zero() => {
                Err(ConfigError::refused("r = 0", "never leaves the bad state", "above 0, up to 1"))
            }
            Self::Gilbert { loss, mean_burst } => check_bursts(loss, mean_burst),
            Self::LongBurst { loss, mean_burst, long } => {
                check_bursts(loss, mean_burst)?;
                if !(0.0..1.0).contains(&long.share) {
                    let value = format!("long_share = {}", long.share);
                    return Err(ConfigError::refused(value, "is no share of the bursts", "0 to below 1"));
                }
                if !(long.mean >= mean_burst && long.mean.is_finite()) {
                    let problem = format!("is shorter than the mean burst of {mean_burst}");
                    let value = format!("long_burst = {}", long.mean);
                    return Err(ConfigError::refused(value, problem, format!("{mean_burst} or more")));
                }
                let short = (mean_burst - long.share * long.mean) / (1.0 - long.share);
                if short < 1.0 {
                    let problem = format!(
                        "of bursts with {} packets leave less than one packet for the others at mean_burst = {mean_burst}",
                        long.mean
                    );
                    let most = (mean_burst - 1.0) / (long.mean - 1.0);
                    return Err(ConfigError::refused(
                        format!("long_share = {}", long.share),
                        problem,
                        format!("0 to {most}"),
                    ));
                }
                Ok(())
            }
            Self::Periodic { every, offset } => {
                if every == 0 {
                    return Err(ConfigError::refused("every = 0", "is no period", "1 or more"));
                }
                if offset >= every {
                    let problem = format!("is never reached with every = {every}");
                    return Err(ConfigError::refused(
                        format!("offset = {offset}"),
                        problem,
                        format!("0 to {}", every - 1),
                    ));
                }
                Ok(())
            }
            Self::Bernoulli { .. } | Self::GilbertElliott { .. } | Self::Trace { .. } | Self::Preset(_) => Ok(()),
        }
    }

    /// The word that a scenario writes.
    const fn name(&self) -> ModelName {
        match self {
            Self::Bernoulli { .. } => ModelName::Bernoulli,
            Self::GilbertElliott { .. } | Self::Gilbert { .. } => ModelName::GilbertElliott,
            Self::LongBurst { .. } => ModelName::LongBurst,
            Self::Periodic { .. } => ModelName::Periodic,
            Self::Trace { .. } => ModelName::Trace,
            Self::Preset(preset) => ModelName::Preset(preset),
        }
    }
}

/// Probability of going from good to bad such that bursts of `mean` packets make a share `loss` of all.
pub(crate) fn onset(loss: Ratio, mean: f64) -> f64 {
    loss.get() / (mean * (1.0 - loss.get()))
}

fn check_bursts(loss: Ratio, mean: f64) -> Result<(), ConfigError> {
    if !(mean >= 1.0 && mean.is_finite()) {
        return Err(ConfigError::refused(
            format!("mean_burst = {mean}"),
            "is no mean of burst lengths",
            "1 packet or more",
        ));
    }
    // Between two bursts lies at least one good packet.
    let p = onset(loss, mean);
    if p.is_nan() || p > 1.0 {
        let problem = format!("cannot be reached with bursts of {mean} packets on average");
        return Err(ConfigError::refused(format!("loss = {loss}"), problem, format!("0 to {}", mean / (1.0 + mean))));
    }
    Ok(())
}

impl LossProcessConfig {
    fn check(&self) -> Result<(), ConfigError> {
        self.model.check()?;
        let mut end = Span::ZERO;
        for window in &self.windows {
            let Window { from, to } = *window;
            if to <= from {
                let problem = format!("ends a window that begins at {from}");
                return Err(ConfigError::refused(format!("to = {to}"), problem, format!("above {from}")));
            }
            if from < end {
                let problem = format!("begins a window before the one above it ends at {end}");
                return Err(ConfigError::refused(format!("from = {from}"), problem, format!("{end} or later")));
            }
            end = to;
        }
        match self.repeat {
            Some(repeat) if self.windows.is_empty() => Err(ConfigError::refused(
                format!("repeat = {repeat}"),
                "repeats no `active` times",
                "beside `active` only",
            )),
            Some(repeat) if repeat < end => {
                let problem = "ends before the last window does";
                Err(ConfigError::refused(format!("repeat = {repeat}"), problem, format!("{end} or more")))
            }
            _ => Ok(()),
        }
    }
}

mod name;
mod table;
use name::ModelName;
pub(super) use table::Table;

const SPELLINGS: &str =
    "a ratio such as 0.01 or \"1 %\", the name of a measured process, a table { model = … }, or a list of these";

impl Written for LossProcessConfig {
    const EXPECTED: &'static str = SPELLINGS;
    type Table = Table;
    type List = IgnoredAny;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        if let Some(preset) = LossPreset::find(text) {
            return Ok(preset.into());
        }
        let starts_with_number =
            text.trim_start().starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'));
        if starts_with_number {
            return Ok(LossModel::Bernoulli { ratio: text.parse()? }.into());
        }
        let allowed = format!("a ratio such as 0.01 or \"1 %\", or one of {}", LossPreset::names());
        Err(ConfigError::refused(text, "is no loss", allowed))
    }
    fn from_number(value: f64) -> Option<Result<Self, ConfigError>> {
        Some(Ratio::new(value).map(|ratio| LossModel::Bernoulli { ratio }.into()).map_err(ConfigError::from))
    }
    fn from_table(table: Table) -> Result<Self, ConfigError> {
        let process = table.process()?;
        process.check().map(|()| process)
    }
}
read_as_written!(LossProcessConfig);

impl Written for LossConfig {
    const EXPECTED: &'static str = SPELLINGS;
    type Table = Table;
    type List = Vec<LossProcessConfig>;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        LossProcessConfig::from_text(text).map(Self::single)
    }
    fn from_number(value: f64) -> Option<Result<Self, ConfigError>> {
        LossProcessConfig::from_number(value).map(|process| process.map(Self::single))
    }
    fn from_table(table: Table) -> Result<Self, ConfigError> {
        LossProcessConfig::from_table(table).map(Self::single)
    }
    fn from_list(processes: Vec<LossProcessConfig>) -> Option<Result<Self, ConfigError>> {
        let config = Self { processes };
        Some(config.check().map(|()| config))
    }
}
read_as_written!(LossConfig);

impl LossConfig {
    /// One process; a plain ratio of zero is none.
    fn single(process: LossProcessConfig) -> Self {
        match process {
            LossProcessConfig { model: LossModel::Bernoulli { ratio }, ref windows, .. } if windows.is_empty() => {
                Self::bernoulli(ratio)
            }
            process => Self { processes: vec![process] },
        }
    }
}

impl Serialize for LossConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.processes.as_slice() {
            [] => Ratio::ZERO.serialize(serializer),
            [process] => process.serialize(serializer),
            processes => processes.serialize(serializer),
        }
    }
}

impl Serialize for LossProcessConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.model {
            LossModel::Bernoulli { ratio } if self.windows.is_empty() => ratio.serialize(serializer),
            LossModel::Preset(preset) if self.windows.is_empty() => serializer.serialize_str(preset.name),
            _ => Table::of(self).serialize(serializer),
        }
    }
}

impl JsonSchema for LossProcessConfig {
    fn schema_name() -> Cow<'static, str> {
        "LossProcessConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let presets: Vec<&str> = crate::loss_presets().iter().map(|preset| preset.name).collect();
        json_schema!({
            "description": "Which packets are lost: a ratio, a measured process by name, or a loss model",
            "anyOf": [
                generator.subschema_for::<Ratio>(),
                { "type": "string", "enum": presets },
                generator.subschema_for::<Table>(),
            ],
        })
    }
}

impl JsonSchema for LossConfig {
    fn schema_name() -> Cow<'static, str> {
        "LossConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Which packets a link loses: one loss process or a list; a packet is lost if any says so",
            "anyOf": [
                generator.subschema_for::<LossProcessConfig>(),
                generator.subschema_for::<Vec<LossProcessConfig>>(),
            ],
        })
    }
}
