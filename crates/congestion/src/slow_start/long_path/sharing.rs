//! Detection of other flows at the bottleneck.
//!
//! A link with a queue is never idle, so while the queue lasts it delivers its full rate. The
//! bursts have shown a rate of which the link is capable. A flow that gets clearly less while its
//! packets queue shares the link with others; alone, it would get all of it, however long the queue
//! that it made itself. An RTT increase cannot tell the two apart.

use crate::controller::Ack;
use bentpipe_units::{Bytes, Span, Time};

/// Minimum number of ACKs in a busy period: with fewer, the packets of a single ACK would decide.
const LEAST_ACKS: u32 = 8;

/// Time in which each packet found a queue, as far as ACKs show.
#[derive(Debug, Clone, Copy)]
struct BusyPeriod {
    began: Time,
    /// Bytes delivered at its start.
    delivered: Bytes,
    acks: u32,
}

/// Evidence that others use the bottleneck.
#[derive(Debug, Clone)]
pub(super) struct Sharing {
    /// Rate in a busy period, relative to the highest rate, below which others get the rest.
    share: f64,
    /// Minimum length of a busy period, set with the first RTT.
    length: Span,
    busy_period: Option<BusyPeriod>,
    /// Highest rate proven so far, in bytes per second.
    highest: f64,
    found: bool,
}

impl Sharing {
    /// Creates it without evidence. Busy periods last at least 6 % of the first RTT, as the
    /// shortest measurements of rates do.
    pub(super) fn new(share: f64, first_rtt: Span) -> Self {
        Self {
            share,
            length: first_rtt.mul_f64(0.06),
            busy_period: None,
            highest: 0.0,
            found: false,
        }
    }

    /// Handles an ACK that came `since` the previous one. Its packet queued for `queued`; `busy`
    /// says whether packets have been queueing for longer than a variation of the path.
    /// `aggregation` is the time over which the path aggregates ACKs, `proven` the proven rate in
    /// bytes per second.
    pub(super) fn note(
        &mut self,
        ack: &Ack<'_>,
        since: Span,
        queued: Span,
        busy: bool,
        aggregation: Span,
        proven: f64,
    ) {
        if self.share <= 0.0 {
            return;
        }
        self.highest = self.highest.max(proven);
        // A packet that queued for less than the time since the one before may have found an idle
        // link.
        if !busy || since > queued {
            self.busy_period = None;
            return;
        }
        let period = self.busy_period.get_or_insert(BusyPeriod {
            began: ack.now,
            delivered: ack.delivered,
            acks: 0,
        });
        period.acks += 1;
        let time = ack.now.since(period.began);
        if period.acks <= LEAST_ACKS || time < self.length.max(aggregation * 2) + aggregation {
            return;
        }
        // After a pause, either others' packets came first, or the receiver's timer held back the
        // ACK of a burst's last packet. The next ACK tells: without others, its packet has found
        // a shorter queue or none.
        if since * u64::from(LEAST_ACKS) > time {
            return;
        }
        // ACKs of the last `aggregation` may still be held back.
        let time = time.saturating_sub(aggregation).as_secs_f64();
        let rate = ack.delivered.saturating_sub(period.delivered).get() as f64 / time;
        self.found |= rate < self.share * self.highest;
        self.busy_period = None;
    }

    /// Handles a loss report. Its packets are missing from the rate of this busy period.
    pub(super) fn on_loss(&mut self) {
        self.busy_period = None;
    }

    /// Returns true if others use the bottleneck.
    pub(super) fn found(&self) -> bool {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sent_packets::SentPackets;
    use crate::testing::MTU;

    /// ACKs of one packet every `every` milliseconds for 400 ms, on a path of 600 ms. Each packet
    /// queued for `queued` milliseconds. A rate of a packet per millisecond was proven before.
    fn sharing(every: u64, queued: u64) -> Sharing {
        sharing_of(&(1..400 / every).map(|step| every * step).collect::<Vec<_>>(), queued)
    }

    /// The same for ACKs that come at `times` milliseconds.
    fn sharing_of(times: &[u64], queued: u64) -> Sharing {
        let mut sharing = Sharing::new(0.9, Span::from_millis(600));
        let mut sent_packets = SentPackets::new();
        for &time in times {
            sent_packets.on_sent(Time::from_millis(time), MTU);
        }
        let mut before = 0;
        for (number, &time) in (0..).zip(times) {
            let now = Time::from_millis(600 + time);
            sent_packets.on_acked(now, number);
            sent_packets.report_ack(now, false, |ack| {
                sharing.note(
                    ack,
                    Span::from_millis(time - before),
                    Span::from_millis(queued),
                    queued >= 10,
                    Span::from_millis(5),
                    1000.0 * MTU.get() as f64,
                );
            });
            before = time;
        }
        sharing
    }

    #[test]
    fn half_of_the_proven_rate_behind_a_queue_reveals_others() {
        assert!(sharing(2, 50).found());
    }

    #[test]
    fn the_proven_rate_behind_a_queue_is_a_flow_alone() {
        assert!(!sharing(1, 50).found());
    }

    #[test]
    fn a_lower_rate_without_a_queue_is_a_slower_sender() {
        assert!(!sharing(2, 0).found());
    }

    #[test]
    fn the_ack_of_a_burst_that_waited_for_the_timer_is_not_counted() {
        for burst in 9..50 {
            let mut times: Vec<u64> = (1..=burst).collect();
            times.push(burst + 25);
            assert!(!sharing_of(&times, 50).found(), "{burst}");
        }
    }

    #[test]
    fn pauses_before_packets_that_still_queue_reveal_others() {
        let times: Vec<u64> =
            (0..10).flat_map(|burst| (1..=20).map(move |t| 40 * burst + t)).collect();
        assert!(sharing_of(&times, 50).found());
    }

    #[test]
    fn packets_further_apart_than_they_queued_may_have_found_an_idle_link() {
        assert!(!sharing(20, 15).found());
    }
}
