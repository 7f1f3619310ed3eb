//! Configuration of a flow meter.

use crate::ConfigError;
use crate::multi_format::{MultiFormat, read_multi_format};
use crate::queue::limit::QueueLimit;
use bentpipe_units::{Bytes, Rate, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A meter of each flow before the queue: `{ rate = "500 Mbps", burst = "10 MB", queue = "700
/// packets" }`, or `"none"`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum FlowMeterConfig {
    /// No meter.
    #[default]
    None,
    /// A token bucket for each flow, and a class of this rate for those that have emptied theirs.
    PerFlow {
        /// Token rate of each flow, and rate of the class in bits of IP packets per second; above
        /// zero. The bucket counts packets, each as 1500 bytes.
        rate: Rate,
        /// Size of each bucket; at least one packet of 1500 bytes.
        burst: Bytes,
        /// Queue of the class, from which the oldest packets are dropped.
        queue: QueueLimit,
        /// A flow that has sent nothing for this long begins anew; above zero.
        expires: Span,
    },
}

/// Size of a packet for the meter, which counts packets.
pub(super) const PACKET: Bytes = Bytes::new(1500);
/// Longest `expires`.
const MAX_EXPIRES: Span = Span::from_secs(3600);

/// A flow meter as a table.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FlowMeterTable")]
pub(crate) struct Table {
    /// Rate that a flow may have in the long term, and rate of the class that shares what exceeds
    /// it; above zero. A flow is metered in packets, each as 1500 bytes.
    rate: Rate,
    /// What a flow may send beyond that before it goes to the class; "1500 B" or more.
    burst: Bytes,
    /// Queue of the class: BDP at the rate of the class, bytes, packets or time. If it is full, the
    /// oldest packets are dropped.
    queue: QueueLimit,
    /// Time without packets after which a flow begins anew. Default: "60 s".
    #[serde(default = "seconds_60")]
    expires: Span,
}

fn seconds_60() -> Span {
    Span::from_secs(60)
}

impl FlowMeterConfig {
    /// Returns true if there is no meter.
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Checks all values.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let Self::PerFlow { rate, burst, queue, expires } = self else { return Ok(()) };
        if rate.is_zero() {
            let value = format!("rate = {rate}");
            return Err(ConfigError::refused(value, "lets no packet pass", "a rate above zero"));
        }
        if *burst < PACKET {
            let value = format!("burst = {burst}");
            let allowed = format!("{} B or more", PACKET.get());
            return Err(ConfigError::refused(value, "never lets a packet pass", allowed));
        }
        if expires.is_zero() || *expires > MAX_EXPIRES {
            let value = format!("expires = {expires}");
            let allowed = format!("above 0 s, to {MAX_EXPIRES}");
            return Err(ConfigError::refused(value, "is out of range", allowed));
        }
        queue.check()
    }
}

impl fmt::Display for FlowMeterConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::PerFlow { rate, burst, queue, .. } => {
                write!(f, "{rate} with bursts of {burst}, then {rate} with a queue of {queue}")
            }
        }
    }
}

impl MultiFormat for FlowMeterConfig {
    const EXPECTED: &'static str = "a table { rate = \"500 Mbps\", burst = \"10 MB\", queue = \
        \"700 packets\" }, or \"none\"";
    type Table = Table;
    type List = IgnoredAny;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        match text.trim() {
            "none" => Ok(Self::None),
            _ => Err(ConfigError::refused(text, "is not a flow meter", Self::EXPECTED)),
        }
    }
    fn from_table(table: Table) -> Result<Self, ConfigError> {
        let Table { rate, burst, queue, expires } = table;
        let meter = Self::PerFlow { rate, burst, queue, expires };
        meter.check().map(|()| meter)
    }
}
read_multi_format!(FlowMeterConfig);

impl Serialize for FlowMeterConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::None => serializer.serialize_str("none"),
            Self::PerFlow { rate, burst, queue, expires } => {
                Table { rate, burst, queue, expires }.serialize(serializer)
            }
        }
    }
}

impl JsonSchema for FlowMeterConfig {
    fn schema_name() -> Cow<'static, str> {
        "FlowMeterConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A meter of each flow before the queue, which moves flows that exceed \
                it to a class of that rate, or \"none\"",
            "anyOf": [generator.subschema_for::<Table>(), { "type": "string", "const": "none" }],
        })
    }
}
