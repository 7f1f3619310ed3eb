//! Capacity requested by, allocated to and used by the terminals of a shared link.

use crate::capacity_allocation::frames::FrameShare;
use bentpipe_timeseries::{BoundedSeries, Series, SeriesLimit};
use bentpipe_units::{Span, Time};

/// Width of a throughput bin: short compared with the RTT of a satellite path, long compared with
/// the transmission time of a packet.
pub const THROUGHPUT_BIN: Span = Span::from_millis(50);

/// Maximum number of terminals with separate series. More would be unreadable in a plot.
const MAX_TERMINALS: usize = 16;

/// Series of every terminal of a link.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Terminals {
    limit: SeriesLimit,
    terminals: Vec<Capacity>,
}

impl Terminals {
    /// Creates empty series of at most `limit` points each.
    pub fn new(limit: SeriesLimit) -> Self {
        Self { limit, terminals: Vec::new() }
    }

    /// Adds shares of frames, in order of time.
    pub fn add(&mut self, shares: impl Iterator<Item = FrameShare>) {
        for share in shares.filter(|share| share.port < MAX_TERMINALS) {
            if share.port >= self.terminals.len() {
                let limit = self.limit;
                self.terminals.resize_with(share.port + 1, || Capacity::new(limit));
            }
            self.terminals[share.port].add(&share);
        }
    }

    /// Takes the series of each terminal if there are several; empty otherwise.
    pub fn take(&mut self) -> Vec<Vec<Series>> {
        if self.terminals.len() < 2 {
            return Vec::new();
        }
        self.terminals.drain(..).map(|capacity| capacity.series().collect()).collect()
    }

    /// Returns the remaining series: those of the only terminal, which are the link's.
    pub fn series(self) -> impl Iterator<Item = Series> {
        self.terminals.into_iter().flat_map(Capacity::series)
    }
}

/// Capacity in bins of whole frames, each at least one throughput bin long.
#[derive(Debug, Clone, PartialEq)]
struct Capacity {
    begin: Time,
    length: Span,
    /// Bytes requested, allocated and used in the bin.
    bytes: [u64; 3],
    points: [BoundedSeries; 3],
}

impl Capacity {
    fn new(limit: SeriesLimit) -> Self {
        Self {
            begin: Time::ZERO,
            length: Span::ZERO,
            bytes: [0; 3],
            points: std::array::from_fn(|_| BoundedSeries::new(limit)),
        }
    }

    fn add(&mut self, share: &FrameShare) {
        if self.length >= THROUGHPUT_BIN {
            self.end_bin();
        }
        if self.length.is_zero() {
            self.begin = share.begin;
        }
        self.length += share.length;
        for (sum, bytes) in
            self.bytes.iter_mut().zip([share.requested, share.allocated, share.used])
        {
            *sum += bytes.get();
        }
    }

    fn end_bin(&mut self) {
        let micros = self.length.as_nanos() as f64 / 1e3;
        for (points, bytes) in self.points.iter_mut().zip(self.bytes) {
            points.push(self.begin, (bytes * 8) as f64 / micros);
        }
        (self.length, self.bytes) = (Span::ZERO, [0; 3]);
    }

    fn series(mut self) -> impl Iterator<Item = Series> {
        if !self.length.is_zero() {
            self.end_bin();
        }
        let named = ["requested", "allocated", "used"].into_iter().zip(self.points);
        named
            .filter(|(_, points)| !points.is_empty())
            .map(|(name, points)| Series::new(name, "Mbps", points.into_points()))
    }
}
