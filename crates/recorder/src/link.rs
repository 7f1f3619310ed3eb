//! Time series of a link, in bins.

use crate::Series;
use crate::capacity::Terminals;
use crate::series::THROUGHPUT_BIN;
use bentpipe_link::{DropCause, FrameShare};
use bentpipe_units::{Span, Time};

/// Width of a queue bin.
const QUEUE_BIN: Span = Span::from_millis(10);
/// Maximum number of bins: almost 14 hours of the narrower bins. Later data is not recorded.
const MAX_BINS: u64 = 5_000_000;
/// Maximum number of drops with recorded times, for each cause. The counters of the link include
/// all drops.
const MAX_DROPS: usize = 1_000_000;

/// Cause of a drop. Each has its own series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// A policer.
    Policer,
    /// A full queue or active queue management.
    Queue,
    /// A loss process of the channel.
    Channel,
    /// The satellite network: link down, no route, or hop limit.
    Routing,
}

impl Drop {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Policer, "dropped_policer"),
        (Self::Queue, "dropped_queue"),
        (Self::Channel, "dropped_channel"),
        (Self::Routing, "dropped_routing"),
    ];
}

impl From<DropCause> for Drop {
    fn from(cause: DropCause) -> Self {
        match cause {
            DropCause::Policer => Self::Policer,
            DropCause::QueueFull | DropCause::Aqm => Self::Queue,
            DropCause::Loss(_) => Self::Channel,
        }
    }
}

/// Collects the time series of one link.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkRecorder {
    /// Bytes delivered in each bin since the start of the run.
    delivered: Vec<u64>,
    queue: QueueLength,
    drops: [Vec<Time>; Drop::ALL.len()],
    terminals: Terminals,
}

impl LinkRecorder {
    /// Records that a packet of `bytes` left the link.
    pub fn delivered(&mut self, now: Time, bytes: u32) {
        let bin = now.as_nanos() / THROUGHPUT_BIN.as_nanos();
        if bin >= MAX_BINS {
            return;
        }
        let bin = bin as usize;
        if self.delivered.len() <= bin {
            self.delivered.resize(bin + 1, 0);
        }
        self.delivered[bin] += u64::from(bytes);
    }

    /// Records that the queue holds `bytes` from now on.
    pub fn queue(&mut self, now: Time, bytes: u64) {
        self.queue.set(now.as_nanos() / QUEUE_BIN.as_nanos(), bytes);
    }

    /// Records a dropped packet.
    pub fn dropped(&mut self, now: Time, cause: impl Into<Drop>) {
        let drops = &mut self.drops[cause.into() as usize];
        if drops.len() < MAX_DROPS {
            drops.push(now);
        }
    }

    /// Records the terminals' shares of the frames of a shared link, in order of time.
    pub fn frames(&mut self, shares: impl Iterator<Item = FrameShare>) {
        self.terminals.add(shares);
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
    /// packet). A link with capacity allocation and a single terminal also has `requested`,
    /// `allocated` and `used` (Mbps, mean of the frames from each time on).
    pub fn series(self) -> Vec<Series> {
        let throughput = self.delivered.iter().enumerate().map(|(bin, &bytes)| {
            // Bits per microsecond are megabits per second.
            let mbps = (bytes * 8) as f64 / (THROUGHPUT_BIN.as_nanos() / 1_000) as f64;
            (Time::ZERO + THROUGHPUT_BIN * bin as u64, mbps)
        });
        let throughput = Series { name: "throughput", unit: "Mbps", points: throughput.collect() };
        let queue = Series { name: "queue", unit: "bytes", points: self.queue.points() };
        let drops = Drop::ALL.into_iter().zip(self.drops).map(|((_, name), times)| Series {
            name,
            unit: "packets",
            points: times.into_iter().map(|at| (at, 1.0)).collect(),
        });
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
#[derive(Debug, Clone, Default, PartialEq)]
struct QueueLength {
    /// Number of the bin, bytes.
    points: Vec<(u64, u64)>,
    /// Number of the latest bin with a change, its maximum, and the length at its end.
    current: Option<(u64, u64, u64)>,
}

impl QueueLength {
    fn set(&mut self, bin: u64, bytes: u64) {
        match &mut self.current {
            _ if bin >= MAX_BINS => {}
            Some((current, max, last)) if *current == bin => {
                *max = (*max).max(bytes);
                *last = bytes;
            }
            Some((current, max, last)) => {
                let (closed, before) = ((*current, *max, *last), *last);
                self.current = Some((bin, bytes.max(before), bytes));
                Self::close(&mut self.points, closed, Some(bin));
            }
            None => self.current = Some((bin, bytes, bytes)),
        }
    }

    /// Appends a completed bin, and the length after it unless the bin `next` follows directly.
    fn close(points: &mut Vec<(u64, u64)>, (bin, max, last): (u64, u64, u64), next: Option<u64>) {
        for (at, bytes) in [(bin, max), (bin + 1, last)] {
            let repeated = points.last().is_some_and(|(_, known)| *known == bytes);
            if !repeated && next != Some(at) {
                points.push((at, bytes));
            }
        }
    }

    fn points(mut self) -> Vec<(Time, f64)> {
        if let Some(current) = self.current {
            Self::close(&mut self.points, current, None);
        }
        let time = |bin| Time::ZERO + QUEUE_BIN * bin;
        self.points.into_iter().map(|(bin, bytes)| (time(bin), bytes as f64)).collect()
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
        recorder.delivered(late, 1500);
        recorder.queue(late, 1500);
        for _ in 0..MAX_DROPS + 5 {
            recorder.dropped(Time::ZERO, Drop::Queue);
        }
        let series = recorder.series();
        assert_eq!(series.iter().map(|series| series.name).collect::<Vec<_>>(), ["dropped_queue"]);
        assert_eq!(series[0].points.len(), MAX_DROPS);
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
