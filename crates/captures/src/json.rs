//! JSON of others, read value by value: whatever has an unexpected type counts as missing, so that
//! only text that is not JSON is an error. Nothing is kept that is not asked for, so that a file
//! cannot take many times its size.

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// Longest text that is kept, in bytes.
const MAX_TEXT: usize = 16 * 1024;

/// Longest name of a variable before a document, in bytes.
const MAX_COMMENT: usize = 4096;

/// Returns the JSON of a file: without a byte order mark, comments before it, and an assignment to
/// a variable, as in the examples of qvis.
pub fn without_preface(bytes: &[u8]) -> &[u8] {
    let mut text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    while text.starts_with(b"#") || text.starts_with(b"//") {
        let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
        text = text[end..].trim_ascii_start();
    }
    if text.starts_with(b"var ") {
        let start = text.iter().take(MAX_COMMENT).position(|&byte| byte == b'=');
        text = start.map_or(text, |start| text[start + 1..].trim_ascii_start());
    }
    text
}

/// Gives a visitor methods that return a value for numbers and the like.
macro_rules! skip_numbers {
    ($value:expr) => {
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
}

/// Gives a visitor methods that return a value for numbers, texts and the like.
macro_rules! skip_scalars {
    ($value:expr) => {
        $crate::json::skip_numbers!($value);
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
}
pub(crate) use {skip_numbers, skip_scalars};

/// A number, written as number or as text; a text; a truth value; or something else.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Scalar {
    Unsigned(u64),
    Float(f64),
    Text(String),
    Bool(bool),
    #[default]
    Other,
}

impl Scalar {
    pub fn integer(&self) -> Option<u64> {
        match self {
            Self::Unsigned(value) => Some(*value),
            // Integers in floats are exact up to 2^53.
            Self::Float(value) if (0.0..9e15).contains(value) => Some(*value as u64),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub fn float(&self) -> Option<f64> {
        let value = match self {
            Self::Unsigned(value) => *value as f64,
            Self::Float(value) => *value,
            Self::Text(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        value.is_finite().then_some(value)
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns true for a value that says so, as truth value, number or text.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Bool(value) => *value,
            Self::Unsigned(value) => *value == 1,
            Self::Text(text) => text.eq_ignore_ascii_case("true"),
            _ => false,
        }
    }

    /// Returns true if there is a value.
    pub fn is_some(&self) -> bool {
        *self != Self::Other
    }

    /// Returns the value as a name.
    pub fn name(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Unsigned(value) => Some(value.to_string()),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar::Unsigned(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar::Float(value as f64))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar::Float(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
                let is_short = value.len() <= MAX_TEXT;
                Ok(if is_short { Scalar::Text(value.to_owned()) } else { Scalar::Other })
            }
            fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar::Bool(value))
            }
            fn visit_unit<E>(self) -> Result<Scalar, E> {
                Ok(Scalar::Other)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Scalar::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar::Other)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// A name in small letters, as of a field or of an event. Of longer names the start is kept.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    bytes: [u8; 64],
    length: usize,
}

impl Default for Key {
    fn default() -> Self {
        Self { bytes: [0; 64], length: 0 }
    }
}

impl Key {
    pub fn new(text: &str) -> Self {
        let mut key = Self { length: text.len().min(64), ..Self::default() };
        key.bytes[..key.length].copy_from_slice(&text.as_bytes()[..key.length]);
        key.bytes.make_ascii_lowercase();
        key
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            skip_numbers!(Key::default());
            fn visit_str<E>(self, text: &str) -> Result<Key, E> {
                Ok(Key::new(text))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Key, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Key::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Key, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Key::default())
            }
        }
        deserializer.deserialize_any(Text)
    }
}

/// The value of a field that nobody has read yet.
pub struct FieldValue<'a, A> {
    map: &'a mut A,
    is_read: bool,
}

impl<'de, A: MapAccess<'de>> FieldValue<'_, A> {
    /// Reads the value as `T`.
    pub fn get<T: Deserialize<'de>>(&mut self) -> Result<T, A::Error> {
        self.is_read = true;
        self.map.next_value()
    }

    /// Reads the value as an object of type `T`, or as the default.
    pub fn object<T: FromObject + Default>(&mut self) -> Result<T, A::Error> {
        self.get::<Object<T>>().map(|object| object.0)
    }

    /// Reads the value with a seed.
    pub fn with<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.is_read = true;
        self.map.next_value_seed(seed)
    }
}

/// A type that is read from the fields of an object. If a field occurs twice, the last counts.
pub trait FromObject {
    /// Reads the value of the field `key`, in small letters, if it matters.
    ///
    /// # Errors
    /// The value is not JSON.
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error>;
}

/// Says which fields of an object a type is read from, each with one of the methods of
/// [`FieldValue`].
macro_rules! from_object {
    ($type:ty { $($key:pat => $field:ident $([$index:literal])?: $read:ident),+ $(,)? }) => {
        impl $crate::json::FromObject for $type {
            fn field<'de, A: serde::de::MapAccess<'de>>(
                &mut self,
                key: &str,
                value: &mut $crate::json::FieldValue<'_, A>,
            ) -> Result<(), A::Error> {
                match key {
                    $($key => self.$field $([$index])? = value.$read()?,)+
                    _ => {}
                }
                Ok(())
            }
        }
    };
}
pub(crate) use from_object;

/// Reads the fields of an object into `target`.
pub fn read_fields<'de, T: FromObject, A: MapAccess<'de>>(
    target: &mut T,
    map: &mut A,
) -> Result<(), A::Error> {
    while let Some(key) = map.next_key::<Key>()? {
        let mut value = FieldValue { map, is_read: false };
        target.field(key.as_str(), &mut value)?;
        if !value.is_read {
            map.next_value::<IgnoredAny>()?;
        }
    }
    Ok(())
}

/// Reads an object into a value that stays if the text ends early.
pub struct Fields<'a, T>(pub &'a mut T);

impl<'de, T: FromObject> DeserializeSeed<'de> for Fields<'_, T> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: FromObject> Visitor<'de> for Fields<'_, T> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    skip_scalars!(());
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        read_fields(self.0, &mut map)
    }
}

/// An object of type `T`, or the default if it is something else.
#[derive(Debug, Clone, Default)]
pub struct Object<T>(pub T);

impl<'de, T: FromObject + Default> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = T::default();
        Fields(&mut object).deserialize(deserializer)?;
        Ok(Self(object))
    }
}

/// A type that is read from the elements of a list.
pub trait FromList {
    /// Reads elements, up to as many as are kept.
    ///
    /// # Errors
    /// An element is not JSON.
    fn elements<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<(), A::Error>;
}

/// Reads a list into a value that stays if the text ends early.
pub struct ListInto<'a, T>(pub &'a mut T);

impl<'de, T: FromList> DeserializeSeed<'de> for ListInto<'_, T> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: FromList> Visitor<'de> for ListInto<'_, T> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }
    skip_scalars!(());
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.elements(&mut seq)?;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// The objects of a list, up to a number of them.
pub struct Elements<'a, T>(pub &'a mut Vec<T>, pub usize);

impl<T: FromObject + Default> FromList for Elements<'_, T> {
    fn elements<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<(), A::Error> {
        while self.0.len() < self.1 {
            let mut element = T::default();
            // What was read of an element before the text ends stays.
            let next = list.next_element_seed(Fields(&mut element));
            if !matches!(next, Ok(None)) {
                self.0.push(element);
            }
            if next?.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// A list of up to `MAX` values; further ones are left out.
#[derive(Debug, Clone)]
pub struct List<T, const MAX: usize>(pub Vec<T>);

impl<T, const MAX: usize> Default for List<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for List<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All<T, const MAX: usize>(Vec<T>);
        impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for All<T, MAX> {
            type Value = Vec<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            skip_scalars!(Vec::new());
            fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Vec<T>, A::Error> {
                while self.0.len() < MAX {
                    match seq.next_element()? {
                        Some(element) => self.0.push(element),
                        None => return Ok(self.0),
                    }
                }
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(self.0)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<T>, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(self.0)
            }
        }
        deserializer.deserialize_any(All::<T, MAX>(Vec::new())).map(Self)
    }
}
