//! What has made a browser request something.

use crate::json::{
    Elements, FieldValue, Fields, FromObject, ListInto, Scalar, from_object, read_fields,
    skip_numbers,
};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// Most calls of a script's stack that are read.
const MAX_CALLS: usize = 32;
/// Longest URL that is kept, in bytes.
const MAX_URL: usize = 2048;

/// The initiator of a request: WebPageTest has its URL, Chromium an object with a URL or with the
/// stack of a script.
#[derive(Debug, Default)]
pub struct Initiator {
    url: Scalar,
    stack: Stack,
}

from_object!(Initiator { "url" => url: get, "stack" => stack: object });

impl Initiator {
    /// Returns its URL, which is no text if there is none.
    pub fn url(&self) -> &Scalar {
        let has_url = |url: &Scalar| url.text().is_some_and(|text| !text.is_empty());
        let calls = self.stack.calls.iter().map(|call| &call.url);
        std::iter::once(&self.url).chain(calls).find(|url| has_url(url)).unwrap_or(&self.url)
    }
}

/// The calls of a script, the last one first.
#[derive(Debug, Default)]
struct Stack {
    calls: Vec<Call>,
}

impl FromObject for Stack {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "callframes" => value.with(ListInto(&mut Elements(&mut self.calls, MAX_CALLS))),
            // The stack that has started an asynchronous one.
            "parent" if self.calls.is_empty() => value.with(Fields(self)),
            _ => Ok(()),
        }
    }
}

/// A call.
#[derive(Debug, Default)]
struct Call {
    url: Scalar,
}

from_object!(Call { "url" => url: get });

impl<'de> Deserialize<'de> for Initiator {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct UrlOrObject;
        impl<'de> Visitor<'de> for UrlOrObject {
            type Value = Initiator;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a URL or an object")
            }
            skip_numbers!(Initiator::default());
            fn visit_str<E>(self, url: &str) -> Result<Initiator, E> {
                let is_short = url.len() <= MAX_URL;
                let url = if is_short { Scalar::Text(url.to_owned()) } else { Scalar::Other };
                Ok(Initiator { url, ..Initiator::default() })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Initiator, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Initiator::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Initiator, A::Error> {
                let mut initiator = Initiator::default();
                read_fields(&mut initiator, &mut map)?;
                Ok(initiator)
            }
        }
        deserializer.deserialize_any(UrlOrObject)
    }
}
