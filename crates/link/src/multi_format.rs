//! Values with several notations in a scenario: text, number, table or list.
//!
//! With an untagged enum, every mistake would read "data did not match any variant". Here each
//! notation has its own code, and errors name the value and what is allowed.

use crate::ConfigError;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A type with several notations.
pub(crate) trait MultiFormat: Sized {
    /// Completes "expected …".
    const EXPECTED: &'static str;
    /// Table notation.
    type Table: for<'de> Deserialize<'de>;
    /// List notation; `serde::de::IgnoredAny` if there is none.
    type List: for<'de> Deserialize<'de>;

    fn from_text(text: &str) -> Result<Self, ConfigError>;
    fn from_table(table: Self::Table) -> Result<Self, ConfigError>;
    /// Returns `None` if a number is not allowed.
    fn from_number(_: f64) -> Option<Result<Self, ConfigError>> {
        None
    }
    /// Returns `None` if a list is not allowed.
    fn from_list(_: Self::List) -> Option<Result<Self, ConfigError>> {
        None
    }
}

/// Reads any notation of `T`.
pub(crate) fn deserialize<'de, T: MultiFormat, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(MultiFormatVisitor(PhantomData))
}

struct MultiFormatVisitor<T>(PhantomData<T>);

impl<'de, T: MultiFormat> Visitor<'de> for MultiFormatVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(E::custom)
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        match T::from_number(value) {
            Some(result) => result.map_err(E::custom),
            None => Err(E::invalid_type(Unexpected::Float(value), &self)),
        }
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        match T::from_number(value as f64) {
            Some(result) => result.map_err(E::custom),
            None => Err(E::invalid_type(Unexpected::Signed(value), &self)),
        }
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        match T::from_number(value as f64) {
            Some(result) => result.map_err(E::custom),
            None => Err(E::invalid_type(Unexpected::Unsigned(value), &self)),
        }
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let table = T::Table::deserialize(MapAccessDeserializer::new(map))?;
        T::from_table(table).map_err(A::Error::custom)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        let list = T::List::deserialize(SeqAccessDeserializer::new(seq))?;
        match T::from_list(list) {
            Some(result) => result.map_err(A::Error::custom),
            None => Err(A::Error::invalid_type(Unexpected::Seq, &self)),
        }
    }
}

/// Implements `Deserialize` through [`MultiFormat`].
macro_rules! read_multi_format {
    ($type:ty) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::multi_format::deserialize(deserializer)
            }
        }
    };
}
pub(crate) use read_multi_format;
