//! Values of `[path.orbit]` with several forms: a name, a number, a list or a table.
//!
//! They are deserialised by hand, because the errors of an untagged enum do not name the mistake.

use bentpipe_units::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

/// Source of the satellites.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstellationText {
    /// Presets, by name.
    Presets(Vec<String>),
    /// A file of two-line elements (TLE) or OMM messages.
    Elements(PathBuf),
}

/// Start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// A fixed time after the epoch.
    At(Span),
    /// A random time for each run.
    Random,
}

/// Pattern of the inter-satellite links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IslText {
    /// `+grid`: with both neighbours in the plane, and with one satellite in each neighbouring
    /// plane.
    PlusGrid,
    /// `intra-plane`: with both neighbours in the plane.
    IntraPlane,
    /// No links.
    None,
    /// Pairs of satellites, by name.
    List(Vec<(String, String)>),
}

/// Phase shift between neighbouring planes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PhaseText {
    /// Odd planes are shifted by half the spacing of satellites.
    OddHalf,
    /// Each plane is shifted by this many degrees against the previous one.
    Degrees(f64),
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Files {
    tle: Option<PathBuf>,
    omm: Option<PathBuf>,
}

impl<'de> Deserialize<'de> for ConstellationText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = ConstellationText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "the name of a constellation, a list of names, { tle = \"FILE\" } or \
                    { omm = \"FILE\" }",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(ConstellationText::Presets(vec![text.to_owned()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                let names = Vec::<String>::deserialize(SeqAccessDeserializer::new(list))?;
                if names.is_empty() {
                    return Err(de::Error::custom(
                        "the list of constellations is empty; allowed: one or more names",
                    ));
                }
                Ok(ConstellationText::Presets(names))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                match Files::deserialize(MapAccessDeserializer::new(map))? {
                    Files { tle: Some(file), omm: None } | Files { tle: None, omm: Some(file) } => {
                        Ok(ConstellationText::Elements(file))
                    }
                    _ => Err(de::Error::custom(
                        "the elements must be in one file; allowed: either `tle` or `omm`",
                    )),
                }
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl JsonSchema for ConstellationText {
    fn schema_name() -> Cow<'static, str> {
        "Constellation".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Presets by name, or a file of two-line elements (TLE) or OMM messages \
                in JSON",
            "oneOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1 },
                {
                    "type": "object",
                    "properties": { "tle": { "type": "string" }, "omm": { "type": "string" } },
                    "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
                },
            ],
            "examples": ["kuiper-630", ["starlink", "oneweb"], { "tle": "stations.tle" }],
        })
    }
}

impl<'de> Deserialize<'de> for Begin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Begin;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as \"90 s\", or \"random\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Begin, E> {
                if text == "random" {
                    return Ok(Begin::Random);
                }
                let span: Result<Span, _> = text.parse();
                span.map(Begin::At).map_err(|error| E::custom(format!("{error}; or `random`")))
            }
        }
        deserializer.deserialize_str(V)
    }
}

impl JsonSchema for Begin {
    fn schema_name() -> Cow<'static, str> {
        "Begin".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A duration, or \"random\"",
            "examples": ["90 s", "random"],
        })
    }
}

impl<'de> Deserialize<'de> for IslText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = IslText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`+grid`, `intra-plane`, `none`, or a list of pairs of names")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<IslText, E> {
                match text {
                    "+grid" => Ok(IslText::PlusGrid),
                    "intra-plane" => Ok(IslText::IntraPlane),
                    "none" => Ok(IslText::None),
                    _ => Err(E::unknown_variant(text, &["+grid", "intra-plane", "none"])),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<IslText, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(IslText::List)
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl JsonSchema for IslText {
    fn schema_name() -> Cow<'static, str> {
        "Isl".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [
                { "type": "string", "enum": ["+grid", "intra-plane", "none"] },
                {
                    "type": "array",
                    "items": {
                        "type": "array", "items": { "type": "string" },
                        "minItems": 2, "maxItems": 2,
                    },
                },
            ],
        })
    }
}

impl<'de> Deserialize<'de> for PhaseText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = PhaseText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`odd-half`, or a number of degrees")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PhaseText, E> {
                match text {
                    "odd-half" => Ok(PhaseText::OddHalf),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_f64<E: de::Error>(self, degrees: f64) -> Result<PhaseText, E> {
                Ok(PhaseText::Degrees(degrees))
            }
            fn visit_i64<E: de::Error>(self, degrees: i64) -> Result<PhaseText, E> {
                Ok(PhaseText::Degrees(degrees as f64))
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl JsonSchema for PhaseText {
    fn schema_name() -> Cow<'static, str> {
        "Phase".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [{ "const": "odd-half" }, { "type": "number" }] })
    }
}
