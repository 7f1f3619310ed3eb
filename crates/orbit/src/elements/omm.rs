//! Orbit Mean-elements Messages (CCSDS 502.0-B) in JSON: one object or a list of objects.

use super::element_set::{Elements, MAX_SATELLITES, name_of, refuse, too_many};
use crate::OrbitError;
use serde_json::Value;
use serde_json::value::RawValue;

/// Fields that do not describe the orbit but that the parser requires, with defaults for sources
/// that omit them.
const INCIDENTAL: [(&str, &str); 7] = [
    ("CLASSIFICATION_TYPE", "\"U\""),
    ("EPHEMERIS_TYPE", "0"),
    ("ELEMENT_SET_NO", "999"),
    ("REV_AT_EPOCH", "0"),
    ("MEAN_MOTION_DOT", "0"),
    ("MEAN_MOTION_DDOT", "0"),
    ("NORAD_CAT_ID", "0"),
];
/// Fields that must have this value if present, because the propagator supports no other.
const FIXED: [(&str, &str); 4] = [
    ("CENTER_NAME", "EARTH"),
    ("REF_FRAME", "TEME"),
    ("TIME_SYSTEM", "UTC"),
    ("MEAN_ELEMENT_THEORY", "SGP4"),
];

pub(super) fn read(text: &str) -> Result<Vec<Elements>, OrbitError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let invalid = |e: serde_json::Error| refuse(e.line().max(1), format!("no JSON: {e}"));
    // Raw slices of the text: their positions give their line numbers.
    let messages: Vec<&RawValue> = if text.trim_start().starts_with('{') {
        vec![serde_json::from_str(text).map_err(invalid)?]
    } else {
        serde_json::from_str(text).map_err(invalid)?
    };
    let mut found = Vec::with_capacity(messages.len().min(MAX_SATELLITES));
    let mut place = Lines { text, at: 0, line: 1 };
    for message in messages {
        let line = place.of(message.get());
        if found.len() == MAX_SATELLITES {
            return Err(too_many(line));
        }
        found.push(one(message.get(), line)?);
    }
    Ok(found)
}

/// Counts lines during one pass through a text.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    /// Returns the line in which `part` starts. Parts must be passed in the order of the text.
    fn of(&mut self, part: &str) -> usize {
        let start = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        if let Some(passed) = self.text.get(self.at..start) {
            self.line += passed.matches('\n').count();
            self.at = start;
        }
        self.line
    }
}

fn one(message: &str, line: usize) -> Result<Elements, OrbitError> {
    let mut fields: serde_json::Map<String, Value> =
        serde_json::from_str(message).map_err(|e| {
            refuse(line, format!("an OMM message is a JSON object with its keywords as names: {e}"))
        })?;
    for (key, must) in FIXED {
        match fields.get(key).map(|value| value.as_str().unwrap_or_default()) {
            None => {}
            // The standard uses "SGP/SGP4".
            Some(value)
                if value.eq_ignore_ascii_case(must)
                    || (key == "MEAN_ELEMENT_THEORY" && value == "SGP/SGP4") => {}
            Some(_) => {
                return Err(refuse(line, format!("{key} is {}; allowed: `{must}`", fields[key])));
            }
        }
    }
    for (key, value) in INCIDENTAL {
        if fields.get(key).is_none_or(Value::is_null) {
            fields.insert(key.into(), serde_json::from_str(value).unwrap_or(Value::Null));
        }
    }
    for key in ["OBJECT_NAME", "OBJECT_ID"] {
        fields.entry(key).or_insert(Value::Null);
    }
    if let Some(Value::String(epoch)) = fields.get_mut("EPOCH")
        && let Some(bare) = epoch.strip_suffix('Z')
    {
        *epoch = bare.to_owned();
    }
    let elements: sgp4::Elements = serde_json::from_value(Value::Object(fields))
        .map_err(|e| refuse(line, format!("{e}; use the format of CelesTrak's FORMAT=JSON")))?;
    Ok(Elements {
        name: name_of(elements.object_name.as_deref(), elements.norad_id),
        line,
        elements,
    })
}
