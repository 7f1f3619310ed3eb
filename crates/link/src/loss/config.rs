//! Configuration of losses.

use super::preset::LossPreset;
use super::process::LoadedLoss;
use super::table::Table;
use super::{Bernoulli, LossModel};
use crate::multi_format::{MultiFormat, read_multi_format};
use crate::schedule::Window;
use crate::{ConfigError, LinkError, ReadFiles};
use bentpipe_units::{Ratio, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// Losses on a link: a ratio, the name of a measured process, a table, or a list of these.
///
/// A packet is lost if any process loses it. An empty list loses nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LossConfig {
    /// The processes. Each has its own random stream, keyed by its position in the list.
    pub processes: Vec<LossProcessConfig>,
}

/// A loss process and its active times.
#[derive(Debug, Clone, PartialEq)]
pub struct LossProcessConfig {
    /// Model of the losses.
    pub model: LossModel,
    /// Active times; empty for always. Outside of them the process loses nothing and its state does
    /// not change.
    pub windows: Vec<Window>,
    /// Period with which the active times repeat.
    pub repeat: Option<Span>,
}

impl LossConfig {
    /// Returns the configuration without loss.
    pub const fn none() -> Self {
        Self { processes: Vec::new() }
    }

    /// Returns independent losses with probability `ratio`.
    pub fn bernoulli(ratio: Ratio) -> Self {
        if ratio.is_zero() { Self::none() } else { Bernoulli { ratio }.into() }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        // `DropCause::Loss` numbers the processes in a byte.
        if self.processes.len() > 256 {
            return Err(ConfigError::refused(
                self.processes.len(),
                "loss processes exceed the maximum",
                "up to 256",
            ));
        }
        self.processes.iter().try_for_each(LossProcessConfig::check)
    }

    /// Creates a configuration with one process. A plain ratio of zero means no process.
    fn single(process: LossProcessConfig) -> Self {
        match process {
            LossProcessConfig {
                model: LossModel::Bernoulli(Bernoulli { ratio }),
                ref windows,
                ..
            } if windows.is_empty() => Self::bernoulli(ratio),
            process => Self { processes: vec![process] },
        }
    }
}

impl<M: Into<LossModel>> From<M> for LossConfig {
    fn from(model: M) -> Self {
        Self { processes: vec![model.into().into()] }
    }
}

impl From<LossModel> for LossProcessConfig {
    fn from(model: LossModel) -> Self {
        Self { model, windows: Vec::new(), repeat: None }
    }
}

impl From<&'static LossPreset> for LossProcessConfig {
    fn from(preset: &'static LossPreset) -> Self {
        LossModel::Preset(preset).into()
    }
}

impl LossProcessConfig {
    fn check(&self) -> Result<(), ConfigError> {
        self.model.check()?;
        let mut end = Span::ZERO;
        for window in &self.windows {
            let Window { from, to } = *window;
            if to <= from {
                let problem = format!("ends an active time that starts at {from}");
                return Err(ConfigError::refused(
                    format!("to = {to}"),
                    problem,
                    format!("above {from}"),
                ));
            }
            if from < end {
                let problem =
                    format!("starts an active time before the previous one ends at {end}");
                return Err(ConfigError::refused(
                    format!("from = {from}"),
                    problem,
                    format!("{end} or later"),
                ));
            }
            end = to;
        }
        match self.repeat {
            Some(repeat) if self.windows.is_empty() => Err(ConfigError::refused(
                format!("repeat = {repeat}"),
                "has no effect without `active`",
                "only together with `active`",
            )),
            Some(repeat) if repeat < end => {
                let problem = "is shorter than the active times";
                Err(ConfigError::refused(
                    format!("repeat = {repeat}"),
                    problem,
                    format!("{end} or more"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Reads the files that the model names.
    pub(crate) fn load(&self, files: &dyn ReadFiles) -> Result<LoadedLoss, LinkError> {
        let process = self.model.load(files)?;
        Ok(LoadedLoss { process, windows: self.windows.as_slice().into(), repeat: self.repeat })
    }

    fn table(&self) -> Table {
        Table { fields: self.model.to_fields(), windows: self.windows.clone(), repeat: self.repeat }
    }
}

const FORMATS: &str = "a ratio such as 0.01 or \"1 %\", the name of a measured process, a table \
    { model = … }, or a list of these";

impl MultiFormat for LossProcessConfig {
    const EXPECTED: &'static str = FORMATS;
    type Table = Table;
    type List = IgnoredAny;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        if let Some(preset) = LossPreset::find(text) {
            return Ok(preset.into());
        }
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
        if text.trim_start().starts_with(is_number) {
            return Ok(LossModel::from(Bernoulli { ratio: text.parse()? }).into());
        }
        let allowed = format!("a ratio such as 0.01 or \"1 %\", or one of {}", LossPreset::names());
        Err(ConfigError::refused(text, "is not a loss", allowed))
    }
    fn from_number(value: f64) -> Option<Result<Self, ConfigError>> {
        let ratio = Ratio::new(value).map_err(ConfigError::from);
        Some(ratio.map(|ratio| LossModel::from(Bernoulli { ratio }).into()))
    }
    fn from_table(table: Table) -> Result<Self, ConfigError> {
        let model = LossModel::from_fields(&table.fields)?;
        let process = Self { model, windows: table.windows, repeat: table.repeat };
        process.check().map(|()| process)
    }
}
read_multi_format!(LossProcessConfig);

impl MultiFormat for LossConfig {
    const EXPECTED: &'static str = FORMATS;
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
read_multi_format!(LossConfig);

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
            LossModel::Bernoulli(model) if self.windows.is_empty() => {
                model.ratio.serialize(serializer)
            }
            LossModel::Preset(preset) if self.windows.is_empty() => {
                serializer.serialize_str(preset.name)
            }
            _ => self.table().serialize(serializer),
        }
    }
}

impl JsonSchema for LossProcessConfig {
    fn schema_name() -> Cow<'static, str> {
        "LossProcessConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let presets: Vec<&str> =
            super::preset::loss_presets().iter().map(|preset| preset.name).collect();
        json_schema!({
            "description": "Loss process: a ratio, a measured process by name, or a loss \
                model",
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
            "description": "Losses on a link: one loss process or a list; a packet is \
                lost if any loses it",
            "anyOf": [
                generator.subschema_for::<LossProcessConfig>(),
                generator.subschema_for::<Vec<LossProcessConfig>>(),
            ],
        })
    }
}
