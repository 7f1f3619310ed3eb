//! Reading several structs from one table.
//!
//! `[[flow]]` accepts the keys of a workload, of a transport, and some of its own. Each of these is
//! a struct that lists its keys once. serde's `flatten` would lose the positions that errors need,
//! so a [`Section`] reads the names of its keys from its JSON Schema and removes them from the
//! table.

use crate::error::{Problem, nearest, quoted};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use serde_spanned::Spanned;
use std::borrow::Cow;
use std::ops::Range;
use toml::de::{DeTable, Deserializer};

/// Keys that share a table with those of other sections.
pub trait Section: JsonSchema + DeserializeOwned {
    /// Returns the JSON Schema, which is generated once.
    fn schema() -> &'static Json;
}

/// Implements [`Section`].
macro_rules! section {
    ($($name:ty),+ $(,)?) => {$(
        impl $crate::section::Section for $name {
            fn schema() -> &'static serde_json::Value {
                static SCHEMA: std::sync::LazyLock<serde_json::Value> =
                    std::sync::LazyLock::new(|| schemars::schema_for!($name).to_value());
                &SCHEMA
            }
        }
    )+};
}
pub(crate) use section;

/// Returns the names of a section's keys.
pub fn keys<T: Section>() -> Vec<&'static str> {
    let properties = T::schema()["properties"].as_object();
    properties.into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

/// Removes a section's keys from `table` and reads them. `span` is the position of the table.
pub fn take<T: Section>(table: &mut DeTable<'_>, span: Range<usize>) -> Result<T, Problem> {
    let mut own = DeTable::new();
    let mut places = Vec::new();
    for name in keys::<T>() {
        if let Some((key, value)) = table.remove_entry(name) {
            places.push((name, value.span()));
            own.insert(key, value);
        }
    }
    let read = T::deserialize(Deserializer::from(Spanned::new(span.clone(), own)));
    read.map_err(|error| {
        let problem = Problem::from_toml(&error, span);
        let key = places.iter().find(|(_, place)| *place == problem.span);
        match key.and_then(|(name, _)| meaning::<T>(name)) {
            Some(meaning) if problem.help.is_none() => problem.help(meaning),
            _ => problem,
        }
    })
}

/// Returns the first sentence of what the schema says of a key: what its value means.
fn meaning<T: Section>(name: &str) -> Option<String> {
    let description = T::schema()["properties"][name]["description"].as_str()?;
    // Lines of a documentation comment.
    let description = description.replace('\n', " ");
    let sentence = description.split_once(". ").map_or(&*description, |(first, _)| first);
    Some(format!("`{name}`: {}", sentence.trim_end_matches('.')))
}

/// Returns an error if `key` is not one of `allowed`. If no allowed key is similar, `suggest`
/// returns a key of another table for the help.
pub fn known(
    key: &Spanned<Cow<'_, str>>,
    allowed: &[&str],
    suggest: impl Fn(&str) -> Option<String>,
) -> Result<(), Problem> {
    let name: &str = key.get_ref();
    if allowed.contains(&name) {
        return Ok(());
    }
    let problem =
        Problem::new(key.span(), format!("unknown key `{name}`, allowed: {}", quoted(allowed)));
    let near = nearest(name, allowed).map(str::to_owned);
    Err(match near.or_else(|| suggest(name)) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem,
    })
}

/// Returns the JSON Schema of a table with the keys of several sections.
pub fn compose(title: &str, parts: Vec<Schema>) -> Schema {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for part in parts {
        let Json::Object(mut part) = part.to_value() else { continue };
        if let Some(Json::Object(own)) = part.remove("properties") {
            properties.extend(own);
        }
        if let Some(Json::Array(own)) = part.remove("required") {
            required.extend(own);
        }
    }
    schemars::json_schema!({
        "title": title,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Declares a table with the keys of several sections: its JSON Schema and the list of its keys.
macro_rules! table {
    ($(#[$meta:meta])* $name:ident: $title:literal = $($part:ty),+ $(,)?) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        pub struct $name;

        impl $name {
            /// Returns the names of the keys, in order.
            pub fn keys() -> Vec<&'static str> {
                let mut keys = Vec::new();
                $(keys.extend($crate::section::keys::<$part>());)+
                keys
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $title.into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let parts = vec![$(<$part as schemars::JsonSchema>::json_schema(generator)),+];
                $crate::section::compose($title, parts)
            }
        }
    };
}
pub(crate) use table;

/// A part of the file that serde skips, because it is merged with other parts before it is read.
#[derive(Debug, Clone)]
pub struct Merged<T>(std::marker::PhantomData<T>);

impl<T> Default for Merged<T> {
    fn default() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<'de, T> serde::Deserialize<'de> for Merged<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer)?;
        Ok(Self::default())
    }
}

impl<T: JsonSchema> JsonSchema for Merged<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
