//! A loss process as a table: `{ model = "gilbert-elliott", loss = 0.01, mean_burst = 4 }`.

use super::LossModel;
use super::fields::{Field, Fields};
use crate::ConfigError;
use crate::schedule::Window;
use bentpipe_units::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Keys of every model.
const COMMON: [(&str, &str); 2] = [
    ("active", "Any model: only active during these times, in ascending order without overlap."),
    ("repeat", "Any model: the active times repeat with this period."),
];

/// A loss process as a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub fields: Fields,
    pub windows: Vec<Window>,
    pub repeat: Option<Span>,
}

/// Returns every key with its description. A key that several models share occurs once, with the
/// description of the first.
fn fields() -> Vec<&'static Field> {
    let mut fields: Vec<&Field> = Vec::new();
    for field in LossModel::all_fields() {
        if fields.iter().all(|known| known.name != field.name) {
            fields.push(field);
        }
    }
    fields
}

/// A key of the table.
enum Key {
    Model,
    Windows,
    Repeat,
    Field(&'static Field),
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        match key.as_str() {
            "model" => return Ok(Self::Model),
            "active" => return Ok(Self::Windows),
            "repeat" => return Ok(Self::Repeat),
            _ => {}
        }
        let fields = fields();
        let found = fields.iter().find(|field| field.name == key);
        found.map(|field| Self::Field(field)).ok_or_else(|| {
            let names = ["model"].into_iter().chain(fields.iter().map(|field| field.name));
            let names: Vec<String> =
                names.chain(COMMON.map(|(name, _)| name)).map(|name| format!("`{name}`")).collect();
            de::Error::custom(format!("unknown key `{key}`, expected one of {}", names.join(", ")))
        })
    }
}

/// The value of `model`.
struct Name(&'static str);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a loss model: {}", LossModel::names().join(", "))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Name, E> {
                let names = LossModel::names();
                let found = names.iter().find(|name| **name == text);
                let refused =
                    || ConfigError::refused(text, "is not a loss model", names.join(", "));
                found.map(|name| Name(name)).ok_or_else(|| E::custom(refused()))
            }
        }
        deserializer.deserialize_str(Text)
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
                let (mut model, mut windows, mut repeat, mut set) = (None, None, None, Vec::new());
                while let Some(key) = map.next_key()? {
                    match key {
                        Key::Model => model = Some(map.next_value::<Name>()?.0),
                        Key::Windows => windows = Some(map.next_value()?),
                        Key::Repeat => repeat = map.next_value()?,
                        Key::Field(field) => set.push((field, field.kind.read(&mut map)?)),
                    }
                }
                let model = model.ok_or_else(|| de::Error::missing_field("model"))?;
                // Uses the order of the models' keys, so that the first error does not depend on
                // the text.
                let mut ordered = Fields::new(model);
                for field in fields() {
                    if let Some(at) = set.iter().position(|(other, _)| other.name == field.name) {
                        ordered = ordered.with(field.name, set.swap_remove(at).1);
                    }
                }
                Ok(Table { fields: ordered, windows: windows.unwrap_or_default(), repeat })
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", self.fields.model())?;
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
        let mut properties = Schema::default();
        let mut add = |name: &str, about: &str, mut schema: Schema| {
            schema.insert("description".to_owned(), about.into());
            properties.insert(name.to_owned(), schema.to_value());
        };
        add("model", "Name of the model.", generator.subschema_for::<ModelName>());
        for field in fields() {
            add(field.name, field.about, field.kind.schema(generator));
        }
        let [windows, repeat] = COMMON;
        add(windows.0, windows.1, generator.subschema_for::<Vec<Window>>());
        add(repeat.0, repeat.1, generator.subschema_for::<Option<Span>>());
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
            "required": ["model"],
        })
    }
}
