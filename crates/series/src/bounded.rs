//! A time series of bounded size.

use crate::SeriesLimit;
use crate::extremes::{KEPT, ascending, extremes};
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
    /// Points of closed bins.
    points: Vec<Point>,
    /// How many of `points` each closed bin has. Empty as long as `points` is complete.
    bins: Vec<u8>,
    /// Points added per bin, a power of two; 0 as long as `points` is complete.
    bin_size: u64,
    open: OpenBin,
}

/// The bin to which points are added.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct OpenBin {
    /// Points to add until it closes.
    left: u64,
    /// Points added to it.
    len: u64,
    first: Point,
    low: Point,
    high: Point,
    last: Point,
    /// Positions of `low` and `high` among the points added.
    low_at: u64,
    high_at: u64,
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
        if self.bin_size == 0 {
            if self.points.len() < self.limit.points() {
                self.points.push((time, value));
                return;
            }
            self.begin_bins();
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
        if self.open.len > 0 { Some(self.open.last) } else { self.points.last().copied() }
    }

    /// True if no point was added.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Returns the points that are kept, in order of time.
    pub fn iter(&self) -> impl Iterator<Item = (Time, f64)> {
        self.points.iter().copied().chain(self.open.kept())
    }

    /// Returns the points that are kept, and whether these are all.
    pub fn into_points(mut self) -> Points {
        let downsampled = self.bin_size > 0;
        self.points.extend(self.open.kept());
        Points { points: self.points, downsampled }
    }

    /// Begins to keep bins instead of points.
    #[cold]
    fn begin_bins(&mut self) {
        self.bins = vec![1; self.points.len()];
        self.bin_size = 1;
        let added = self.points.len() as u64;
        self.merge(added);
    }

    /// Closes the full open bin.
    fn close(&mut self) {
        let before = self.points.len();
        self.points.extend(self.open.kept());
        self.bins.push((self.points.len() - before) as u8);
        self.open = OpenBin { left: self.bin_size, ..OpenBin::default() };
        // The next open bin may need room for its points too.
        if self.points.len() + KEPT > self.limit.points() {
            self.merge(self.bins.len() as u64 * self.bin_size);
        }
    }

    /// Merges the closed bins, which hold `added` points, until half of the limit is free.
    #[cold]
    fn merge(&mut self, added: u64) {
        while self.points.len() > self.limit.points() / 2 {
            self.merge_pairs();
        }
        // The last bin continues if an odd number of bins was merged.
        let partial = added % self.bin_size;
        self.open = OpenBin { left: self.bin_size, ..OpenBin::default() };
        if partial > 0
            && let Some(kept) = self.bins.pop()
        {
            let from = self.points.len() - usize::from(kept);
            self.points.drain(from..).for_each(|point| self.open.add(point));
            self.open.left = self.bin_size - partial;
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
    #[inline]
    fn add(&mut self, point: Point) {
        if self.len == 0 {
            (self.first, self.low, self.high) = (point, point, point);
        } else if point.1 > self.high.1 {
            (self.high, self.high_at) = (point, self.len);
        } else if point.1 < self.low.1 {
            (self.low, self.low_at) = (point, self.len);
        }
        self.last = point;
        self.len += 1;
        self.left = self.left.saturating_sub(1);
    }

    /// The points that it keeps.
    fn kept(self) -> impl Iterator<Item = Point> {
        let (low, high) = (self.low_at as usize, self.high_at as usize);
        ascending(self.len as usize, low, high).map(move |at| match at as u64 {
            0 => self.first,
            at if at == self.low_at => self.low,
            at if at == self.high_at => self.high,
            _ => self.last,
        })
    }
}
