//! The way against the data: its bytes by layer, how the receiver acknowledged, and the metrics of
//! both.

use crate::results::Flow;
use bentpipe_quic::observer::Sizes;
use bentpipe_sim as sim;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes against the data by layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnBytes {
    /// IP headers.
    pub ip: u64,
    /// UDP headers.
    pub udp: u64,
    /// QUIC packets: the sum of the next six. Results written before these were measured do not
    /// have them.
    #[serde(default)]
    pub quic: u64,
    /// QUIC headers with packet numbers.
    #[serde(default)]
    pub quic_header: u64,
    /// ACK frames.
    #[serde(default)]
    pub ack: u64,
    /// Credit frames.
    #[serde(default)]
    pub credit: u64,
    /// Other frames: requests, the handshake; and packets that nobody looked into, such as a
    /// stateless reset.
    #[serde(default)]
    pub other: u64,
    /// PADDING frames.
    #[serde(default)]
    pub padding: u64,
    /// Authentication tags.
    #[serde(default)]
    pub tag: u64,
    /// TCP headers without options.
    #[serde(default)]
    pub tcp: u64,
    /// TCP options.
    #[serde(default)]
    pub tcp_options: u64,
    /// What TCP carries.
    #[serde(default)]
    pub tcp_payload: u64,
    /// All of them.
    pub total: u64,
}

impl ReturnBytes {
    pub(crate) fn new(bytes: &sim::ReturnBytes) -> Self {
        Self {
            ip: bytes.ip,
            udp: bytes.udp,
            quic: bytes.quic,
            quic_header: bytes.quic_header,
            ack: bytes.ack,
            credit: bytes.credit,
            other: bytes.other + bytes.unseen,
            padding: bytes.padding,
            tag: bytes.tag,
            tcp: bytes.tcp,
            tcp_options: bytes.options,
            tcp_payload: bytes.payload,
            total: bytes.total,
        }
    }
}

type Layer = fn(&ReturnBytes) -> u64;

/// Each layer of the bytes against the data, by its name.
pub const LAYERS: [(&str, Layer); 12] = [
    ("ip", |bytes| bytes.ip),
    ("udp", |bytes| bytes.udp),
    ("quic", |bytes| bytes.quic),
    ("quic_header", |bytes| bytes.quic_header),
    ("ack", |bytes| bytes.ack),
    ("credit", |bytes| bytes.credit),
    ("other", |bytes| bytes.other),
    ("padding", |bytes| bytes.padding),
    ("tag", |bytes| bytes.tag),
    ("tcp", |bytes| bytes.tcp),
    ("tcp_options", |bytes| bytes.tcp_options),
    ("tcp_payload", |bytes| bytes.tcp_payload),
];

/// A metric of one layer: `return_bytes.ack` in bytes, `return_overhead_percent.ack` in percent of
/// the bytes with the data.
#[derive(Debug, Clone, Copy)]
pub struct LayerMetric {
    layer: Layer,
    relative: bool,
}

const BYTES: &str = "return_bytes.";
const PERCENT: &str = "return_overhead_percent.";

impl LayerMetric {
    /// The metric of that name; none where there is none.
    pub fn named(name: &str) -> Option<Self> {
        let relative = name.starts_with(PERCENT);
        let wanted = name.strip_prefix(if relative { PERCENT } else { BYTES })?;
        let (_, layer) = LAYERS.iter().find(|(layer, _)| *layer == wanted)?;
        Some(Self { layer: *layer, relative })
    }

    /// The names of all.
    pub fn names() -> impl Iterator<Item = String> {
        [BYTES, PERCENT]
            .into_iter()
            .flat_map(|prefix| LAYERS.iter().map(move |(layer, _)| format!("{prefix}{layer}")))
    }

    /// Its value for a flow.
    pub fn read(self, flow: &Flow) -> Option<f64> {
        let bytes = (self.layer)(&flow.return_bytes);
        if self.relative { percent(bytes, flow.bytes_sent) } else { Some(bytes as f64) }
    }
}

/// `bytes` in percent of `of`.
pub(crate) fn percent(bytes: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| bytes as f64 / of as f64 * 100.0)
}

/// How often something had which size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// How many there were.
    pub n: u64,
    /// The smallest.
    pub min: u32,
    /// The smallest that half of them do not exceed.
    pub median: u32,
    /// The smallest that 99 % of them do not exceed.
    pub p99: u32,
    /// The largest.
    pub max: u32,
    /// Sizes in bytes, and how many had them; beyond 255 bytes, a size stands for all up to before
    /// its double.
    pub counts: BTreeMap<u32, u64>,
}

impl Distribution {
    /// None of nothing.
    pub(crate) fn new(sizes: &Sizes) -> Option<Self> {
        Some(Self {
            n: sizes.count(),
            min: sizes.min()?,
            median: sizes.percentile(50)?,
            p99: sizes.percentile(99)?,
            max: sizes.max()?,
            counts: sizes.counts().clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_but_the_sum_of_quic_is_part_of_the_total() {
        let mut json = serde_json::to_value(ReturnBytes::default()).unwrap();
        for (place, (name, _)) in LAYERS.iter().enumerate() {
            json[name] = (1u64 << place).into();
        }
        let bytes: ReturnBytes = serde_json::from_value(json).unwrap();
        for (place, (name, read)) in LAYERS.iter().enumerate() {
            assert_eq!(read(&bytes), 1 << place, "{name}");
        }
        let fields = serde_json::to_value(bytes).unwrap().as_object().unwrap().len();
        assert_eq!(fields, LAYERS.len() + 1, "every field but the total is a layer");
    }

    #[test]
    fn names_are_those_that_are_understood() {
        assert_eq!(LayerMetric::names().count(), 24);
        assert!(LayerMetric::names().all(|name| LayerMetric::named(&name).is_some()));
        assert!(
            LayerMetric::named("return_bytes.total").is_none()
                && LayerMetric::named("ip").is_none()
        );
    }
}
