//! ACK policies as scenarios name them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use thiserror::Error;

/// How often a receiver acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AckRule {
    /// `stack`: every other packet (RFC 9000 §13.2.2).
    #[default]
    Stack,
    /// `1:10`: one ACK for that many ack-eliciting packets.
    Every(u32),
    /// `1:2 for 100, then 1:10`: one ACK for `every` packets until `packets` have arrived, and one
    /// for `then` packets from there on.
    Stepwise {
        /// Packets per ACK at first.
        every: u32,
        /// Number of packets for which that holds.
        packets: u32,
        /// Packets per ACK after that.
        then: u32,
    },
    /// `rtt/4`: that many ACKs per RTT.
    PerRoundTrip(u32),
    /// `auto`: the receiver adapts the frequency to the return path.
    Auto,
}

/// The side that decides how often the receiver acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AckBy {
    /// The sender of the data requests it (ACK_FREQUENCY): `1:N` only.
    Sender,
    /// The receiver decides by itself.
    Receiver,
}

/// A text that is not an ACK policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not an ACK policy; allowed: \"stack\", \"1:N\" with N from 1 to 1000, \"1:N for P, \
        then 1:M\" with P from 1 to 1000000, \"rtt/N\" with N from 1 to 64, or \"auto\""
)]
pub struct AckRuleError(String);

impl AckRule {
    /// Returns the side that decides by default: the sender, if it can request the policy.
    pub fn by(self) -> AckBy {
        match self {
            Self::Stack | Self::Every(_) => AckBy::Sender,
            Self::Stepwise { .. } | Self::PerRoundTrip(_) | Self::Auto => AckBy::Receiver,
        }
    }
}

fn every(text: &str) -> Option<u32> {
    text.strip_prefix("1:")?.parse().ok().filter(|packets| (1..=1000).contains(packets))
}

impl std::str::FromStr for AckRule {
    type Err = AckRuleError;
    fn from_str(text: &str) -> Result<Self, AckRuleError> {
        let stepwise = || {
            let (first, then) = text.split_once(", then ")?;
            let (first, packets) = first.split_once(" for ")?;
            let packets =
                packets.parse().ok().filter(|packets| (1..=1_000_000).contains(packets))?;
            Some(Self::Stepwise { every: every(first)?, packets, then: every(then)? })
        };
        let fraction = || {
            let divisor = text
                .strip_prefix("rtt/")?
                .parse()
                .ok()
                .filter(|divisor| (1..=64).contains(divisor))?;
            Some(Self::PerRoundTrip(divisor))
        };
        match text {
            "stack" => Ok(Self::Stack),
            "auto" => Ok(Self::Auto),
            _ => every(text)
                .map(Self::Every)
                .or_else(stepwise)
                .or_else(fraction)
                .ok_or_else(|| AckRuleError(text.to_owned())),
        }
    }
}

impl std::fmt::Display for AckRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stack => f.write_str("stack"),
            Self::Every(packets) => write!(f, "1:{packets}"),
            Self::Stepwise { every, packets, then } => {
                write!(f, "1:{every} for {packets}, then 1:{then}")
            }
            Self::PerRoundTrip(divisor) => write!(f, "rtt/{divisor}"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

impl Serialize for AckRule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AckRule {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for AckRule {
    fn schema_name() -> Cow<'static, str> {
        "AckRule".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let every = "1:[1-9][0-9]{0,3}";
        let pattern = format!(
            "^(stack|auto|rtt/[1-9][0-9]?|{every}|{every} for [1-9][0-9]{{0,6}}, then {every})$"
        );
        let examples = ["stack", "1:10", "1:2 for 100, then 1:10", "rtt/4", "auto"];
        schemars::json_schema!({ "type": "string", "pattern": pattern, "examples": examples })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_parse_as_they_print() {
        let stepwise = AckRule::Stepwise { every: 2, packets: 100, then: 10 };
        let all =
            [AckRule::Stack, AckRule::Every(10), stepwise, AckRule::PerRoundTrip(4), AckRule::Auto];
        for rule in all {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        for wrong in [
            "1:0",
            "2:1",
            "1:",
            "1:1001",
            "rtt/0",
            "rtt/65",
            "1:2 for 0, then 1:10",
            "1:2 for 5",
            "",
        ] {
            let error = wrong.parse::<AckRule>().unwrap_err().to_string();
            assert!(error.contains("1:N") && error.contains(wrong), "{error}");
        }
    }
}
