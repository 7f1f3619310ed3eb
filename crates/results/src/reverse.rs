//! Bytes of the reverse direction, by layer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A layer of [`ReverseBytes`], and the names of its two metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layer {
    /// Name of its field.
    pub name: &'static str,
    /// `reverse_bytes.LAYER`, in bytes, and its label.
    pub bytes: (&'static str, &'static str),
    /// `reverse_overhead_percent.LAYER`, in percent of the bytes sent, and its label.
    pub percent: (&'static str, &'static str),
    /// Meaning, in a sentence.
    pub about: &'static str,
    /// Reads its bytes.
    pub read: fn(&ReverseBytes) -> u64,
}

/// Declares the layers: a field and a [`Layer`] for each.
macro_rules! layers {
    ($($(#[doc = $doc:literal])+ $label:literal: $name:ident,)+) => {
        /// Bytes of the reverse direction, from the receiver of the data to its sender, by layer.
        #[derive(
            Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(default)]
        pub struct ReverseBytes {
            $($(#[doc = $doc])+ pub $name: u64,)+
            /// Sum of all layers. `quic` already includes its parts.
            pub total: u64,
        }

        /// All layers, in the order of the fields.
        pub(crate) const LAYERS: &[Layer] = &[$(Layer {
            name: stringify!($name),
            bytes: (
                concat!("reverse_bytes.", stringify!($name)),
                concat!("Reverse bytes: ", $label),
            ),
            percent: (
                concat!("reverse_overhead_percent.", stringify!($name)),
                concat!("Reverse overhead: ", $label),
            ),
            about: concat!($($doc),+),
            read: |bytes| bytes.$name,
        },)+];
    };
}

layers! {
    /// IP headers.
    "IP": ip,
    /// UDP headers.
    "UDP": udp,
    /// QUIC packets: the sum of the next six.
    "QUIC": quic,
    /// QUIC headers with packet numbers.
    "QUIC headers": quic_header,
    /// ACK frames.
    "ACK frames": ack,
    /// Flow-control frames: MAX_DATA and MAX_STREAM_DATA.
    "flow control": flow_control,
    /// Other frames, such as those of requests and the handshake, and packets that were not
    /// parsed, such as stateless resets.
    "other frames": other,
    /// PADDING frames.
    "padding": padding,
    /// Authentication tags.
    "tags": tag,
    /// TCP headers without options.
    "TCP": tcp,
    /// TCP options.
    "TCP options": tcp_options,
    /// TCP payload.
    "TCP payload": tcp_payload,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_but_the_total_is_a_layer() {
        let json = serde_json::to_value(ReverseBytes::default()).unwrap();
        let fields: Vec<&String> = json.as_object().unwrap().keys().collect();
        let named: Vec<&str> =
            LAYERS.iter().map(|layer| layer.bytes.0.trim_start_matches("reverse_bytes.")).collect();
        assert_eq!(fields.len(), named.len() + 1);
        assert!(fields.iter().all(|field| *field == "total" || named.contains(&field.as_str())));
    }
}
