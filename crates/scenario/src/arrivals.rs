//! Arrivals of the users of a population.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

/// Largest offered load: ten times what the link carries.
const MAX_LOAD: f64 = 10.0;
/// Smallest and largest rate of arrivals, in users per second.
const RATES: (f64, f64) = (1e-4, 1e6);

/// When the users of a population start.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Arrivals {
    /// All at the same time.
    #[default]
    AtOnce,
    /// Poisson arrivals that offer this fraction of the bottleneck's rate.
    Load(f64),
    /// Poisson arrivals at this rate, in users per second.
    Rate(f64),
    /// At the times in a file: one time in seconds per line.
    File(PathBuf),
}

/// Arrivals as a table: one of `load`, `rate` and `file`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ArrivalTable")]
struct Table {
    /// Poisson arrivals. The offered load is the fraction of the bottleneck's rate that the wire
    /// bytes of all users would take.
    load: Option<f64>,
    /// Poisson arrivals at this rate, in users per second.
    rate: Option<f64>,
    /// Arrivals from this file, relative to the scenario: one time in seconds per line.
    file: Option<PathBuf>,
}

const FORMATS: &str = "\"at once\", { load = 0.8 }, { rate = 2.5 } (users per second) or \
    { file = \"arrivals.txt\" }";

impl Arrivals {
    /// Returns true if the arrivals of two runs differ.
    pub fn is_random(&self) -> bool {
        matches!(self, Self::Load(_) | Self::Rate(_))
    }

    fn from_table(table: Table) -> Result<Self, String> {
        match (table.load, table.rate, table.file) {
            (Some(load), None, None) => {
                if load > 0.0 && load <= MAX_LOAD {
                    return Ok(Self::Load(load));
                }
                Err(format!("`load` of {load} is out of range; allowed: above 0, up to {MAX_LOAD}"))
            }
            (None, Some(rate), None) => {
                let (least, most) = RATES;
                if (least..=most).contains(&rate) {
                    return Ok(Self::Rate(rate));
                }
                let allowed = format!("{least} to {most} users per second");
                Err(format!("`rate` of {rate} is out of range; allowed: {allowed}"))
            }
            (None, None, Some(file)) => Ok(Self::File(file)),
            (None, None, None) => Err(format!("no arrivals are given; allowed: {FORMATS}")),
            _ => Err(format!("`load`, `rate` and `file` exclude each other; allowed: {FORMATS}")),
        }
    }
}

impl<'de> Deserialize<'de> for Arrivals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Arrivals;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FORMATS)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Arrivals, E> {
                match text.trim() {
                    "at once" => Ok(Arrivals::AtOnce),
                    _ => Err(E::custom(format!("`{text}` is no arrival; allowed: {FORMATS}"))),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Arrivals, A::Error> {
                let table = Table::deserialize(MapAccessDeserializer::new(map))?;
                Arrivals::from_table(table).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl JsonSchema for Arrivals {
    fn schema_name() -> Cow<'static, str> {
        "Arrivals".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let at_once = json_schema!({ "type": "string", "enum": ["at once"] });
        json_schema!({
            "description": "When the users of a population start",
            "anyOf": [at_once, generator.subschema_for::<Table>()],
        })
    }
}
