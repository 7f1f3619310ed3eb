//! What the samples of a socket say together.

use super::sample::TcpInfoSample;
use super::socket::TcpInfoSocket;
use bentpipe_units::{Bytes, Rate, Span};

/// What a socket did between its first and its last sample, or since it was opened if there is one
/// sample alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfoSummary {
    /// From the first sample to the last, if the file has times.
    pub duration: Option<Span>,
    /// Bytes that were acknowledged.
    pub acked: Bytes,
    /// Bytes that were received.
    pub received: Bytes,
    /// Bytes that were sent again; zero if the kernel does not count them.
    pub repeated: Bytes,
    /// Segments that were sent again.
    pub retransmissions: u64,
    /// Of those, the ones that were not needed.
    pub spurious: u64,
    /// Time with data to send or in flight, if the kernel says it.
    pub busy: Option<Span>,
    /// Of that, the time that the peer's receive window held the sender back.
    pub rwnd_limited: Span,
    /// Of that, the time that the send buffer held the application back.
    pub sndbuf_limited: Span,
    /// Smallest RTT.
    pub min_rtt: Option<Span>,
    /// Largest smoothed RTT.
    pub largest_rtt: Option<Span>,
    /// Largest congestion window.
    pub largest_window: Option<Bytes>,
    /// Largest receive window of the peer.
    pub largest_peer_window: Option<Bytes>,
    /// Highest rate of delivery that the application did not limit.
    pub delivery_rate: Option<Rate>,
    /// Number of samples whose rate the application limited, and of all.
    pub app_limited_samples: usize,
    /// Number of samples.
    pub samples: usize,
}

impl TcpInfoSummary {
    /// Returns the part of the busy time in which neither the receive window nor the send buffer
    /// held the sender back: the congestion window, or the link, did.
    pub fn window_limited(&self) -> Option<Span> {
        Some(self.busy?.saturating_sub(self.rwnd_limited).saturating_sub(self.sndbuf_limited))
    }

    /// Returns the time between the first and the last sample in which there was nothing to send.
    pub fn idle(&self) -> Option<Span> {
        Some(self.duration?.saturating_sub(self.busy?))
    }
}

impl TcpInfoSocket {
    /// Returns what the samples say together.
    pub fn summary(&self) -> TcpInfoSummary {
        let samples = &self.samples;
        let none = TcpInfoSample::default();
        let last = samples.last().unwrap_or(&none);
        // A counter that shrinks is that of another connection with the same ports.
        let start = samples.windows(2).rposition(|pair| moved(&pair[1]) < moved(&pair[0]));
        let samples = &samples[start.map_or(0, |start| start + 1)..];
        let first = if samples.len() > 1 { &samples[0] } else { &none };
        let bytes = |value: fn(&TcpInfoSample) -> Option<Bytes>| {
            let value = |sample| value(sample).map_or(0, Bytes::get);
            Bytes::new(value(last).saturating_sub(value(first)))
        };
        let span = |value: fn(&TcpInfoSample) -> Option<Span>| {
            let value = |sample| value(sample).unwrap_or_default();
            value(last).saturating_sub(value(first))
        };
        let count = |value: fn(&TcpInfoSample) -> Option<u64>| {
            let value = |sample| value(sample).unwrap_or_default();
            value(last).saturating_sub(value(first))
        };
        let of_network = samples.iter().filter(|sample| !sample.is_app_limited);
        let ends = samples.first().and_then(|first| first.at).zip(last.at);
        TcpInfoSummary {
            duration: ends.map(|(first, last)| last.since(first)),
            acked: bytes(|sample| sample.bytes_acked),
            received: bytes(|sample| sample.bytes_received),
            repeated: bytes(|sample| sample.bytes_retrans),
            retransmissions: count(|sample| sample.retransmissions),
            spurious: count(|sample| sample.spurious),
            busy: last.busy.map(|_| span(|sample| sample.busy)),
            rwnd_limited: span(|sample| sample.rwnd_limited),
            sndbuf_limited: span(|sample| sample.sndbuf_limited),
            min_rtt: samples.iter().filter_map(|sample| sample.min_rtt.or(sample.rtt)).min(),
            largest_rtt: samples.iter().filter_map(|sample| sample.rtt).max(),
            largest_window: samples.iter().filter_map(|sample| sample.window).max(),
            largest_peer_window: samples.iter().filter_map(|sample| sample.peer_window).max(),
            delivery_rate: of_network.filter_map(|sample| sample.delivery_rate).max(),
            app_limited_samples: samples.iter().filter(|sample| sample.is_app_limited).count(),
            samples: samples.len(),
        }
    }
}

/// Returns the bytes of both directions.
fn moved(sample: &TcpInfoSample) -> u64 {
    let bytes = [sample.bytes_acked, sample.bytes_received];
    bytes.into_iter().flatten().fold(0, |sum, bytes| bytes.get().saturating_add(sum))
}
