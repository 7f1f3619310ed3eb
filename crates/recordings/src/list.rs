//! Lists in documents of JSON, whose text may be much shorter than what it becomes.

use crate::table::MAX_VALUES;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Reads a list of up to [`MAX_VALUES`], and stops at the first one above.
pub fn at_most<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct List<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut values = Vec::new();
            while let Some(value) = list.next_element()? {
                if values.len() == MAX_VALUES {
                    return Err(A::Error::custom(format_args!(
                        "a list has more than {MAX_VALUES} values; allowed: a part of it"
                    )));
                }
                values.push(value);
            }
            // Of a list of one, three quarters would stay empty, and there may be millions.
            values.shrink_to_fit();
            Ok(values)
        }
    }
    deserializer.deserialize_seq(List(PhantomData))
}
