//! BDP and queue of a path's bottleneck, and the windows sized by them.

use super::path::ResolvedPath;
use bentpipe_results::Direction;
use bentpipe_scenario::Window;
use bentpipe_scenario::profiles::queue_bytes;
use bentpipe_units::{Bytes, Rate};

/// Smallest `auto` window.
const MIN_AUTO_WINDOW: Bytes = Bytes::from_mb(1);

/// BDP and queue of the slowest link that data crosses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bottleneck {
    /// Rate of the link times the RTT of the whole path.
    pub bdp: Bytes,
    /// Capacity of the link's queue.
    queue: Bytes,
}

/// Finds the bottleneck for data in `direction`.
pub(super) fn bottleneck(path: &ResolvedPath, direction: Direction, mtu: Bytes) -> Bottleneck {
    let slowest = path.links(direction).into_iter().min_by_key(|(rate, _)| *rate);
    slowest.map_or(
        Bottleneck { bdp: Bytes::ZERO, queue: Bytes::ZERO },
        |(rate, limit): (Rate, _)| Bottleneck {
            bdp: rate.bytes_in(path.rtt),
            queue: queue_bytes(limit, rate, path.rtt, mtu),
        },
    )
}

impl Bottleneck {
    /// Returns a window that never limits the sender: twice the BDP and the queue, because window
    /// updates arrive one RTT late.
    pub fn auto_window(&self) -> Bytes {
        (self.bdp + self.queue).mul_f64(2.0).max(MIN_AUTO_WINDOW)
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
