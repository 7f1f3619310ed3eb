//! BDP and queue of a path's bottleneck, and the windows sized by them.

use super::path::ResolvedPath;
use bentpipe_results::Direction;
use bentpipe_scenario::Window;
use bentpipe_units::{Bytes, Rate, Span};

/// Smallest `auto` window.
const MIN_AUTO_WINDOW: Bytes = Bytes::from_mb(1);

/// BDP and queue of the slowest link that data crosses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bottleneck {
    /// Rate of the link times the RTT of the whole path.
    pub bdp: Bytes,
    /// Highest rate of the link that is then the slowest.
    pub peak: Rate,
    /// Longest time until an answer to a packet can arrive: the longest RTT and the longest gap.
    pub longest: Span,
    /// A window that never limits the sender.
    auto: Bytes,
}

/// Finds the bottleneck for data in `direction`.
pub(super) fn bottleneck(path: &ResolvedPath, direction: Direction, mtu: Bytes) -> Bottleneck {
    let slowest = path.links(direction).into_iter().min_by_key(|link| link.nominal);
    let (bdp, queue) = slowest.map_or((Bytes::ZERO, Bytes::ZERO), |link| {
        (link.nominal.bytes_in(path.rtt), link.queue_bytes(path, mtu))
    });
    // Twice the BDP and the queue, because window updates arrive one RTT late.
    let auto = (bdp + queue).max(most_outstanding(path, direction, mtu)).mul_f64(2.0);
    let peak = path
        .links(direction)
        .iter()
        .map(|link| link.peak)
        .min()
        .unwrap_or(Rate::from_bps(u64::MAX));
    let longest = path.extremes.rtt + path.extremes.gap;
    Bottleneck { bdp, peak, longest, auto: auto.max(MIN_AUTO_WINDOW) }
}

/// Returns the most data that a path that changes can have in flight and in a queue at any time of
/// a run; zero for one that does not change.
fn most_outstanding(path: &ResolvedPath, direction: Direction, mtu: Bytes) -> Bytes {
    if !path.changes() {
        return Bytes::ZERO;
    }
    let links = path.links(direction);
    let Some(peak) = links.iter().map(|link| link.peak).min() else { return Bytes::ZERO };
    // Data waits before any link that is at times no faster than the others.
    let queues = links.iter().filter(|link| link.least <= peak);
    let queue = queues.map(|link| link.queue_bytes(path, mtu)).max();
    peak.bytes_in(path.extremes.rtt) + queue.unwrap_or_default()
}

impl Bottleneck {
    /// Returns a window that never limits the sender: twice the BDP and the queue, at their largest
    /// during a run, because window updates arrive one RTT late.
    pub fn auto_window(&self) -> Bytes {
        self.auto
    }

    /// Returns the window in bytes that `key` requests, or `default`.
    pub fn window(&self, key: Option<Window>, default: Bytes, mtu: Bytes) -> Bytes {
        match key {
            None => default,
            Some(Window::Auto) => self.auto_window(),
            Some(Window::Bytes(bytes)) => bytes,
            // At least one packet: with an empty window the sender would wait forever.
            Some(Window::Bdp(factor)) => self.bdp.mul_f64(factor).max(mtu),
        }
    }
}
