//! Time series of a link, in bins, so that their size follows the run's length and not its packets.

use crate::loss_reason::LossReason;
use crate::outcome::Series;
use bentpipe_link::{DropCause, FrameShare};
use bentpipe_units::{Span, Time};

/// Width of a throughput bin: short beside a long path's round trip, long beside a packet.
const THROUGHPUT_BIN: Span = Span::from_millis(50);
/// Width of a queue bin; each keeps the longest queue seen.
const QUEUE_BIN: Span = Span::from_millis(10);

/// Collects what passes one link.
#[derive(Debug, Default)]
pub struct LinkRecorder {
    /// Bytes delivered in each bin from the run's beginning.
    delivered: Vec<u64>,
    /// Longest queue, bytes, in each bin that saw a change.
    queue: Vec<(u64, u64)>,
    drops_policer: Vec<(Time, f64)>,
    drops_queue: Vec<(Time, f64)>,
    drops_loss: Vec<(Time, f64)>,
    drops_route: Vec<(Time, f64)>,
    /// What terminals had of frames, where capacity is allocated.
    terminals: Vec<Capacity>,
}

/// Terminals whose capacity is told apart; the series of more would hide what they show.
const MOST_TERMINALS: usize = 16;

impl LinkRecorder {
    /// A packet left the link.
    pub fn delivered(&mut self, now: Time, bytes: u32) {
        let bin = (now.as_nanos() / THROUGHPUT_BIN.as_nanos()) as usize;
        if self.delivered.len() <= bin {
            self.delivered.resize(bin + 1, 0);
        }
        self.delivered[bin] += u64::from(bytes);
    }

    /// The queue holds `bytes` now.
    pub fn queue(&mut self, now: Time, bytes: u64) {
        let bin = now.as_nanos() / QUEUE_BIN.as_nanos();
        match self.queue.last_mut() {
            Some((last, longest)) if *last == bin => *longest = (*longest).max(bytes),
            Some((_, longest)) if *longest == bytes => {}
            _ => self.queue.push((bin, bytes)),
        }
    }

    /// A packet was dropped or lost.
    pub fn dropped(&mut self, now: Time, lost: LossReason) {
        let drops = match lost {
            LossReason::OnLink(DropCause::Policer) => &mut self.drops_policer,
            LossReason::OnLink(DropCause::QueueFull | DropCause::Aqm) => &mut self.drops_queue,
            LossReason::OnLink(DropCause::Loss(_)) => &mut self.drops_loss,
            LossReason::Handover | LossReason::NoRoute | LossReason::HopLimit => {
                &mut self.drops_route
            }
        };
        drops.push((now, 1.0));
    }

    /// What terminals had of frames, in the order in which the link tells it.
    pub fn frames(&mut self, shares: impl Iterator<Item = FrameShare>) {
        for share in shares {
            if share.port < MOST_TERMINALS {
                if share.port >= self.terminals.len() {
                    self.terminals.resize_with(share.port + 1, Capacity::default);
                }
                self.terminals[share.port].add(&share);
            }
        }
    }

    /// Hands out the series of terminals, where there are several; those of the only one are the
    /// link's.
    pub fn take_terminals(&mut self) -> Vec<Vec<Series>> {
        if self.terminals.len() < 2 {
            return Vec::new();
        }
        self.terminals.drain(..).map(|capacity| capacity.series().collect()).collect()
    }

    /// The series: `throughput` (Mbps, from each time on), `queue` (bytes), `drops_policer`,
    /// `drops_queue`, `drops_loss`, `drops_route`, and of the only terminal to which capacity is
    /// allocated `requested`, `allocated`, `used` (Mbps, mean of the frames from each time on);
    /// empty ones left out.
    pub fn series(self) -> Vec<Series> {
        let throughput = self
            .delivered
            .iter()
            .enumerate()
            .map(|(bin, &bytes)| {
                let begin = Time::ZERO + THROUGHPUT_BIN * bin as u64;
                // Bits per microsecond are megabits per second.
                (begin, (bytes * 8) as f64 / (THROUGHPUT_BIN.as_nanos() / 1_000) as f64)
            })
            .collect();
        let queue = self
            .queue
            .iter()
            .map(|&(bin, bytes)| (Time::ZERO + QUEUE_BIN * bin, bytes as f64))
            .collect();
        [
            ("throughput", "Mbps", throughput),
            ("queue", "bytes", queue),
            ("drops_policer", "packets", self.drops_policer),
            ("drops_queue", "packets", self.drops_queue),
            ("drops_loss", "packets", self.drops_loss),
            ("drops_route", "packets", self.drops_route),
        ]
        .into_iter()
        .filter(|(_, _, points): &(_, _, Vec<_>)| !points.is_empty())
        .map(|(name, unit, points)| Series { name, unit, points })
        .chain(self.terminals.into_iter().flat_map(Capacity::series))
        .collect()
    }
}

/// Capacity in bins of whole frames, a throughput bin or a little longer.
#[derive(Debug, Default)]
struct Capacity {
    begin: Time,
    length: Span,
    /// Bytes requested, allocated and used in the bin.
    bytes: [u64; 3],
    points: [Vec<(Time, f64)>; 3],
}

impl Capacity {
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
            points.push((self.begin, (bytes * 8) as f64 / micros));
        }
        (self.length, self.bytes) = (Span::ZERO, [0; 3]);
    }

    fn series(mut self) -> impl Iterator<Item = Series> {
        if !self.length.is_zero() {
            self.end_bin();
        }
        let named = ["requested", "allocated", "used"].into_iter().zip(self.points);
        named.filter(|(_, points)| !points.is_empty()).map(|(name, points)| Series {
            name,
            unit: "Mbps",
            points,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_what_left_in_each_bin() {
        let mut recorder = LinkRecorder::default();
        recorder.delivered(Time::from_millis(10), 1250);
        recorder.delivered(Time::from_millis(60), 2500);
        let series = recorder.series();
        assert_eq!(series[0].name, "throughput");
        assert_eq!(series[0].points, [(Time::ZERO, 0.2), (Time::from_millis(50), 0.4)]);
    }

    #[test]
    fn each_queue_bin_keeps_its_longest() {
        let mut recorder = LinkRecorder::default();
        for (ms, bytes) in [(1, 10), (2, 50), (3, 20), (11, 20)] {
            recorder.queue(Time::from_millis(ms), bytes);
        }
        assert_eq!(recorder.queue, [(0, 50), (1, 20)]);
    }

    #[test]
    fn capacity_is_told_in_bins_of_whole_frames_for_each_terminal() {
        let mut recorder = LinkRecorder::default();
        let length = Span::from_millis(20);
        let bytes = |bytes: u64| bentpipe_units::Bytes::new(bytes);
        let share = |frame: u64, port: usize| FrameShare {
            begin: Time::from_millis(5 + 20 * frame),
            length,
            port,
            requested: bytes(3000),
            allocated: bytes(1500 * (1 + port as u64)),
            used: bytes(if frame == 3 { 1500 } else { 0 }),
        };
        recorder.frames((0..4).flat_map(|frame| [share(frame, 0), share(frame, 1)]));
        let terminals = recorder.take_terminals();
        let (first, second) = (Time::from_millis(5), Time::from_millis(65));
        assert_eq!(terminals[1][1].points, [(first, 1.2), (second, 1.2)]);
        assert_eq!(terminals[0][2].points, [(first, 0.0), (second, 0.6)]);
        assert!(recorder.series().is_empty(), "they are told once");

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
