//! Packet thresholds of loss detection in scenarios.

use bentpipe_quic::PacketThreshold as Threshold;
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// Packets sent later of which one is acknowledged before a packet is declared lost (RFC 9002
/// §6.1.1): `3`, `"none"` or `"auto"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketThreshold(pub Threshold);

const ALLOWED: &str = "a whole number of packets of at least 3 (RFC 9002 §6.1.1), `auto` or `none`";

impl<'de> Deserialize<'de> for PacketThreshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = PacketThreshold;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(ALLOWED)
            }
            fn visit_i64<E: de::Error>(self, packets: i64) -> Result<PacketThreshold, E> {
                let known = u32::try_from(packets).ok().filter(|packets| *packets >= 3);
                known.map(|packets| PacketThreshold(Threshold::Packets(packets))).ok_or_else(|| {
                    let problem = "is too low or too high";
                    E::custom(format!(
                        "a packet threshold of {packets} {problem}; allowed: {ALLOWED}"
                    ))
                })
            }
            fn visit_u64<E: de::Error>(self, packets: u64) -> Result<PacketThreshold, E> {
                self.visit_i64(i64::try_from(packets).unwrap_or(i64::MAX))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PacketThreshold, E> {
                match text.trim() {
                    "auto" => Ok(PacketThreshold(Threshold::Auto)),
                    "none" => Ok(PacketThreshold(Threshold::None)),
                    text => {
                        let message =
                            format!("`{text}` is no packet threshold; allowed: {ALLOWED}");
                        Err(E::custom(message))
                    }
                }
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl JsonSchema for PacketThreshold {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PacketThreshold".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [
                { "enum": ["auto", "none"] },
                { "type": "integer", "minimum": 3, "maximum": u32::MAX },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::Error;

    fn read<'a>(from: impl IntoDeserializer<'a, Error>) -> Result<PacketThreshold, Error> {
        PacketThreshold::deserialize(from.into_deserializer())
    }

    #[test]
    fn a_packet_threshold_is_auto_none_or_at_least_three() {
        assert_eq!(read("auto"), Ok(PacketThreshold(Threshold::Auto)));
        assert_eq!(read("none"), Ok(PacketThreshold(Threshold::None)));
        assert_eq!(read(300_i64), Ok(PacketThreshold(Threshold::Packets(300))));
        for error in [read(2_i64), read(-1_i64), read(1_i64 << 32)] {
            assert!(error.unwrap_err().to_string().contains("at least 3"));
        }
        assert!(read("many").unwrap_err().to_string().contains("`none`"));
    }
}
