//! Controlled delay (CoDel) active queue management, RFC 8289.

use crate::CodelConfig;
use bentpipe_units::{Span, Time};

/// CoDel's state (RFC 8289 §5), updated with each packet that leaves the queue.
///
/// The pseudocode of §5 loops over packets within one dequeue; here the queue loops and calls
/// [`Self::signals`] for each packet. Decisions are the same, except that the drop state ends one
/// packet sooner if the first packet after a drop has not waited too long.
#[derive(Debug, Clone)]
pub(crate) struct Codel {
    target: Span,
    interval: Span,
    ecn: bool,
    /// Time at which the sojourn time will have exceeded the target for an interval.
    first_above: Option<Time>,
    /// In the drop state: time of the next drop.
    drop_next: Time,
    /// Drops since the drop state started.
    count: u32,
    /// `count` when the previous drop state ended.
    last_count: u32,
    dropping: bool,
    /// Largest packet seen. If no more than that is queued, the queue does not cause the delay.
    max_packet: u64,
}

impl Codel {
    pub fn new(config: CodelConfig) -> Self {
        Self {
            target: config.target,
            interval: config.interval,
            ecn: config.ecn,
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            max_packet: 0,
        }
    }

    /// Returns true if ECN-capable packets are marked instead of dropped.
    pub fn marks(&self) -> bool {
        self.ecn
    }

    /// Records that the queue has become empty.
    pub fn emptied(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    /// Returns true if CoDel drops or marks the packet of `bytes` that leaves the queue at `now`
    /// after `waited`, with `behind` bytes still queued.
    pub fn signals(&mut self, now: Time, waited: Span, bytes: u32, behind: u64) -> bool {
        self.max_packet = self.max_packet.max(bytes.into());
        let late = self.is_late(now, waited, behind);
        if self.dropping {
            if !late {
                self.dropping = false;
                return false;
            }
            if now < self.drop_next {
                return false;
            }
            self.count += 1;
            self.drop_next = self.after(self.drop_next);
            return true;
        }
        if late {
            self.dropping = true;
            // Soon after the last drop state, its drop rate is about right (§5).
            let delta = self.count.saturating_sub(self.last_count);
            let recently = now.since(self.drop_next) < self.interval * 16;
            self.count = if delta > 1 && recently { delta } else { 1 };
            self.drop_next = self.after(now);
            self.last_count = self.count;
        }
        late
    }

    /// Returns true if the sojourn time has exceeded the target for an interval (§5, `dodequeue`).
    fn is_late(&mut self, now: Time, waited: Span, behind: u64) -> bool {
        if waited < self.target || behind <= self.max_packet {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            Some(first_above) => now >= first_above,
            None => {
                self.first_above = Some(now + self.interval);
                false
            }
        }
    }

    /// Returns the control law (§5): the interval between drops decreases with the square root of
    /// their number.
    fn after(&self, at: Time) -> Time {
        at + Span::from_nanos(
            (self.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.count))) as u64,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals(codel: &mut Codel, ms: u64, waited: u64, behind: u64) -> bool {
        codel.signals(Time::from_millis(ms), Span::from_millis(waited), 1500, behind)
    }

    #[test]
    fn it_waits_an_interval_and_then_drops_at_shrinking_intervals() {
        let mut codel = Codel::new(CodelConfig::default());
        let drops: Vec<u64> =
            (0..1000).filter(|ms| signals(&mut codel, *ms, 50, 100_000)).collect();
        // After 100 ms above target, intervals of 100, 70.7, 57.7, 50 … ms; a packet arrives every
        // millisecond.
        assert_eq!(drops[..6], [100, 200, 271, 329, 379, 424]);
    }

    #[test]
    fn a_short_wait_ends_the_drop_state() {
        let mut codel = Codel::new(CodelConfig::default());
        assert!((0..=100).any(|ms| signals(&mut codel, ms, 50, 100_000)));
        assert!(!signals(&mut codel, 101, 4, 100_000));
        assert!((102..=201).all(|ms| !signals(&mut codel, ms, 50, 100_000)));
        assert!(signals(&mut codel, 202, 50, 100_000));
    }

    #[test]
    fn a_packet_with_at_most_one_behind_it_passes() {
        let mut codel = Codel::new(CodelConfig::default());
        assert!((0..1000).all(|ms| !signals(&mut codel, ms, 50, 1500)));
    }
}
