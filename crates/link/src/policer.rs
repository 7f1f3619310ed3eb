//! A token bucket that drops excess packets and never delays.

use crate::ConfigError;
use crate::multi_format::{MultiFormat, read_multi_format};
use bentpipe_units::{Bytes, Rate, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A token bucket in front of the queue that drops excess packets: `{ rate = "20 Mbps", burst =
/// "256 kB" }`, or `"none"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PolicerConfig {
    /// No policer.
    #[default]
    None,
    /// A token bucket, full at the start of the run.
    TokenBucket {
        /// Token rate, in bits of IP packets per second; above zero.
        rate: Rate,
        /// Size of the bucket in bytes of IP packets; at least one full packet of 1500 bytes.
        burst: Bytes,
    },
}

/// Smallest bucket. A smaller one would never let a full packet pass.
const SMALLEST_BURST: Bytes = Bytes::new(1500);

/// A policer as a table.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicerTable")]
pub(crate) struct Table {
    /// Long-term rate; above zero.
    rate: Rate,
    /// Bucket size: bytes that may pass at once after a pause; "1500 B" or more.
    burst: Bytes,
}

impl PolicerConfig {
    /// Returns true if there is no policer.
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Returns the size of the bucket if a packet of `mtu` never passes it.
    pub fn below(&self, mtu: Bytes) -> Option<Bytes> {
        match self {
            Self::TokenBucket { burst, .. } if *burst < mtu => Some(*burst),
            Self::None | Self::TokenBucket { .. } => None,
        }
    }

    /// Checks that full packets can pass the policer.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::TokenBucket { rate, .. } if rate.is_zero() => Err(ConfigError::refused(
                format!("rate = {rate}"),
                "lets no packet pass",
                "a rate above zero",
            )),
            Self::TokenBucket { burst, .. } if *burst < SMALLEST_BURST => {
                let allowed = format!("{} B or more", SMALLEST_BURST.get());
                Err(ConfigError::refused(
                    format!("burst = {burst}"),
                    "never lets a full packet pass",
                    allowed,
                ))
            }
            Self::None | Self::TokenBucket { .. } => Ok(()),
        }
    }
}

impl fmt::Display for PolicerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::TokenBucket { rate, burst } => write!(f, "{rate} with bursts of {burst}"),
        }
    }
}

impl MultiFormat for PolicerConfig {
    const EXPECTED: &'static str =
        "a table { rate = \"20 Mbps\", burst = \"256 kB\" }, or \"none\"";
    type Table = Table;
    type List = IgnoredAny;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        match text.trim() {
            "none" => Ok(Self::None),
            _ => Err(ConfigError::refused(text, "is not a policer", Self::EXPECTED)),
        }
    }
    fn from_table(table: Table) -> Result<Self, ConfigError> {
        let policer = Self::TokenBucket { rate: table.rate, burst: table.burst };
        policer.check().map(|()| policer)
    }
}
read_multi_format!(PolicerConfig);

impl Serialize for PolicerConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::None => serializer.serialize_str("none"),
            Self::TokenBucket { rate, burst } => Table { rate, burst }.serialize(serializer),
        }
    }
}

impl JsonSchema for PolicerConfig {
    fn schema_name() -> Cow<'static, str> {
        "PolicerConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A token bucket in front of the queue that drops excess packets, \
                or \"none\"",
            "anyOf": [generator.subschema_for::<Table>(), { "type": "string", "const": "none" }],
        })
    }
}

/// Tokens per byte. In bits times nanoseconds per second, a rate times a time is exact.
const BYTE: u128 = 8_000_000_000;

/// Token bucket: the committed bucket of RFC 2697, colour-blind. Excess packets are dropped.
#[derive(Debug, Clone)]
pub(crate) struct Policer {
    rate: Rate,
    /// Capacity of the bucket, in units of 1 / [`BYTE`] bytes.
    size: u128,
    /// Tokens in the bucket at `filled`.
    tokens: u128,
    filled: Time,
}

impl Policer {
    /// Creates a full bucket, if one is configured.
    pub fn new(config: &PolicerConfig) -> Option<Self> {
        match config {
            PolicerConfig::None => None,
            PolicerConfig::TokenBucket { rate, burst } => {
                Some(Self::full(*rate, *burst, Time::ZERO))
            }
        }
    }

    /// Creates a bucket that is full at `now`.
    pub fn full(rate: Rate, burst: Bytes, now: Time) -> Self {
        let size = u128::from(burst.get()) * BYTE;
        Self { rate, size, tokens: size, filled: now }
    }

    /// Takes the tokens for a packet of `bytes` at `now`. Returns false, and takes none, if there
    /// are too few.
    ///
    /// Time never runs backwards.
    pub fn admits(&mut self, now: Time, bytes: u32) -> bool {
        let come = u128::from(self.rate.as_bps()) * u128::from(now.since(self.filled).as_nanos());
        self.tokens = self.tokens.saturating_add(come).min(self.size);
        self.filled = now;
        match self.tokens.checked_sub(u128::from(bytes) * BYTE) {
            Some(left) => {
                self.tokens = left;
                true
            }
            None => false,
        }
    }
}
