//! A time series of bounded size.

use crate::SeriesLimit;
use crate::extremes::{KEPT, extremes};
use bentpipe_units::Time;

type Point = (Time, f64);

/// A time series of at most [`SeriesLimit`] points, added in order of time.
///
/// Below the limit it keeps every point. Above it, consecutive points form bins of equal numbers of
/// points, of which the first, lowest, highest and last are kept: a plot looks the same unless it
/// is zoomed, and the extremes are exact. When the series is full, bins are merged in pairs or
/// larger groups until half of it is free. Adding a point takes constant time on average.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoundedSeries {
    limit: SeriesLimit,
    /// Points of closed bins, then the first point of the open bin.
    points: Vec<Point>,
    /// How many of `points` each closed bin has. Empty as long as `points` is complete.
    bins: Vec<u8>,
    /// Points added per bin, a power of two; 0 as long as `points` is complete.
    bin_size: u64,
    open: OpenBin,
}

/// The bin to which points are added, without its first point.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct OpenBin {
    /// Points to add until it closes. 0 if there is no open bin.
    left: u64,
    low: Point,
    high: Point,
    last: Point,
    /// `left` when `low` and `high` were added: the larger, the earlier.
    low_at: u64,
    high_at: u64,
    /// `left` after the first point; equal to `left` if the bin has no other.
    first_at: u64,
}

/// The points of a [`BoundedSeries`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Points {
    /// The points, in order of time.
    pub points: Vec<(Time, f64)>,
    /// True if these are not all points that were added.
    pub downsampled: bool,
}

impl BoundedSeries {
    /// Creates an empty series.
    pub fn new(limit: SeriesLimit) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Adds a point. Its time is not before that of the last point.
    #[inline]
    pub fn push(&mut self, time: Time, value: f64) {
        if self.open.left == 0 {
            self.begin_bin((time, value));
            return;
        }
        self.open.add((time, value));
        if self.open.left == 0 {
            self.close();
        }
    }

    /// Adds a point unless its value equals that of the last point.
    #[inline]
    pub fn push_change(&mut self, time: Time, value: f64) {
        if self.last().is_none_or(|(_, last)| last != value) {
            self.push(time, value);
        }
    }

    /// Returns the last point added.
    #[inline]
    pub fn last(&self) -> Option<(Time, f64)> {
        if self.open.left > 0 { Some(self.open.last) } else { self.points.last().copied() }
    }

    /// True if no point was added.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Returns the points that are kept, in order of time.
    pub fn iter(&self) -> impl Iterator<Item = (Time, f64)> {
        let (rest, kept) = self.open.rest();
        self.points.iter().copied().chain(rest.into_iter().take(kept))
    }

    /// Returns the points that are kept, and whether these are all.
    pub fn into_points(mut self) -> Points {
        let (rest, kept) = self.open.rest();
        self.points.extend_from_slice(&rest[..kept]);
        Points { points: self.points, downsampled: self.bin_size > 0 }
    }

    /// Adds a point while no bin is open: all points are kept so far, or a bin begins.
    fn begin_bin(&mut self, point: Point) {
        if self.bin_size == 0 {
            if self.points.len() < self.limit.points() {
                self.points.push(point);
                return;
            }
            self.bins = vec![1; self.points.len()];
            self.bin_size = 1;
            self.merge();
            if self.open.left > 0 {
                self.push(point.0, point.1);
                return;
            }
        }
        self.points.push(point);
        self.open = OpenBin::new(point, self.bin_size - 1);
    }

    /// Closes the full open bin.
    fn close(&mut self) {
        let (rest, kept) = self.open.rest_at_end();
        self.points.extend_from_slice(&rest[..kept]);
        self.bins.push(kept as u8 + 1);
        self.open.first_at = 0;
        // The next bin needs room for its points too.
        if self.points.len() + KEPT > self.limit.points() {
            self.merge();
        }
    }

    /// Merges the closed bins, of which none is open, until half of the limit is free.
    #[cold]
    fn merge(&mut self) {
        let added = self.bins.len() as u64 * self.bin_size;
        while self.points.len() > self.limit.points() / 2 {
            self.merge_pairs();
        }
        // The last bin continues if it holds fewer points than the others.
        let partial = added % self.bin_size;
        if partial > 0
            && let Some(kept) = self.bins.pop()
        {
            let from = self.points.len() - usize::from(kept);
            let rest = self.points.split_off(from + 1);
            let left = self.bin_size - partial + rest.len() as u64;
            self.open = OpenBin::new(self.points[from], left);
            rest.into_iter().for_each(|point| self.open.add(point));
        }
    }

    fn merge_pairs(&mut self) {
        let (mut read, mut write) = (0, 0);
        let mut merged = 0;
        for pair in 0..self.bins.len().div_ceil(2) {
            let end = (2 * pair + 2).min(self.bins.len());
            let len = self.bins[2 * pair..end].iter().map(|&kept| usize::from(kept)).sum();
            let before = write;
            for index in extremes(len, |index| self.points[read + index].1) {
                self.points[write] = self.points[read + index];
                write += 1;
            }
            self.bins[merged] = (write - before) as u8;
            merged += 1;
            read += len;
        }
        self.points.truncate(write);
        self.bins.truncate(merged);
        self.bin_size *= 2;
    }
}

impl OpenBin {
    /// A bin that begins with `first`, to which `left` more points are added.
    fn new(first: Point, left: u64) -> Self {
        let (low_at, high_at, first_at) = (left, left, left);
        Self { left, low: first, high: first, last: first, low_at, high_at, first_at }
    }

    #[inline]
    fn add(&mut self, point: Point) {
        self.left -= 1;
        self.last = point;
        if point.1 > self.high.1 {
            (self.high, self.high_at) = (point, self.left);
        } else if point.1 < self.low.1 {
            (self.low, self.low_at) = (point, self.left);
        }
    }

    /// Returns the points that it keeps besides the first, and their number.
    fn rest(&self) -> ([Point; KEPT], usize) {
        if self.first_at == self.left { Default::default() } else { self.rest_at_end() }
    }

    /// Like [`OpenBin::rest`], of a bin with more than one point.
    fn rest_at_end(&self) -> ([Point; KEPT], usize) {
        let (low, high) = ((self.low, self.low_at), (self.high, self.high_at));
        let (early, late) = if low.1 > high.1 { (low, high) } else { (high, low) };
        let (mut rest, mut kept) = ([self.last; KEPT], 0);
        let mut before = self.first_at;
        for (point, at) in [early, late, (self.last, self.left)] {
            if at < before {
                rest[kept] = point;
                kept += 1;
                before = at;
            }
        }
        (rest, kept)
    }
}
