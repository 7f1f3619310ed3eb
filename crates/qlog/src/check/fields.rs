//! Objects, their fields and types.

use serde_json::Value;

/// A field of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    name: &'static str,
    kind: Kind,
    required: bool,
}

impl Field {
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: true }
    }

    pub const fn optional(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: false }
    }
}

/// Type of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// uint64.
    Uint,
    /// A number that is not negative.
    Number,
    Bool,
    Text,
    /// hexstring: an even number of lower-case digits.
    Hex,
    /// One of some texts.
    OneOf(&'static [&'static str]),
    Object(&'static [Field]),
    /// An array of objects.
    Objects(&'static [Field]),
    /// An array of texts, not empty.
    Texts,
    /// An array of some texts.
    Flags(&'static [&'static str]),
    /// A frame, whose fields depend on its `frame_type`.
    Frame(Tagged),
    /// An array of frames.
    Frames(Tagged),
    /// An array of ranges, not empty: one or two numbers, the second larger.
    Ranges,
    Any,
}

/// Fields of each type of frame, besides `raw`.
pub(super) type Tagged = &'static [(&'static str, &'static [Field])];

/// RawInfo in the main schema.
pub(super) const RAW: [Field; 3] = [
    Field::optional("length", Kind::Uint),
    Field::optional("payload_length", Kind::Uint),
    Field::optional("data", Kind::Hex),
];

/// Checks that `value` is an object with these fields. The error names the field by its path.
pub(super) fn check_object(value: &Value, fields: &[Field]) -> Result<(), String> {
    let Some(object) = value.as_object() else { return Err(format!("{value} is no object")) };
    if let Some(name) = object.keys().find(|name| fields.iter().all(|field| field.name != **name)) {
        return Err(format!("`{name}` is unknown"));
    }
    for field in fields {
        match object.get(field.name) {
            Some(value) => {
                check_value(value, field.kind).map_err(|what| within(field.name, what))?
            }
            None if field.required => return Err(format!("`{}` is missing", field.name)),
            None => {}
        }
    }
    Ok(())
}

/// Puts the name of the enclosing field before the path in `what`.
fn within(name: &str, what: String) -> String {
    match what.strip_prefix('`') {
        Some(inner) => format!("`{name}.{inner}"),
        None => format!("`{name}`: {what}"),
    }
}

fn check_value(value: &Value, kind: Kind) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{value} is no {what}"));
    match kind {
        Kind::Uint if !value.is_u64() => wrong("unsigned integer"),
        Kind::Number if value.as_f64().is_none_or(|number| number < 0.0) => wrong("number"),
        Kind::Bool if !value.is_boolean() => wrong("boolean"),
        Kind::Text if !value.is_string() => wrong("text"),
        Kind::Hex => {
            let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            match value.as_str() {
                Some(text) if text.len() % 2 == 0 && text.bytes().all(digit) => Ok(()),
                _ => wrong("hexadecimal text"),
            }
        }
        Kind::OneOf(allowed) => match value.as_str() {
            Some(text) if allowed.contains(&text) => Ok(()),
            _ => Err(format!("{value}; allowed: {allowed:?}")),
        },
        Kind::Object(fields) => check_object(value, fields),
        Kind::Objects(fields) => each(value, true, |item| check_object(item, fields)),
        Kind::Texts => each(value, false, |item| check_value(item, Kind::Text)),
        Kind::Flags(allowed) => each(value, true, |item| check_value(item, Kind::OneOf(allowed))),
        Kind::Frame(known) => check_frame(value, known),
        Kind::Frames(known) => each(value, true, |item| check_frame(item, known)),
        Kind::Ranges => each(value, false, |item| match item.as_array().map(Vec::as_slice) {
            Some([only]) if only.is_u64() => Ok(()),
            Some([first, last]) if first.as_u64() < last.as_u64() && first.is_u64() => Ok(()),
            _ => Err(format!("{item} is no range")),
        }),
        _ => Ok(()),
    }
}

/// Checks each item of an array, which may be empty or not.
fn each(
    value: &Value,
    may_be_empty: bool,
    check: impl Fn(&Value) -> Result<(), String>,
) -> Result<(), String> {
    let Some(items) = value.as_array() else { return Err(format!("{value} is no array")) };
    if items.is_empty() && !may_be_empty {
        return Err("the array is empty".to_owned());
    }
    items.iter().try_for_each(check)
}

fn check_frame(frame: &Value, known: Tagged) -> Result<(), String> {
    let kind = frame["frame_type"].as_str().unwrap_or_default();
    let Some((_, fields)) = known.iter().find(|(name, _)| *name == kind) else {
        return Err(format!("`frame_type`: unknown frame `{kind}`"));
    };
    let raw = Field::optional("raw", Kind::Object(&RAW));
    let fields: Vec<Field> = fields.iter().copied().chain([raw]).collect();
    check_object(frame, &fields)
}
