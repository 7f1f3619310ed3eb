//! Time series of a link, in bins, so that their size follows the run's length and not its packets.

use crate::lost::Lost;
use crate::outcome::Series;
use bentpipe_link::DropCause;
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
}

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
    pub fn dropped(&mut self, now: Time, lost: Lost) {
        let drops = match lost {
            Lost::OnLink(DropCause::Policer) => &mut self.drops_policer,
            Lost::OnLink(DropCause::QueueFull | DropCause::Aqm) => &mut self.drops_queue,
            Lost::OnLink(DropCause::Loss(_)) => &mut self.drops_loss,
            Lost::Handover | Lost::NoRoute | Lost::HopLimit => &mut self.drops_route,
        };
        drops.push((now, 1.0));
    }

    /// The series: `throughput` (Mbps, from each time on), `queue` (bytes), `drops_policer`, `drops_queue`, `drops_loss`, `drops_route`; empty ones left out.
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
        let queue = self.queue.iter().map(|&(bin, bytes)| (Time::ZERO + QUEUE_BIN * bin, bytes as f64)).collect();
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
        .collect()
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
}
