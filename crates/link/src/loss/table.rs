//! A loss process as a table: `{ model = "gilbert-elliott", loss = 0.01, mean_burst = 4 }`.

use super::LossModel;
use crate::fields::{Field, Fields};
use crate::registry_table::{self, Registry};
use crate::schedule::Window;
use bentpipe_units::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A loss process as a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub fields: Fields,
    pub windows: Vec<Window>,
    pub repeat: Option<Span>,
}

impl Registry for LossModel {
    const KEY: &'static str = "model";
    const KEY_ABOUT: &'static str = "Name of the model.";
    const ENTRY: &'static str = "a loss model";
    const COMMON: &'static [(&'static str, &'static str)] = &[
        (
            "active",
            "Any model: only active during these times, in ascending order without overlap.",
        ),
        ("repeat", "Any model: the active times repeat with this period."),
    ];

    fn entry_names() -> Vec<&'static str> {
        Self::names()
    }
    fn entry_fields() -> Vec<&'static Field> {
        Self::all_fields().collect()
    }
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Table;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table { model = … }")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table, A::Error> {
                let (mut windows, mut repeat) = (Vec::new(), None);
                let fields = registry_table::read::<LossModel, A>(&mut map, None, |key, map| {
                    match key {
                        "active" => windows = map.next_value()?,
                        _ => repeat = map.next_value()?,
                    }
                    Ok(())
                })?;
                Ok(Table { fields, windows, repeat })
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(LossModel::KEY, self.fields.name())?;
        for (name, value) in self.fields.iter() {
            map.serialize_entry(name, value)?;
        }
        if !self.windows.is_empty() {
            map.serialize_entry("active", &self.windows)?;
        }
        if let Some(repeat) = &self.repeat {
            map.serialize_entry("repeat", repeat)?;
        }
        map.end()
    }
}

/// The value of `model`, for the schema.
struct ModelName;

impl JsonSchema for ModelName {
    fn schema_name() -> Cow<'static, str> {
        "LossModel".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A loss model or measured process",
            "type": "string",
            "enum": LossModel::names(),
        })
    }
}

impl JsonSchema for Table {
    fn schema_name() -> Cow<'static, str> {
        "LossTable".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<ModelName>();
        let common =
            [generator.subschema_for::<Vec<Window>>(), generator.subschema_for::<Option<Span>>()];
        let properties = registry_table::properties::<LossModel>(generator, name, common);
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
            "required": ["model"],
        })
    }
}
