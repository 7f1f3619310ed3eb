//! Configuration of a queue.

use crate::ConfigError;
use crate::multi_format::{MultiFormat, read_multi_format};
use bentpipe_units::{Bytes, Span, UnitError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, IgnoredAny, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The queue in front of the transmitter: `"1 BDP"`, or a table with `limit` and, for CoDel, `aqm`.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueConfig {
    /// Size limit. Packets that exceed it are dropped at the tail.
    pub limit: QueueLimit,
    /// CoDel; `None` for drop-tail.
    pub codel: Option<CodelConfig>,
}

/// Size limit of a queue, not counting the packet being sent. Above zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QueueLimit {
    /// A multiple of the bandwidth-delay product: the link's rate times the base RTT of the whole
    /// path.
    ///
    /// The rate of a schedule is its highest, that of a trace its mean. At least one packet of 1500
    /// bytes.
    Bdp(f64),
    /// Bytes of IP packets. A packet larger than the limit passes only if the link is idle.
    Bytes(Bytes),
    /// Packets of any size.
    Packets(u64),
    /// Bytes that the link sends in this time, at the rate as for `Bdp`. At least one packet of
    /// 1500 bytes.
    Time(Span),
}

/// Controlled delay (RFC 8289): drops or marks packets once the queueing delay has exceeded the
/// target for an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodelConfig {
    /// Acceptable standing queueing delay (5 ms in RFC 8289 §4).
    pub target: Span,
    /// Time for which the delay may exceed the target before CoDel acts.
    ///
    /// About the longest usual RTT: 100 ms in RFC 8289 §4 for terrestrial paths; set it for a
    /// satellite path.
    pub interval: Span,
    /// True to mark ECN-capable packets instead of dropping them (RFC 3168).
    pub ecn: bool,
}

impl Default for CodelConfig {
    fn default() -> Self {
        Self { target: Span::from_millis(5), interval: Span::from_millis(100), ecn: false }
    }
}

impl QueueConfig {
    /// Creates a drop-tail queue of `limit`.
    pub const fn drop_tail(limit: QueueLimit) -> Self {
        Self { limit, codel: None }
    }

    /// Checks all values.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.limit.check()?;
        let Some(CodelConfig { target, interval, .. }) = self.codel else {
            return Ok(());
        };
        if target.is_zero() {
            return Err(ConfigError::refused(
                format!("target = {target}"),
                "allows no queueing",
                "above 0 s",
            ));
        }
        if interval <= target {
            let problem = format!("is no longer than the target of {target}");
            return Err(ConfigError::refused(
                format!("interval = {interval}"),
                problem,
                format!("above {target}"),
            ));
        }
        Ok(())
    }

    fn checked(self) -> Result<Self, ConfigError> {
        self.check().map(|()| self)
    }
}

impl Default for QueueConfig {
    /// Drop-tail with a limit of one bandwidth-delay product.
    fn default() -> Self {
        Self::drop_tail(QueueLimit::Bdp(1.0))
    }
}

impl QueueLimit {
    const EXAMPLES: &str = "\"1 BDP\", \"500 kB\", \"25 packets\" or \"100 ms\", above zero";

    fn check(self) -> Result<(), ConfigError> {
        let holds = match self {
            Self::Bdp(factor) => factor > 0.0 && factor.is_finite(),
            Self::Bytes(bytes) => !bytes.is_zero(),
            Self::Packets(packets) => packets > 0,
            Self::Time(span) => !span.is_zero(),
        };
        if holds {
            Ok(())
        } else {
            Err(ConfigError::refused(self, "is not a queue size", Self::EXAMPLES))
        }
    }
}

impl std::str::FromStr for QueueLimit {
    type Err = ConfigError;
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let refused = |problem: &str| ConfigError::refused(text, problem, Self::EXAMPLES);
        let trimmed = text.trim();
        let unit = trimmed
            .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+'));
        let number = trimmed[..trimmed.len() - unit.len()].replace('_', "");
        let limit = match unit.trim() {
            "BDP" => {
                Self::Bdp(number.parse().map_err(|_| refused("does not start with a number"))?)
            }
            "packets" | "packet" => Self::Packets(
                number.parse().map_err(|_| refused("is not a whole number of packets"))?,
            ),
            _ => match (text.parse(), text.parse()) {
                (Ok(bytes), _) => Self::Bytes(bytes),
                (_, Ok(span)) => Self::Time(span),
                (Err(UnitError::Range { .. }), _) | (_, Err(UnitError::Range { .. })) => {
                    return Err(refused("is out of range for a queue"));
                }
                _ => return Err(refused("is not a queue size")),
            },
        };
        limit.check().map(|()| limit).map_err(|_| refused("is not a queue size"))
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bdp(factor) => write!(f, "{factor} BDP"),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Packets(1) => f.write_str("1 packet"),
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Time(span) => span.fmt(f),
        }
    }
}

impl Serialize for QueueLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for QueueLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = QueueLimit;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a queue size: {}", QueueLimit::EXAMPLES)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<QueueLimit, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for QueueLimit {
    fn schema_name() -> Cow<'static, str> {
        "QueueLimit".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Queue size in bandwidth-delay products, bytes, packets or time",
            "type": "string",
            "pattern": concat!(
                r"^[0-9._]+ ?(BDP|packets?|GB|MB|kB|KB|GiB|MiB|KiB|B|bytes?|",
                r"h|min|s|sec|ms|us|µs|ns)$"
            ),
            "examples": ["1 BDP", "500 kB", "25 packets", "100 ms"],
        })
    }
}

/// Active queue management.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Aqm {
    /// None.
    DropTail,
    /// Controlled delay, RFC 8289.
    #[serde(rename = "codel")]
    CoDel,
}

/// A queue as a table.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QueueTable")]
pub(crate) struct Table {
    /// Size limit. Default: "1 BDP".
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<QueueLimit>,
    /// Active queue management. Default: "drop-tail".
    #[serde(skip_serializing_if = "Option::is_none")]
    aqm: Option<Aqm>,
    /// CoDel: target delay. Default: "5 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Span>,
    /// CoDel: interval. Default: "100 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<Span>,
    /// CoDel: mark ECN-capable packets instead of dropping them. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<bool>,
}

impl MultiFormat for QueueConfig {
    const EXPECTED: &'static str = "a queue size such as \"1 BDP\", \"500 kB\", \"25 packets\" \
        or \"100 ms\", or a table { limit = \"1 BDP\", aqm = \"codel\" }";
    type Table = Table;
    type List = IgnoredAny;

    fn from_text(text: &str) -> Result<Self, ConfigError> {
        Ok(Self::drop_tail(text.parse()?))
    }
    fn from_table(table: Table) -> Result<Self, ConfigError> {
        let limit = table.limit.unwrap_or(Self::default().limit);
        if table.aqm == Some(Aqm::CoDel) {
            let default = CodelConfig::default();
            let codel = CodelConfig {
                target: table.target.unwrap_or(default.target),
                interval: table.interval.unwrap_or(default.interval),
                ecn: table.ecn.unwrap_or(default.ecn),
            };
            return Self { limit, codel: Some(codel) }.checked();
        }
        let stray = [
            table.target.map(|target| format!("target = {target}")),
            table.interval.map(|interval| format!("interval = {interval}")),
            table.ecn.map(|ecn| format!("ecn = {ecn}")),
        ];
        match stray.into_iter().flatten().next() {
            Some(value) => Err(ConfigError::refused(
                value,
                "has no effect on a drop-tail queue",
                "only with aqm = \"codel\"",
            )),
            None => Self::drop_tail(limit).checked(),
        }
    }
}
read_multi_format!(QueueConfig);

impl Serialize for QueueConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(codel) = self.codel else {
            return self.limit.serialize(serializer);
        };
        Table {
            limit: Some(self.limit),
            aqm: Some(Aqm::CoDel),
            target: Some(codel.target),
            interval: Some(codel.interval),
            ecn: Some(codel.ecn),
        }
        .serialize(serializer)
    }
}

impl JsonSchema for QueueConfig {
    fn schema_name() -> Cow<'static, str> {
        "QueueConfig".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Queue in front of the transmitter: a size, or a size with active queue \
                management",
            "anyOf": [generator.subschema_for::<QueueLimit>(), generator.subschema_for::<Table>()],
        })
    }
}
