//! The limit of a queue.

use crate::ConfigError;
use crate::counters::PacketTotals;
use bentpipe_units::{Bytes, Rate, Span, UnitError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

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
    /// What CAKE allows itself as in Linux: four times what the link sends in this interval, at
    /// least 4 MiB. Scenarios select it by a `cake` without a limit.
    Cake(Span),
}

/// Smallest [`QueueLimit::Cake`].
const LEAST_CAKE: Bytes = Bytes::new(4 << 20);

impl QueueLimit {
    /// Returns the limit of CAKE on a link of this rate.
    pub fn of_cake(rate: Rate, interval: Span) -> Bytes {
        rate.bytes_in(interval * 4).max(LEAST_CAKE)
    }

    const EXAMPLES: &str = "\"1 BDP\", \"500 kB\", \"25 packets\" or \"100 ms\", above zero";

    pub(crate) fn check(self) -> Result<(), ConfigError> {
        let holds = match self {
            Self::Bdp(factor) => factor > 0.0 && factor.is_finite(),
            Self::Bytes(bytes) => !bytes.is_zero(),
            Self::Packets(packets) => packets > 0,
            Self::Time(span) | Self::Cake(span) => !span.is_zero(),
        };
        if holds {
            Ok(())
        } else {
            Err(ConfigError::refused(self, "is not a queue size", Self::EXAMPLES))
        }
    }

    /// Returns the limit in its unit, at a link of `rate` on a path with a base RTT of `rtt`.
    pub(crate) fn resolve(self, rate: Rate, rtt: Span) -> ResolvedLimit {
        // At least a full packet.
        let sent_in = |span| rate.bytes_in(span).max(Bytes::new(1500)).get();
        match self {
            Self::Bytes(bytes) => ResolvedLimit::Bytes(bytes.get()),
            Self::Packets(packets) => ResolvedLimit::Packets(packets),
            Self::Time(span) => ResolvedLimit::Bytes(sent_in(span)),
            Self::Cake(interval) => ResolvedLimit::Bytes(Self::of_cake(rate, interval).get()),
            Self::Bdp(factor) => ResolvedLimit::Bytes(sent_in(rtt.mul_f64(factor))),
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
            Self::Cake(interval) => write!(f, "{}, at least 4 MiB", *interval * 4),
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

/// The limit of a queue in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResolvedLimit {
    Bytes(u64),
    Packets(u64),
}

impl ResolvedLimit {
    /// Returns true if a queue that holds `waiting` accepts one more packet of `bytes`.
    #[inline]
    pub fn has_room(self, waiting: PacketTotals, bytes: u32) -> bool {
        match self {
            Self::Bytes(limit) => waiting.bytes + u64::from(bytes) <= limit,
            Self::Packets(limit) => waiting.packets < limit,
        }
    }

    /// Returns true if a queue that holds `waiting` holds more than this.
    #[inline]
    pub fn is_exceeded(self, waiting: PacketTotals) -> bool {
        match self {
            Self::Bytes(limit) => waiting.bytes > limit,
            Self::Packets(limit) => waiting.packets > limit,
        }
    }
}
