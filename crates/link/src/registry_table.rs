//! Tables whose keys follow from a registry: one key names an entry of the registry, and the others
//! belong to entries or are common to all.

use crate::ConfigError;
use crate::fields::{Field, Fields, Value};
use schemars::{Schema, SchemaGenerator};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A registry whose entries are named in tables, such as that of loss models.
pub(crate) trait Registry {
    /// The key that names an entry.
    const KEY: &'static str;
    /// Documentation of that key.
    const KEY_ABOUT: &'static str;
    /// What an entry is, with an article.
    const ENTRY: &'static str;
    /// Keys that every entry has, with their documentation.
    const COMMON: &'static [(&'static str, &'static str)];

    /// Returns the names of all entries.
    fn entry_names() -> Vec<&'static str>;

    /// Returns the fields of all entries. A field that several share may occur once for each.
    fn entry_fields() -> Vec<&'static Field>;
}

/// Returns each field of the entries of `R` once, with the description of the first entry that has
/// it.
fn fields<R: Registry>() -> Vec<&'static Field> {
    let mut fields: Vec<&Field> = Vec::new();
    for field in R::entry_fields() {
        if fields.iter().all(|known| known.name != field.name) {
            fields.push(field);
        }
    }
    fields
}

/// Reads a table of `R`, whose entry is `default` if the table does not name one. Calls `common`
/// with each common key, to read its value.
pub(crate) fn read<'de, R: Registry, A: MapAccess<'de>>(
    map: &mut A,
    default: Option<&'static str>,
    mut common: impl FnMut(&'static str, &mut A) -> Result<(), A::Error>,
) -> Result<Fields, A::Error> {
    let (mut name, mut set): (_, Vec<(&'static str, Value)>) = (default, Vec::new());
    while let Some(KeyOf::<R>(key, _)) = map.next_key()? {
        match key {
            Key::Name => name = Some(map.next_value::<NameOf<R>>()?.0),
            Key::Common(key) => common(key, map)?,
            Key::Field(field) => set.push((field.name, field.kind.read(map)?)),
        }
    }
    let name = name.ok_or_else(|| de::Error::missing_field(R::KEY))?;
    // Uses the order of the entries' keys, so that the first error does not depend on the text.
    let mut ordered = Fields::new(name);
    for field in fields::<R>() {
        if let Some(at) = set.iter().position(|(other, _)| *other == field.name) {
            ordered = ordered.with(field.name, set.swap_remove(at).1);
        }
    }
    Ok(ordered)
}

/// Returns the JSON Schema of the keys of a table of `R`: the key with the name, whose values are
/// `names`, the fields, and the common keys with the schemas `common`.
pub(crate) fn properties<R: Registry>(
    generator: &mut SchemaGenerator,
    names: Schema,
    common: impl IntoIterator<Item = Schema>,
) -> Schema {
    let mut properties = Schema::default();
    let mut add = |name: &str, about: &str, mut schema: Schema| {
        schema.insert("description".to_owned(), about.into());
        properties.insert(name.to_owned(), schema.to_value());
    };
    add(R::KEY, R::KEY_ABOUT, names);
    for field in fields::<R>() {
        add(field.name, field.about, field.kind.schema(generator));
    }
    for ((name, about), schema) in R::COMMON.iter().zip(common) {
        add(name, about, schema);
    }
    properties
}

/// A key of a table.
enum Key {
    Name,
    Common(&'static str),
    Field(&'static Field),
}

/// A key of a table of `R`.
// A type of its own, so that the error of an unknown key has the key's position.
struct KeyOf<R>(Key, PhantomData<R>);

impl<'de, R: Registry> Deserialize<'de> for KeyOf<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut common = R::COMMON.iter().map(|(name, _)| *name);
        let fields = fields::<R>();
        let key = if text == R::KEY {
            Some(Key::Name)
        } else if let Some(name) = common.clone().find(|name| *name == text) {
            Some(Key::Common(name))
        } else {
            fields.iter().find(|field| field.name == text).map(|field| Key::Field(field))
        };
        key.map(|key| Self(key, PhantomData)).ok_or_else(|| {
            let names = [R::KEY].into_iter().chain(fields.iter().map(|field| field.name));
            let names: Vec<String> =
                names.chain(common.by_ref()).map(|name| format!("`{name}`")).collect();
            de::Error::custom(format!("unknown key `{text}`, expected one of {}", names.join(", ")))
        })
    }
}

/// The name of an entry of `R`.
struct NameOf<R>(&'static str, PhantomData<R>);

impl<'de, R: Registry> Deserialize<'de> for NameOf<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text<R>(PhantomData<R>);
        impl<R: Registry> Visitor<'_> for Text<R> {
            type Value = NameOf<R>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}: {}", R::ENTRY, R::entry_names().join(", "))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<NameOf<R>, E> {
                let names = R::entry_names();
                let found = names.iter().find(|name| **name == text);
                found.map(|name| NameOf(name, PhantomData)).ok_or_else(|| {
                    let problem = format!("is not {}", R::ENTRY);
                    E::custom(ConfigError::refused(text, problem, names.join(", ")))
                })
            }
        }
        deserializer.deserialize_str(Text(PhantomData))
    }
}
