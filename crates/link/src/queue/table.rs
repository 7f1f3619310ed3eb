//! A queue as a table: `{ limit = "1 BDP", aqm = "codel", ecn = true }`.

use crate::fields::{Field, Fields};
use crate::queue::disciplines::QueueDiscipline;
use crate::queue::limit::QueueLimit;
use crate::registry_table::{self, Registry};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A queue as a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub limit: Option<QueueLimit>,
    pub fields: Fields,
}

impl Registry for QueueDiscipline {
    const KEY: &'static str = "aqm";
    const KEY_ABOUT: &'static str = "Queue discipline. Default: \"drop-tail\".";
    const ENTRY: &'static str = "a queue discipline";
    const COMMON: &'static [(&'static str, &'static str)] =
        &[("limit", "Size limit. Default: \"1 BDP\"; of CAKE that of Linux, at least 4 MiB.")];

    fn entry_names() -> Vec<&'static str> {
        Self::ROWS.iter().map(|row| row.name).collect()
    }
    fn entry_fields() -> Vec<&'static Field> {
        Self::ROWS.iter().flat_map(|row| row.fields).collect()
    }
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Table;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table { limit = … }")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table, A::Error> {
                let (mut limit, default) = (None, Some(QueueDiscipline::DEFAULT));
                let read = |_, map: &mut A| {
                    limit = map.next_value()?;
                    Ok(())
                };
                let fields = registry_table::read::<QueueDiscipline, A>(&mut map, default, read)?;
                Ok(Table { limit, fields })
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(limit) = &self.limit {
            map.serialize_entry("limit", limit)?;
        }
        map.serialize_entry(QueueDiscipline::KEY, self.fields.name())?;
        for (name, value) in self.fields.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The value of `aqm`, for the schema.
struct DisciplineName;

impl JsonSchema for DisciplineName {
    fn schema_name() -> Cow<'static, str> {
        "QueueDiscipline".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let rows = QueueDiscipline::ROWS.iter();
        let names = rows.map(|row| json_schema!({ "const": row.name, "description": row.about }));
        json_schema!({
            "description": "A queue discipline",
            "oneOf": names.collect::<Vec<Schema>>(),
        })
    }
}

impl JsonSchema for Table {
    fn schema_name() -> Cow<'static, str> {
        "QueueTable".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<DisciplineName>();
        let common = [generator.subschema_for::<Option<QueueLimit>>()];
        let properties = registry_table::properties::<QueueDiscipline>(generator, name, common);
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}
