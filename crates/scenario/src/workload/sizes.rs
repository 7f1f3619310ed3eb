//! Size of a download or an upload: fixed, or drawn for each visit.

use crate::error::Problem;
use bentpipe_link::random::Stream;
use bentpipe_units::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_spanned::Spanned;
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

/// Largest size that can be drawn.
const MAX_SIZE: Bytes = Bytes::new(100_000_000_000);
/// Largest number of sizes in a list or a file.
pub const MAX_SIZES: usize = 1_000_000;

/// Size of a download or an upload: `"10 MB"`, or a table with one distribution.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizes {
    /// Always the same.
    Fixed(Bytes),
    /// Drawn from a lognormal distribution.
    Lognormal(Lognormal),
    /// Drawn from a bounded Pareto distribution.
    Pareto(Pareto),
    /// One of a list.
    List(Vec<Bytes>, SizeOrder),
    /// One of a file, which has one size in bytes per line.
    File(PathBuf, SizeOrder),
}

/// Lognormal sizes. Those outside of `min` and `max` are set to these bounds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lognormal {
    /// Median of the distribution.
    pub median: Bytes,
    /// Standard deviation of the natural logarithm of the size: 0 to 4.
    pub sigma: f64,
    /// Smallest size; 1 B by default.
    pub min: Option<Bytes>,
    /// Largest size, up to 100 GB.
    pub max: Bytes,
}

/// Bounded Pareto sizes: the distribution is cut off at `max` and renormalised.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// Shape α: 0.1 to 10. Smaller values have heavier tails.
    pub shape: f64,
    /// Smallest size.
    pub min: Bytes,
    /// Largest size, up to 100 GB.
    pub max: Bytes,
}

/// Order in which sizes of a list or a file are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SizeOrder {
    /// Each visit takes a random one.
    #[default]
    Random,
    /// The first user takes the first one, and so on; after the last one, from the start again.
    Listed,
}

/// Sizes as a table: one of `lognormal`, `pareto`, `list` and `file`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SizeTable")]
struct Table {
    /// Lognormal sizes: `{ median, sigma, min, max }`.
    lognormal: Option<Lognormal>,
    /// Bounded Pareto sizes: `{ shape, min, max }`.
    pareto: Option<Pareto>,
    /// One of these sizes.
    list: Option<Vec<Bytes>>,
    /// One of the sizes in this file, relative to the scenario: one size in bytes per line.
    file: Option<PathBuf>,
    /// Order in which sizes of a list or a file are used: `random` (the default) or `listed`.
    order: Option<SizeOrder>,
}

const FORMATS: &str = "a size such as \"10 MB\", or a table \
    { lognormal = { median = \"300 kB\", sigma = 1.6, max = \"30 MB\" } }, \
    { pareto = { shape = 1.2, min = \"10 kB\", max = \"30 MB\" } }, { list = [\"1 MB\", …] } or \
    { file = \"sizes.txt\" }";

impl Sizes {
    /// Returns true if the size is drawn.
    pub fn is_drawn(&self) -> bool {
        !matches!(self, Self::Fixed(_))
    }

    /// Returns a typical size, for estimates.
    pub fn typical(&self) -> Bytes {
        match self {
            Self::Fixed(size) => *size,
            Self::Lognormal(lognormal) => lognormal.median,
            Self::Pareto(pareto) => pareto.min,
            Self::List(sizes, _) => sizes.first().copied().unwrap_or(Bytes::from_mb(1)),
            Self::File(..) => Bytes::from_mb(1),
        }
    }

    fn from_table(table: Table) -> Result<Self, String> {
        let Table { lognormal, pareto, list, file, order } = table;
        let given = [
            ("lognormal", lognormal.is_some()),
            ("pareto", pareto.is_some()),
            ("list", list.is_some()),
            ("file", file.is_some()),
        ];
        let found: Vec<&str> =
            given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
        if found.len() > 1 {
            let found = crate::error::quoted(&found);
            return Err(format!("{found} exclude each other; allowed: {FORMATS}"));
        }
        if let (Some(_), None, None) = (order, &list, &file) {
            return Err("`order` has no effect here; allowed beside `list` and `file`".to_owned());
        }
        let order = order.unwrap_or_default();
        match (lognormal, pareto, list, file) {
            (Some(lognormal), ..) => lognormal.checked().map(Self::Lognormal),
            (_, Some(pareto), ..) => pareto.checked().map(Self::Pareto),
            (_, _, Some(list), _) => {
                check_list(&list)?;
                Ok(Self::List(list, order))
            }
            (.., Some(file)) => Ok(Self::File(file, order)),
            (None, None, None, None) => {
                Err(format!("no distribution is given; allowed: {FORMATS}"))
            }
        }
    }
}

/// Checks the sizes of a list.
///
/// # Errors
/// There are none or too many, or one of them is out of range.
pub fn check_list(sizes: &[Bytes]) -> Result<(), String> {
    if sizes.is_empty() || sizes.len() > MAX_SIZES {
        let count = sizes.len();
        return Err(format!("{count} sizes are listed; allowed: 1 to {MAX_SIZES}"));
    }
    sizes.iter().try_for_each(|size| in_range("a size", *size))
}

fn in_range(what: &str, size: Bytes) -> Result<(), String> {
    if (Bytes::new(1)..=MAX_SIZE).contains(&size) {
        return Ok(());
    }
    Err(format!("{what} of {size} is out of range; allowed: 1 B to {MAX_SIZE}"))
}

fn number_in_range(what: &str, value: f64, low: f64, high: f64) -> Result<(), String> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(format!("`{what}` of {value} is out of range; allowed: {low} to {high}"))
}

fn ordered(min: Bytes, max: Bytes) -> Result<(), String> {
    in_range("`min`", min)?;
    in_range("`max`", max)?;
    if min <= max {
        return Ok(());
    }
    Err(format!("`min` of {min} exceeds `max` of {max}; allowed: up to {max}"))
}

impl Lognormal {
    fn checked(self) -> Result<Self, String> {
        in_range("`median`", self.median)?;
        number_in_range("sigma", self.sigma, 0.0, 4.0)?;
        ordered(self.least(), self.max)?;
        Ok(self)
    }

    fn least(&self) -> Bytes {
        self.min.unwrap_or(Bytes::new(1))
    }

    /// Draws a size.
    pub fn draw(&self, stream: &mut Stream) -> Bytes {
        let factor = libm::exp(self.sigma * stream.normal());
        let drawn = self.median.get() as f64 * factor;
        Bytes::new(drawn.min(self.max.get() as f64) as u64).max(self.least())
    }
}

impl Pareto {
    fn checked(self) -> Result<Self, String> {
        number_in_range("shape", self.shape, 0.1, 10.0)?;
        ordered(self.min, self.max)?;
        Ok(self)
    }

    /// Draws a size: the inverse of the distribution function
    /// `(1 - (min / x)^shape) / (1 - (min / max)^shape)`.
    pub fn draw(&self, stream: &mut Stream) -> Bytes {
        let (least, most) = (self.min.get() as f64, self.max.get() as f64);
        let cut = 1.0 - libm::pow(least / most, self.shape);
        let drawn = least * libm::pow(1.0 - stream.unit() * cut, -1.0 / self.shape);
        Bytes::new(drawn as u64).clamp(self.min, self.max)
    }
}

impl From<Bytes> for Sizes {
    fn from(size: Bytes) -> Self {
        Self::Fixed(size)
    }
}

/// Returns an error if a fixed size is zero. The others are checked when they are read.
pub(super) fn check(sizes: &Spanned<Sizes>) -> Result<(), Problem> {
    match sizes.get_ref() {
        Sizes::Fixed(size) => super::transfer::above_zero(&Spanned::new(sizes.span(), *size)),
        _ => Ok(()),
    }
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Sizes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FORMATS)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Sizes, E> {
                text.parse().map(Sizes::Fixed).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sizes, A::Error> {
                let table = Table::deserialize(MapAccessDeserializer::new(map))?;
                Sizes::from_table(table).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl JsonSchema for Sizes {
    fn schema_name() -> Cow<'static, str> {
        "Sizes".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Size: fixed, or drawn for each visit",
            "anyOf": [generator.subschema_for::<Bytes>(), generator.subschema_for::<Table>()],
        })
    }
}
