//! Time budgets in results: an object with the seconds of each part that has time.

use bentpipe_timeseries::{TimeBudget, TimePart};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt;

/// An interval in which time was spent on one part again and again: gaps of at most a round trip
/// are within it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Episode {
    /// The part, by the name of its field in `time_budget`.
    pub part: String,
    /// Beginning, in seconds since the visit's first packet.
    pub from_s: f64,
    /// End, in seconds since the visit's first packet.
    pub to_s: f64,
    /// Time spent on the part in between, in seconds.
    pub time_s: f64,
}

/// The time that losses cost, by where the packets were lost that cost it, in seconds: timeouts,
/// the detection of losses, windows that losses have reduced, and capacity for lost packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LossTime {
    /// Of losses by the loss processes of links.
    #[serde(skip_serializing_if = "is_zero")]
    pub channel_s: f64,
    /// Of drops by full queues or active queue management.
    #[serde(skip_serializing_if = "is_zero")]
    pub queue_s: f64,
    /// Of drops by policers.
    #[serde(skip_serializing_if = "is_zero")]
    pub policer_s: f64,
    /// Of losses in handovers or without a route.
    #[serde(skip_serializing_if = "is_zero")]
    pub routing_s: f64,
    /// The part of these that losses of the reverse direction cost: of acknowledgements and
    /// requests.
    #[serde(skip_serializing_if = "is_zero")]
    pub reverse_s: f64,
}

impl LossTime {
    /// Returns true if losses cost nothing, as far as is known.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

/// A budget as it is written.
pub struct Written(TimeBudget<f64>);

/// Writes a budget, for `#[serde(with)]`.
pub fn serialize<S: Serializer>(
    budget: &Option<TimeBudget<f64>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    budget.map(Written).serialize(serializer)
}

/// Reads a budget, for `#[serde(with)]`.
pub fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<TimeBudget<f64>>, D::Error> {
    let read = Option::<Written>::deserialize(deserializer)?;
    Ok(read.map(|Written(budget)| budget))
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = self.0.parts().filter(|(_, seconds)| *seconds != 0.0);
        serializer.collect_map(parts.map(|(part, seconds)| (part.name(), seconds)))
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Parts)
    }
}

/// Reads parts, and passes over fields that are none.
struct Parts;

impl<'de> Visitor<'de> for Parts {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the seconds of parts of a time budget")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Written, A::Error> {
        let mut budget = TimeBudget::default();
        while let Some(name) = fields.next_key::<Cow<'de, str>>()? {
            match TimePart::find(&name) {
                Some(part) => budget.add(part, fields.next_value()?),
                None => _ = fields.next_value::<IgnoredAny>()?,
            }
        }
        Ok(Written(budget))
    }
}

impl JsonSchema for Written {
    fn schema_name() -> Cow<'static, str> {
        "TimeBudget".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let fields: Map<String, Value> = TimePart::ALL
            .into_iter()
            .map(|part| {
                let about = part.about();
                let field = json!({"description": about, "type": "number", "format": "double"});
                (part.name().to_owned(), field)
            })
            .collect();
        json_schema!({
            "description": "What the completion time of a visit was spent on, in seconds. The \
                            parts exclude each\nother, and their sum is the completion time. \
                            Parts without time are left out.",
            "type": "object",
            "properties": fields,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_a_field() {
        let schema = serde_json::to_value(schemars::schema_for!(Written)).unwrap();
        let fields = schema["properties"].as_object().unwrap();
        assert!(fields.keys().eq(TimePart::ALL.map(TimePart::name).iter()));
    }

    #[test]
    fn parts_without_time_are_left_out_and_unknown_ones_ignored() {
        let parts = [(TimePart::SlowStart, 1.5), (TimePart::Request, 0.5)];
        let budget: TimeBudget<f64> = parts.into_iter().collect();
        let json = serde_json::to_string(&Written(budget)).unwrap();
        assert_eq!(json, r#"{"request_s":0.5,"slow_start_s":1.5}"#);
        let more = json.replace('}', r#","rain_s":{"heavy":1}}"#);
        assert_eq!(serde_json::from_str::<Written>(&more).unwrap().0, budget);
        assert!(serde_json::from_str::<Written>(r#"{"request_s":"long"}"#).is_err());
    }
}
