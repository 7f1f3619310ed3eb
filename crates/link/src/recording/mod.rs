//! Time series of a link, the same for the virtual and the real clock.
//!
//! They are collected in bins and in series of bounded size, so that memory grows neither with the
//! duration of a run nor with the number of packets.

mod capacity;

use crate::capacity_allocation::frames::FrameShare;
use crate::model::DirectionModel;
use crate::packet::DropCause;
use bentpipe_timeseries::{BinnedSum, BoundedSeries, Points, Series, SeriesLimit, rate_series};
use bentpipe_units::{Rate, Span, Time};
use capacity::{THROUGHPUT_BIN, Terminals};

/// Width of a queue bin.
const QUEUE_BIN: Span = Span::from_millis(10);

/// Cause of a drop. Each has its own series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropKind {
    /// A policer.
    Policer,
    /// A full queue or active queue management.
    Queue,
    /// A loss process of the channel.
    Channel,
    /// The satellite network: link down, no route, or hop limit.
    Routing,
}

impl DropKind {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Policer, "dropped_policer"),
        (Self::Queue, "dropped_queue"),
        (Self::Channel, "dropped_channel"),
        (Self::Routing, "dropped_routing"),
    ];
}

impl From<DropCause> for DropKind {
    fn from(cause: DropCause) -> Self {
        match cause {
            DropCause::Policer => Self::Policer,
            DropCause::QueueFull | DropCause::Aqm => Self::Queue,
            DropCause::Loss(_) => Self::Channel,
        }
    }
}

/// Collects the time series of one link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkRecorder {
    /// Throughput in Mbps.
    throughput: BinnedSum,
    queue: QueueLength,
    drops: [BoundedSeries; DropKind::ALL.len()],
    terminals: Terminals,
    /// Rate in bit/s, if it depends on demand.
    rates: BoundedSeries,
}

impl Default for LinkRecorder {
    fn default() -> Self {
        Self::new(SeriesLimit::DEFAULT)
    }
}

impl LinkRecorder {
    /// Creates empty series of at most `limit` points each.
    pub fn new(limit: SeriesLimit) -> Self {
        // Bits per microsecond are megabits per second.
        let mbps = 8.0 / (THROUGHPUT_BIN.as_nanos() / 1_000) as f64;
        Self {
            throughput: BinnedSum::new(THROUGHPUT_BIN, mbps, limit),
            queue: QueueLength::new(limit),
            drops: std::array::from_fn(|_| BoundedSeries::new(limit)),
            terminals: Terminals::new(limit),
            rates: BoundedSeries::new(limit),
        }
    }

    /// Records that a packet of `bytes` left the link.
    #[inline]
    pub fn delivered(&mut self, now: Time, bytes: u32) {
        self.throughput.add(now, bytes.into());
    }

    /// Records that the queue holds `bytes` from now on.
    #[inline]
    pub fn queue(&mut self, now: Time, bytes: u64) {
        self.queue.set(now, bytes);
    }

    /// Records a dropped packet.
    pub fn dropped(&mut self, now: Time, cause: impl Into<DropKind>) {
        self.drops[cause.into() as usize].push(now, 1.0);
    }

    /// Records the terminals' shares of the frames of a shared link, in order of time.
    pub fn frames(&mut self, shares: impl Iterator<Item = FrameShare>) {
        self.terminals.add(shares);
    }

    /// Records the rate from each time on, of a link whose rate depends on demand.
    pub fn rates(&mut self, rates: impl IntoIterator<Item = (Time, Rate)>) {
        rates.into_iter().for_each(|(at, rate)| self.rates.push(at, rate.as_bps() as f64));
    }

    /// Returns the series of a link of this `model` up to `end`, or up to their last point, without
    /// empty ones: those of [`LinkRecorder::series`], and its `rate` (Mbps) if that changes, as
    /// recorded if it depends on demand. The link carries nothing in the `outages` (from, until).
    pub fn series_with_rate(
        self,
        model: &DirectionModel,
        end: Option<Time>,
        outages: impl FnOnce(Time) -> Vec<(Time, Time)>,
    ) -> Vec<Series> {
        let rates: Vec<(Time, Rate)> =
            self.rates.iter().map(|(at, bps)| (at, Rate::from_bps(bps as u64))).collect();
        let mut series = self.series();
        let last = series.iter().filter_map(|series| series.points.last()).map(|(at, _)| *at);
        let end = end.or(last.max()).unwrap_or_default();
        let (constant, outages) = (model.constant_rate(), outages(end));
        series.extend(if rates.is_empty() {
            rate_series(model.rate_changes(end), constant, outages)
        } else {
            rate_series(rates.into_iter(), constant, outages)
        });
        series
    }

    /// Takes the series of the terminals, if there are several. [`LinkRecorder::series`] returns
    /// the series of a single terminal.
    pub fn take_terminals(&mut self) -> Vec<Vec<Series>> {
        self.terminals.take()
    }

    /// Returns the series, without empty ones.
    ///
    /// They are `throughput` (Mbps, mean of the bin that starts at each time), `queue` (bytes), and
    /// `dropped_policer`, `dropped_queue`, `dropped_channel` and `dropped_routing` (one point per
    /// packet, as far as points are kept). A link with capacity allocation and a single terminal
    /// also has `requested`, `allocated` and `used` (Mbps, mean of the frames from each time on).
    pub fn series(self) -> Vec<Series> {
        let throughput = Series::new("throughput", "Mbps", self.throughput.into_points());
        let queue = Series::new("queue", "bytes", self.queue.into_points());
        let drops = DropKind::ALL
            .into_iter()
            .zip(self.drops)
            .map(|((_, name), drops)| Series::new(name, "packets", drops.into_points()));
        [throughput, queue]
            .into_iter()
            .chain(drops)
            .filter(|series| !series.points.is_empty())
            .chain(self.terminals.series())
            .collect()
    }
}

/// Length of a queue over time.
///
/// Each bin with a change keeps its maximum. The next bin starts at the length that the queue had
/// at the end of that bin, so that a short burst ends in the series when it ended in the queue.
#[derive(Debug, Clone, PartialEq)]
struct QueueLength {
    /// Starts of bins, bytes.
    series: BoundedSeries,
    /// Latest bin with a change.
    current: Option<QueueBin>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct QueueBin {
    begin: Time,
    max: u64,
    /// Length at its end.
    last: u64,
}

impl QueueLength {
    fn new(limit: SeriesLimit) -> Self {
        Self { series: BoundedSeries::new(limit), current: None }
    }

    #[inline]
    fn set(&mut self, now: Time, bytes: u64) {
        if let Some(bin) = &mut self.current
            && now.since(bin.begin) < QUEUE_BIN
        {
            bin.max = bin.max.max(bytes);
            bin.last = bytes;
            return;
        }
        self.next_bin(now, bytes);
    }

    fn next_bin(&mut self, now: Time, bytes: u64) {
        let begin = Time::ZERO + QUEUE_BIN * (now.as_nanos() / QUEUE_BIN.as_nanos());
        let mut max = bytes;
        if let Some(bin) = self.current {
            max = max.max(bin.last);
            self.close(bin, Some(begin));
        }
        self.current = Some(QueueBin { begin, max, last: bytes });
    }

    /// Appends a completed bin, and the length after it unless the bin at `next` follows directly.
    fn close(&mut self, bin: QueueBin, next: Option<Time>) {
        self.series.push_change(bin.begin, bin.max as f64);
        let end = bin.begin + QUEUE_BIN;
        if next != Some(end) {
            self.series.push_change(end, bin.last as f64);
        }
    }

    fn into_points(mut self) -> Points {
        if let Some(bin) = self.current {
            self.close(bin, None);
        }
        self.series.into_points()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Bytes;

    #[test]
    fn throughput_is_the_sum_of_the_bytes_delivered_in_each_bin() {
        let mut recorder = LinkRecorder::default();
        recorder.delivered(Time::from_millis(10), 1250);
        recorder.delivered(Time::from_millis(60), 2500);
        let series = recorder.series();
        assert_eq!(series[0].name, "throughput");
        assert_eq!(series[0].points, [(Time::ZERO, 0.2), (Time::from_millis(50), 0.4)]);
    }

    fn queue(changes: &[(u64, u64)]) -> Vec<(u64, f64)> {
        let mut recorder = LinkRecorder::default();
        changes.iter().for_each(|&(ms, bytes)| recorder.queue(Time::from_millis(ms), bytes));
        let series = recorder.series().remove(0);
        assert_eq!(series.name, "queue");
        series.points.iter().map(|(at, bytes)| (at.as_nanos() / 1_000_000, *bytes)).collect()
    }

    #[test]
    fn each_queue_bin_keeps_its_maximum() {
        assert_eq!(queue(&[(1, 10), (2, 50), (3, 20), (11, 20)]), [(0, 50.0), (10, 20.0)]);
        let changes = [(1, 10), (2, 30), (9, 20), (11, 20), (12, 5), (31, 5)];
        assert_eq!(queue(&changes), [(0, 30.0), (10, 20.0), (20, 5.0)]);
    }

    #[test]
    fn the_queue_of_a_burst_within_one_bin_is_empty_after_that_bin() {
        assert_eq!(queue(&[(3, 40), (7, 0), (500, 8)]), [(0, 40.0), (10, 0.0), (500, 8.0)]);
        assert_eq!(queue(&[(3, 40), (7, 0)]), [(0, 40.0), (10, 0.0)]);
    }

    #[test]
    fn memory_is_bounded_for_late_times_and_many_drops() {
        let mut recorder = LinkRecorder::default();
        let late = Time::ZERO + Span::from_secs(1_000_000_000);
        recorder.delivered(Time::ZERO, 1500);
        for at in [Time::ZERO, late] {
            recorder.delivered(at, 1500);
            recorder.queue(at, 1500);
        }
        let limit = SeriesLimit::DEFAULT.points();
        for _ in 0..10 * limit {
            recorder.dropped(late, DropKind::Queue);
        }
        let series = recorder.series();
        let names: Vec<_> = series.iter().map(|series| series.name).collect();
        assert_eq!(names, ["throughput", "queue", "dropped_queue"]);
        assert_eq!(series[0].points.len(), 4, "{:?}", series[0].points);
        assert!(series[2].downsampled && (limit / 4..=limit).contains(&series[2].points.len()));
    }

    #[test]
    fn each_terminal_has_its_capacity_in_bins_of_whole_frames() {
        let mut recorder = LinkRecorder::default();
        let length = Span::from_millis(20);
        let share = |frame: u64, port: usize| FrameShare {
            begin: Time::from_millis(5 + 20 * frame),
            length,
            port,
            requested: Bytes::new(3000),
            allocated: Bytes::new(1500 * (1 + port as u64)),
            used: Bytes::new(if frame == 3 { 1500 } else { 0 }),
        };
        recorder.frames((0..4).flat_map(|frame| [share(frame, 0), share(frame, 1)]));
        let terminals = recorder.take_terminals();
        let (first, second) = (Time::from_millis(5), Time::from_millis(65));
        assert_eq!(terminals[1][1].points, [(first, 1.2), (second, 1.2)]);
        assert_eq!(terminals[0][2].points, [(first, 0.0), (second, 0.6)]);
        assert!(recorder.series().is_empty(), "the series were taken");

        let mut alone = LinkRecorder::default();
        alone.frames((0..4).map(|frame| share(frame, 0)));
        assert!(alone.take_terminals().is_empty());
        let all = alone.series();
        assert_eq!(
            all.iter().map(|series| series.name).collect::<Vec<_>>(),
            ["requested", "allocated", "used"]
        );
        assert_eq!(all[0].points, [(first, 1.2), (second, 1.2)]);
    }
}
