//! `queue`: the rate follows the media that waits at the sender. Ours, for a carrier with
//! congestion control of its own, such as QUIC.

use super::rate_control::{Backlog, RateControl, SKIP_ABOVE, Setup};
use bentpipe_units::{Rate, Span, Time};
use std::collections::VecDeque;

/// Frames skipped within [`PERIOD`] after which the rate is halved.
const SKIPS: usize = 3;
/// Time over which skipped frames count, and after which the rate grows without any.
const PERIOD: Span = Span::from_secs(1);
/// Factor of the rate after a period without skipped frames.
const GROWTH: f64 = 1.05;

/// Skips frames while more than 100 ms of media waits, halves the rate after three skipped frames
/// in a second, and raises it by 5 % each second without any.
#[derive(Debug)]
pub struct Queue {
    setup: Setup,
    rate: Rate,
    /// When frames were skipped since the rate was last halved, within [`PERIOD`].
    skipped: VecDeque<Time>,
    /// When the rate last changed or a frame was last skipped.
    quiet_since: Time,
}

impl Queue {
    pub fn new(setup: Setup) -> Self {
        let quiet_since = setup.begun;
        Self { setup, rate: setup.start, skipped: VecDeque::new(), quiet_since }
    }
}

impl RateControl for Queue {
    fn frame(&mut self, now: Time, backlog: Backlog) -> Option<Rate> {
        self.skipped.retain(|&at| now < at + PERIOD);
        if backlog.waits > SKIP_ABOVE {
            self.quiet_since = now;
            self.skipped.push_back(now);
            if self.skipped.len() >= SKIPS {
                self.skipped.clear();
                self.rate = self.setup.clamp(self.rate.as_bps() as f64 / 2.0);
            }
            return None;
        }
        if now >= self.quiet_since + PERIOD {
            self.quiet_since = now;
            self.rate = self.setup.clamp(self.rate.as_bps() as f64 * GROWTH);
        }
        Some(self.rate)
    }

    fn rate(&self) -> Rate {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::super::rate_control::fixtures::{SETUP, kbps};
    use super::*;

    fn at(queue: &mut Queue, ms: u64, waits: u64) -> Option<Rate> {
        let backlog = Backlog { waits: Span::from_millis(waits), last_frame: 1_000 };
        queue.frame(Time::from_millis(ms), backlog)
    }

    #[test]
    fn three_skips_in_a_second_halve_the_rate_and_quiet_seconds_raise_it() {
        let mut queue = Queue::new(Setup { start: kbps(1_000), ..SETUP });
        assert_eq!(at(&mut queue, 0, 100), Some(kbps(1_000)));
        assert_eq!([33, 66].map(|ms| at(&mut queue, ms, 101)), [None, None]);
        // The third comes when the first has been a second ago.
        assert_eq!(at(&mut queue, 1_040, 101), None);
        assert_eq!(queue.rate(), kbps(1_000));
        assert_eq!(at(&mut queue, 1_060, 101), None);
        assert_eq!(queue.rate(), kbps(500));
        // Two more do not halve it again.
        assert_eq!([1_090, 1_100].map(|ms| at(&mut queue, ms, 500)), [None, None]);
        assert_eq!(at(&mut queue, 2_099, 0), Some(kbps(500)));
        assert_eq!(at(&mut queue, 2_100, 0), Some(kbps(525)));
        assert_eq!(at(&mut queue, 2_133, 0), Some(kbps(525)));
    }
}
