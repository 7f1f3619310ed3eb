//! The words for loss models.

use crate::ConfigError;
use crate::presets::LossPreset;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The word for a loss model.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::config) enum ModelName {
    Bernoulli,
    GilbertElliott,
    LongBurst,
    Periodic,
    Trace,
    Preset(&'static LossPreset),
}

const MODELS: [(&str, ModelName); 5] = [
    ("bernoulli", ModelName::Bernoulli),
    ("gilbert-elliott", ModelName::GilbertElliott),
    ("long-burst", ModelName::LongBurst),
    ("periodic", ModelName::Periodic),
    ("trace", ModelName::Trace),
];

impl ModelName {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Preset(preset) => preset.name,
            other => MODELS.iter().find(|(_, model)| *model == other).map_or("", |(name, _)| name),
        }
    }
    fn names() -> impl Iterator<Item = &'static str> {
        MODELS.iter().map(|(name, _)| *name).chain(crate::loss_presets().iter().map(|preset| preset.name))
    }
}

impl Serialize for ModelName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
impl<'de> Deserialize<'de> for ModelName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = ModelName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let names: Vec<&str> = ModelName::names().collect();
                write!(f, "a loss model: {}", names.join(", "))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ModelName, E> {
                let known = MODELS.iter().find(|(name, _)| *name == text).map(|(_, model)| *model);
                let found = known.or_else(|| LossPreset::find(text).map(ModelName::Preset));
                found.ok_or_else(|| {
                    let names: Vec<&str> = ModelName::names().collect();
                    E::custom(ConfigError::refused(text, "is no loss model", names.join(", ")))
                })
            }
        }
        deserializer.deserialize_str(Text)
    }
}
impl JsonSchema for ModelName {
    fn schema_name() -> Cow<'static, str> {
        "LossModel".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Self::names().collect();
        json_schema!({ "description": "A loss model or measured process", "type": "string", "enum": names })
    }
}
