//! The keys of a table of a registry, such as that of a loss model, and their values.
//!
//! One map serves all entries of a registry. A serde enum would lose the line of an invalid value,
//! because serde buffers the contents of tagged variants and forgets their positions.

use crate::{ConfigError, Dscp};
use bentpipe_units::{Bytes, Ratio, Span};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use std::path::PathBuf;

/// A key of an entry's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// One sentence for the schema, with the default if there is one.
    pub about: &'static str,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A fraction from 0 to 1.
    Ratio,
    /// Any number.
    Number,
    /// A whole number, zero or more.
    Count,
    /// True or false.
    Flag,
    /// A span of time.
    Span,
    /// A size in bytes.
    Bytes,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of DSCPs.
    Dscps,
    /// A file, relative to the scenario.
    Path,
}

/// A value, with its type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A fraction from 0 to 1.
    Ratio(Ratio),
    /// Any number.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// True or false.
    Flag(bool),
    /// A span of time.
    Span(Span),
    /// A size in bytes.
    Bytes(Bytes),
    /// A word.
    Choice(&'static str),
    /// A list of DSCPs.
    Dscps(Vec<Dscp>),
    /// A file.
    Path(PathBuf),
}

/// The keys that a table sets, in the order in which the entries list them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields {
    name: &'static str,
    set: Vec<(&'static str, Value)>,
}

impl Kind {
    /// Reads the value of a key.
    pub(crate) fn read<'de, A: MapAccess<'de>>(self, map: &mut A) -> Result<Value, A::Error> {
        Ok(match self {
            Self::Ratio => Value::Ratio(map.next_value()?),
            Self::Number => Value::Number(map.next_value()?),
            Self::Count => Value::Count(map.next_value()?),
            Self::Flag => Value::Flag(map.next_value()?),
            Self::Span => Value::Span(map.next_value()?),
            Self::Bytes => Value::Bytes(map.next_value()?),
            Self::Choice(words) => Value::Choice(map.next_value_seed(OneOf(words))?),
            Self::Dscps => Value::Dscps(map.next_value()?),
            Self::Path => Value::Path(map.next_value()?),
        })
    }

    /// Returns the JSON Schema of an optional value.
    pub(crate) fn schema(self, generator: &mut SchemaGenerator) -> Schema {
        match self {
            Self::Ratio => generator.subschema_for::<Option<Ratio>>(),
            Self::Number => generator.subschema_for::<Option<f64>>(),
            Self::Count => generator.subschema_for::<Option<u64>>(),
            Self::Flag => generator.subschema_for::<Option<bool>>(),
            Self::Span => generator.subschema_for::<Option<Span>>(),
            Self::Bytes => generator.subschema_for::<Option<Bytes>>(),
            Self::Choice(words) => json_schema!({ "enum": words }),
            Self::Dscps => generator.subschema_for::<Option<Vec<Dscp>>>(),
            Self::Path => generator.subschema_for::<Option<PathBuf>>(),
        }
    }
}

/// Reads one of these words.
// A type of its own, so that the error of another word has the value's position.
struct OneOf(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for OneOf {
    type Value = &'static str;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for OneOf {
    type Value = &'static str;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}", self.0.join(", "))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<&'static str, E> {
        self.0.iter().find(|word| **word == text).copied().ok_or_else(|| {
            E::custom(ConfigError::refused(text, "is not known here", self.0.join(", ")))
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Count(value) => value.fmt(f),
            Self::Flag(value) => value.fmt(f),
            Self::Span(value) => value.fmt(f),
            Self::Bytes(value) => value.fmt(f),
            Self::Choice(value) => value.fmt(f),
            Self::Dscps(list) => {
                let list: Vec<String> = list.iter().map(Dscp::to_string).collect();
                write!(f, "[{}]", list.join(", "))
            }
            Self::Path(value) => value.display().fmt(f),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ratio(value) => value.serialize(serializer),
            Self::Number(value) => value.serialize(serializer),
            Self::Count(value) => value.serialize(serializer),
            Self::Flag(value) => value.serialize(serializer),
            Self::Span(value) => value.serialize(serializer),
            Self::Bytes(value) => value.serialize(serializer),
            Self::Choice(value) => value.serialize(serializer),
            Self::Dscps(value) => value.serialize(serializer),
            Self::Path(value) => value.serialize(serializer),
        }
    }
}

impl Fields {
    /// Creates an empty set of keys for the named entry.
    pub fn new(name: &'static str) -> Self {
        Self { name, set: Vec::new() }
    }

    /// Sets a key.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.set.push((name, value.into()));
        self
    }

    /// Returns what key `name` selects from a table of words.
    pub(crate) fn choice_of<T: Copy>(&self, name: &str, words: &[(&'static str, T)]) -> Option<T> {
        let word = self.choice(name)?;
        words.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
    }

    /// Sets a key to the word of `value` in such a table.
    pub(crate) fn with_choice_of<T: PartialEq>(
        self,
        name: &'static str,
        value: T,
        words: &[(&'static str, T)],
    ) -> Self {
        match words.iter().find(|(_, known)| *known == value) {
            Some((word, _)) => self.with(name, *word),
            None => self,
        }
    }

    /// Returns the name of the entry.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the keys that are set, with their values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &(&'static str, Value)> {
        self.set.iter()
    }

    /// Returns true if a key is set.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Checks that all `required` keys of a loss model are set, and no others than these and the
    /// `optional` ones.
    ///
    /// # Errors
    ///
    /// Returns the first offending key, with the allowed ones.
    pub fn expect(&self, required: &[&str], optional: &[&str]) -> Result<(), ConfigError> {
        let allowed = || match (required, optional) {
            ([], []) => "no key except active and repeat".to_owned(),
            (required, []) => required.join(", "),
            (required, optional) => {
                format!("{}, optional {}", required.join(", "), optional.join(", "))
            }
        };
        let is_known = |name: &str| required.contains(&name) || optional.contains(&name);
        if let Some((name, value)) = self.set.iter().find(|(name, _)| !is_known(name)) {
            let problem = format!("is not a key of model {}", self.name);
            return Err(ConfigError::refused(format!("{name} = {value}"), problem, allowed()));
        }
        match required.iter().find(|name| !self.has(name)) {
            Some(name) => {
                Err(ConfigError::refused(self.name, format!("has no `{name}`"), allowed()))
            }
            None => Ok(()),
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.set.iter().find(|(set, _)| *set == name).map(|(_, value)| value)
    }
}

/// Checks a factor of recorded values.
pub(crate) fn check_scale(scale: f64) -> Result<(), ConfigError> {
    if (0.001..=1000.0).contains(&scale) {
        return Ok(());
    }
    Err(ConfigError::refused(format!("scale = {scale}"), "is out of range", "0.001 to 1000"))
}

/// Typed access to values. `None` if the key is not set.
macro_rules! values {
    ($($method:ident: $variant:ident($type:ty), $doc:literal;)*) => {
        impl Fields {$(
            #[doc = $doc]
            pub fn $method(&self, name: &str) -> Option<$type> {
                match self.get(name)? {
                    Value::$variant(value) => Some(value.clone()),
                    _ => None,
                }
            }
        )*}
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        })*
    };
}

values! {
    ratio: Ratio(Ratio), "Returns the fraction of key `name`.";
    number: Number(f64), "Returns the number of key `name`.";
    count: Count(u64), "Returns the whole number of key `name`.";
    flag: Flag(bool), "Returns whether key `name` is true.";
    span: Span(Span), "Returns the time span of key `name`.";
    bytes: Bytes(Bytes), "Returns the size of key `name`.";
    choice: Choice(&'static str), "Returns the word of key `name`.";
    dscps: Dscps(Vec<Dscp>), "Returns the DSCPs of key `name`.";
    path: Path(PathBuf), "Returns the file of key `name`.";
}
