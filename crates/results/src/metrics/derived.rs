//! Metrics that are computed from the stored fields of a flow, and the layers of its reverse
//! direction.

use super::{Better, Metric};
use crate::{Distribution, Flow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const fn derived(
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    about: &'static str,
    read: fn(&Flow) -> Option<f64>,
) -> Metric<Flow> {
    Metric { name, unit, better: Better::Neither, label, about, detail: false, read }
}

const fn lower(metric: Metric<Flow>) -> Metric<Flow> {
    Metric { better: Better::Lower, ..metric }
}

const fn detail(metric: Metric<Flow>) -> Metric<Flow> {
    Metric { detail: true, ..metric }
}

fn ack_frames(flow: &Flow, read: fn(&Distribution) -> u32) -> Option<f64> {
    flow.ack_frame_bytes.as_ref().map(|sizes| f64::from(read(sizes)))
}

fn float(bytes: Option<u64>) -> Option<f64> {
    bytes.map(|bytes| bytes as f64)
}

/// Metrics of a flow that are computed from its stored fields.
pub const FLOW_DERIVED: &[Metric<Flow>] = &[
    lower(derived(
        "reverse_bytes",
        "Reverse bytes",
        "bytes",
        "Bytes of the reverse direction, IP headers included.",
        |flow| Some(flow.reverse_bytes.total as f64),
    )),
    derived(
        "ack_frame_min_bytes",
        "Smallest ACK frame",
        "bytes",
        "Size of the smallest ACK frame; QUIC only.",
        |flow| ack_frames(flow, |sizes| sizes.min),
    ),
    derived(
        "ack_frame_median_bytes",
        "Median ACK frame",
        "bytes",
        "Median size of ACK frames; QUIC only.",
        |flow| ack_frames(flow, |sizes| sizes.median),
    ),
    derived(
        "ack_frame_p99_bytes",
        "ACK frame, 99th percentile",
        "bytes",
        "99th percentile of the size of ACK frames; QUIC only.",
        |flow| ack_frames(flow, |sizes| sizes.p99),
    ),
    derived(
        "ack_frame_max_bytes",
        "Largest ACK frame",
        "bytes",
        "Size of the largest ACK frame; QUIC only.",
        |flow| ack_frames(flow, |sizes| sizes.max),
    ),
    detail(derived(
        "path.saved_window_bytes",
        "Saved window",
        "bytes",
        "Congestion window of the saved path that was offered to the sender.",
        |flow| float(flow.path.saved_window_bytes),
    )),
    detail(derived(
        "path.saved_rtt_ms",
        "Saved RTT",
        "ms",
        "RTT of the saved path that was offered to the sender.",
        |flow| flow.path.saved_rtt_ms,
    )),
    detail(derived(
        "path.observed_window_bytes",
        "Observed window",
        "bytes",
        "Congestion window that the sender would save.",
        |flow| float(flow.path.observed_window_bytes),
    )),
    detail(derived(
        "path.observed_rtt_ms",
        "Observed RTT",
        "ms",
        "Minimum RTT that the sender would save.",
        |flow| flow.path.observed_rtt_ms,
    )),
    detail(derived(
        "path.receiver_window_bytes",
        "Window seen by the receiver",
        "bytes",
        "Maximum of the bytes that arrived at the receiver within one of its RTTs.",
        |flow| float(flow.path.receiver_window_bytes),
    )),
    detail(derived(
        "path.receiver_rtt_ms",
        "RTT seen by the receiver",
        "ms",
        "Minimum of the receiver's smoothed RTT.",
        |flow| flow.path.receiver_rtt_ms,
    )),
];

/// Declares the layers of the reverse direction: a field and two metrics for each.
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

        const BYTES: &[Metric<Flow>] = &[$(detail(derived(
            concat!("reverse_bytes.", stringify!($name)),
            concat!("Reverse bytes: ", $label),
            "bytes",
            concat!($($doc),+),
            |flow| Some(flow.reverse_bytes.$name as f64),
        )),)+];

        const PERCENT: &[Metric<Flow>] = &[$(detail(derived(
            concat!("reverse_overhead_percent.", stringify!($name)),
            concat!("Reverse overhead: ", $label),
            "%",
            concat!("In percent of `bytes_sent`:", $($doc),+),
            |flow| percent(flow.reverse_bytes.$name, flow.metrics.bytes_sent),
        )),)+];
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

/// Returns two metrics for each layer of the reverse direction: `reverse_bytes.LAYER` and
/// `reverse_overhead_percent.LAYER`.
pub fn layers() -> impl Iterator<Item = &'static Metric<Flow>> {
    BYTES.iter().chain(PERCENT)
}

/// Returns `bytes` in percent of `of`; `None` if `of` is zero.
pub(crate) fn percent(bytes: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| bytes as f64 / of as f64 * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_but_the_total_is_a_layer() {
        let json = serde_json::to_value(ReverseBytes::default()).unwrap();
        let fields: Vec<&String> = json.as_object().unwrap().keys().collect();
        let named: Vec<&str> =
            BYTES.iter().map(|metric| metric.name.trim_start_matches("reverse_bytes.")).collect();
        assert_eq!(fields.len(), named.len() + 1);
        assert!(fields.iter().all(|field| *field == "total" || named.contains(&field.as_str())));
    }
}
